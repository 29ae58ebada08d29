// shared.cpp: shared memory, waiting across processes, and the clock.
#include "proof/kill/shared.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <stdexcept>

#include "proof/runs/random.hpp"

namespace holdfast::proof::kill {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

Shared* make_shared_memory(int& descriptor, std::size_t part_bytes) {
  descriptor = memfd_create("holdfast-kill-test", 0);
  if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(sizeof(Shared) + part_bytes)) != 0) {
    throw std::runtime_error(std::string("cannot make shared memory: ") + std::strerror(errno));
  }
  Shared* const shared = map_shared_memory(descriptor);
  shared->part_bytes = part_bytes;
  return shared;
}

Shared* map_shared_memory(int descriptor) {
  struct stat file = {};
  if (fstat(descriptor, &file) != 0) throw std::runtime_error("the shared memory of the campaign is not open here");
  void* at = mmap(nullptr, static_cast<std::size_t>(file.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED) throw std::runtime_error(std::string("cannot map shared memory: ") + std::strerror(errno));
  return static_cast<Shared*>(at);
}

void map_failpoints(int descriptor) {
  static_assert(offsetof(Shared, failpoints) == 0);
  void* const wanted = reinterpret_cast<void*>(failpoint::kPageAddress);
  const int flags = MAP_SHARED | MAP_FIXED_NOREPLACE;
  if (mmap(wanted, failpoint::kPageBytes, PROT_READ | PROT_WRITE, flags, descriptor, 0) != wanted) {
    throw std::runtime_error(std::string("cannot map the page of failpoints: ") + std::strerror(errno));
  }
}

bool wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t value, int timeout_ms) {
  const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(timeout_ms) * 1'000'000;
  while (word.load(std::memory_order_acquire) == value) {
    const std::uint64_t now = now_ns();
    if (now >= end) return false;
    timespec left{static_cast<time_t>((end - now) / 1'000'000'000), static_cast<long>((end - now) % 1'000'000'000)};
    syscall(SYS_futex, reinterpret_cast<const std::uint32_t*>(&word), FUTEX_WAIT, value, &left, nullptr, 0);
  }
  return true;
}

void set_and_wake(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  word.store(value, std::memory_order_release);
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, 1 << 30, nullptr, nullptr, 0);
}

std::vector<std::string> beside(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path())) {
    if (entry.path().string().rfind(path + ".", 0) == 0) names.push_back(entry.path().string());
  }
  return names;
}

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t digest(const void* value, std::size_t bytes) {
  std::uint64_t sum = mix(bytes);
  for (std::size_t at = 0; at < bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(value) + at, bytes - at < 8 ? bytes - at : 8);
    sum = mix(sum, word);
  }
  return sum | 1;
}

std::uint64_t item_digest(const void* value, std::size_t bytes, std::uint64_t score) {
  return mix(digest(value, bytes), score) | 1;
}

}  // namespace holdfast::proof::kill

// pages.cpp: pages of the system, huge and interleaved where asked for.
#include "structures/dramhit/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "holdfast/error.hpp"
#include "system/calls.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace holdfast::dramhit {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr unsigned kMostNodes = 64;

bool interleave(void* at, std::size_t bytes) {
  constexpr int kInterleave = 3;  // MPOL_INTERLEAVE of linux/mempolicy.h
  const unsigned nodes = numa_nodes();
  if (nodes < 2) return false;
  const std::uint64_t all = nodes == kMostNodes ? ~std::uint64_t{0} : (std::uint64_t{1} << nodes) - 1;
  return system::mbind(at, bytes, kInterleave, all) == 0;
}

}  // namespace

unsigned numa_nodes() {
  std::string text;  // "0", "0-1", and a line's end
  if (system::text("/sys/devices/system/node/online", text) != 0 || text.empty()) return 1;
  if (text.back() == '\n') text.pop_back();
  const std::size_t dash = text.find_last_of("-,");
  const std::string last = dash == std::string::npos ? text : text.substr(dash + 1);
  const unsigned long nodes = last.find_first_not_of("0123456789") == std::string::npos ? std::stoul(last) + 1 : 1;
  return nodes > kMostNodes ? kMostNodes : static_cast<unsigned>(nodes);
}

Pages::Pages(std::size_t bytes, const MemoryChoice& choice) : bytes_(bytes), mapped_bytes_(bytes + kHugePage) {
  const auto refuse = [&] {
    throw NoSpace("a table in memory needs " + std::to_string(bytes) +
                  " bytes, which the system does not have: give a smaller capacity, or free memory");
  };
  const auto pages = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES));
  if (bytes > pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) refuse();
  mapped_ = system::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped_ == MAP_FAILED) {
    mapped_ = nullptr;
    refuse();
  }
  const auto address = reinterpret_cast<std::uintptr_t>(mapped_);
  data_ = reinterpret_cast<std::byte*>((address + kHugePage - 1) / kHugePage * kHugePage);
  system::madvise(data_, bytes, choice.huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);  // without them it is only slower
  interleaved_ = choice.interleave && interleave(data_, bytes);
  if (choice.populate && system::madvise(data_, bytes, MADV_POPULATE_WRITE) != 0) {
    for (std::size_t at = 0; at < bytes; at += 4096) reinterpret_cast<volatile std::byte*>(data_)[at] = std::byte{};
  }
}

Pages::~Pages() {
  if (mapped_ != nullptr) system::munmap(mapped_, mapped_bytes_);
}

void Pages::swap(Pages& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(interleaved_, other.interleaved_);
}

}  // namespace holdfast::dramhit

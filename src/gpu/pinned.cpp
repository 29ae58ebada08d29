// pinned.cpp: takes pinned memory from CUDA, and keeps it for the next.
#include "gpu/pinned.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>

#include "gpu/runtime.hpp"

namespace holdfast::gpu {

namespace {

constexpr std::size_t kSmallest = std::size_t{64} << 10;

std::size_t memory_of_machine() {
  const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(bytes) : 0;
}

/// As the process ends CUDA may be gone already, and its memory with it.
void free_pinned(std::byte* memory) noexcept {
  if (cudaFreeHost(memory) != cudaSuccess) static_cast<void>(cudaGetLastError());
}

}  // namespace

PinnedMemory::PinnedMemory() : most_idle_(memory_of_machine() / 16) {}
PinnedMemory::~PinnedMemory() { drop_idle(); }

std::shared_ptr<std::byte[]> PinnedMemory::take(std::size_t bytes) {
  const std::size_t size = std::bit_ceil(std::max(bytes, kSmallest));
  std::byte* memory = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = idle_.find(size); found != idle_.end()) {
      memory = found->second;
      idle_.erase(found);
      idle_bytes_ -= size;
    }
  }
  const auto ask = [&] { return cudaHostAlloc(reinterpret_cast<void**>(&memory), size, cudaHostAllocPortable); };
  if (memory == nullptr && ask() != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    {
      const std::lock_guard lock(mutex_);
      drop_idle();
    }
    check(ask(), "allocating memory for results");
  }
  return {memory, [pool = shared_from_this(), size](std::byte* given) { pool->give_back(given, size); }};
}

void PinnedMemory::give_back(std::byte* memory, std::size_t bytes) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (idle_bytes_ + bytes <= most_idle_) {
      idle_.emplace(bytes, memory);
      idle_bytes_ += bytes;
      return;
    }
  } catch (const std::exception&) {
    // No memory to remember it by.
  }
  free_pinned(memory);
}

/// The caller holds `mutex_`, or is alone.
void PinnedMemory::drop_idle() noexcept {
  for (const auto& [size, memory] : idle_) free_pinned(memory);
  idle_.clear();
  idle_bytes_ = 0;
}

}  // namespace holdfast::gpu

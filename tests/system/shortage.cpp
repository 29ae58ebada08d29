// shortage.cpp: operator new, which counts down to the allocation that fails.
#include "shortage.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

using holdfast::proof::kNoShortage;
std::atomic<std::int64_t> before_failure{kNoShortage}, alive{0};

bool fails() {
  return before_failure.load(std::memory_order_relaxed) != kNoShortage && before_failure.fetch_sub(1) == 0;
}

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  ++alive;
  return memory;
}
void release(void* memory) noexcept {
  if (memory != nullptr) --alive;
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted(fails() ? nullptr : std::malloc(std::max<std::size_t>(bytes, 1)));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return counted(fails() ? nullptr : std::aligned_alloc(unit, (bytes / unit + 1) * unit));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace holdfast::proof {

Shortage::Shortage(std::int64_t at) noexcept { before_failure = at; }
Shortage::~Shortage() { before_failure = kNoShortage; }
std::int64_t allocations_alive() noexcept { return alive; }
bool Shortage::met() const noexcept { return before_failure < 0; }

}  // namespace holdfast::proof

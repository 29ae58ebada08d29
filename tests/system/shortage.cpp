// shortage.cpp: operator new, which counts down to the allocation that fails.
#include "shortage.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
std::atomic<std::int64_t> before_failure{kNever};

bool fails() { return before_failure.load(std::memory_order_relaxed) != kNever && before_failure.fetch_sub(1) == 0; }

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = fails() ? nullptr : std::malloc(std::max<std::size_t>(bytes, 1));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  void* const memory = fails() ? nullptr : std::aligned_alloc(unit, (bytes / unit + 1) * unit);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace holdfast::proof {

Shortage::Shortage(std::int64_t at) noexcept { before_failure = at; }
Shortage::~Shortage() { before_failure = kNever; }
bool Shortage::met() const noexcept { return before_failure < 0; }

}  // namespace holdfast::proof

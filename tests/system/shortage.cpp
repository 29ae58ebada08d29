// shortage.cpp: operator new and pthread_create, which count down to the call that fails.
#include "shortage.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace {

using holdfast::proof::kNoShortage;
std::atomic<std::int64_t> before_failure{kNoShortage}, alive{0}, before_no_thread{kNoShortage};

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
// AddressSanitizer has these of its own, and would miss them in `delete`.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
#if !defined(HOLDFAST_SANITIZED)
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) noexcept {
  const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (before_no_thread.load() != kNoShortage && before_no_thread.fetch_sub(1) <= 0) return EAGAIN;
  return real(thread, attributes, start, argument);
}
#endif

void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace holdfast::proof {

Shortage::Shortage(std::int64_t at) noexcept { before_failure = at; }
Shortage::~Shortage() { before_failure = kNoShortage; }
std::int64_t allocations_alive() noexcept { return alive; }
bool Shortage::met() const noexcept { return before_failure < 0; }

ThreadShortage::ThreadShortage(std::int64_t at) noexcept { before_no_thread = at; }
ThreadShortage::~ThreadShortage() { before_no_thread = kNoShortage; }
bool ThreadShortage::met() const noexcept { return before_no_thread < 0; }

}  // namespace holdfast::proof

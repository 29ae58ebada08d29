// thread_number.cpp: hands out the numbers of threads, without locks: a child may be forked at any moment.
#include "threads/thread_number.hpp"

#include <atomic>
#include <bit>
#include <cstdint>

namespace holdfast::threads {
namespace {

constexpr unsigned kWords = kThreadNumbers / 64;
std::atomic<std::uint64_t> taken[kWords] = {};

constinit thread_local unsigned number = kNoThreadNumber;

unsigned take() noexcept {
  for (unsigned w = 0; w < kWords; ++w) {
    std::uint64_t seen = taken[w].load(std::memory_order_relaxed);
    while (~seen != 0) {  // ends: each attempt that fails has seen another thread take or return a number
      const unsigned bit = static_cast<unsigned>(std::countr_one(seen));
      if (taken[w].compare_exchange_weak(seen, seen | std::uint64_t{1} << bit, std::memory_order_acquire)) {
        return w * 64 + bit;
      }
    }
  }
  return kNoThreadNumber;
}

/// Returns the number when its thread ends; what the thread wrote in its entries is then visible to the next owner.
struct Owner {
  bool ended = false;
  ~Owner() {
    ended = true;
    if (number == kNoThreadNumber) return;
    taken[number / 64].fetch_and(~(std::uint64_t{1} << number % 64), std::memory_order_release);
    number = kNoThreadNumber;
  }
};

}  // namespace

unsigned thread_number() noexcept {
  if (number != kNoThreadNumber) return number;
  thread_local Owner owner;
  if (!owner.ended) number = take();
  return number;
}

}  // namespace holdfast::threads

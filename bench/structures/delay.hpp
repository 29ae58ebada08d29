// delay.hpp: emulation of slow persistent memory: a calibrated wait after each line that is flushed. Group hashing, §4.1.
#pragma once

#include <x86intrin.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "pool/medium/persist.hpp"

namespace holdfast::bench::structures {

/// Waits on the time stamp counter without yielding the processor.
class Delay {
 public:
  /// Measures the counter's rate and what a wait costs besides: 20 ms. Once a process.
  static const Delay& calibrated();

  /// The ticks to wait for `ns` nanoseconds, without what the wait costs besides; 0 for 0.
  std::uint64_t ticks(double ns) const;
  static void wait(std::uint64_t ticks) {
    if (ticks == 0) return;
    const std::uint64_t begin = __rdtsc();
    while (__rdtsc() - begin < ticks) {
    }
  }
  /// What a wait for `ns` nanoseconds takes by the clock, where nothing interrupts it.
  double measured(double ns) const;

 private:
  Delay();
  double ticks_per_ns_ = 1, overhead_ns_ = 0;
};

/// How stores are made durable: by a flush of each line and `mfence`, as in the paper. It may change between two operations: `none` while
/// a table is filled.
struct Emulation {
  pool::Persist persist = {};
  std::uint64_t ticks = 0;  ///< that each flushed line takes longer

  void flush(const void* address, std::size_t bytes) const {
    if (!persist.flushes()) return;
    persist.flush(address, bytes);
    pool::each_line(address, bytes, [](const char*) { ++pending_; });
  }
  /// The wait begins when the flushes are done, so that it adds to what they take.
  void fence() const {
    persist.fence();
    if (!persist.flushes()) return;
    _mm_mfence();
    _mm_lfence();
    Delay::wait(std::exchange(pending_, 0) * ticks);
  }

 private:
  static inline thread_local std::uint64_t pending_ = 0;  ///< lines that this thread has flushed since its last fence
};

/// The flushes and fences of tables in a pool, emulated. Pools that are opened while it lives flush through it.
class EmulatedPool final : public pool::FlushObserver {
 public:
  explicit EmulatedPool(const Emulation& emulation) : emulation_(emulation), before_(pool::observe_flushes(this)) {}
  ~EmulatedPool() override { pool::observe_flushes(before_); }
  EmulatedPool(const EmulatedPool&) = delete;
  EmulatedPool& operator=(const EmulatedPool&) = delete;
  void flush(const void* address, std::size_t bytes) noexcept override { emulation_.flush(address, bytes); }
  void fence() noexcept override { emulation_.fence(); }

 private:
  const Emulation& emulation_;
  pool::FlushObserver* const before_;
};

}  // namespace holdfast::bench::structures

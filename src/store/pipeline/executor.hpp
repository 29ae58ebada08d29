// executor.hpp: executes the requests of one caller in cycles (Mega-KV §5.1 and §6.1): the index is searched for all reads of a cycle as one batch. In
// direct mode a submission is a cycle; in staged mode reads are answered while those of the next cycle are searched for, and changes join every second
// cycle.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "store/pipeline/execution.hpp"

namespace holdfast::store::pipeline {

/// Requests that were received in one cycle.
struct Buffer {
  std::vector<Item> reads, changes;
  std::vector<std::uint32_t> marks;  ///< of `changes` in Marks
  cpu::Engine::Lookup lookup;        ///< of `reads`, and of `changes` if `all`
  bool looked_up = false, all = false;

  bool is_empty() const { return reads.empty() && changes.empty(); }
};

/// Which keys have changes under way, by a hash: a read that finds its mark waits with them.
class Marks {
 public:
  static std::uint32_t of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> (64 - kBits)); }
  bool has(std::uint32_t mark) const { return (words_[mark / 64] >> mark % 64 & 1) != 0; }
  void add(std::uint32_t mark) { words_[mark / 64] |= std::uint64_t{1} << mark % 64; }
  void remove(std::uint32_t mark) { words_[mark / 64] &= ~(std::uint64_t{1} << mark % 64); }

 private:
  static constexpr unsigned kBits = 14;
  std::array<std::uint64_t, (std::size_t{1} << kBits) / 64> words_{};
};

/// Executes the batches of a queue, on the threads that call it, one at a time.
class Executor {
 public:
  Executor(Shared& shared, Queue& queue) : shared_(shared), queue_(queue), execution_(shared) {
    queue.execute_by(*this);
  }

  /// Executes what is due, or, if the caller only `waits`, the next part of what was submitted; ends batches that may be released. False: everything
  /// was executed.
  bool execute(bool waits);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kRows = std::size_t{1} << 13;  ///< received in one cycle

  bool is_idle() const { return received_->is_empty() && changes_.empty() && searched_->is_empty(); }
  void receive(const Item& item);
  void next_cycle();
  void look_up(Buffer& buffer);
  void answer(Buffer& buffer);

  Shared& shared_;
  Queue& queue_;
  std::mutex mutex_;
  Execution execution_;
  Buffer buffers_[2];
  Buffer* received_ = &buffers_[0];  ///< in this cycle
  Buffer* searched_ = &buffers_[1];  ///< its reads are, or were
  std::vector<Item> changes_;        ///< received, and executed with the reads of an even cycle
  std::vector<std::uint32_t> change_marks_;
  Marks marks_;
  std::uint64_t cycles_ = 0;
  Clock::time_point end_;  ///< of this cycle
};

/// Microseconds that a batch of x rows takes: k x + b.
struct BatchTime {
  double k = 0, b = 0;
};

/// The shortest cycle, in microseconds, in which both are done for `rate` requests a second of which the part `reads` are reads, by Mega-KV's equation
/// 2. A rate of 0: half of the highest one. Throws InvalidArgument: no cycle is long enough.
double least_cycle_us(const BatchTime& search, const BatchTime& change, double rate, double reads);
/// The same with times measured now.
double measured_cycle_us(Shared& shared, double rate, double reads);

}  // namespace holdfast::store::pipeline

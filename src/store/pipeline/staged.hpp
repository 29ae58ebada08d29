// staged.hpp: staged mode (Mega-KV §5.1 and §6.1): a scheduler searches the index for all reads of a cycle as one batch, every second cycle it
// adds the changes, and a sender compares keys, copies values and changes items. Three buffers go around between the two.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/pipeline/execution.hpp"
#include "store/pipeline/sources.hpp"

namespace holdfast::store::pipeline {

/// Requests that were received in one cycle. It belongs to one thread at a time.
struct Buffer {
  std::vector<Item> reads, changes;
  std::vector<std::uint32_t> marks;  ///< of `changes` in Marks
  cpu::Engine::Lookup lookup;        ///< of `reads`
  bool looked_up = false;
};

/// Gives buffers from one thread to another, without a lock.
class Handover {
 public:
  void put(Buffer* buffer) {
    const std::uint32_t at = given_.load(std::memory_order_relaxed);
    slots_[at % slots_.size()] = buffer;
    given_.store(at + 1, std::memory_order_release);
    given_.notify_one();
  }
  bool is_empty() const { return given_.load(std::memory_order_acquire) == taken_; }
  /// Waits for one.
  Buffer* take() {
    given_.wait(taken_, std::memory_order_acquire);
    return slots_[taken_++ % slots_.size()];
  }

 private:
  std::array<Buffer*, 4> slots_{};  ///< of three buffers, and the end
  alignas(64) std::atomic<std::uint32_t> given_ = 0;
  alignas(64) std::uint32_t taken_ = 0;
};

/// Which callers have changes of which keys under way, by a hash: a read that finds its mark waits with them.
class Marks {
 public:
  static std::uint32_t of(std::size_t source, std::span<const std::byte> key);
  bool any() const { return total_ != 0; }
  bool has(std::uint32_t mark) const { return counts_[mark] != 0; }
  void add(std::uint32_t mark) { ++counts_[mark], ++total_; }
  void remove(std::uint32_t mark) { --counts_[mark], --total_; }

 private:
  static constexpr unsigned kBits = 16;
  std::vector<std::uint32_t> counts_ = std::vector<std::uint32_t>(std::size_t{1} << kBits);
  std::uint64_t total_ = 0;
};

/// Two threads, which answer some callers.
class Staged {
 public:
  static constexpr unsigned kThreads = 2;

  Staged(Shared& shared, unsigned first, unsigned step, double cycle_us);
  /// Each is called by one thread, and ends when the pipeline closes and every batch is done.
  void run(unsigned thread) { thread == 0 ? schedule() : send(); }
  std::uint64_t cycles() const { return cycles_.load(std::memory_order_acquire); }

  Bell& bell() { return bell_; }

 private:
  static constexpr std::size_t kRows = std::size_t{1} << 15;  ///< received in one cycle
  void schedule();
  bool receive(Buffer& buffer);
  void look_up(Buffer& buffer);
  void send();

  Shared& shared_;
  const std::chrono::nanoseconds cycle_;
  std::atomic<std::uint64_t> cycles_ = 0;
  std::array<Buffer, 3> buffers_;
  Handover scheduled_, free_;

  // The scheduler's.
  Bell bell_;
  Sources sources_;
  Marks marks_;
  std::vector<Item> changes_;                ///< received, and scheduled in the next even cycle
  std::vector<std::uint32_t> change_marks_;  ///< of each

  Execution execution_;  ///< the sender's
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

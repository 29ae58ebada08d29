// overlap.hpp: two saves of one checkpoint, in the same order of writes in each run: both are copied before either counts, and the
// second counts when it is asked to.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include "holdfast/checkpoint.hpp"
#include "pool/medium/persist.hpp"
#include "system/calls.hpp"

namespace holdfast::proof {

/// Holds up the thread that completes saves, at its calls and flushes. It watches as long as it lives.
class Overlap : public system::Observer, public pool::FlushObserver {
 public:
  Overlap();
  ~Overlap() override;  ///< after both saves, however they end
  Overlap(const Overlap&) = delete;
  Overlap& operator=(const Overlap&) = delete;

  /// `save(step)` begins one. Returns when the first is acknowledged.
  template <class Save>
  void begin(std::uint64_t first, std::uint64_t second, const Save& save) {
    first_ = save(first);
    await(Hold::both, *first_);
    second_ = save(second);
    hold_ = Hold::second;
    first_->wait();
    await(Hold::second, *second_);
  }
  void end();  ///< when the second is

  int before(const system::Event& event) noexcept override;
  std::uint64_t most(const system::Event& event) noexcept override;
  void after(system::Event& event) noexcept override;
  void flush(const void* address, std::size_t bytes) noexcept override;
  void fence() noexcept override;

 private:
  enum class Hold : std::uint8_t { both, second, none };
  void wait() noexcept;  ///< until the calling thread may write
  /// Until the thread that completes the save has summed it and is held up, or is done with it.
  void await(Hold hold, const SaveTicket& save) const;

  const std::thread::id caller_ = std::this_thread::get_id();
  std::atomic<Hold> hold_ = Hold::both;
  std::atomic<Hold> held_by_ = Hold::none;  ///< the last that has stopped the other thread
  std::optional<SaveTicket> first_, second_;
  system::Observer* const calls_;
  pool::FlushObserver* const flushes_;
};

}  // namespace holdfast::proof

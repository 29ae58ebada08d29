// epochs.hpp: tracks readers. A freed cell stays retired until every batch that ran when it was freed has ended. Rule 5.
#pragma once

#include <atomic>
#include <cstdint>

#include "threads/call_slots.hpp"

namespace holdfast::reclaim {

/// Epoch-based reclamation, one entry a sub-batch. What is retired in epoch e can be reused in epoch e + 2: by then all
/// that entered in e or before have left. Short calls enter by their slots (threads/call_slots.hpp).
class Epochs {
 public:
  Epochs() = default;
  explicit Epochs(threads::CallSlots& calls) : calls_(&calls), epoch_(calls.epoch()) {}

  /// Enters the present epoch and returns it.
  std::uint64_t enter() {
    for (;;) {
      const std::uint64_t epoch = epoch_.load();
      inside(epoch).fetch_add(1);
      if (epoch_.load() == epoch) return epoch;
      inside(epoch).fetch_sub(1);
    }
  }
  void leave(std::uint64_t epoch) { inside(epoch).fetch_sub(1); }

  std::uint64_t now() const { return epoch_.load(); }

  /// Begins the next epoch if the previous one is empty.
  void try_advance() {
    std::uint64_t epoch = epoch_.load();
    if (calls_ != nullptr && calls_->any_before(epoch)) return;
    if (inside(epoch + 2).load() == 0) epoch_.compare_exchange_strong(epoch, epoch + 1);
  }

 private:
  struct alignas(64) Count : std::atomic<std::int64_t> {};
  Count& inside(std::uint64_t epoch) { return inside_[epoch % 3]; }

  threads::CallSlots* const calls_ = nullptr;
  alignas(64) std::atomic<std::uint64_t> own_epoch_{3};
  std::atomic<std::uint64_t>& epoch_ = own_epoch_;
  Count inside_[3]{};
};

/// Membership for a scope.
class InEpoch {
 public:
  explicit InEpoch(Epochs& epochs) : epochs_(epochs), epoch_(epochs.enter()) {}
  ~InEpoch() { epochs_.leave(epoch_); }
  InEpoch(const InEpoch&) = delete;
  InEpoch& operator=(const InEpoch&) = delete;

 private:
  Epochs& epochs_;
  std::uint64_t epoch_;
};

}  // namespace holdfast::reclaim

// use_gates.hpp: the two gates of an object that many callers search and change, and that one at a time keeps for itself.
//
//   changes   locked to keep changes out, while searches continue
//   use       locked to keep every call out; a thread that takes both takes `changes` first
//
// A short call passes both by its slot (call_slots.hpp). It passes the gates only if one is locked, or if its thread has no number.
#pragma once

#include <shared_mutex>

#include "core/both.hpp"
#include "threads/call_slots.hpp"
#include "threads/gate.hpp"

namespace holdfast::threads {

struct UseGates {
  /// The pointers name the gates' owners (gate.hpp).
  UseGates(const void* pool, const void* owner)
      : changes(Gate::Rank::changes, pool, owner, calls, CallSlots::Closes::changes),
        use(Gate::Rank::use, pool, owner, calls, CallSlots::Closes::all) {}
  /// For an owner whose gates have no order among those of a pool.
  UseGates() : UseGates(this, this) {}

  CallSlots calls;
  Gate changes, use;
};

/// Inside for a scope, after a wait for the thread that excludes such calls. A thread is inside once at a time.
class Inside {
 public:
  using Kind = CallSlots::Kind;

  Inside(UseGates& gates, Kind kind) : call_(gates.calls, kind) {
    HOLDFAST_ASSERT(!call_.stays());  // the thread was outside
    if (call_) [[likely]]
      return;
    if (kind == Kind::change) changes_ = std::shared_lock(gates.changes);
    use_ = std::shared_lock(gates.use);
  }

 private:
  const ShortCall call_;
  std::shared_lock<Gate> changes_, use_;
};

}  // namespace holdfast::threads

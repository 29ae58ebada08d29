// commit_lines.cuh: the phase in which a batch's changes become durable: whole lines of slots, in the order of their addresses.
#pragma once

#include "gphash/cuda/kit.hpp"
#include "gphash/cuda/memory.cuh"
#include "gphash/protocol/phases.hpp"
#include "gpu/launch.cuh"

namespace holdfast::machine::cuda {

/// What gphash/protocol/phases.hpp asks about the changes that are planned in a room. `after(planned)` is what the slot of one holds then.
template <class Room, class After>
struct OrderedChanges {
  const Room& room;
  std::uint64_t count;
  const After& holds_after;

  __device__ std::uint64_t size() const { return count; }
  __device__ std::uint64_t number(std::uint64_t at) const { return room.slots[0][at]; }
  __device__ index::Change change(std::uint64_t at) const {
    return static_cast<index::Change>(room.planned[room.order[0][at]].change);
  }
  __device__ index::Slot after(std::uint64_t at) const { return holds_after(room.planned[room.order[0][at]]); }
};

/// Neighbouring lanes, as many as a line has slots, write it together, so that it travels as one request. All threads call.
template <class Shape, class Room, class After>
__device__ void commit_lines(const PhaseMemory& memory, const View<Shape>& view, const Room& room, std::uint64_t count,
                             index::Pass pass, const After& after_change) {
  static_assert(kWarp % index::kLineSlots == 0);
  const OrderedChanges<Room, After> changes{room, count, after_change};
  const std::uint64_t lanes_in_all = changes.size() * index::kLineSlots;
  const std::uint64_t whole_warps = (lanes_in_all + kWarp - 1) / kWarp * kWarp;
  for (std::uint64_t i = first_of_thread(); i < whole_warps; i += all_threads()) {
    const std::uint64_t at = i / index::kLineSlots;
    index::Slot* slot = nullptr;
    index::Slot after{};
    if (at < changes.size() && index::leads_line(changes, at) && index::changes_line(changes, at, pass)) {
      const std::uint64_t line = index::line_of(changes.number(at));
      const std::uint64_t number = line * index::kLineSlots + i % index::kLineSlots;
      slot = index::slot_at(view, number);
      if (slot != nullptr) after = index::after_pass(memory, slot, number, changes, at);
    }
    __syncwarp();
    if (slot != nullptr) index::commit_slot(memory, slot, after);
  }
  memory.fence();
}

}  // namespace holdfast::machine::cuda

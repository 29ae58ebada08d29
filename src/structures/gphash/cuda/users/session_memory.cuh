// session_memory.cuh: the memory policy of a session's kernels: that of changes operation by operation, and a count of them.
#pragma once

#include <cstdint>

#include "structures/gphash/cuda/change/changing_memory.cuh"
#include "structures/gphash/cuda/users/descriptor.hpp"

namespace holdfast::gphash::cuda {

/// One operation's. The session's reservation is what the host has counted on: a cell more than that would be missed by a batch that
/// was granted that it fits.
class SessionMemory : public ChangingMemory {
 public:
  static constexpr bool kColumns = false;  // operations of kernels are about whole values

  template <class Shape>
  __device__ SessionMemory(Descriptor& table, const View<Shape>& view)
      : ChangingMemory(table.state, &table.cache, table.ring, view.heap, view.cells * view.cell_bytes),
        left_(reinterpret_cast<std::uint64_t&>(table.left)) {}

  /// Counts a change against the reservation; false: it is used up.
  __device__ bool charge() const {
    if (static_cast<std::int64_t>(DeviceWord(left_).load(::cuda::memory_order_relaxed)) <= 0) return false;
    if (static_cast<std::int64_t>(DeviceWord(left_).fetch_sub(1, ::cuda::memory_order_relaxed)) > 0) return true;
    give_back();
    return false;
  }
  __device__ void give_back() const { DeviceWord(left_).fetch_add(1, ::cuda::memory_order_relaxed); }

  /// A cell that is taken counts, even if no slot ever names it: it is retired as long as the session lasts.
  __device__ std::uint64_t take_cell(bool adds_key) const {
    if (!charge()) return heap::kNoCell;
    const std::uint64_t cell = ChangingMemory::take_cell(adds_key);
    if (cell == heap::kNoCell) give_back();
    return cell;
  }

 private:
  std::uint64_t& left_;
};
static_assert(gphash::OperationTile<WarpTile, SessionMemory, gphash::DefaultShape> &&
              gphash::SeesChanges<SessionMemory>);

}  // namespace holdfast::gphash::cuda

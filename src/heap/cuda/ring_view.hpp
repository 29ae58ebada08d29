// ring_view.hpp: the free cells of a heap of equal cells as kernels see them, in GPU memory. Rules 5, 6.
#pragma once

#include <cstdint>

namespace holdfast::heap::cuda {

/// The free cells of a heap as a ring of positions in GPU memory:
///
///   [head, tail)        free, lowest address first after recovery; a kernel that adds or updates items takes from the head
///   [tail, retired_end)   retired: taken out of their slots, but perhaps still being read
///
/// A cell is in the ring once or not at all, so `capacity` = all cells always suffices.
struct CellRing {
  std::uint64_t* cells = nullptr;
  std::uint64_t capacity = 0;
  std::uint64_t reserve = 0;  ///< the last cells, which inserts leave to updates
};

/// The state of a ring, in GPU memory. Within a batch only `head` and `retired_end` move, each by fetch-and-add. An attempt to take past
/// `tail` leaves `head` beyond it, which takes nothing; `free_retired` before the next batch sets it right. Words that many blocks add to
/// are on separate lines.
struct RingState {
  alignas(128) std::uint64_t head;
  alignas(128) std::uint64_t retired_end;
  alignas(128) std::uint64_t tail;
  std::uint64_t retired_before[4];  ///< by epoch % 4: all that was retired in that epoch or before ends here
};

}  // namespace holdfast::heap::cuda

// ring.hpp: the free cells of a heap of equal cells, in GPU memory. Calls enqueue work, and return. Rules 5, 6.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
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

/// The ring of the cells whose bit in `live` is 0, in address order. `scratch` has collect_scratch_bytes(cells) bytes.
void collect_free_cells(const std::uint32_t* live, const CellRing& ring, RingState* state, void* scratch,
                        std::size_t scratch_bytes, cudaStream_t stream);
std::size_t collect_scratch_bytes(std::uint64_t cells);
/// A ring in which nothing is free, and nothing is retired.
void begin_empty_ring(RingState* state, cudaStream_t stream);
/// Copies the free cells of a ring without retired ones into a larger one, and adds the cells from the old end on.
void extend_ring(const CellRing& from, const CellRing& to, RingState* state, cudaStream_t stream);

}  // namespace holdfast::heap::cuda

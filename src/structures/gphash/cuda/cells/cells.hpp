// cells.hpp: the ring of a table's free cells, and its slots, whatever the configuration. Calls enqueue work, and return.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "structures/gphash/cuda/scan_report.hpp"
#include "structures/gphash/cuda/state.hpp"
#include "structures/gphash/layout.hpp"

namespace holdfast::machine::cuda {

/// Between two changing batches: frees cells (epochs.cuh).
void settle_cells(DeviceState* state, cudaStream_t stream);
/// Empties `size` slots of a table, durably.
void clear_slots(index::Slot* first, std::uint64_t size, const Layout& layout, cudaStream_t stream);
/// The ring of the cells whose bit in `live` is 0, in address order. `scratch` of scratch_bytes(cells).
void collect_free_cells(const std::uint32_t* live, const CellRing& ring, DeviceState* state, void* scratch,
                        std::size_t scratch_bytes, cudaStream_t stream);
std::size_t collect_scratch_bytes(std::uint64_t cells);
/// Marks the free cells of a ring without retired ones in `live`; those that are marked already are `shared`.
void mark_free_cells(const CellRing& ring, const DeviceState* state, std::uint32_t* live, ScanReport* report,
                     cudaStream_t stream);
/// A ring in which nothing is free or retired.
void begin_empty_ring(DeviceState* state, cudaStream_t stream);
/// Copies the free cells of a ring without retired ones into a larger one, and adds the cells from the old end on.
void extend_ring(const CellRing& from, const CellRing& to, DeviceState* state, cudaStream_t stream);

}  // namespace holdfast::machine::cuda

// cells.hpp: a table's free cells (heap/cuda/ring.hpp) and its slots, whatever the configuration. Calls enqueue work, and return.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "structures/gphash/cuda/scan_report.hpp"
#include "structures/gphash/cuda/state.hpp"
#include "structures/gphash/layout.hpp"

namespace holdfast::gphash::cuda {

/// Between two changing batches: frees cells (epochs.cuh).
void settle_cells(DeviceState* state, cudaStream_t stream);
/// Empties `size` slots of a table, durably.
void clear_slots(gphash::Slot* first, std::uint64_t size, const Layout& layout, cudaStream_t stream);
/// Marks the free cells of a ring without retired ones in `live`; those that are marked already are `shared`.
void mark_free_cells(const CellRing& ring, const DeviceState* state, std::uint32_t* live, ScanReport* report,
                     cudaStream_t stream);

}  // namespace holdfast::gphash::cuda

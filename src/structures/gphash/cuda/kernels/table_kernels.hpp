// table_kernels.hpp: what tables of all keys ask of the code compiled for their configuration. Calls enqueue work, and return.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "structures/gphash/cuda/cache_view.hpp"
#include "structures/gphash/cuda/jobs.hpp"
#include "structures/gphash/cuda/scan_report.hpp"
#include "structures/gphash/layout.hpp"

namespace holdfast::gphash::cuda {

/// What every table needs. Thread-safe between calls of set_layout.
class TableKernels {
 public:
  virtual ~TableKernels() = default;
  virtual void set_layout(const Layout& layout, const CacheView& cache) = 0;
  /// A batch, operation by operation.
  virtual void change(const ChangeJob& job, cudaStream_t stream) const = 0;

  // Alone on the table.
  /// Reads the addressed slots of every rank: tags, live cells (a bit each in `live`), torn slots, which `repair` empties.
  virtual void scan(bool repair, std::uint32_t* live, ScanReport* report, cudaStream_t stream) const = 0;
  /// Counts second copies; with `repair`, drops them.
  virtual void drop_copies(bool repair, ScanReport* report, cudaStream_t stream) const = 0;
  /// Takes a drained level up. `recovering`: checks what it reads.
  virtual void drain(gphash::Slot* slots, unsigned level, bool recovering, DeviceState* state, ScanReport* report,
                     cudaStream_t stream) const = 0;
  virtual void carry_tags(const Layout& from, const Layout& to, unsigned level, cudaStream_t stream) const = 0;
  /// Compares the tags of the layout with `believed`, an array of the same shape.
  virtual void compare_tags(const std::uint64_t* believed, ScanReport* report, cudaStream_t stream) const = 0;
};

}  // namespace holdfast::gphash::cuda

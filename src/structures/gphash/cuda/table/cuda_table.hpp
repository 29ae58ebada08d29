// cuda_table.hpp: what all parts of a machine on a GPU share: the table's layout, its kernels, its volatile state, and what orders its changes.
//
// Changing batches on one table take effect one after another (change_order.hpp). Searches overlap them freely. A changing call of
// device arrays returns when its work is enqueued, as long as the host knows that everything it may add will fit; else it waits, reads
// the true size, and grows (rule 18).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gpu/runtime.hpp"
#include "gpu/staging.hpp"
#include "structures/gphash/cuda/change_order.hpp"
#include "structures/gphash/cuda/kernels/kernels.hpp"
#include "structures/gphash/cuda/kernels/pair_kernels.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/paths.hpp"
#include "structures/gphash/cuda/table/phase_times.hpp"
#include "structures/gphash/cuda/table/table_memory.hpp"
#include "structures/gphash/cuda/table/volatile_state.hpp"
#include "structures/gphash/exports.hpp"
#include "structures/gphash/machine.hpp"

namespace holdfast::gphash::cuda {

/// The code compiled for a table's configuration and the kind of its keys.
struct KernelSet {
  explicit KernelSet(const gphash::RuntimeShape& shape);
  std::unique_ptr<TableKernels> all;
  PairKernels* pairs = nullptr;
  Kernels* fixed = nullptr;
};

struct CudaTable {
  CudaTable(gphash::TableObject& of, const MachineOptions& given);

  /// Throws InvalidArgument if the GPU cannot follow the pointer.
  void require_reachable(const void* array, const char* name) const;
  void require_reachable(const Batch& batch) const;
  FindJob find_job(const gphash::Rows& rows, const void* keys, const std::uint8_t* mask, std::uint64_t size) const;
  /// `ops`: those that its rows may ask for.
  ChangeJob change_job(const gphash::Rows& rows, OpSet ops, const void* keys, const std::uint8_t* mask,
                       std::uint64_t size) const;
  /// Rows from which changing batches go in phases.
  std::uint64_t rows_from_phases() const { return options.order_from != 0 ? options.order_from : kSmallSearch; }
  const Layout& layout() const { return memory.layout(); }
  /// Inserts are about to move items, and kernels do not say which: exports that are under way list what is left to them. Waits then.
  void begin_moves();

  gphash::TableObject& pool;
  const MachineOptions options;
  const std::string gpu;  ///< its name
  TableMemory memory;
  const KernelSet compiled;
  PairKernels* const pair_kernels;  ///< null: keys and values have fixed lengths
  Kernels* const kernels;           ///< null with pairs
  TableKernels& table_kernels;      ///< one of the two
  PhaseTimes times;
  Stream stream;  ///< for what is done alone on the table
  ChangeOrder order;
  VolatileState state{order};
  Exports exports;
  Stages stages;
};

}  // namespace holdfast::gphash::cuda

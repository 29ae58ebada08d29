// kernels.hpp: what the CUDA machine asks of the code compiled for one configuration. Calls enqueue work, and return.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "gphash/cuda/caches/cache_view.hpp"
#include "gphash/cuda/state.hpp"
#include "gphash/layout.hpp"
#include "gphash/protocol/phases.hpp"
#include "gpu/order/key_order.hpp"

namespace holdfast::machine::cuda {

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
  virtual void drain(index::Slot* slots, unsigned level, bool recovering, DeviceState* state, ScanReport* report,
                     cudaStream_t stream) const = 0;
  virtual void carry_tags(const Layout& from, const Layout& to, unsigned level, cudaStream_t stream) const = 0;
  /// Compares the tags of the layout with `believed`, an array of the same shape.
  virtual void compare_tags(const std::uint64_t* believed, ScanReport* report, cudaStream_t stream) const = 0;
};

/// The operations on keys and values of fixed lengths; pair_kernels.hpp has those of others.
class Kernels : public TableKernels {
 public:
  using Room = ChangeRoom;
  using Cells = JobRing;

  /// A search in one kernel, or two where the buckets are resident and `repeats` has a table.
  virtual void find(const FindJob& job, const Repeats& repeats, cudaStream_t stream) const = 0;
  /// Two phases of a search of resident buckets (search.cuh): the cell of each row, and, from ordered places, the values; `hits`:
  /// out of copies where there are any, which `resolve` has done already.
  virtual void resolve(const FindJob& job, const SearchRoom& room, cudaStream_t stream) const = 0;
  /// All before the gather at once, for a few rows; false on a GPU that cannot.
  virtual bool resolve_small(const FindJob& job, const SearchRoom& room, cudaStream_t stream) const = 0;
  virtual void gather(const FindJob& job, const SearchRoom& room, bool hits, cudaStream_t stream) const = 0;
  /// What `resolve` does where some buckets have no copy (miss_search.cuh): before `aim` is ordered, and after. Without cells in `room`
  /// no values are wanted that may lie in the heap alone, and the last leaves the epoch that `aim` has entered. Before it, rows whose
  /// keys are known need not take part: `left` gets the others, and `aim` is about those. After `aim`, on any stream: the values that
  /// have copies, of rows that are resolved.
  virtual void answer_known(const FindJob& job, const SearchRoom& aim, const SearchRoom& room, const RowsLeft& left,
                            cudaStream_t stream) const = 0;
  virtual void aim(const FindJob& job, const SearchRoom& aim, const SearchRoom& room, const RowsLeft& left,
                   cudaStream_t stream) const = 0;
  virtual void answer_near(const FindJob& job, const SearchRoom& aim, cudaStream_t stream) const = 0;
  virtual void resolve_far(const FindJob& job, const SearchRoom& aim, const SearchRoom& room,
                           cudaStream_t stream) const = 0;
  /// The phases of a change where buckets have copies, all or some (phases.cuh); changes are ordered after the first. Rows that read a cell are
  /// noted in `reading` as `resolve` does, for `order_search` and `gather`; none is where `room.copies` is null.
  virtual void plan(const ChangeJob& job, const ChangeRoom& room, const SearchRoom& reading, RowRange part,
                    cudaStream_t stream) const = 0;
  virtual void sum(const ChangeJob& job, const ChangeRoom& room, cudaStream_t stream) const = 0;
  /// Of the plans of `span`. `part`: by a part of the GPU, which does where the values are most of what the batch moves, and
  /// leaves the rest to others.
  virtual void place(const ChangeJob& job, const ChangeRoom& room, PlanRange span, bool part,
                     cudaStream_t stream) const = 0;
  /// Copies of placed values for the value cache, of all plans.
  virtual void keep_values(const ChangeJob& job, const ChangeRoom& room, cudaStream_t stream) const = 0;
  virtual void commit(const ChangeJob& job, const ChangeRoom& room, index::Pass pass, cudaStream_t stream) const = 0;
  virtual void publish(const ChangeJob& job, const ChangeRoom& room, cudaStream_t stream) const = 0;
  /// Where `room.claims`.
  virtual void release(const ChangeJob& job, const ChangeRoom& room, cudaStream_t stream) const = 0;
  /// The values that rows read of the batch's own, and zeros.
  virtual void copy_values(const ChangeJob& job, const ChangeRoom& room, cudaStream_t stream) const = 0;
};

std::unique_ptr<Kernels> make_kernels(const index::RuntimeShape& shape);
std::unique_ptr<Kernels> make_default_kernels();
std::unique_ptr<Kernels> make_wide_kernels();  ///< the default configuration, with wide keys
std::unique_ptr<Kernels> make_runtime_kernels(const index::RuntimeShape& shape);

// What does not depend on the configuration.

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
/// A ring in which nothing is free, and nothing rests.
void begin_empty_ring(DeviceState* state, cudaStream_t stream);
/// Copies the free cells of a ring without retired ones into a larger one, and adds the cells from the old end on.
void extend_ring(const CellRing& from, const CellRing& to, DeviceState* state, cudaStream_t stream);

/// Other phases of an ordered search of a heap of `cells` cells.
void enter_search(DeviceState* state, const SearchRoom& room, cudaStream_t stream);
/// Where the last phase does not (SearchRoom::is_left_by_others).
void leave_search(DeviceState* state, const SearchRoom& room, cudaStream_t stream);
/// Puts the rows that have a cell in their places, `size` at most.
void order_search(const SearchRoom& room, std::uint64_t size, std::uint64_t cells, cudaStream_t stream);
/// Of a search in two parts: what its rooms call the crowd, when the first rows are counted; and the start of the second part.
void count_crowd(const SearchRoom& room, std::uint32_t* crowd, cudaStream_t stream);
void begin_second_part(const SearchRoom& room, cudaStream_t stream);

/// Puts sums in the order of the cells that they come from, of a heap of `cells`, and gives them cells.
void order_sums(const ChangeJob& job, ChangeRoom& room, std::uint64_t cells, cudaStream_t stream);
/// Orders the changes that were planned by the lines of their slots, whose numbers are below `slots`.
void order_changes(PhaseRoom& room, std::uint64_t size, std::uint64_t slots, cudaStream_t stream);
std::size_t change_scratch_bytes(std::uint64_t rows);
/// The last phase: the cells that came free are retired.
void retire_cells(const ChangeJob& job, ChangeRoom& room, cudaStream_t stream);

/// Where the ordering of a batch works; all in GPU memory.
struct OrderRoom : gpu::KeyOrderRoom {
  index::Effect* effects = nullptr;  ///< (n,) for batches in phases
  index::Writes* writes = nullptr;   ///< (n,) for those that set frequencies, too
};
/// Adds the scores of the items that were there to what their runs count, in the order of their cells.
void add_old_scores(const Layout& layout, const ChangeJob& job, ChangeRoom& room, cudaStream_t stream);
/// The effects of ordered rows, and how often they write, for the first phase of their changes.
void fold_effects(const ChangeJob& job, const OrderRoom& room, cudaStream_t stream);
std::size_t fold_scratch_bytes(std::uint64_t rows);
/// Answers the rows that the mask takes out, or all without a mask: `not_run`, not found, zeros.
void skip_masked(const index::Rows& rows, const std::uint8_t* mask, std::uint64_t size, cudaStream_t stream);

}  // namespace holdfast::machine::cuda

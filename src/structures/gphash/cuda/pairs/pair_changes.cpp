// pair_changes.cpp: what changing batches of variable-length pairs have beside the schedule (schedule.hpp): their cells are counted,
// reserved and given out on the GPU; the host learns how many slabs are missing, and grows the heap before anything is changed for want
// of them.
#include <algorithm>

#include "core/both.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/pairs/pair_batches.hpp"
#include "structures/gphash/protocol/phases.hpp"

namespace holdfast::gphash::cuda {

/// The cells of slabs, counted and reserved for each launch.
class PairBatches::PairCells final : public CellSource {
 public:
  /// `effects`: of the ordered rows. `reads`: what rows read, within an epoch of the batch's own; or null.
  PairCells(PairBatches& of, const gphash::Effect* effects, ReadsOfChange* reads, cudaStream_t stream)
      : of_(of), table_(of.table_), effects_(effects), reads_(reads), stream_(stream) {}

  void reserve(const ChangeJob& job) override {
    forget_demand(table_.memory.pairs()->view(), stream_);
    table_.pair_kernels->count_demand(job, effects_, stream_);
    // The first launch makes do with the cells that there are: what is counted is the most that it may need.
    list_cells(job, launches_++ != 0);
  }
  void release(const ChangeJob& job) override { release_cells(table_.memory.pairs()->view(), 2 * job.size, stream_); }
  bool make_space(const ChangeReport& report) override {
    table_.state.settle(table_.stream);  // what this launch retired is free for the next, unless it has a reader
    return launches_ == 1 && !heap_is_full_ && report.needs_cell != 0;  // the next one grows the heap
  }
  bool came_free(const ChangeReport&, bool) override { return of_.free_cells_of_batch(reads_, stream_); }

  /// Lists cells for what has been counted, growing the heap if it must and can. `demand` is what counts.
  void list_cells(const ChangeJob& job, bool may_grow) {
    const bool updates = job.ops.replaces_values();
    // ends: the heap grows by all that is missing, or cannot grow any more
    for (;;) {
      free_rested(table_.memory.pairs()->view(), table_.state.ring(), table_.state.words(), stream_);
      count_slabs(table_.memory.pairs()->view(), stream_);
      reserve_cells(table_.memory.pairs()->view(), table_.layout().heap_view(), updates, stream_);
      if (heap_is_full_ || !may_grow) return;
      const SlabState state = table_.memory.pairs()->state(stream_);
      std::uint64_t missing = 0;
      for (const ClassCells& of : state.of) missing += of.missing;
      if (missing == 0) return;
      release_cells(table_.memory.pairs()->view(), state.listed, stream_);
      cuda::check(cudaStreamSynchronize(stream_), "planning a change");
      heap_is_full_ = !of_.maintenance_.grow_heap(missing + missing / 32 + 2);
    }
  }

 private:
  PairBatches& of_;
  CudaTable& table_;
  const gphash::Effect* effects_;
  ReadsOfChange* reads_;
  cudaStream_t stream_;
  unsigned launches_ = 0;
  bool heap_is_full_ = false;
};

/// Space for the order, the phases, the cells and the rest of a batch. The caller is in no epoch.
void PairBatches::prepare_workspace(const ChangeJob& job) {
  const bool phased = phases_pay(job);
  schedule_.prepare(job.size, phased);
  if (phased) schedule_.enlarge(plans_, job.size);
  if (table_.memory.pairs()->list_needs(2 * job.size)) {
    table_.order.finish();
    table_.memory.pairs()->list_at_least(2 * job.size);
    table_.pair_kernels->set_slabs(table_.memory.pairs()->view());
  }
  require_retired_space(job.size);
}

bool PairBatches::phases_pay(const ChangeJob& job) const {
  return path_of(PairFacts{.rows = job.size,
                           .changes = true,
                           .reads = job.rows.blobs != nullptr,
                           .phases_pay = schedule_.phases_pay(job),
                           .resident = table_.memory.cache().view().resident()}) == PairPath::phases;
}

/// Space in the ring for the cells that `rows` rows may retire. What is retired already is counted only when that might be too
/// much; where it is, all searches end, and nothing is retired. The caller holds `changing`, and is in no epoch.
void PairBatches::require_retired_space(std::uint64_t rows) {
  if (table_.state.may_retire(rows)) return;
  table_.state.count_retired();
  if (table_.state.may_retire(rows)) return;
  settle_retired();
  free_rested(table_.memory.pairs()->view(), table_.state.ring(), table_.state.words(), table_.stream);
  table_.stream.wait("freeing cells");
  table_.state.begin_retired(std::max(4 * rows, std::uint64_t{1} << 20), table_.stream);
  [[maybe_unused]] const bool fit = table_.state.may_retire(rows);
  HOLDFAST_ASSERT(fit);
}

/// Waits until no search reads a cell that has come out of its slot. False: none is retired, and none has settled that the next reservation
/// would find free. The caller holds `changing`, is in no epoch, and has nothing running that changes the table.
bool PairBatches::settle_retired() {
  const std::unique_lock finding(finding_);
  DeviceState now = table_.state.read();
  if (now.retired_end == now.head) return false;
  for (; now.retired_end != now.tail; now = table_.state.read())
    table_.state.settle(table_.stream);  // as the last readers leave
  return true;
}

/// Makes an end of the batch so far: what it has read is gathered, and the cells that it released are free for the rest of it (rule
/// 6). False: there are none.
bool PairBatches::free_cells_of_batch(ReadsOfChange* reads, cudaStream_t stream) {
  if (reads == nullptr) return settle_retired();
  gather_reads(*reads, stream);
  reads->epoch.leave();
  cuda::check(cudaStreamSynchronize(stream), "gathering results");
  const bool some = settle_retired();
  reads->epoch.enter();
  return some;
}

/// The caller holds `changing`. Returns when all is done, having grown the table as far as it took. `reads`: what the rows read,
/// within an epoch of the batch's own; or null.
void PairBatches::change_pairs(ChangeJob& job, ReadsOfChange* reads, cudaStream_t stream) {
  const bool phased = phases_pay(job);
  Ordering& ordering = schedule_.begin(job, {.folds = true}, stream);
  PairCells cells(*this, ordering.effects.data(), reads, stream);
  if (phased) {
    ++phased_batches_;
    change_in_phases(job, ordering, cells, stream);
    schedule_.repeat_leftovers(job, cells, stream);
  } else {
    schedule_.repeat(job, cells, stream);
  }
  schedule_.end(ordering, stream);
}

void PairBatches::change_in_phases(const ChangeJob& job, const Ordering& ordering, PairCells& cells,
                                   cudaStream_t stream) {
  PairWorkspace workspace;
  workspace.planned = plans_.data();
  schedule_.begin_phases(workspace, job, ordering, stream);
  forget_demand(table_.memory.pairs()->view(), stream);
  table_.pair_kernels->plan(job, workspace, stream);
  table_.times.end("plan", stream);
  cells.list_cells(job, true);
  table_.times.end("reserve", stream);
  table_.pair_kernels->assign(job, workspace, stream);
  order_changes(workspace, job.size, gphash::slot_numbers(table_.layout()), stream);
  table_.times.end("order changes", stream);
  table_.pair_kernels->place(job, workspace, stream);
  table_.times.end("place", stream);
  table_.pair_kernels->commit(job, workspace, gphash::Pass::whole, stream);
  table_.times.end("commit", stream);
  table_.pair_kernels->publish(job, workspace, stream);
  table_.times.end("publish", stream);
  cells.release(job);
}

}  // namespace holdfast::gphash::cuda

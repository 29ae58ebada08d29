// changes.cpp: enqueues changing batches of keys and values of fixed length on the paths that they take (paths.hpp).
#include "structures/gphash/cuda/change/changes.hpp"

#include <algorithm>
#include <limits>

#include "gpu/capture.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/fullness.hpp"

namespace holdfast::gphash::cuda {

namespace {

/// Rows [from, from + size) of a job that has no order yet.
ChangeJob part_of(const ChangeJob& job, std::uint32_t key_bytes, std::uint64_t from, std::uint64_t size) {
  ChangeJob part = job;
  const auto skip = [&](auto*& array, std::uint64_t each) {
    if (array != nullptr) array += from * each;
  };
  skip(part.keys, key_bytes);
  skip(part.mask, 1);
  skip(part.rows.values, job.rows.value_bytes);
  skip(part.rows.out, job.rows.value_bytes);
  skip(part.rows.statuses, 1);
  skip(part.rows.found, 1);
  skip(part.rows.ops, 1);
  part.size = size;
  return part;
}

/// Retired cells come first: they are free as soon as they have no reader.
class RingCells final : public CellSource {
 public:
  RingCells(CudaTable& table, const Searches& searches, Maintenance& maintenance)
      : table_(table), searches_(searches), maintenance_(maintenance) {}

  bool make_space(const ChangeReport& report) override {
    if (report.needs_cell == 0) return false;
    searches_.finish_searches();
    table_.state.settle(table_.stream);
    const DeviceState state = table_.state.read();
    const std::uint64_t free = state.tail - state.head;
    // Updates of many keys go in parts, each with the cells that the one before gave back (rule 6).
    const bool worthwhile =
        free > table_.state.ring().reserve && free - table_.state.ring().reserve >= report.needs_cell / 16;
    if (worthwhile || heap_is_full_) return false;
    heap_is_full_ = !maintenance_.grow_heap(report.needs_cell + table_.state.ring().reserve);
    return !heap_is_full_;
  }
  /// Runs that found no slot the time before may have found no cell this time.
  bool came_free(const ChangeReport& report, bool tried) override { return report.needs_cell != 0 && !tried; }

 private:
  CudaTable& table_;
  const Searches& searches_;
  Maintenance& maintenance_;
  bool heap_is_full_ = false;
};

}  // namespace

void Changes::change(ChangeJob job, bool unique, Need need, bool waited, cudaStream_t stream, bool whole) {
  free_what_graphs_kept();
  const Phases phases = phases_of(job);
  ChangeFacts facts;
  facts.phases_pay = phases.any;
  facts.fits = (waited && !phases.any) || fits(need);  // who waits need not ask
  facts.may_ever_fit = need.keys == 0 || sure_items() != 0;
  facts.whole = whole;
  facts.waited = waited;
  const ChangePath path = path_of(facts);
  if (path == ChangePath::parts) return change_in_parts(job, unique, need, stream);
  const bool orders = !unique || phases.any;  // a broken promise of unique keys would break the pool
  prepare_workspace(job.size, phases);
  Ordering& ordering = schedule_.begin(job, {orders, phases.any, phases.counts}, stream);
  RingCells cells(table_, searches_, maintenance_);
  bool ended = path == ChangePath::repeated;
  if (path == ChangePath::phases) {
    ++phased_batches_;
    change_in_phases(job, phases, ordering, stream);
    if (waited) ended = schedule_.repeat_leftovers(job, cells, stream);
    if (!waited) enqueue_leftovers(job, stream);
  } else if (path == ChangePath::repeated) {
    schedule_.repeat(job, cells, stream);
  } else {
    job.last_try = true;
    table_.kernels->change(job, stream);
    table_.times.end("one by one", stream);
  }
  table_.state.expect(need.keys, need.cells);
  schedule_.end(ordering, stream);
  if (ended) table_.state.note_bounds();
}

/// A batch that might not fit as a whole goes in parts that do, each with the cells that those before it gave back (rule 6).
/// Where too little fits, a small part takes its chance operation by operation, and the table grows if it must.
void Changes::change_in_parts(const ChangeJob& job, bool unique, Need need, cudaStream_t stream) {
  for (std::uint64_t from = 0; from < job.size;) {
    table_.order.finish();
    searches_.finish_searches();
    table_.state.settle(table_.stream);
    table_.state.note_bounds();
    const std::uint64_t left = job.size - from, least = std::max(table_.rows_from_phases(), job.size / 16);
    const std::uint64_t rows = std::min(left, std::max(least, rows_that_fit(need)));
    change(part_of(job, table_.layout().key_bytes(), from, rows), unique,
           {need.keys != 0 ? rows : 0, need.cells != 0 ? rows : 0}, true, stream, true);
    from += rows;
  }
}

/// How many rows of such a batch surely find space, as far as the bounds show.
std::uint64_t Changes::rows_that_fit(Need need) const {
  const auto beyond = [](std::uint64_t all, std::uint64_t part) { return all > part ? all - part : 0; };
  std::uint64_t fit = std::numeric_limits<std::uint64_t>::max();
  if (need.keys != 0) fit = std::min(fit, beyond(sure_items(), table_.state.bounds().items));
  if (need.cells != 0) fit = std::min(fit, beyond(table_.state.bounds().free_cells, reserve_of(need)));
  return fit;
}

std::uint64_t Changes::sure_items() const {
  return gphash::sure_items(table_.layout().shape, table_.layout().total_slots(), table_.layout().may_move);
}

/// The runs that no phase had a slot for: one by one, moving items. How many they are, only the GPU knows.
void Changes::enqueue_leftovers(ChangeJob& job, cudaStream_t stream) {
  const std::uint64_t expected = std::max<std::uint64_t>(1, job.size / 64);  // few, for the size of the grid
  schedule_.take_leftovers(job, expected);
  job.again_count = &job.report->leftovers;
  job.last_try = true;
  table_.kernels->change(job, stream);
  table_.times.end("leftovers", stream);
}

bool Changes::fits(Need need) {
  const auto holds = [&] {
    return (need.keys == 0 || table_.state.bounds().items + need.keys <= sure_items()) &&
           (need.cells == 0 || table_.state.bounds().free_cells >= need.cells + reserve_of(need));
  };
  if (holds()) return true;
  table_.order.finish();
  table_.state.settle(table_.stream);
  table_.state.note_bounds();
  return holds();
}

/// Space for the leftovers of `rows` rows, and for their phases.
void Changes::prepare_workspace(std::uint64_t rows, const Phases& phases) {
  schedule_.prepare(rows, phases.any);
  if (!phases.any) return;
  schedule_.enlarge(planned_, rows);
  if (phases.sums) {
    schedule_.enlarge(sums_, planned_.size());
    schedule_.enlarge(sum_order_, 4 * planned_.size());
  }
  if (phases.counts) {
    schedule_.enlarge(scores_, planned_.size());
    schedule_.enlarge(score_order_, 4 * planned_.size());
  }
  if (phases.gathers && (read_workspace_ == nullptr || read_workspace_->rows() < rows)) {
    table_.order.finish();
    read_workspace_.reset();
    read_workspace_ = std::make_unique<SearchWorkspaces::Workspace>(rows, false);
  }
}

}  // namespace holdfast::gphash::cuda

// changes.cpp: enqueues changing batches on the paths that they take (paths.hpp), and makes room when one finds none.
#include "gphash/cuda/change/changes.hpp"

#include <algorithm>
#include <limits>

#include "gphash/cuda/kit.hpp"
#include "gphash/fullness.hpp"
#include "gpu/capture.hpp"

namespace holdfast::machine::cuda {

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

}  // namespace

void Changes::change(ChangeJob job, bool unique, Need need, bool waited, cudaStream_t stream, bool whole) {
  free_what_graphs_kept();
  if (need.keys != 0 && table_.exports.want_moves()) {  // inserts move items, and kernels do not say which
    table_.last_change.wait("waiting for the batch before");
    table_.exports.list_rest(table_.layout);
  }
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
  prepare_room(job.size, phases);
  Ordering& ordering = orderings_.next(job.size);
  table_.times.begin(stream);
  if (job.mask) skip_masked(job.rows, job.mask, job.size, stream);
  if (orders) orderings_.order(job, ordering, phases.any, phases.counts, stream);
  table_.last_change.hold(stream);
  table_.times.end("wait for the batch before", stream);
  settle_cells(table_.state.data(), stream);
  job.leftovers = leftovers_.data();
  job.report = report_.data();
  job.state = table_.state.data();
  job.ring = table_.ring;
  if (path == ChangePath::phases) {
    ++phased_batches_;
    change_in_phases(job, phases, ordering, stream);
    change_leftovers(job, waited, stream);
  } else if (path == ChangePath::repeated) {
    change_and_wait(job, stream);
    return ordering.ended.record(stream);
  } else {
    job.last_try = true;
    table_.kernels->change(job, stream);
    table_.times.end("one by one", stream);
  }
  table_.bounds.items += need.keys;
  table_.bounds.free_cells -= need.cells;
  table_.last_change.record(stream);
  ordering.ended.record(stream);
}

/// A batch that might not fit as a whole goes in parts that do, each with the cells that those before it gave back (RULES.md 6).
/// Where too little fits, a small part takes its chance operation by operation, and the table grows if it must.
void Changes::change_in_parts(const ChangeJob& job, bool unique, Need need, cudaStream_t stream) {
  for (std::uint64_t from = 0; from < job.size;) {
    table_.last_change.wait("waiting for the batch before");
    searches_.finish_searches();
    table_.settle();
    table_.note_bounds();
    const std::uint64_t left = job.size - from, least = std::max(table_.rows_from_phases(), job.size / 16);
    const std::uint64_t rows = std::min(left, std::max(least, rows_that_fit(need)));
    change(part_of(job, table_.layout.key_bytes(), from, rows), unique,
           {need.keys != 0 ? rows : 0, need.cells != 0 ? rows : 0}, true, stream, true);
    from += rows;
  }
}

/// How many rows of such a batch surely find room, as far as the bounds tell.
std::uint64_t Changes::rows_that_fit(Need need) const {
  const auto beyond = [](std::uint64_t all, std::uint64_t part) { return all > part ? all - part : 0; };
  std::uint64_t fit = std::numeric_limits<std::uint64_t>::max();
  if (need.keys != 0) fit = std::min(fit, beyond(sure_items(), table_.bounds.items));
  if (need.cells != 0) fit = std::min(fit, beyond(table_.bounds.free_cells, reserve_of(need)));
  return fit;
}

std::uint64_t Changes::sure_items() const {
  return machine::sure_items(table_.layout.shape, table_.layout.total_slots(), table_.layout.may_move);
}

/// The runs that no phase had a slot for: one by one, moving items.
void Changes::change_leftovers(ChangeJob& job, bool waited, cudaStream_t stream) {
  job.again = job.leftovers;
  job.leftovers = leftovers_.data() + leftovers_.size() / 2;
  job.again_size = job.size;
  job.again_count = &job.report->leftovers;
  if (!waited) {
    job.last_try = true;
    job.again_size = std::max<std::uint64_t>(1, job.size / 64);  // for the size of the grid: few are expected
    table_.kernels->change(job, stream);
    return table_.times.end("leftovers", stream);
  }
  ChangeReport report{};
  cuda::check(cudaMemcpyAsync(&report, job.report, sizeof report, cudaMemcpyDeviceToHost, stream), "running a change");
  cuda::check(cudaStreamSynchronize(stream), "running a change");
  if (report.leftovers == 0) return;
  job.again_size = report.leftovers;
  job.again_count = nullptr;
  change_and_wait(job, stream);
}

/// Runs a job again and again, with more room or fewer permits, until no run is left over.
void Changes::change_and_wait(ChangeJob& job, cudaStream_t stream) {
  Full full;
  std::uint32_t before = std::numeric_limits<std::uint32_t>::max();
  for (unsigned turn = 0;; ++turn) {
    cuda::check(cudaMemsetAsync(job.report, 0, sizeof(ChangeReport), stream), "starting a change");
    table_.kernels->change(job, stream);
    ChangeReport report{};
    cuda::check(cudaMemcpyAsync(&report, job.report, sizeof report, cudaMemcpyDeviceToHost, stream),
                "running a change");
    cuda::check(cudaStreamSynchronize(stream), "running a change");
    if (report.leftovers == 0) break;
    const bool grew = make_room(report, full);
    const bool stuck = !grew && report.leftovers >= before;
    if (stuck && (report.needs_cell == 0 || full.tried_freed)) {
      // What is left finds no room, and there is no more to be had.
      (job.permits.new_key ? job.permits.new_key : job.permits.new_value) = false;
    }
    full.tried_freed = stuck;  // runs that found no slot the time before may have found no cell this time
    before = report.leftovers;
    job.ring = table_.ring;
    job.again = job.leftovers;
    job.again_size = report.leftovers;
    const std::size_t n = leftovers_.size() / 2;
    job.leftovers = job.again == leftovers_.data() ? leftovers_.data() + n : leftovers_.data();
  }
  table_.last_change.record(stream);
  table_.note_bounds();
}

/// True if the table or its heap has grown. Cells in limbo come first: they are free as soon as nobody reads them.
bool Changes::make_room(const ChangeReport& report, Full& full) {
  bool grew = false;
  if (report.needs_cell != 0) {
    searches_.finish_searches();
    table_.settle();
    const DeviceState state = table_.read_state();
    const std::uint64_t free = state.tail - state.head;
    // Updates of many keys go in parts, each with the cells that the one before gave back (RULES.md 6).
    const bool worthwhile = free > table_.ring.reserve && free - table_.ring.reserve >= report.needs_cell / 16;
    if (!worthwhile && !full.heap) {
      grew = upkeep_.grow_heap(report.needs_cell + table_.ring.reserve);
      full.heap = !grew;
    }
  }
  if (report.needs_slot != 0 && !full.index) {
    const bool resized = upkeep_.grow_index();
    full.index = !resized;
    grew |= resized;
  }
  return grew;
}

bool Changes::fits(Need need) {
  const auto holds = [&] {
    return (need.keys == 0 || table_.bounds.items + need.keys <= sure_items()) &&
           (need.cells == 0 || table_.bounds.free_cells >= need.cells + reserve_of(need));
  };
  if (holds()) return true;
  table_.last_change.wait("waiting for the batch before");
  table_.settle();
  table_.note_bounds();
  return holds();
}

/// Room for the leftovers of `rows` rows, and for their phases.
void Changes::prepare_room(std::uint64_t rows, const Phases& phases) {
  const std::size_t scratch = phases.any ? change_scratch_bytes(rows) : 0;
  if (leftovers_.size() >= 2 * rows && scratch_.size() >= scratch && (!phases.any || planned_.size() >= rows) &&
      (!phases.sums || sums_.size() >= planned_.size()) && (!phases.counts || scores_.size() >= planned_.size()) &&
      (!phases.gathers || (read_room_ != nullptr && read_room_->rows() >= rows)))
    return;
  table_.last_change.wait("waiting for the batch before");
  leftovers_.at_least(2 * rows);
  scratch_.at_least(scratch);
  if (phases.any) {
    planned_.at_least(rows);
    change_order_.at_least(7 * planned_.size());
  }
  if (phases.sums) {
    sums_.at_least(planned_.size());
    sum_order_.at_least(4 * planned_.size());
  }
  if (phases.counts) {
    scores_.at_least(planned_.size());
    score_order_.at_least(4 * planned_.size());
  }
  if (phases.gathers && (read_room_ == nullptr || read_room_->rows() < rows)) {
    read_room_.reset();
    read_room_ = std::make_unique<SearchRooms::Room>(rows, false);
  }
}

}  // namespace holdfast::machine::cuda

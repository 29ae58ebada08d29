// cuda_change.cpp: enqueues changing batches, whole or in parts, and makes room when one finds none.
#include <algorithm>
#include <iterator>
#include <limits>

#include "gphash/cuda/cuda_machine.hpp"
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

/// The caller holds `changing_`. `waited`: returns when all is done, having grown the table as far as it took. `whole`: not in
/// parts, whether it fits or not.
void CudaMachine::change(ChangeJob job, bool unique, Need need, bool waited, cudaStream_t stream, bool whole) {
  free_what_graphs_kept();
  if (need.keys != 0 && exports_.want_moves()) {  // inserts move items, and kernels do not say which
    last_change_.wait("waiting for the batch before");
    exports_.list_rest(layout_);
  }
  const Phases phases = phases_of(job);
  const bool may_phase = phases.any;
  const bool has_room = (waited && !may_phase) || fits(need);  // who waits need not ask
  const bool may_ever_fit = need.keys == 0 || sure_items() != 0;
  if (!has_room && may_phase && !whole && may_ever_fit) return change_in_parts(job, unique, need, stream);
  const bool orders = !unique || may_phase;  // a broken promise of unique keys would break the pool
  prepare_room(job.size, phases);
  Ordering& ordering = next_ordering(job.size);
  times_.begin(stream);
  if (job.mask) skip_masked(job.rows, job.mask, job.size, stream);
  if (orders) order(job, ordering, phases, stream);
  last_change_.hold(stream);
  times_.end("wait for the batch before", stream);
  settle_cells(state_.data(), stream);
  job.leftovers = leftovers_.data();
  job.report = change_report_.data();
  job.state = state_.data();
  job.ring = ring_;
  if (may_phase && has_room) {
    ++phased_batches_;
    change_in_phases(job, phases, ordering, stream);
    change_leftovers(job, waited, stream);
  } else if (waited || !has_room) {
    change_and_wait(job, stream);
    return ordering.ended.record(stream);
  } else {
    job.last_try = true;
    kernels_->change(job, stream);
    times_.end("one by one", stream);
  }
  bounds_.items += need.keys;
  bounds_.free_cells -= need.cells;
  last_change_.record(stream);
  ordering.ended.record(stream);
}

/// A room other than the one that the batch before is ordered in, unless they would be very large.
CudaMachine::Ordering& CudaMachine::next_ordering(std::uint64_t rows) {
  constexpr std::uint64_t kMostRows = 1 << 24;
  return orderings_[rows <= kMostRows ? orders_++ % std::size(orderings_) : 0];
}

/// What asks nothing of the table, and so goes on beside the batch before: the order of the rows, and what each run does.
void CudaMachine::order(ChangeJob& job, Ordering& ordering, const Phases& phases, cudaStream_t stream) {
  const std::uint64_t rows = job.size;
  std::size_t scratch = order_scratch_bytes(rows);
  if (phases.any) scratch = std::max(scratch, fold_scratch_bytes(rows));
  if (ordering.rows.size() < 2 * rows || ordering.scratch.size() < scratch ||
      (phases.any && ordering.effects.size() < rows) || (phases.counts && ordering.writes.size() < rows)) {
    ordering.ended.wait("waiting for the batch before");
    ordering.prefixes.at_least(2 * rows);
    ordering.rows.at_least(2 * rows);
    ordering.scratch.at_least(scratch);
    if (phases.any) ordering.effects.at_least(rows);
    if (phases.counts) ordering.writes.at_least(rows);
  }
  ordering.ended.hold(stream);
  const std::size_t n = ordering.rows.size() / 2;
  OrderRoom room;
  room.prefixes[0] = ordering.prefixes.data();
  room.prefixes[1] = ordering.prefixes.data() + n;
  room.rows[0] = ordering.rows.data();
  room.rows[1] = ordering.rows.data() + n;
  room.ordered = ordering.ordered.data();
  room.effects = ordering.effects.data();
  if (phases.counts) room.writes = ordering.writes.data();
  room.scratch = ordering.scratch.data();
  room.scratch_bytes = ordering.scratch.size();
  order_rows(job, layout_.key_words(), layout_.seed, room, stream);
  if (phases.any) fold_effects(job, room, stream);
  times_.end("order", stream);
}

/// A batch that might not fit as a whole goes in parts that do, each with the cells that those before it gave back (RULES.md 6).
/// Where too little fits, a small part takes its chance operation by operation, and the table grows if it must.
void CudaMachine::change_in_parts(const ChangeJob& job, bool unique, Need need, cudaStream_t stream) {
  for (std::uint64_t from = 0; from < job.size;) {
    last_change_.wait("waiting for the batch before");
    finish_searches();
    settle();
    note_bounds();
    const std::uint64_t left = job.size - from, least = std::max(rows_from_phases(), job.size / 16);
    const std::uint64_t rows = std::min(left, std::max(least, rows_that_fit(need)));
    change(part_of(job, layout_.key_bytes(), from, rows), unique,
           {need.keys != 0 ? rows : 0, need.cells != 0 ? rows : 0}, true, stream, true);
    from += rows;
  }
}

/// How many rows of such a batch surely find room, as far as the bounds tell.
std::uint64_t CudaMachine::rows_that_fit(Need need) const {
  const auto beyond = [](std::uint64_t all, std::uint64_t part) { return all > part ? all - part : 0; };
  std::uint64_t fit = std::numeric_limits<std::uint64_t>::max();
  if (need.keys != 0) fit = std::min(fit, beyond(sure_items(), bounds_.items));
  if (need.cells != 0) fit = std::min(fit, beyond(bounds_.free_cells, reserve_of(need)));
  return fit;
}

/// The items up to which every insert is sure to find a slot; 0: at no load.
std::uint64_t CudaMachine::sure_items() const {
  return machine::sure_items(layout_.shape, layout_.total_slots(), layout_.may_move);
}

/// The cells that a batch leaves to updates (RULES.md 6).
std::uint64_t CudaMachine::reserve_of(Need need) const { return need.keys != 0 ? ring_.reserve : 0; }

/// The runs that no phase had a slot for: one by one, moving items.
void CudaMachine::change_leftovers(ChangeJob& job, bool waited, cudaStream_t stream) {
  job.again = job.leftovers;
  job.leftovers = leftovers_.data() + leftovers_.size() / 2;
  job.again_size = job.size;
  job.again_count = &job.report->leftovers;
  if (!waited) {
    job.last_try = true;
    job.again_size = std::max<std::uint64_t>(1, job.size / 64);  // for the size of the grid: few are expected
    kernels_->change(job, stream);
    return times_.end("leftovers", stream);
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
void CudaMachine::change_and_wait(ChangeJob& job, cudaStream_t stream) {
  Full full;
  std::uint32_t before = std::numeric_limits<std::uint32_t>::max();
  for (unsigned turn = 0;; ++turn) {
    cuda::check(cudaMemsetAsync(job.report, 0, sizeof(ChangeReport), stream), "starting a change");
    kernels_->change(job, stream);
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
    job.ring = ring_;
    job.again = job.leftovers;
    job.again_size = report.leftovers;
    const std::size_t n = leftovers_.size() / 2;
    job.leftovers = job.again == leftovers_.data() ? leftovers_.data() + n : leftovers_.data();
  }
  last_change_.record(stream);
  note_bounds();
}

/// True if the table or its heap has grown. Cells in limbo come first: they are free as soon as nobody reads them.
bool CudaMachine::make_room(const ChangeReport& report, Full& full) {
  bool grew = false;
  if (report.needs_cell != 0) {
    finish_searches();
    settle();
    const DeviceState state = read_state();
    const std::uint64_t free = state.tail - state.head;
    // Updates of many keys go in parts, each with the cells that the one before gave back (RULES.md 6).
    const bool worthwhile = free > ring_.reserve && free - ring_.reserve >= report.needs_cell / 16;
    if (!worthwhile && !full.heap) {
      grew = grow_heap(report.needs_cell + ring_.reserve);
      full.heap = !grew;
    }
  }
  if (report.needs_slot != 0 && !full.index) {
    const bool resized = grow_index();
    full.index = !resized;
    grew |= resized;
  }
  return grew;
}

/// True if the batch surely finds room. Waits for the batches before it only if the bounds do not tell.
bool CudaMachine::fits(Need need) {
  const auto holds = [&] {
    return (need.keys == 0 || bounds_.items + need.keys <= sure_items()) &&
           (need.cells == 0 || bounds_.free_cells >= need.cells + reserve_of(need));
  };
  if (holds()) return true;
  last_change_.wait("waiting for the batch before");
  settle();
  note_bounds();
  return holds();
}

/// Room for the leftovers of `rows` rows, and for their phases.
void CudaMachine::prepare_room(std::uint64_t rows, const Phases& phases) {
  const std::size_t scratch = phases.any ? change_scratch_bytes(rows) : 0;
  if (leftovers_.size() >= 2 * rows && scratch_.size() >= scratch && (!phases.any || planned_.size() >= rows) &&
      (!phases.sums || sums_.size() >= planned_.size()) && (!phases.counts || scores_.size() >= planned_.size()) &&
      (!phases.gathers || (read_room_ != nullptr && read_room_->rows() >= rows)))
    return;
  last_change_.wait("waiting for the batch before");
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

// cuda_change.cpp: enqueues changing batches, in phases or operation by operation, and makes room when one finds none.
#include <algorithm>
#include <limits>

#include "index/phases.hpp"
#include "machine/cuda/cuda_machine.hpp"
#include "machine/fullness.hpp"

namespace holdfast::machine::cuda {

namespace {
bool reads_values(const index::Rows& rows) {
  return rows.out != nullptr && rows.value_bytes != 0 && (rows.ops != nullptr || reads_value(rows.op));
}
}  // namespace

/// The caller holds `changing_`. `waited`: returns when all is done, having grown the table as far as it took.
void CudaMachine::change(ChangeJob job, bool unique, Need need, bool waited, cudaStream_t stream) {
  if (need.keys != 0 && exports_.want_moves()) {  // inserts move items, and kernels do not say which
    last_change_.wait("waiting for the batch before");
    exports_.list_rest(layout_);
  }
  const bool may_phase = goes_in_phases(job);
  const bool orders = !unique || may_phase;  // a broken promise of unique keys would break the pool
  prepare_room(job.size, orders, may_phase, may_phase && reads_values(job.rows));
  const bool has_room = (waited && !may_phase) || fits(need);  // who waits need not ask
  last_change_.hold(stream);
  times_.begin(stream);
  settle_cells(state_.data(), stream);
  if (job.mask) skip_masked(job.rows, job.mask, job.size, stream);
  if (orders) {
    const std::size_t n = hashes_.size() / 2;
    const OrderRoom room{{hashes_.data(), hashes_.data() + n},
                         {rows_.data(), rows_.data() + n},
                         ordered_.data(),
                         scratch_.data(),
                         scratch_.size()};
    order_rows(job, layout_.seed, room, stream);
    times_.end("order", stream);
  }
  job.leftovers = leftovers_.data();
  job.report = change_report_.data();
  job.state = state_.data();
  job.ring = ring_;
  if (may_phase && has_room) {
    ++phased_batches_;
    change_in_phases(job, stream);
    change_leftovers(job, waited, stream);
  } else if (waited || !has_room) {
    return change_and_wait(job, stream);
  } else {
    job.last_try = true;
    kernels_->change(job, stream);
    times_.end("one by one", stream);
  }
  bounds_.items += need.keys;
  bounds_.free_cells -= need.cells;
  last_change_.record(stream);
}

/// True if index/phases.hpp can do it, and it is large enough to be worth some fifteen launches.
bool CudaMachine::goes_in_phases(const ChangeJob& job) const {
  return cache_.view().resident() && !layout_.in_slot() && (job.rows.ops != nullptr || index::can_plan(job.rows.op)) &&
         job.size >= (options_.order_from != 0 ? options_.order_from : kSmallSearch) &&
         index::slot_numbers(layout_) < kNoSlot - index::kLineSlots && !is_wide(layout_.cells);
}

void CudaMachine::change_in_phases(ChangeJob& job, cudaStream_t stream) {
  const index::Rows& rows = job.rows;
  const bool mixed = rows.ops != nullptr;
  const bool places = mixed || index::may_place(rows.op);
  const bool frees = mixed || index::may_retire(rows.op);
  const bool reads = reads_values(rows);
  const std::size_t n = planned_.size();
  std::uint32_t* const numbers = change_order_.data();
  ChangeRoom room{planned_.data(),
                  {numbers, numbers + n},
                  {numbers + 2 * n, numbers + 3 * n},
                  {numbers + 4 * n, numbers + 5 * n},
                  effects_.data(),
                  numbers + 6 * n,
                  scratch_.data(),
                  scratch_.size()};
  SearchRoom reading;
  cuda::check(cudaMemsetAsync(job.report, 0, sizeof(ChangeReport), stream), "starting a change");
  cuda::check(cudaMemsetAsync(room.slots[0], 0xff, 4 * job.size, stream), "starting a change");  // kNoSlot
  // Nobody uses what stands beside those, but the sort moves it, and initcheck cannot tell.
  cuda::check(cudaMemsetAsync(room.order[0], 0, 4 * job.size, stream), "starting a change");
  if (frees) cuda::check(cudaMemsetAsync(room.freed[0], 0xff, 4 * job.size, stream), "starting a change");
  if (reads) {
    reading = read_room_->room();
    enter_search(job.state, reading, layout_.cells, stream);
    cuda::check(cudaMemsetAsync(reading.cells, 0xff, 4 * job.size, stream), "starting a change");  // no place
    cuda::check(cudaMemsetAsync(room.copies, 0xff, 4 * job.size, stream), "starting a change");    // kNoCopy
  }
  fold_effects(job, room, stream);
  kernels_->plan(job, room, reading, stream);
  times_.end("plan", stream);
  order_changes(room, job.size, index::slot_numbers(layout_), stream);
  times_.end("order changes", stream);
  if (places) {
    kernels_->place(job, room, stream);
    times_.end("place", stream);
  }
  kernels_->commit(job, room, stream);
  times_.end("commit", stream);
  kernels_->publish(job, room, stream);
  times_.end("publish", stream);
  if (reads) read_in_phases(job, room, reading, stream);
  if (!frees) return;
  retire_cells(job, room, stream);
  times_.end("retire", stream);
}

/// Before the cells that the batch took out of their slots come free.
void CudaMachine::read_in_phases(const ChangeJob& job, const ChangeRoom& room, const SearchRoom& reading,
                                 cudaStream_t stream) {
  FindJob find;
  find.rows = job.rows;
  find.keys = job.keys;
  find.size = job.size;
  find.state = job.state;
  order_search(reading, job.size, layout_.cells, stream);
  kernels_->gather(find, reading, stream);
  kernels_->copy_values(job, room, stream);
  leave_search(job.state, reading, stream);
  times_.end("read", stream);
}

/// The runs that no phase had a slot for: one by one, moving items. And those that accumulate, in a mixed batch.
void CudaMachine::change_leftovers(ChangeJob& job, bool waited, cudaStream_t stream) {
  job.again = job.leftovers;
  job.leftovers = leftovers_.data() + leftovers_.size() / 2;
  job.again_size = job.size;
  job.again_count = &job.report->leftovers;
  if (!waited) {
    job.last_try = true;
    // For the size of the grid. Few find no slot.
    if (job.rows.ops == nullptr) job.again_size = std::max<std::uint64_t>(1, job.size / 64);
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
    if (!grew && report.leftovers >= before) {
      // What is left finds no room, and there is no more to be had.
      (job.permits.new_key ? job.permits.new_key : job.permits.new_value) = false;
    }
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
    return (need.keys == 0 ||
            bounds_.items + need.keys <= sure_items(layout_.shape, layout_.total_slots(), layout_.may_move)) &&
           (need.cells == 0 || bounds_.free_cells >= need.cells + ring_.reserve);
  };
  if (holds()) return true;
  last_change_.wait("waiting for the batch before");
  settle();
  note_bounds();
  return holds();
}

/// Room for the order and the leftovers of `rows` rows, and for their phases; `reads`: which read values.
void CudaMachine::prepare_room(std::uint64_t rows, bool ordered, bool phased, bool reads) {
  std::size_t scratch = ordered ? order_scratch_bytes(rows) : 0;
  if (phased) scratch = std::max(scratch, change_scratch_bytes(rows));
  if (leftovers_.size() >= 2 * rows && scratch_.size() >= scratch && (!ordered || hashes_.size() >= 2 * rows) &&
      (!phased || planned_.size() >= rows) && (!reads || (read_room_ != nullptr && read_room_->rows() >= rows)))
    return;
  last_change_.wait("waiting for the batch before");
  leftovers_.at_least(2 * rows);
  scratch_.at_least(scratch);
  if (phased) planned_.at_least(rows);
  if (phased) change_order_.at_least(7 * planned_.size());
  if (phased) effects_.at_least(planned_.size());
  if (reads && (read_room_ == nullptr || read_room_->rows() < rows)) {
    read_room_.reset();
    read_room_ = std::make_unique<SearchRooms::Room>(rows, false);
  }
  if (!ordered) return;
  hashes_.at_least(2 * rows);
  rows_.at_least(hashes_.size());
  ordered_.at_least(1);
}

}  // namespace holdfast::machine::cuda

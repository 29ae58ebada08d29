// cuda_change.cpp: enqueues changing batches, in phases or operation by operation, and makes room when one finds none.
#include <algorithm>
#include <limits>
#include <utility>

#include "index/phases.hpp"
#include "machine/cuda/cuda_machine.hpp"
#include "machine/fullness.hpp"

namespace holdfast::machine::cuda {

/// The caller holds `changing_`. `waited`: returns when all is done, having grown the table as far as it took.
void CudaMachine::change(ChangeJob job, bool unique, Need need, bool waited, cudaStream_t stream) {
  if (need.keys != 0 && exports_.want_moves()) {  // inserts move items, and kernels do not say which
    last_change_.wait("waiting for the batch before");
    exports_.list_rest(layout_);
  }
  const Phases phases = phases_of(job);
  const bool may_phase = phases.any;
  const bool orders = !unique || may_phase;  // a broken promise of unique keys would break the pool
  prepare_room(job.size, orders, phases);
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
    change_in_phases(job, phases, stream);
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

/// Whether index/phases.hpp can do it, and it is large enough to be worth some fifteen launches; and which phases it takes.
CudaMachine::Phases CudaMachine::phases_of(const ChangeJob& job) const {
  Phases phases;
  phases.any = cache_.view().resident() &&
               job.size >= (options_.order_from != 0 ? options_.order_from : kSmallSearch) &&
               index::slot_numbers(layout_) < kNoSlot - index::kLineSlots && !is_wide(layout_.cells);
  if (!phases.any) return phases;
  const index::Rows& rows = job.rows;
  const auto some = [&](bool (*may)(Op)) { return rows.ops != nullptr || may(rows.op); };
  const bool in_slot = layout_.in_slot();
  phases.values = some(index::may_place) && layout_.value_bytes != 0;
  phases.keys = some(index::may_change_key);
  phases.frees = some(index::may_retire) && !in_slot;
  phases.sums = some(index::may_sum);
  phases.reads = some(reads_value) && rows.out != nullptr && layout_.value_bytes != 0;
  phases.gathers = phases.reads && !in_slot;
  return phases;
}

/// Where the phases of a batch work.
ChangeRoom CudaMachine::change_room(const Phases& phases) {
  const std::size_t n = planned_.size();
  std::uint32_t* at = change_order_.data();
  const auto take = [&](std::uint32_t*& array) { array = std::exchange(at, at + n); };
  ChangeRoom room;
  room.planned = planned_.data();
  room.effects = effects_.data();
  for (auto& array : {&room.slots, &room.order, &room.freed}) {
    take((*array)[0]);
    take((*array)[1]);
  }
  if (phases.reads) take(room.copies);
  if (phases.sums) {
    room.sums[0] = sums_.data();
    room.sums[1] = sums_.data() + n;
    room.sum_cells[0] = sum_cells_.data();
    room.sum_cells[1] = sum_cells_.data() + n;
  }
  room.scratch = scratch_.data();
  room.scratch_bytes = scratch_.size();
  return room;
}

void CudaMachine::change_in_phases(ChangeJob& job, const Phases& phases, cudaStream_t stream) {
  ChangeRoom room = change_room(phases);
  SearchRoom reading;
  const auto fill = [&](void* array, int byte, std::size_t each) {
    cuda::check(cudaMemsetAsync(array, byte, each * job.size, stream), "starting a change");
  };
  cuda::check(cudaMemsetAsync(job.report, 0, sizeof(ChangeReport), stream), "starting a change");
  fill(room.slots[0], 0xff, 4);  // kNoSlot
  fill(room.order[0], 0, 4);  // nobody uses what stands beside those, but the sort moves it, and initcheck cannot tell
  if (phases.frees) fill(room.freed[0], 0xff, 4);
  if (phases.sums) {
    fill(room.sum_cells[0], 0xff, 4);  // after all others
    fill(room.sums[0], 0, sizeof(Sum));
  }
  if (phases.reads) fill(room.copies, 0xff, 4);  // kNoCopy
  if (phases.gathers) {
    reading = read_room_->room();
    divide_heap(reading, layout_.cells, layout_.cell_bytes);
    enter_search(job.state, reading, stream);
    fill(reading.cells, 0xff, 4);  // no place
  }
  fold_effects(job, room, stream);
  kernels_->plan(job, room, reading, stream);
  times_.end("plan", stream);
  order_changes(room, job.size, index::slot_numbers(layout_), stream);
  times_.end("order changes", stream);
  if (phases.sums) {
    if (!layout_.in_slot()) order_sums(job, room, stream);
    kernels_->sum(job, room, stream);
    times_.end("sum", stream);
  }
  commit_in_phases(job, room, phases, stream);
  kernels_->publish(job, room, stream);
  times_.end("publish", stream);
  if (phases.gathers) gather_in_phases(job, reading, stream);
  if (phases.reads) {
    kernels_->copy_values(job, room, stream);
    times_.end("read", stream);
  }
  if (!phases.frees) return;
  if (values_.view().map != nullptr) forget_copies(values_.view(), room.freed[0], &job.report->freed, job.size, stream);
  retire_cells(job, room, stream);
  times_.end("retire", stream);
}

/// The durable phases.
void CudaMachine::commit_in_phases(const ChangeJob& job, const ChangeRoom& room, const Phases& phases,
                                   cudaStream_t stream) {
  if (!layout_.in_slot()) {
    if (phases.values) kernels_->place(job, room, stream);
    if (phases.values) times_.end("place", stream);
    kernels_->commit(job, room, index::Pass::whole, stream);
  } else {
    if (phases.values) kernels_->commit(job, room, index::Pass::values, stream);
    if (phases.keys) kernels_->commit(job, room, index::Pass::keys, stream);
  }
  times_.end("commit", stream);
}

/// Before the cells that the batch took out of their slots come free.
void CudaMachine::gather_in_phases(const ChangeJob& job, const SearchRoom& reading, cudaStream_t stream) {
  FindJob find;
  find.rows = job.rows;
  find.keys = job.keys;
  find.size = job.size;
  find.state = job.state;
  order_search(reading, job.size, layout_.cells, stream);
  kernels_->gather(find, reading, stream);
}

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

/// Room for the order and the leftovers of `rows` rows, and for their phases.
void CudaMachine::prepare_room(std::uint64_t rows, bool ordered, const Phases& phases) {
  std::size_t scratch = ordered ? order_scratch_bytes(rows) : 0;
  if (phases.any) scratch = std::max(scratch, change_scratch_bytes(rows));
  if (leftovers_.size() >= 2 * rows && scratch_.size() >= scratch && (!ordered || hashes_.size() >= 2 * rows) &&
      (!phases.any || planned_.size() >= rows) && (!phases.sums || sums_.size() >= 2 * planned_.size()) &&
      (!phases.gathers || (read_room_ != nullptr && read_room_->rows() >= rows)))
    return;
  last_change_.wait("waiting for the batch before");
  leftovers_.at_least(2 * rows);
  scratch_.at_least(scratch);
  if (phases.any) {
    planned_.at_least(rows);
    effects_.at_least(planned_.size());
    change_order_.at_least(7 * planned_.size());
  }
  if (phases.sums) {
    sums_.at_least(2 * planned_.size());
    sum_cells_.at_least(2 * planned_.size());
  }
  if (phases.gathers && (read_room_ == nullptr || read_room_->rows() < rows)) {
    read_room_.reset();
    read_room_ = std::make_unique<SearchRooms::Room>(rows, false);
  }
  if (!ordered) return;
  hashes_.at_least(2 * rows);
  rows_.at_least(hashes_.size());
  ordered_.at_least(1);
}

}  // namespace holdfast::machine::cuda

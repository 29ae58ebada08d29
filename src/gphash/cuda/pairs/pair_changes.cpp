// pair_changes.cpp: the schedule of a changing batch of variable-length pairs: its cells are counted, reserved and given out on
// the GPU; the host learns how many slabs are missing, and grows the heap before anything is changed for want of them.
#include <algorithm>
#include <limits>

#include "gphash/cuda/kit.hpp"
#include "gphash/cuda/pairs/pair_batches.hpp"
#include "gphash/protocol/phases.hpp"

namespace holdfast::machine::cuda {

namespace {

ChangeRoom change_room_of(const PairRoom& room, void* scratch, std::size_t bytes) {
  ChangeRoom of;
  for (unsigned i = 0; i < 2; ++i) {
    of.slots[i] = room.slots[i];
    of.order[i] = room.order[i];
  }
  of.effects = room.effects;
  of.scratch = scratch;
  of.scratch_bytes = bytes;
  return of;
}

}  // namespace

/// Room for the order, the phases, the cells and the rest of `rows` rows.
PairRoom PairBatches::prepare_room(std::uint64_t rows) {
  const std::size_t scratch = change_scratch_bytes(rows);
  if (leftovers_.size() < 2 * rows || scratch_.size() < scratch || plans_.size() < rows ||
      table_.pairs->list_needs(2 * rows)) {
    table_.last_change.wait("waiting for the batch before");
    leftovers_.at_least(2 * rows);
    scratch_.at_least(scratch);
    plans_.at_least(rows);
    change_order_.at_least(4 * plans_.size());
    table_.pairs->list_at_least(2 * rows);
    table_.pair_kernels->set_slabs(table_.pairs->view());
  }
  require_rest(rows);
  PairRoom room;
  room.planned = plans_.data();
  const std::size_t n = plans_.size();
  std::uint32_t* const order = change_order_.data();
  room.slots[0] = order;
  room.slots[1] = order + n;
  room.order[0] = order + 2 * n;
  room.order[1] = order + 3 * n;
  return room;
}

/// Room in the ring for the cells that `rows` rows may put to rest. What rests there already is counted only when that might be too
/// much; where it is, all searches end, and nothing rests. The caller holds `table_.changing`, and is in no epoch.
void PairBatches::require_rest(std::uint64_t rows) {
  if (table_.resting + rows <= table_.ring.capacity) {
    table_.resting += rows;
    return;
  }
  table_.last_change.wait("waiting for the batch before");
  const DeviceState state = table_.read_state();
  table_.resting = state.limbo_end - std::min(state.head, state.tail);
  if (table_.resting + rows > table_.ring.capacity) {
    end_rest();
    free_rested(table_.pairs->view(), table_.ring, table_.state.data(), table_.stream);
    table_.stream.wait("freeing cells");
    upkeep_.begin_rest(std::max(4 * rows, std::uint64_t{1} << 20));
  }
  table_.resting += rows;
}

/// Waits until nobody reads a cell that has come out of its slot. False: none rests, and none has settled that the next reservation
/// would find free. The caller holds `table_.changing`, is in no epoch, and has nothing running that changes the table.
bool PairBatches::end_rest() {
  const std::unique_lock finding(finding_);
  DeviceState now = table_.read_state();
  if (now.limbo_end == now.head) return false;
  for (; now.limbo_end != now.tail; now = table_.read_state()) table_.settle();  // as the last readers leave
  return true;
}

/// The caller holds `table_.changing`. Returns when all is done, having grown the table as far as it took. `reads`: what the rows read,
/// within an epoch of the batch's own; or null.
void PairBatches::change_pairs(ChangeJob& job, PairRoom room, ReadsOfChange* reads, cudaStream_t stream) {
  if (may_run(job.rows).adds_keys() &&
      table_.exports.want_moves()) {  // inserts move items, and kernels do not say which
    table_.last_change.wait("waiting for the batch before");
    table_.exports.list_rest(table_.layout);
  }
  const bool phased = table_.cache.view().resident() && job.size >= table_.rows_from_phases() &&
                      job.rows.blobs == nullptr && index::slot_numbers(table_.layout) < kNoSlot - index::kLineSlots;
  Ordering& ordering = orderings_.next(job.size);
  table_.times.begin(stream);
  if (job.mask) skip_masked(job.rows, job.mask, job.size, stream);
  orderings_.order(job, ordering, true, false, stream);
  room.effects = ordering.effects.data();
  table_.last_change.hold(stream);
  table_.times.end("wait for the batch before", stream);
  settle_cells(table_.state.data(), stream);
  job.leftovers = leftovers_.data();
  job.report = report_.data();
  job.state = table_.state.data();
  job.ring = table_.ring;
  cuda::check(cudaMemsetAsync(job.report, 0, sizeof(ChangeReport), stream), "starting a change");
  Full full;
  if (phased) {
    ++phased_batches_;
    change_in_phases(job, room, full, stream);
    const ChangeReport report = read_change_report(stream);
    if (report.leftovers != 0) {
      take_leftovers(job, report);
      change_one_by_one(job, room, full, reads, stream);
    }
  } else {
    change_one_by_one(job, room, full, reads, stream);
  }
  table_.last_change.record(stream);
  ordering.ended.record(stream);
}

ChangeReport PairBatches::read_change_report(cudaStream_t stream) const {
  ChangeReport report{};
  cuda::check(cudaMemcpyAsync(&report, report_.data(), sizeof report, cudaMemcpyDeviceToHost, stream),
              "running a change");
  cuda::check(cudaStreamSynchronize(stream), "running a change");
  return report;
}

/// The runs that were left over are what the job is about from now on.
void PairBatches::take_leftovers(ChangeJob& job, const ChangeReport& report) {
  job.again = job.leftovers;
  job.again_size = report.leftovers;
  const std::size_t n = leftovers_.size() / 2;
  job.leftovers = job.again == leftovers_.data() ? leftovers_.data() + n : leftovers_.data();
}

/// Lists cells for what has been counted, growing the heap if it must and can. `demand` is what counts.
void PairBatches::reserve_pairs(const ChangeJob& job, Full& full, cudaStream_t stream) {
  const bool updates = may_run(job.rows).replaces_values();
  for (;;) {
    free_rested(table_.pairs->view(), table_.ring, table_.state.data(), stream);
    count_slabs(table_.pairs->view(), stream);
    reserve_cells(table_.pairs->view(), table_.layout, updates, stream);
    if (full.heap) return;
    const SlabState state = table_.pairs->state(stream);
    std::uint64_t missing = 0;
    for (const ClassCells& of : state.of) missing += of.missing;
    if (missing == 0) return;
    release_cells(table_.pairs->view(), state.listed, stream);
    cuda::check(cudaStreamSynchronize(stream), "planning a change");
    full.heap = !upkeep_.grow_heap(missing + missing / 32 + 2);
  }
}

/// Again and again, with more room or fewer permits, until no run is left over.
void PairBatches::change_one_by_one(ChangeJob& job, const PairRoom& room, Full& full, ReadsOfChange* reads,
                                    cudaStream_t stream) {
  std::uint32_t before = std::numeric_limits<std::uint32_t>::max();
  for (unsigned turn = 0;; ++turn) {
    cuda::check(cudaMemsetAsync(job.report, 0, sizeof(ChangeReport), stream), "starting a change");
    forget_demand(table_.pairs->view(), stream);
    table_.pair_kernels->count_demand(job, room, stream);
    // A first turn makes do with the cells that there are: what is counted is the most that it may need.
    Full asked{full.index, full.heap || turn == 0};
    reserve_pairs(job, asked, stream);
    if (turn != 0) full.heap = asked.heap;
    table_.pair_kernels->change(job, stream);
    release_cells(table_.pairs->view(), 2 * job.size, stream);
    table_.times.end("one by one", stream);
    const ChangeReport report = read_change_report(stream);
    if (report.leftovers == 0) return;
    bool grew = turn == 0 && !full.heap && report.needs_cell != 0;  // which the next turn tries
    if (report.needs_slot != 0 && !full.index) {
      const bool resized = upkeep_.grow_index();
      full.index = !resized;
      grew |= resized;
    }
    table_.settle();  // what this turn let go is free for the next, unless somebody reads it
    if (!grew && report.leftovers >= before && !free_cells_of_batch(reads, stream)) {
      // What is left finds no room, and there is no more to be had.
      (job.permits.new_key ? job.permits.new_key : job.permits.new_value) = false;
    }
    before = report.leftovers;
    take_leftovers(job, report);
  }
}

/// Makes an end of the batch so far: what it has read is gathered, and the cells that it let go are free for the rest of it (RULES.md
/// 6). False: there are none.
bool PairBatches::free_cells_of_batch(ReadsOfChange* reads, cudaStream_t stream) {
  if (reads == nullptr) return end_rest();
  gather_reads(*reads, stream);
  reads->epoch.leave();
  cuda::check(cudaStreamSynchronize(stream), "gathering results");
  const bool some = end_rest();
  reads->epoch.enter();
  return some;
}

void PairBatches::change_in_phases(const ChangeJob& job, PairRoom room, Full& full, cudaStream_t stream) {
  const auto fill = [&](void* array, int byte) {
    cuda::check(cudaMemsetAsync(array, byte, 4 * job.size, stream), "starting a change");
  };
  fill(room.slots[0], 0xff);  // kNoSlot
  fill(room.order[0], 0);     // nobody uses what stands beside those, but the sort moves it
  forget_demand(table_.pairs->view(), stream);
  table_.pair_kernels->plan(job, room, stream);
  table_.times.end("plan", stream);
  reserve_pairs(job, full, stream);
  table_.times.end("reserve", stream);
  table_.pair_kernels->assign(job, room, stream);
  ChangeRoom order = change_room_of(room, scratch_.data(), scratch_.size());
  order_changes(order, job.size, index::slot_numbers(table_.layout), stream);
  for (unsigned i = 0; i < 2; ++i) {
    room.slots[i] = order.slots[i];
    room.order[i] = order.order[i];
  }
  table_.times.end("order changes", stream);
  table_.pair_kernels->place(job, room, stream);
  table_.times.end("place", stream);
  table_.pair_kernels->commit(job, room, stream);
  table_.times.end("commit", stream);
  table_.pair_kernels->publish(job, room, stream);
  table_.times.end("publish", stream);
  release_cells(table_.pairs->view(), 2 * job.size, stream);
}

}  // namespace holdfast::machine::cuda

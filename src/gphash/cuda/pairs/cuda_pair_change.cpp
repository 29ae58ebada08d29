// cuda_pair_change.cpp: the schedule of a changing batch of variable-length pairs: its cells are counted, reserved and given out on
// the GPU; the host learns how many slabs are missing, and grows the heap before anything is changed for want of them.
#include <algorithm>
#include <limits>

#include "gphash/cuda/cuda_machine.hpp"
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
PairRoom CudaMachine::prepare_pair_room(std::uint64_t rows) {
  const std::size_t scratch = change_scratch_bytes(rows);
  if (leftovers_.size() < 2 * rows || scratch_.size() < scratch || pair_plans_.size() < rows ||
      pairs_->list_needs(2 * rows)) {
    last_change_.wait("waiting for the batch before");
    leftovers_.at_least(2 * rows);
    scratch_.at_least(scratch);
    pair_plans_.at_least(rows);
    change_order_.at_least(4 * pair_plans_.size());
    pairs_->list_at_least(2 * rows);
    pair_kernels_->set_slabs(pairs_->view());
  }
  require_rest(rows);
  PairRoom room;
  room.planned = pair_plans_.data();
  const std::size_t n = pair_plans_.size();
  std::uint32_t* const order = change_order_.data();
  room.slots[0] = order;
  room.slots[1] = order + n;
  room.order[0] = order + 2 * n;
  room.order[1] = order + 3 * n;
  return room;
}

/// Room in the ring for the cells that `rows` rows may put to rest. What rests there already is counted only when that might be too
/// much; where it is, all searches end, and nothing rests. The caller holds `changing_`, and is in no epoch.
void CudaMachine::require_rest(std::uint64_t rows) {
  if (resting_ + rows <= ring_.capacity) {
    resting_ += rows;
    return;
  }
  last_change_.wait("waiting for the batch before");
  const DeviceState state = read_state();
  resting_ = state.limbo_end - std::min(state.head, state.tail);
  if (resting_ + rows > ring_.capacity) {
    end_rest();
    free_rested(pairs_->view(), ring_, state_.data(), stream_);
    stream_.wait("freeing cells");
    begin_rest(std::max(4 * rows, std::uint64_t{1} << 20));
  }
  resting_ += rows;
}

/// Waits until nobody reads a cell that has come out of its slot. False: none rests, and none has settled that the next reservation
/// would find free. The caller holds `changing_`, is in no epoch, and has nothing running that changes the table.
bool CudaMachine::end_rest() {
  const std::unique_lock finding(finding_);
  DeviceState now = read_state();
  if (now.limbo_end == now.head) return false;
  for (; now.limbo_end != now.tail; now = read_state()) settle();  // as the last readers leave
  return true;
}

/// An empty ring of cells at rest.
void CudaMachine::begin_rest(std::uint64_t capacity) {
  if (ring_cells_.size() < capacity) ring_cells_.at_least(capacity);
  ring_ = {ring_cells_.data(), ring_cells_.size(), 0};
  resting_ = 0;
  begin_empty_ring(state_.data(), stream_);
  stream_.wait("freeing cells");
}

/// The caller holds `changing_`. Returns when all is done, having grown the table as far as it took. `reads`: what the rows read,
/// within an epoch of the batch's own; or null.
void CudaMachine::change_pairs(ChangeJob& job, PairRoom room, ReadsOfChange* reads, cudaStream_t stream) {
  if (may_run(job.rows).adds_keys() && exports_.want_moves()) {  // inserts move items, and kernels do not say which
    last_change_.wait("waiting for the batch before");
    exports_.list_rest(layout_);
  }
  const bool phased = cache_.view().resident() && job.size >= rows_from_phases() && job.rows.blobs == nullptr &&
                      index::slot_numbers(layout_) < kNoSlot - index::kLineSlots;
  Ordering& ordering = next_ordering(job.size);
  times_.begin(stream);
  if (job.mask) skip_masked(job.rows, job.mask, job.size, stream);
  Phases folded;
  folded.any = true;
  order(job, ordering, folded, stream);
  room.effects = ordering.effects.data();
  last_change_.hold(stream);
  times_.end("wait for the batch before", stream);
  settle_cells(state_.data(), stream);
  job.leftovers = leftovers_.data();
  job.report = change_report_.data();
  job.state = state_.data();
  job.ring = ring_;
  cuda::check(cudaMemsetAsync(job.report, 0, sizeof(ChangeReport), stream), "starting a change");
  Full full;
  if (phased) {
    ++phased_batches_;
    change_pairs_in_phases(job, room, full, stream);
    const ChangeReport report = read_change_report(stream);
    if (report.leftovers != 0) {
      take_leftovers(job, report);
      change_pairs_one_by_one(job, room, full, reads, stream);
    }
  } else {
    change_pairs_one_by_one(job, room, full, reads, stream);
  }
  last_change_.record(stream);
  ordering.ended.record(stream);
}

ChangeReport CudaMachine::read_change_report(cudaStream_t stream) const {
  ChangeReport report{};
  cuda::check(cudaMemcpyAsync(&report, change_report_.data(), sizeof report, cudaMemcpyDeviceToHost, stream),
              "running a change");
  cuda::check(cudaStreamSynchronize(stream), "running a change");
  return report;
}

/// The runs that were left over are what the job is about from now on.
void CudaMachine::take_leftovers(ChangeJob& job, const ChangeReport& report) {
  job.again = job.leftovers;
  job.again_size = report.leftovers;
  const std::size_t n = leftovers_.size() / 2;
  job.leftovers = job.again == leftovers_.data() ? leftovers_.data() + n : leftovers_.data();
}

/// Lists cells for what has been counted, growing the heap if it must and can. `demand` is what counts.
void CudaMachine::reserve_pairs(const ChangeJob& job, Full& full, cudaStream_t stream) {
  const bool updates = may_run(job.rows).replaces_values();
  for (;;) {
    free_rested(pairs_->view(), ring_, state_.data(), stream);
    count_slabs(pairs_->view(), stream);
    reserve_cells(pairs_->view(), layout_, updates, stream);
    if (full.heap) return;
    const SlabState state = pairs_->state(stream);
    std::uint64_t missing = 0;
    for (const ClassCells& of : state.of) missing += of.missing;
    if (missing == 0) return;
    release_cells(pairs_->view(), state.listed, stream);
    cuda::check(cudaStreamSynchronize(stream), "planning a change");
    full.heap = !grow_heap(missing + missing / 32 + 2);
  }
}

/// Again and again, with more room or fewer permits, until no run is left over.
void CudaMachine::change_pairs_one_by_one(ChangeJob& job, const PairRoom& room, Full& full, ReadsOfChange* reads,
                                          cudaStream_t stream) {
  std::uint32_t before = std::numeric_limits<std::uint32_t>::max();
  for (unsigned turn = 0;; ++turn) {
    cuda::check(cudaMemsetAsync(job.report, 0, sizeof(ChangeReport), stream), "starting a change");
    forget_demand(pairs_->view(), stream);
    pair_kernels_->count_demand(job, room, stream);
    // A first turn makes do with the cells that there are: what is counted is the most that it may need.
    Full asked{full.index, full.heap || turn == 0};
    reserve_pairs(job, asked, stream);
    if (turn != 0) full.heap = asked.heap;
    pair_kernels_->change(job, stream);
    release_cells(pairs_->view(), 2 * job.size, stream);
    times_.end("one by one", stream);
    const ChangeReport report = read_change_report(stream);
    if (report.leftovers == 0) return;
    bool grew = turn == 0 && !full.heap && report.needs_cell != 0;  // which the next turn tries
    if (report.needs_slot != 0 && !full.index) {
      const bool resized = grow_index();
      full.index = !resized;
      grew |= resized;
    }
    settle();  // what this turn let go is free for the next, unless somebody reads it
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
bool CudaMachine::free_cells_of_batch(ReadsOfChange* reads, cudaStream_t stream) {
  if (reads == nullptr) return end_rest();
  gather_reads(*reads, stream);
  reads->epoch.leave();
  cuda::check(cudaStreamSynchronize(stream), "gathering results");
  const bool some = end_rest();
  reads->epoch.enter();
  return some;
}

void CudaMachine::change_pairs_in_phases(const ChangeJob& job, PairRoom room, Full& full, cudaStream_t stream) {
  const auto fill = [&](void* array, int byte) {
    cuda::check(cudaMemsetAsync(array, byte, 4 * job.size, stream), "starting a change");
  };
  fill(room.slots[0], 0xff);  // kNoSlot
  fill(room.order[0], 0);     // nobody uses what stands beside those, but the sort moves it
  forget_demand(pairs_->view(), stream);
  pair_kernels_->plan(job, room, stream);
  times_.end("plan", stream);
  reserve_pairs(job, full, stream);
  times_.end("reserve", stream);
  pair_kernels_->assign(job, room, stream);
  ChangeRoom order = change_room_of(room, scratch_.data(), scratch_.size());
  order_changes(order, job.size, index::slot_numbers(layout_), stream);
  for (unsigned i = 0; i < 2; ++i) {
    room.slots[i] = order.slots[i];
    room.order[i] = order.order[i];
  }
  times_.end("order changes", stream);
  pair_kernels_->place(job, room, stream);
  times_.end("place", stream);
  pair_kernels_->commit(job, room, stream);
  times_.end("commit", stream);
  pair_kernels_->publish(job, room, stream);
  times_.end("publish", stream);
  release_cells(pairs_->view(), 2 * job.size, stream);
}

}  // namespace holdfast::machine::cuda

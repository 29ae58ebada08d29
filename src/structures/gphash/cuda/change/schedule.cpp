// schedule.cpp: the schedule of changing batches (schedule.hpp).
#include "structures/gphash/cuda/change/schedule.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/both.hpp"
#include "structures/gphash/cuda/cells/cells.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/protocol/phases.hpp"

namespace holdfast::gphash::cuda {

namespace {

constexpr std::uint64_t kMostTwice = 1 << 24;  // rows of batches that have space in both orderings

void forget_report(const ChangeJob& job, cudaStream_t stream) {
  cuda::check(cudaMemsetAsync(job.report, 0, sizeof(ChangeReport), stream), "starting a change");
}

}  // namespace

void fill_words(void* array, int byte, std::uint64_t rows, cudaStream_t stream) {
  if (array != nullptr) cuda::check(cudaMemsetAsync(array, byte, 4 * rows, stream), "starting a change");
}

void ChangeSchedule::prepare(std::uint64_t rows, bool phases) {
  enlarge(leftovers_, 2 * rows);
  if (!phases) return;
  enlarge(lists_, list_count_ * rows);
  enlarge(scratch_, change_scratch_bytes(rows));
}

Ordering& ChangeSchedule::begin(ChangeJob& job, const OrderAsked& asked, cudaStream_t stream) {
  if (job.ops.adds_keys()) table_.begin_moves();
  Ordering& ordering = orderings_[job.size <= kMostTwice ? batches_++ % std::size(orderings_) : 0];
  table_.times.begin(stream);
  if (job.mask) skip_masked(job.rows, job.mask, job.size, stream);
  if (asked.rows) order(job, ordering, asked, stream);
  table_.order.follow(stream);
  table_.times.end("wait for the batch before", stream);
  settle_cells(table_.state.words(), stream);
  job.leftovers = leftovers_.data();
  job.report = report_.data();
  job.state = table_.state.words();
  job.ring = table_.state.ring();
  return ordering;
}

void ChangeSchedule::order(ChangeJob& job, Ordering& ordering, const OrderAsked& asked, cudaStream_t stream) const {
  const std::uint64_t rows = job.size;
  const auto enlarge = [&](auto& array, std::size_t size) {
    if (array.size() >= size) return;
    ordering.ended.wait("waiting for the batch before");
    array.at_least(size);
  };
  enlarge(ordering.prefixes, 2 * rows);
  enlarge(ordering.rows, 2 * rows);
  enlarge(ordering.scratch, std::max(key_order_scratch_bytes(rows), asked.folds ? fold_scratch_bytes(rows) : 0));
  if (asked.folds) enlarge(ordering.effects, rows);
  if (asked.counts) enlarge(ordering.writes, rows);
  ordering.ended.hold(stream);
  OrderWorkspace workspace;
  for (unsigned i = 0; i < 2; ++i) {
    workspace.prefixes[i] = ordering.prefixes.data() + i * (ordering.prefixes.size() / 2);
    workspace.rows[i] = ordering.rows.data() + i * (ordering.rows.size() / 2);
  }
  workspace.ordered = ordering.ordered.data();
  workspace.effects = ordering.effects.data();
  if (asked.counts) workspace.writes = ordering.writes.data();
  workspace.scratch = ordering.scratch.data();
  workspace.scratch_bytes = ordering.scratch.size();
  // In the order of their hashes, the buckets that keys hash to come in address order.
  const BatchKeys keys{job.keys, table_.layout().key_words(), job.key_offsets};
  const KeyOrder ordered = order_keys(keys, rows, job.mask, table_.layout().seed, workspace, stream);
  job.order = ordered.rows;
  job.begins = ordered.begins;
  job.ordered = ordered.ordered;
  if (asked.folds) fold_effects(job, workspace, stream);
  table_.times.end("order", stream);
}

void ChangeSchedule::end(Ordering& ordering, cudaStream_t stream) {
  table_.order.note(stream);
  ordering.ended.record(stream);
}

bool ChangeSchedule::phases_pay(const ChangeJob& job) const {
  return job.size >= table_.rows_from_phases() && gphash::slot_numbers(table_.layout()) < kNoSlot - gphash::kLineSlots;
}

void ChangeSchedule::begin_phases(PhaseWorkspace& workspace, const ChangeJob& job, const Ordering& ordering,
                                  cudaStream_t stream) const {
  for (unsigned i = 0; i < 2; ++i) {
    workspace.slots[i] = list(i);
    workspace.order[i] = list(2 + i);
  }
  workspace.effects = ordering.effects.data();
  workspace.scratch = scratch_.data();
  workspace.scratch_bytes = scratch_.size();
  forget_report(job, stream);
  fill_words(workspace.slots[0], 0xff, job.size, stream);  // kNoSlot
  fill_words(workspace.order[0], 0, job.size, stream);     // no kernel uses what is beside those, but the sort moves it
}

ChangeReport ChangeSchedule::read_report(cudaStream_t stream) const {
  ChangeReport report{};
  cuda::check(cudaMemcpyAsync(&report, report_.data(), sizeof report, cudaMemcpyDeviceToHost, stream),
              "running a change");
  cuda::check(cudaStreamSynchronize(stream), "running a change");
  return report;
}

void ChangeSchedule::take_leftovers(ChangeJob& job, std::uint64_t size) const {
  HOLDFAST_ASSERT(size != 0 && size <= leftovers_.size() / 2);
  job.again = job.leftovers;
  job.again_size = size;
  const std::size_t half = leftovers_.size() / 2;
  job.leftovers = job.again == leftovers_.data() ? leftovers_.data() + half : leftovers_.data();
}

void ChangeSchedule::repeat(ChangeJob& job, CellSource& cells, cudaStream_t stream) {
  bool index_is_full = false, was_stuck = false;
  std::uint32_t before = std::numeric_limits<std::uint32_t>::max();
  // ends: a round leaves fewer rows than the one before, or the table grows, cells come free, or less is permitted
  for (;;) {
    forget_report(job, stream);
    cells.reserve(job);
    table_.table_kernels.change(job, stream);
    cells.release(job);
    table_.times.end("one by one", stream);
    const ChangeReport report = read_report(stream);
    if (report.leftovers == 0) return;
    bool grew = cells.make_space(report);
    if (report.needs_slot != 0 && !index_is_full) {
      index_is_full = !maintenance_.grow_index();
      grew |= !index_is_full;
    }
    const bool stuck = !grew && report.leftovers >= before;
    if (stuck && !cells.came_free(report, was_stuck)) {
      // What is left finds no space, and there is no more to be had.
      (job.permits.new_key ? job.permits.new_key : job.permits.new_value) = false;
    }
    was_stuck = stuck;
    before = report.leftovers;
    job.ring = table_.state.ring();  // of a heap that has grown another
    take_leftovers(job, report.leftovers);
  }
}

bool ChangeSchedule::repeat_leftovers(ChangeJob& job, CellSource& cells, cudaStream_t stream) {
  const ChangeReport report = read_report(stream);
  if (report.leftovers == 0) return false;
  take_leftovers(job, report.leftovers);
  repeat(job, cells, stream);
  return true;
}

}  // namespace holdfast::gphash::cuda

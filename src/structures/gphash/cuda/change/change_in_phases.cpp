// change_in_phases.cpp: the schedule of a changing batch that goes in phases (structures/gphash/protocol/phases.hpp, phases.cuh).
//
// Rows that read cells are answered beside the durable phases, on a separate stream: the link has a direction for each. They
// begin when all is ordered, since sorting stands still next to a full link.
#include "structures/gphash/cuda/change/changes.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/protocol/phases.hpp"

namespace holdfast::gphash::cuda {

/// Whether gphash/protocol/phases.hpp can do it, and it is worth it; and which phases it takes.
Changes::Phases Changes::phases_of(const ChangeJob& job) const {
  Phases phases;
  phases.any = table_.memory.cache().view().any() && schedule_.phases_pay(job) && !is_wide(table_.layout().cells);
  if (!phases.any) return phases;
  const gphash::Rows& rows = job.rows;
  const bool in_slot = table_.layout().in_slot();
  phases.values = job.ops.any(gphash::may_place) && (table_.layout().value_bytes != 0 || table_.layout().scored());
  phases.keys = job.ops.any(gphash::may_change_key);
  phases.frees = job.ops.any(gphash::may_retire) && !in_slot;
  phases.sums = job.ops.any(gphash::may_sum) || (rows.partial && phases.values);
  phases.reads = job.ops.reads_values() && rows.out != nullptr && table_.layout().value_bytes != 0;
  phases.gathers = phases.reads && !in_slot;
  phases.counts = phases.values && table_.layout().score == Score::frequency;
  return phases;
}

/// Where the phases of a batch work.
ChangeWorkspace Changes::change_workspace(const Phases& phases) const {
  const std::size_t n = planned_.size();
  ChangeWorkspace workspace;
  workspace.planned = planned_.data();
  for (unsigned i = 0; i < 2; ++i) {
    if (phases.frees) workspace.freed[i] = schedule_.list(4 + i);
    if (phases.sums) workspace.sum_cells[i] = sum_order_.data() + i * n;
    if (phases.sums) workspace.sum_order[i] = sum_order_.data() + (2 + i) * n;
    if (phases.counts) workspace.score_cells[i] = score_order_.data() + i * n;
    if (phases.counts) workspace.score_order[i] = score_order_.data() + (2 + i) * n;
  }
  if (phases.reads) workspace.copies = schedule_.list(6);
  if (phases.sums) workspace.sums = sums_.data();
  if (phases.counts) workspace.scores = scores_.data();
  return workspace;
}

/// What a batch finds in its workspace.
void Changes::clear_workspace(const ChangeJob& job, const ChangeWorkspace& workspace, const SearchWorkspace& reading,
                              cudaStream_t stream) {
  const auto fill = [&](void* array, int byte) { fill_words(array, byte, job.size, stream); };
  fill(workspace.freed[0], 0xff);
  fill(workspace.sum_cells[0], 0xff);  // after all others
  fill(workspace.sum_order[0], 0);
  fill(workspace.score_cells[0], 0xff);  // kNoScoreCell
  fill(workspace.score_order[0], 0);
  fill(workspace.copies, 0xff);  // kNoCopy
  fill(reading.cells, 0xff);     // no place
}

void Changes::change_in_phases(const ChangeJob& job, const Phases& phases, const Ordering& ordering,
                               cudaStream_t stream) {
  ChangeWorkspace workspace = change_workspace(phases);
  schedule_.begin_phases(workspace, job, ordering, stream);
  if (phases.counts) workspace.writes = ordering.writes.data();
  workspace.claims = table_.memory.cache().view().partial();
  SearchWorkspace reading;
  if (phases.gathers) {
    reading = read_workspace_->workspace();
    divide(reading, table_.layout().cells, table_.layout().cell_bytes);
    enter_search(job.state, reading, stream);
  }
  clear_workspace(job, workspace, reading, stream);
  // The changes are put in order while the values go to their cells, unless other work runs beside.
  const bool places = phases.values && !table_.layout().in_slot(),
             beside = places && !phases.sums && !phases.gathers && !phases.counts;
  const bool ahead = beside && plan_ahead_.pays(job);
  PlanRange left{nullptr, &job.report->changes};
  if (ahead) {
    left = plan_ahead_.plan(job, workspace, reading, stream);
  } else {
    table_.kernels->plan(job, workspace, reading, {0, job.size}, stream);
  }
  table_.times.end("plan", stream);
  if (beside) {
    all_planned_.record(stream);
    all_planned_.hold(beside_);
    order_changes(workspace, job.size, gphash::slot_numbers(table_.layout()), beside_);
    all_ordered_.record(beside_);
  } else {
    order_changes(workspace, job.size, gphash::slot_numbers(table_.layout()), stream);
    table_.times.end("order changes", stream);
  }
  if (phases.counts) {
    add_old_scores(table_.layout(), job, workspace, stream);
    table_.times.end("count", stream);
  }
  if (phases.sums && !table_.layout().in_slot()) {
    order_sums(job, workspace, table_.layout().cells, stream);
    table_.times.end("order sums", stream);
  }
  if (phases.gathers) {
    all_planned_.record(stream);
    all_planned_.hold(beside_);
    read_values(job, workspace, reading, phases, beside_);
    all_read_.record(beside_);
  }
  if (phases.sums) {
    table_.kernels->sum(job, workspace, stream);
    table_.times.end("sum", stream);
  }
  if (places) {
    if (ahead) plan_ahead_.wait(stream);
    table_.kernels->place(job, workspace, left, beside, stream);
    if (table_.memory.values().view().any()) table_.kernels->keep_values(job, workspace, stream);
    if (beside) all_ordered_.hold(stream);
    table_.times.end("place", stream);
  }
  commit_in_phases(job, workspace, phases, stream);
  table_.kernels->publish(job, workspace, stream);
  if (workspace.claims) table_.kernels->release(job, workspace, stream);
  table_.times.end("publish", stream);
  // Before the cells that the batch took out of their slots come free.
  if (phases.gathers) all_read_.hold(stream);
  if (phases.reads && !phases.gathers) read_values(job, workspace, reading, phases, stream);
  if (phases.reads) table_.times.end("read", stream);
  if (!phases.frees) return;
  if (table_.memory.values().view().map != nullptr)
    forget_copies(table_.memory.values().view(), workspace.freed[0], &job.report->freed, job.size, stream);
  retire_cells(job, workspace, stream);
  table_.times.end("retire", stream);
}

/// The slots, durably.
void Changes::commit_in_phases(const ChangeJob& job, const ChangeWorkspace& workspace, const Phases& phases,
                               cudaStream_t stream) {
  using gphash::Pass;
  const bool once =
      !table_.layout().in_slot() || table_.layout().wide();  // as far as the passes go: wide slots have separate steps
  if (once) table_.kernels->commit(job, workspace, Pass::whole, stream);
  if (!once && phases.values) table_.kernels->commit(job, workspace, Pass::values, stream);
  if (!once && phases.keys) table_.kernels->commit(job, workspace, Pass::keys, stream);
  table_.times.end("commit", stream);
}

/// Answers the rows that read.
void Changes::read_values(const ChangeJob& job, const ChangeWorkspace& workspace, const SearchWorkspace& reading,
                          const Phases& phases, cudaStream_t stream) {
  if (phases.gathers) {
    FindJob find;
    find.rows = job.rows;
    find.keys = job.keys;
    find.size = job.size;
    find.state = job.state;
    order_search(reading, job.size, table_.layout().cells, stream);
    table_.kernels->gather(find, reading, true, stream);
  }
  table_.kernels->copy_values(job, workspace, stream);
}

}  // namespace holdfast::gphash::cuda

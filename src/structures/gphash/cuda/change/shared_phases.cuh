// shared_phases.cuh: what is the same in the phases of all batches, whatever their keys and values: rows are answered and planned, slots
// are written by whole lines in the order of their addresses, and then shown. What has planned a change also says what its key is
// (`candidates_of`), whether it may change nothing (`found_no_cell`), and where a cell goes that came out of its slot (`note_freed`).
#pragma once

#include "core/failpoint.hpp"
#include "gpu/launch.cuh"
#include "structures/gphash/cuda/change/batch.cuh"
#include "structures/gphash/cuda/kernels/change_workspace.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/memory.cuh"
#include "structures/gphash/cuda/thread_tile.cuh"
#include "structures/gphash/protocol/phases.hpp"

namespace holdfast::gphash::cuda {

struct PlannedRow {
  gphash::Held held = gphash::kNothing;  ///< whose value the row reads, if it reads
  bool leads = false;                    ///< it is the first of a run that is not left over; only then:
  gphash::Effect whole;                  ///< what the run does
  gphash::Plan plan;                     ///< and what that changes
};

/// Answers a row, by one thread, by what its run does up to it; plans the run if the row is its first. `old`: the item of its key.
template <class Shape>
__device__ PlannedRow plan_of_row(const PhaseMemory& memory, const View<Shape>& view, const ChangeJob& job,
                                  const PhaseWorkspace& workspace, std::uint64_t ordered, std::uint64_t at,
                                  const Candidates<Shape>& candidates, const Item& old) {
  PlannedRow planned;
  const bool leads = job.begins[at] == at;
  const gphash::Effect before = leads ? gphash::Effect{} : workspace.effects[at - 1];
  planned.held = gphash::answer_row(job.rows, job.order[at], before, static_cast<bool>(old));
  if (!leads) return planned;
  planned.whole = workspace.effects[at + run_length(job.begins, at, ordered) - 1];
  planned.leads = gphash::plan_run(ThreadTile{}, memory, view, planned.whole, candidates, old, planned.plan) ==
                  gphash::Outcome::done;
  if (!planned.leads) leave_over(job, at, gphash::Outcome::needs_slot);
  return planned;
}

/// What gphash/protocol/phases.hpp asks about the changes that are planned in a workspace. `after(planned)` is what the slot of one holds then.
template <class Workspace, class After>
struct OrderedChanges {
  const Workspace& workspace;
  std::uint64_t count;
  const After& holds_after;

  __device__ std::uint64_t size() const { return count; }
  __device__ std::uint64_t number(std::uint64_t at) const { return workspace.slots[0][at]; }
  __device__ gphash::Change change(std::uint64_t at) const {
    return static_cast<gphash::Change>(workspace.planned[workspace.order[0][at]].change);
  }
  __device__ gphash::Slot after(std::uint64_t at) const {
    return holds_after(workspace.planned[workspace.order[0][at]]);
  }
};

/// Neighbouring lanes, as many as a line has slots, write it together, so that it travels as one request. All threads call.
template <class Shape, class Workspace, class After>
__device__ void commit_lines(const PhaseMemory& memory, const View<Shape>& view, const Workspace& workspace,
                             std::uint64_t count, gphash::Pass pass, const After& after_change) {
  static_assert(kWarp % gphash::kLineSlots == 0);
  const OrderedChanges<Workspace, After> changes{workspace, count, after_change};
  const std::uint64_t lanes_in_all = changes.size() * gphash::kLineSlots;
  const std::uint64_t whole_warps = (lanes_in_all + kWarp - 1) / kWarp * kWarp;
  for (std::uint64_t i = first_of_thread(); i < whole_warps; i += all_threads()) {
    const std::uint64_t at = i / gphash::kLineSlots;
    gphash::Slot* slot = nullptr;
    gphash::Slot after{};
    if (at < changes.size() && gphash::leads_line(changes, at) && gphash::changes_line(changes, at, pass)) {
      const std::uint64_t line = gphash::line_of(changes.number(at));
      const std::uint64_t number = line * gphash::kLineSlots + i % gphash::kLineSlots;
      slot = gphash::slot_at(view, number);
      if (slot != nullptr) after = gphash::after_pass(memory, slot, number, changes, at);
    }
    __syncwarp();
    if (slot != nullptr) gphash::commit_slot(memory, slot, after);
  }
  memory.fence();
}

template <class Planned>
__device__ gphash::Plan plan_of(const Planned& planned) {
  gphash::Plan plan;
  plan.change = static_cast<gphash::Change>(planned.change);
  plan.lane = static_cast<std::uint8_t>(planned.lane);
  plan.old_word = planned.old_word;
  return plan;
}

template <class Shape, class Workspace>
__global__ void __launch_bounds__(kThreads)
    commit_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                  const __grid_constant__ ChangeJob job, const __grid_constant__ Workspace workspace,
                  gphash::Pass pass) {
  const PhaseMemory memory(job.state, &cache);
  if (pass == gphash::Pass::whole) HOLDFAST_FAILPOINT(phase_placed);
  if (pass == gphash::Pass::keys) HOLDFAST_FAILPOINT(phase_half_done);
  if (workspace.claims) memory.fence();  // who sees what is written sees the claims
  commit_lines(memory, view, workspace, job.report->changes, pass, [&](const auto& planned) {
    const Candidates<Shape> candidates = candidates_of(view, job, planned);
    if (found_no_cell(planned)) {
      const Slot* const slot = candidates.slot(view, planned.lane);
      return gphash::Slot{memory.load(&slot->key), memory.load(&slot->word)};
    }
    return gphash::slot_after(view, candidates, plan_of(planned), planned.word, pass);
  });
}

/// Shows the changes to readers, and notes the cells that came out of their slots.
template <class Shape, class Workspace, class Cells>
__global__ void __launch_bounds__(kThreads)
    publish_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                   const __grid_constant__ ChangeJob job, const __grid_constant__ Workspace workspace,
                   const __grid_constant__ Cells cells) {
  const CudaMemory memory(job.state, &cache, job.ring);
  HOLDFAST_FAILPOINT(phase_committed);
  const std::uint64_t at = first_of_thread();
  std::uint64_t old_word = 0;
  if (at < job.report->changes) {
    const auto planned = workspace.planned[workspace.order[0][at]];
    gphash::publish_plan(memory, view, candidates_of(view, job, planned), plan_of(planned), planned.word);
    if (!view.in_slot()) old_word = planned.old_word;
  }
  note_freed(cells, job, workspace, old_word);
}

}  // namespace holdfast::gphash::cuda

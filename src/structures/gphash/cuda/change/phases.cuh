// phases.cuh: a batch of changes, phase by phase (structures/gphash/protocol/phases.hpp), on a table whose buckets have copies, all of them or some.
//
//   fold      what the rows of each run do up to each of them (structures/gphash/protocol/effect.hpp), by a scan
//   plan      a thread a row: answers, slots and cells, all in GPU memory
//   count     where scores are frequencies, those that items had, and how often their runs write
//   sum       what runs accumulate or make of a column, and its place (sums.cuh)
//   place     values into consecutive cells, warp by warp
//   order     the changes by the lines that their slots lie in, beside the values where it can
//   commit    each line once, in that order: host memory takes twenty times as many as in none; and whole, since of half a line
//             the host would have to read the rest. Values in slots: twice. Of wide slots what stands behind their
//             fingerprints, and then those
//   publish   copies and tags
//   release   the claims that `plan` has made where some buckets have no copy
//   read      the values that rows read: of cells, as a search does (search.cuh), or of rows of the batch
//   retire    the cells that came free, in the order of their addresses
//
// Each thread that wrote host memory fences before its kernel ends (rule 12).
#pragma once

#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "gpu/numbered.cuh"
#include "structures/gphash/cuda/change/batch.cuh"
#include "structures/gphash/cuda/change/shared_phases.cuh"
#include "structures/gphash/cuda/gather.cuh"
#include "structures/gphash/cuda/kernels/search_workspace.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/thread_tile.cuh"
#include "structures/gphash/protocol/phases.hpp"

namespace holdfast::gphash::cuda {

/// Notes where the value of a row comes from that reads one.
template <class Shape>
__device__ void note_read(const View<Shape>& view, const ChangeJob& job, const ChangeWorkspace& workspace,
                          const SearchWorkspace& reading, std::uint64_t row, gphash::Held held, const Item& old) {
  if (held == gphash::kSum) return;
  if (held != gphash::kOld) {
    workspace.copies[row] = held == gphash::kNothing ? 0 : held + 1;
  } else if (view.in_slot()) {
    store_user(job.rows.result(row), old.word >> (8 * job.rows.column), job.rows.value_bytes);
  } else {
    HOLDFAST_ASSERT(old.word != 0 && old.word - 1 < view.cells);
    const auto cell = static_cast<std::uint32_t>(old.word - 1);
    static_cast<std::uint32_t*>(reading.cells)[row] = cell;
    reading.ranks[row] = atomicAdd(&reading.counts[cell >> reading.shift], 1u);
  }
}

/// The item of each row's key. Where that may be read in the pool, one row of a run looks in each block, for all: reads of one line of host
/// memory wait for each other. The threads of the block call together.
template <class Shape>
__device__ Item old_item(const PhaseMemory& memory, const View<Shape>& view, const ChangeJob& job,
                         const ChangeWorkspace& workspace, std::uint64_t end, std::uint64_t at) {
  __shared__ Slot* slots[kThreads];
  __shared__ std::uint64_t words[kThreads];
  __shared__ std::uint8_t in_lanes[kThreads];
  const auto look = [&] {
    const Candidates<Shape> candidates(view, key_of_row(view, job, job.order[at]));
    return gphash::find_claimed(ThreadTile{}, memory, view, candidates);
  };
  if (!workspace.claims) return at < end ? look() : Item{};
  const std::uint64_t first = at - threadIdx.x;
  const std::uint64_t begin = at < end ? max(std::uint64_t{job.begins[at]}, first) : at;
  Item item;
  if (at < end && begin == at) {
    item = look();
    slots[threadIdx.x] = item.slot;
    words[threadIdx.x] = item.word;
    in_lanes[threadIdx.x] = static_cast<std::uint8_t>(item.lane);
  }
  __syncthreads();
  if (begin != at) item = {slots[begin - first], words[begin - first], in_lanes[begin - first]};
  return item;
}

/// A row: its answer, and if it is the first of its run, what that changes, and whether it sums.
template <class Shape>
__device__ Planned plan_row(const PhaseMemory& memory, const View<Shape>& view, const ChangeJob& job,
                            const ChangeWorkspace& workspace, const SearchWorkspace& reading, std::uint64_t ordered,
                            std::uint64_t at, const Item& old, Sum& sum) {
  Planned planned{};
  const std::uint32_t row = job.order[at];
  const Candidates<Shape> candidates(view, key_of_row(view, job, row));
  const PlannedRow here = plan_of_row(memory, view, job, workspace, ordered, at, candidates, old);
  const bool reads = workspace.copies != nullptr;
  if (reads && reads_value(job.rows.op_of(row))) note_read(view, job, workspace, reading, row, here.held, old);
  if (!here.leads) return planned;
  const gphash::Plan& plan = here.plan;
  const gphash::Effect& whole = here.whole;
  planned.old_word = plan.old_word;
  planned.row = row;
  planned.held = plan.held;
  planned.change = static_cast<std::uint8_t>(plan.change);
  planned.lane = plan.lane;
  const bool places = gphash::needs_cell(plan.change);
  if (view.in_slot() && places && plan.held != gphash::kSum)
    planned.word = load_user(job.rows.value(plan.held), job.rows.value_bytes);
  if (workspace.writes != nullptr && places) {
    const gphash::Writes writes = workspace.writes[at + run_length(job.begins, at, ordered) - 1];
    const bool there = static_cast<bool>(old);
    workspace.scores[planned.score_row()] = gphash::count_of(writes, there);
    planned.counts_on = gphash::counts_on(writes, there);
  }
  const bool kept = old && plan.change == gphash::Change::none;  // all that rows read is as it was
  if (whole.sums != 0 && ((places && plan.held == gphash::kSum) || (reads && !kept))) {
    sum.old_word = old.word;
    sum.plan = places && plan.held == gphash::kSum ? 0 : kNoPlan;
    sum.at = static_cast<std::uint32_t>(at) & 0x3fff'ffff;
    sum.there = old ? 1 : 0;
    sum.erased = whole.erases;
    planned.sums = 1;
  }
  return planned;
}

template <class Shape>
__global__ void __launch_bounds__(kThreads)
    plan_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                const __grid_constant__ ChangeJob job, const __grid_constant__ ChangeWorkspace workspace,
                const __grid_constant__ SearchWorkspace reading, RowRange part) {
  const PhaseMemory memory(job.state, &cache, job.ring);
  const std::uint64_t ordered = job.ordered ? *job.ordered : job.size;
  const std::uint64_t at = part.begin + first_of_thread();
  Planned planned{};
  Sum sum{};
  const std::uint64_t end = min(part.end, ordered);
  const Item old = old_item(memory, view, job, workspace, end, at);
  if (at < end) planned = plan_row(memory, view, job, workspace, reading, ordered, at, old, sum);
  const auto change = static_cast<gphash::Change>(planned.change);
  if (!view.in_slot()) {
    const bool takes = gphash::needs_cell(change) && planned.held != gphash::kSum;
    const std::uint64_t cell_at = numbered(takes, reinterpret_cast<unsigned long long*>(&job.state->head));
    HOLDFAST_ASSERT(!takes || cell_at < job.state->tail);  // the batch surely finds space
    if (takes) planned.word = job.ring.cells[cell_at % job.ring.capacity] + 1;
  }
  const std::uint64_t place = numbered(change != gphash::Change::none, &job.report->changes);
  if (change != gphash::Change::none) {
    const Candidates<Shape> candidates(view, key_of_row(view, job, planned.row));
    if (workspace.claims) {
      gphash::claim_plan(memory, view, candidates);
      if (planned.old_word != 0 && !view.in_slot())
        forget_key(memory, cache.values.directory, cache.values.map + (planned.old_word - 1));
    }
    HOLDFAST_ASSERT(place < job.size);
    workspace.planned[place] = planned;
    workspace.slots[0][place] = static_cast<std::uint32_t>(gphash::slot_number(view, candidates, planned.lane));
    workspace.order[0][place] = static_cast<std::uint32_t>(place);
    if (workspace.writes != nullptr) {
      if (planned.counts_on != 0) workspace.score_cells[0][place] = static_cast<std::uint32_t>(planned.old_word - 1);
      workspace.score_order[0][place] = static_cast<std::uint32_t>(place);
    }
  }
  if (workspace.sums != nullptr) {
    const std::uint64_t sum_at = numbered(planned.sums != 0, &job.report->sums);
    if (planned.sums != 0) {
      if (sum.plan != kNoPlan) sum.plan = static_cast<std::uint32_t>(place);
      HOLDFAST_ASSERT(sum_at < job.size);
      workspace.sums[sum_at] = sum;
      workspace.sum_cells[0][sum_at] = view.in_slot() ? 0 : static_cast<std::uint32_t>(sum.old_word);
      workspace.sum_order[0][sum_at] = static_cast<std::uint32_t>(sum_at);
    }
  }
  const int added = __syncthreads_count(change == gphash::Change::add);
  const int removed = __syncthreads_count(change == gphash::Change::remove);
  if (threadIdx.x == 0 && added != removed) memory.add_items(added - removed);
}

template <class Shape>
__global__ void __launch_bounds__(kThreads)
    place_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ ChangeJob job,
                 const __grid_constant__ ChangeWorkspace workspace, PlanRange span) {
  const WarpTile tile;
  const CudaMemory memory(job.state, nullptr);
  const Gather<Shape> gather(tile, memory, view, job.rows);
  const std::uint64_t first = span.begin ? *span.begin : 0, end = *span.end;
  HOLDFAST_ASSERT(end <= job.size);
  for (std::uint64_t base = first + first_of_warp() * kWarp; base < end; base += all_warps() * kWarp) {
    Wanted wanted;
    if (base + tile.lane() < end) {
      const Planned& planned = workspace.planned[base + tile.lane()];
      if (planned.word != 0 && planned.held != gphash::kSum) {
        wanted.row = planned.word - 1;
        wanted.word = std::uint64_t{planned.held} + 1;
      }
    }
    if (tile.ballot(wanted.word != Wanted::kNothing) != 0) gather.to_cells(wanted, workspace.scores);
  }
  memory.fence();
}

/// All changes that are planned have their cells.
__device__ constexpr bool found_no_cell(const Planned&) { return false; }

/// What shared_phases.cuh asks.
template <class Shape>
__device__ Candidates<Shape> candidates_of(const View<Shape>& view, const ChangeJob& job, const Planned& planned) {
  return Candidates<Shape>(view, key_of_row(view, job, planned.row));
}
__device__ inline void note_freed(const JobRing&, const ChangeJob& job, const ChangeWorkspace& workspace,
                                  std::uint64_t old_word) {
  const std::uint64_t place = numbered(old_word != 0, &job.report->freed);
  HOLDFAST_ASSERT(old_word == 0 || place < job.size);
  if (old_word != 0) workspace.freed[0][place] = static_cast<std::uint32_t>(old_word - 1);
}

/// Neighbouring lanes, 2^shift of them, write one slot, a word each, so that it travels in few requests.
template <class Shape>
__global__ void __launch_bounds__(kThreads)
    commit_behind_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ ChangeJob job,
                         const __grid_constant__ ChangeWorkspace workspace, unsigned shift) {
  const PhaseMemory memory(job.state, nullptr);
  HOLDFAST_FAILPOINT(phase_placed);
  if (workspace.claims) memory.fence();
  const std::uint64_t lanes_in_all = std::uint64_t{job.report->changes} << shift;
  for (std::uint64_t i = first_of_thread(); i < lanes_in_all; i += all_threads()) {
    const auto word = static_cast<unsigned>(i & lanes(shift));
    HOLDFAST_ASSERT(workspace.order[0][i >> shift] < job.report->changes);
    const Planned& planned = workspace.planned[workspace.order[0][i >> shift]];
    if (word > view.key_words() || static_cast<gphash::Change>(planned.change) != gphash::Change::add) continue;
    Slot* const slot = gphash::slot_at(view, workspace.slots[0][i >> shift]);
    const std::byte* const key = job.keys + std::uint64_t{planned.row} * view.key_bytes();
    gphash::commit_behind(memory, slot, word, planned.word, key);
  }
  memory.fence();
}

template <class Shape>
__global__ void __launch_bounds__(kThreads)
    commit_head_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ ChangeJob job,
                       const __grid_constant__ ChangeWorkspace workspace) {
  const PhaseMemory memory(job.state, nullptr);
  HOLDFAST_FAILPOINT(phase_half_done);
  if (workspace.claims) memory.fence();
  for (std::uint64_t at = first_of_thread(); at < job.report->changes; at += all_threads()) {
    HOLDFAST_ASSERT(workspace.order[0][at] < job.report->changes);
    const Planned planned = workspace.planned[workspace.order[0][at]];
    gphash::commit_head(memory, view, candidates_of(view, job, planned), plan_of(planned), planned.word);
  }
  memory.fence();
}

template <class Shape>
__global__ void __launch_bounds__(kThreads)
    release_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ ChangeJob job,
                   const __grid_constant__ ChangeWorkspace workspace) {
  const CudaMemory memory(job.state, nullptr);
  const std::uint64_t at = first_of_thread();
  if (at >= job.report->changes) return;
  gphash::release_plan(memory, view, candidates_of(view, job, workspace.planned[at]));
}

/// Answers the rows that read a value of the batch itself, or none.
template <class Shape>
__global__ void __launch_bounds__(kThreads)
    copy_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ ChangeJob job,
                const __grid_constant__ ChangeWorkspace workspace) {
  const WarpTile tile;
  const CudaMemory memory(job.state, nullptr);
  const Gather<Shape> gather(tile, memory, view, job.rows);
  for (std::uint64_t base = first_of_warp() * kWarp; base < job.size; base += all_warps() * kWarp) {
    Wanted wanted;
    wanted.row = base + tile.lane();
    if (wanted.row < job.size && workspace.copies[wanted.row] != kNoCopy) wanted.word = workspace.copies[wanted.row];
    if (tile.ballot(wanted.word != Wanted::kNothing) != 0) gather.from_values(wanted);
  }
}

}  // namespace holdfast::gphash::cuda

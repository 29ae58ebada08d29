// pair_phases.cuh: a batch of changes of variable-length pairs, phase by phase (structures/gphash/protocol/phases.hpp, phases.cuh), on a table whose
// buckets are resident. No row reads a value.
//
//   plan      a thread a row: answers, slots, and how many cells of each class it takes
//   reserve   those cells (slabs.cu); slabs that enter the directory are durable there when the phase ends
//   assign    each pair its cell, in order; a run without one is left over, and gives its slot back
//   place     pairs into their cells, which follow each other: a warp writes 32 pairs as one range of words
//   commit    each line of slots once, and publish, as for other keys (shared_phases.cuh); cells that came out of their slots are retired at once
#pragma once

#include "core/both.hpp"
#include "gpu/numbered.cuh"
#include "gpu/order/word_range.cuh"
#include "structures/gphash/cuda/cells/pair_memory.cuh"
#include "structures/gphash/cuda/change/shared_phases.cuh"
#include "structures/gphash/cuda/kernels/pair_kernels.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/pairs/demand.cuh"
#include "structures/gphash/cuda/thread_tile.cuh"
#include "structures/gphash/protocol/phases.hpp"

namespace holdfast::gphash::cuda {

/// A change that `assign` found no cell for changes nothing.
__device__ inline bool found_no_cell(const PairPlan& planned) {
  return static_cast<gphash::Change>(planned.change) == gphash::Change::none;
}

/// What shared_phases.cuh asks. The hash of a plan's key does where no caller asks for its bytes.
template <class Shape>
__device__ Candidates<Shape> candidates_of(const View<Shape>& view, const ChangeJob&, const PairPlan& planned) {
  return Candidates<Shape>(view, gphash::Key(planned.hash, gphash::Part{}));
}
/// It is retired in the ring at once.
__device__ inline void note_freed(const SlabView& slabs, const ChangeJob& job, const PairWorkspace&,
                                  std::uint64_t old_word) {
  const std::uint64_t place = numbered(old_word != 0, reinterpret_cast<unsigned long long*>(&job.state->retired_end));
  if (old_word != 0) job.ring.cells[place % job.ring.capacity] = old_word;
  const auto gone = old_word != 0 ? static_cast<std::int32_t>(heap::CellWord{old_word}.left()) : 0;
  const std::int32_t left = __reduce_add_sync(kAllLanes, gone);
  if (threadIdx.x % kWarp == 0) add_left(slabs.state, -std::int64_t{left});
}

template <class Shape>
__global__ void __launch_bounds__(kThreads)
    plan_pairs_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                      const __grid_constant__ ChangeJob job, const __grid_constant__ PairWorkspace workspace,
                      const __grid_constant__ SlabView slabs) {
  __shared__ std::uint32_t counts[heap::kClasses];
  const ClassCounts demand(counts);
  const PhaseMemory memory(job.state, &cache, job.ring);
  const std::uint64_t ordered = job.ordered ? *job.ordered : job.size;
  const std::uint64_t at = first_of_thread();
  PairPlan planned{};
  std::uint32_t number = kNoSlot;
  if (at < ordered) {
    const Candidates<Shape> candidates(view, key_of_row(view, job, job.order[at]));
    const Item old = gphash::find_claimed(ThreadTile{}, memory, view, candidates);
    const gphash::Plan plan = plan_of_row(memory, view, job, workspace, ordered, at, candidates, old).plan;
    if (plan.change != gphash::Change::none) {
      planned = {0,
                 plan.old_word,
                 candidates.hash(),
                 static_cast<std::uint32_t>(at),
                 plan.held,
                 static_cast<std::uint32_t>(plan.change),
                 plan.lane};
      number = static_cast<std::uint32_t>(gphash::slot_number(view, candidates, plan.lane));
      if (gphash::needs_cell(plan.change)) demand.add(class_of_row(job, plan.held));
    }
  }
  const std::uint64_t place = numbered(number != kNoSlot, &job.report->changes);
  if (number != kNoSlot) {
    HOLDFAST_ASSERT(place < job.size);
    workspace.planned[place] = planned;
    workspace.slots[0][place] = number;
    workspace.order[0][place] = static_cast<std::uint32_t>(place);
  }
  demand.report(slabs.state);
}

/// The places in the list of a class that lanes take, those of one kind together. Lanes without a class take none. All lanes call.
__device__ inline std::uint64_t take_together(const SlabView& slabs, bool takes, unsigned size_class, bool adds_key) {
  const unsigned kind = takes ? 2 * size_class + adds_key : ~0u;
  const unsigned peers = __match_any_sync(kAllLanes, kind);
  const unsigned lane = threadIdx.x % kWarp, leader = lowest_bit(peers);
  std::uint32_t first = 0;
  if (takes && lane == leader)
    first = DeviceHalf(slabs.state->of[size_class].next).fetch_add(count_bits(peers), ::cuda::memory_order_relaxed);
  first = __shfl_sync(kAllLanes, first, static_cast<int>(leader));
  if (!takes) return heap::kNoCell;
  HOLDFAST_ASSERT(size_class < heap::kClasses);
  const ClassCells& of = slabs.state->of[size_class];
  const std::uint32_t at = first + count_bits(peers & lanes(lane));
  if (at >= of.granted) return heap::kNoCell;
  const std::uint64_t begin = slabs.list[of.first + at];
  if (!adds_key || at < of.open) return begin;
  free_cell(slabs, SlabView::bit_of(begin, size_class));
  return heap::kNoCell;
}

template <class Shape>
__global__ void __launch_bounds__(kThreads)
    assign_pairs_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ ChangeJob job,
                        const __grid_constant__ PairWorkspace workspace, const __grid_constant__ SlabView slabs) {
  const PhaseMemory memory(job.state, nullptr);
  const std::uint64_t at = first_of_thread();
  const bool is_one = at < job.report->changes;
  PairPlan planned{};
  if (is_one) planned = workspace.planned[at];
  const auto change = static_cast<gphash::Change>(planned.change);
  const bool takes = is_one && gphash::needs_cell(change);
  std::uint32_t bytes = 0;
  if (takes) bytes = gphash::pair_bytes(key_part(job, planned.held).size, job.rows.value_part(planned.held).size);
  const unsigned size_class = heap::class_of(bytes);
  const std::uint64_t begin = take_together(slabs, takes, size_class, change == gphash::Change::add);
  std::int32_t left = 0;
  if (takes && begin == heap::kNoCell) {
    if (change == gphash::Change::add) {
      const Candidates<Shape> candidates = candidates_of(view, job, planned);
      gphash::retag(memory, candidates.tag_word(view, planned.lane), candidates.slot_in_bucket(view, planned.lane),
                    gphash::kTagClaimed, gphash::kTagEmpty);
    }
    leave_over(job, planned.at, gphash::Outcome::needs_cell);
    planned.change = static_cast<std::uint32_t>(gphash::Change::none);
    planned.old_word = 0;
    workspace.planned[at] = planned;
  } else if (takes) {
    const auto pair = heap::CellWord::of(begin, size_class, bytes);
    left = static_cast<std::int32_t>(pair.left());
    workspace.planned[at].word = pair.word;
  }
  const auto now = static_cast<gphash::Change>(planned.change);
  const int added = __syncthreads_count(is_one && now == gphash::Change::add);
  const int removed = __syncthreads_count(is_one && now == gphash::Change::remove);
  if (threadIdx.x == 0 && added != removed) memory.add_items(added - removed);
  left = __reduce_add_sync(kAllLanes, left);
  if (threadIdx.x % kWarp == 0) add_left(slabs.state, left);
}

/// A pair on its way into its cell.
struct PlacedPair {
  std::uint64_t* cell;
  gphash::PairHeader header;
  gphash::Part key, value;
  std::uint32_t first;  ///< of its words among those of the warp
};

template <class Shape>
__global__ void __launch_bounds__(kThreads)
    place_pairs_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ ChangeJob job,
                       const __grid_constant__ PairWorkspace workspace) {
  __shared__ PlacedPair all[kThreads];
  const CudaMemory memory(job.state, nullptr);
  const unsigned lane = threadIdx.x % kWarp;
  PlacedPair* const pairs = all + (threadIdx.x - lane);
  const std::uint64_t changes = job.report->changes;
  for (std::uint64_t base = first_of_warp() * kWarp; base < changes; base += all_warps() * kWarp) {
    PlacedPair mine{};
    std::uint32_t words = 0;
    if (base + lane < changes) {
      const PairPlan& planned = workspace.planned[base + lane];
      if (planned.word != 0) {
        mine.key = key_part(job, planned.held);
        mine.value = job.rows.value_part(planned.held);
        mine.header = gphash::header_of(mine.key, mine.value);
        mine.cell = reinterpret_cast<std::uint64_t*>(view.heap + heap::CellWord{planned.word}.begin());
        words = (gphash::pair_bytes(mine.key.size, mine.value.size) + 7) / 8;
      }
    }
    std::uint32_t total = 0;
    mine.first = words_before(words, total);
    pairs[lane] = mine;
    __syncwarp();
    for (std::uint32_t i = lane; i < total; i += kWarp) {
      const PlacedPair& pair = pairs[piece_of(pairs, i)];
      const std::uint32_t word = i - pair.first;
      memory.store_value(pair.cell + word, gphash::pair_word(pair.header, pair.key, pair.value, word));
    }
    __syncwarp();
  }
  memory.fence();
}

}  // namespace holdfast::gphash::cuda

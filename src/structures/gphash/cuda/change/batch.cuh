// batch.cuh: changes operation by operation. Each lane brings one; the warp carries out one at a time. GPHash §3.2.1.
//
// A ballot says which lanes still wait, one of them is active and shuffles its operation to all, and all 32 look at its
// candidate slots at once. An operation that misses its claim, or whose look was overtaken, goes back in line behind those
// of the other lanes: no lane waits inside a tile.
#pragma once

#include "core/both.hpp"
#include "gpu/launch.cuh"
#include "structures/gphash/cuda/change/changing_memory.cuh"
#include "structures/gphash/cuda/jobs.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/memory.cuh"
#include "structures/gphash/cuda/row_keys.cuh"
#include "structures/gphash/cuda/tile.cuh"
#include "structures/gphash/protocol/run.hpp"

namespace holdfast::gphash::cuda {

/// The run that a lane brings.
struct Waiting {
  bool waits = false;
  std::uint64_t key = 0;  ///< its word; of other than narrow keys the hash
  std::uint64_t at = 0;   ///< the first row: its place in the order, or the row itself
  std::uint64_t size = 1;
  unsigned denied = 0;  ///< on a last try: 1: no new keys, 2: no new values either
};

/// How many of the rows from `at` on have its key.
__device__ inline std::uint64_t run_length(const std::uint32_t* begins, std::uint64_t at, std::uint64_t end) {
  const std::uint32_t begin = begins[at];
  HOLDFAST_ASSERT(at < end && begin <= at);
  std::uint64_t same = at, step = 1;  // `same` is in the run; what lies `step` further is looked at next
  while (same + step < end && begins[same + step] == begin) {
    same += step;
    step *= 2;
  }
  for (; step != 0; step /= 2) {
    if (same + step < end && begins[same + step] == begin) same += step;
  }
  return same + 1 - at;
}

template <class Shape>
__device__ Waiting bring(const View<Shape>& view, const ChangeJob& job, std::uint64_t ordered, std::uint64_t turn) {
  Waiting run;
  run.at = job.again ? job.again[turn] : turn;
  std::uint64_t row = run.at;
  run.waits = true;
  if (job.order) {
    HOLDFAST_ASSERT(run.at < ordered);
    row = job.order[run.at];
    if (!job.again) run.waits = job.begins[run.at] == run.at;
    if (run.waits) run.size = run_length(job.begins, run.at, ordered);
  } else if (job.mask) {
    run.waits = job.mask[row] != 0;
  }
  if (run.waits) run.key = key_of_row(view, job, row).word;
  return run;
}

__device__ inline void leave_over(const ChangeJob& job, std::uint64_t at, gphash::Outcome outcome) {
  const auto count = [](std::uint32_t& word) { return atomicAdd(&word, 1u); };
  const std::uint32_t place = count(job.report->leftovers);
  HOLDFAST_ASSERT(place < job.size);
  job.leftovers[place] = static_cast<std::uint32_t>(at);
  count(outcome == gphash::Outcome::needs_slot ? job.report->needs_slot : job.report->needs_cell);
}

/// Of a multiprocessor. Left to itself the compiler now and then takes more registers, and gives up a block for them.
template <class Shape>
inline constexpr unsigned kChangeBlocks = !Shape::kFixed     ? 3
                                          : Shape::kVariable ? 4
                                                             : 2;

/// `Cells`: where new values get their cells, which says what the memory policy is (changing_memory).
template <class Shape, class Cells>
__global__ void __launch_bounds__(kThreads, kChangeBlocks<Shape>)
    change_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                  const __grid_constant__ ChangeJob job, const __grid_constant__ Cells cells, unsigned share) {
  const WarpTile tile;
  const auto memory = changing_memory(job, cache, view, cells);
  constexpr bool may_be_last = !Shape::kVariable;  // the host always waits for batches of pairs
  const std::uint64_t ordered = job.ordered ? *job.ordered : job.size;
  const std::uint64_t turns = job.again_count ? *job.again_count : job.again ? job.again_size : ordered;
  for (std::uint64_t base = first_of_warp() * share; base < turns; base += all_warps() * share) {
    Waiting mine;
    if (tile.lane() < share && base + tile.lane() < turns) mine = bring(view, job, ordered, base + tile.lane());
    unsigned turn = 0;
    for (unsigned waiting; (waiting = tile.ballot(mine.waits)) != 0;) {
      const unsigned active = next_in_line(waiting, turn);
      turn = active + 1;
      const std::uint64_t at = tile.from_lane(mine.at, active);
      const unsigned denied = may_be_last ? tile.from_lane(mine.denied, active) : 0;
      const gphash::Permits permits{job.permits.new_key && denied < 1, job.permits.new_value && denied < 2};
      const gphash::Run<std::uint32_t> run{job.order ? job.order + at : nullptr, at, tile.from_lane(mine.size, active)};
      const gphash::Key key = key_of_row(view, job, run.row(0), tile.from_lane(mine.key, active));
      const gphash::Outcome outcome =
          gphash::apply_run(tile, memory, view, job.rows, run, Candidates<Shape>(view, key), permits);
      memory.keep_copy(tile, view);
      if (outcome == gphash::Outcome::claim_missed) {
        memory.count_claim_miss();
        if ((waiting & (waiting - 1)) == 0) __nanosleep(200);  // the last in line need not hurry
        continue;
      }
      if (tile.lane() != active) continue;
      if (outcome == gphash::Outcome::done) {
        mine.waits = false;
      } else if (may_be_last && job.last_try) {
        ++mine.denied;
      } else {
        mine.waits = false;
        leave_over(job, at, outcome);
      }
    }
  }
  if (tile.lane() == 0) memory.flush_counts();
}

}  // namespace holdfast::gphash::cuda

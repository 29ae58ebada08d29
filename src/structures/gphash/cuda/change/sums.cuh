// sums.cuh: the phase of a change in which runs accumulate, or change a column (structures/gphash/protocol/effect.hpp): the value that is there is read once,
// the rows of the run are applied to it in array order, and the sum is written once.
//
// Of a value whose column changes the other parts are copied, or are zeros where the key was not there or was erased on the way. A column
// that does not begin and end where words do has a separate pass, after the one that copies: two lanes never write one word at once.
//
// Sums come in the order of the cells of their old values, and have new cells in that order (order_changes.cu), so both ends of the link
// are used page by page. Several lanes share a run, 16 bytes each, and all old values of a warp's 32 runs are asked for before
// the first is used. Values in slots are summed from copies of the slots, and no order matters. A run of many rows has a block
// for itself (long_sums.cuh).
#pragma once

#include "structures/gphash/cuda/caches/values.cuh"
#include "structures/gphash/cuda/change/batch.cuh"
#include "structures/gphash/cuda/kernels/change_workspace.hpp"
#include "structures/gphash/protocol/effect.hpp"

namespace holdfast::gphash::cuda {

/// Out of line: the code for all elements is large, and the loop around it is unrolled.
__device__ __noinline__ inline gphash::Word sum_word(gphash::Word before, Op op, const Combining& how,
                                                     std::uint64_t given) {
  return gphash::after_row(before, op, how, given);
}

/// A part of a value: what one lane works on.
template <unsigned kWords>
struct Part {
  std::uint64_t word[kWords];
};

/// The run that a lane brings.
struct SumRun {
  std::uint64_t old_word = 0, new_word = 0;  ///< 1 + cell, or 0
  std::uint64_t at = 0, size = 0;
  bool keeps = false;       ///< the old value, outside of the column
  std::uint64_t score = 0;  ///< of the sum
};

/// Which parts of a value a pass goes over: `all` of them from byte `begin` on. Those in [first, last) are the rows', the others come as
/// they were.
struct SumParts {
  std::uint32_t begin = 0, all = 0, first = 0, last = 0;
  bool exact = false;  ///< bytes beside the rows' are in words with them

  __device__ bool any_rows() const { return first != last; }
  __device__ bool only_rows() const { return first == 0 && last == all; }
  __device__ bool is_row(unsigned part) const { return first <= part && part < last; }

  /// Of words, or pairs of them, which are rows' or others' as a whole.
  static SumParts together(const gphash::Rows& rows, std::uint32_t value_bytes, std::uint32_t part) {
    const auto parts = [part](std::uint32_t bytes) { return (bytes + part - 1) / part; };
    const std::uint32_t first = rows.column / part;
    return {0, parts(value_bytes), first, first + parts(rows.value_bytes), false};
  }
  static SumParts others(std::uint32_t value_bytes) { return {0, (value_bytes + 7) / 8, 0, 0, false}; }
  static SumParts alone(const gphash::Rows& rows) {
    const std::uint32_t all = (rows.value_bytes + 7) / 8;
    return {rows.column, all, 0, all, true};
  }
};

/// Applies runs to values, in parts of `kWords` words. All lanes of a warp call.
template <unsigned kWords, class Shape>
class Summing {
 public:
  __device__ Summing(const WarpTile& tile, const CudaMemory& memory, const View<Shape>& view, const ValueView& values,
                     const ChangeJob& job, const SumParts& parts)
      : tile_(tile),
        memory_(memory),
        view_(view),
        values_(values),
        rows_(job.rows),
        order_(job.order),
        how_(job.rows.combining()),
        parts_(parts) {}

  /// The runs of all lanes, from cells to cells.
  __device__ void cells(const SumRun& mine) const {
    const unsigned parts = parts_.all;
    const unsigned lane = tile_.lane();
    unsigned shift = 0;  // 2^shift lanes share a run
    while (shift < 5 && (1u << shift) < parts) ++shift;
    const unsigned at_once = kWarp >> shift;
    const unsigned first = lane & ((1u << shift) - 1);
    for (unsigned part = first; part - first < parts; part += 1u << shift) {
      for (unsigned base = 0; base < kWarp; base += at_once * kInFlight) {
        Part<kWords> data[kInFlight];
#pragma unroll
        for (unsigned i = 0; i < kInFlight; ++i) {
          const unsigned from = base + i * at_once + (lane >> shift);
          const std::uint64_t old_word = tile_.from_lane(mine.old_word, from % kWarp);
          data[i] = {};
          if (from < kWarp && part < parts && old_word != 0) data[i] = load_cell(old_word - 1, part);
        }
#pragma unroll
        for (unsigned i = 0; i < kInFlight; ++i) {
          const unsigned from = base + i * at_once + (lane >> shift);
          SumRun run;
          run.old_word = tile_.from_lane(mine.old_word, from % kWarp);
          run.new_word = tile_.from_lane(mine.new_word, from % kWarp);
          run.at = tile_.from_lane(mine.at, from % kWarp);
          run.size = tile_.from_lane(mine.size, from % kWarp);
          if (!parts_.only_rows()) run.keeps = tile_.from_lane(static_cast<unsigned>(mine.keeps), from % kWarp) != 0;
          if (from >= kWarp || part >= parts || (run.size == 0 && run.new_word == 0)) continue;
          Part<kWords> sum = data[i];
          if (!parts_.is_row(part)) {
            if (!run.keeps) sum = {};
          } else if (run.size != 0) {
            sum = apply(run, run.old_word != 0, data[i], part - parts_.first);
          }
          if (run.new_word != 0) store_cell(run.new_word - 1, part, sum);
        }
      }
    }
    if (view_.scored() && mine.new_word != 0) store_score(mine.new_word - 1, mine.score);
  }

  /// A run, applied by one lane to part `number` of the rows. Rows that read are answered.
  __device__ Part<kWords> apply(const SumRun& run, bool there, const Part<kWords>& old, unsigned number) const {
    gphash::Word now[kWords];
    for (unsigned w = 0; w < kWords; ++w) now[w] = {there, old.word[w]};
    for (std::uint64_t base = 0; base < run.size; base += kAhead) {
      std::uint32_t row[kAhead];
      Part<kWords> given[kAhead];
#pragma unroll
      for (unsigned i = 0; i < kAhead; ++i) row[i] = base + i < run.size ? order_[run.at + base + i] : 0;
#pragma unroll
      for (unsigned i = 0; i < kAhead; ++i) {
        given[i] = {};
        if (base + i < run.size) given[i] = load_row(row[i], number);
      }
#pragma unroll
      for (unsigned i = 0; i < kAhead; ++i) {
        if (base + i >= run.size) continue;
        const Op op = rows_.op_of(row[i]);
#pragma unroll
        for (unsigned w = 0; w < kWords; ++w) now[w] = sum_word(now[w], op, how_, given[i].word[w]);
        if (reads_value(op) && rows_.out != nullptr) store_row(row[i], number, part_of(now));
      }
    }
    return part_of(now);
  }

 private:
  static constexpr std::size_t kPart = 8 * kWords;
  static constexpr unsigned kInFlight = 8;  ///< old values of a lane
  static constexpr unsigned kAhead = 8;     ///< rows of a run whose values are asked for at once

  __device__ static Part<kWords> part_of(const gphash::Word (&words)[kWords]) {
    Part<kWords> part;
    for (unsigned w = 0; w < kWords; ++w) part.word[w] = words[w].bits;
    return part;
  }
  __device__ Part<kWords> load_cell(std::uint64_t cell, unsigned number) const {
    const std::uint64_t position = values_.any() ? copy_of_cell(memory_, values_, cell) : kNoPosition;
    const std::byte* const from =
        position == kNoPosition ? view_.cell(cell) : values_.copies + position * view_.cell_bytes;
    const std::byte* const part = from + parts_.begin + kPart * number;
    const auto* const words = reinterpret_cast<const std::uint64_t*>(part);
    if constexpr (kWords == 2) {
      const ulonglong2 both = memory_.load_values(words);
      return {{both.x, both.y}};
    } else {
      if (!parts_.is_row(number)) return {{memory_.load_value(words)}};
      return {{load_part(memory_, part, left(number))}};  // padding may hold anything
    }
  }
  __device__ void store_score(std::uint64_t cell, std::uint64_t score) const {
    memory_.store_value(view_.score_of(cell), score);
    auto* const copy = values_.copies + cell * view_.cell_bytes + view_.score_at();
    if (values_.resident()) memory_.store_value(reinterpret_cast<std::uint64_t*>(copy), score);
  }
  __device__ void store_cell(std::uint64_t cell, unsigned number, const Part<kWords>& part) const {
    store(view_.cell(cell), number, part);
    if (values_.resident()) store(values_.copies + cell * view_.cell_bytes, number, part);
  }
  __device__ void store(std::byte* to, unsigned number, const Part<kWords>& part) const {
    to += parts_.begin + kPart * number;
    auto* const words = reinterpret_cast<std::uint64_t*>(to);
    if constexpr (kWords == 2) {
      memory_.store_values(words, {part.word[0], part.word[1]});
    } else if (parts_.exact) {
      memory_.store_part(to, part.word[0], left(number));
    } else {
      memory_.store_value(words, part.word[0]);
    }
  }
  /// Bytes of the rows from such a part on.
  __device__ std::size_t left(unsigned number) const { return rows_.value_bytes - kPart * (number - parts_.first); }
  __device__ Part<kWords> load_row(std::uint64_t row, unsigned number) const {
    const std::byte* const from = rows_.value(row) + kPart * number;
    if constexpr (kWords == 2) {
      const ulonglong2 both = __ldcs(reinterpret_cast<const ulonglong2*>(from));
      return {{both.x, both.y}};
    } else {
      return {{load_user(from, rows_.value_bytes - kPart * number)}};
    }
  }
  __device__ void store_row(std::uint64_t row, unsigned number, const Part<kWords>& part) const {
    std::byte* const to = rows_.out + row * rows_.value_bytes + kPart * number;
    if constexpr (kWords == 2) {
      *reinterpret_cast<ulonglong2*>(to) = {part.word[0], part.word[1]};
    } else {
      store_user(to, part.word[0], rows_.value_bytes - kPart * number);
    }
  }

  const WarpTile& tile_;
  const CudaMemory& memory_;
  const View<Shape>& view_;
  const ValueView& values_;
  const gphash::Rows& rows_;
  const std::uint32_t* order_;
  const Combining how_;
  const SumParts parts_;
};

template <class Shape>
__device__ SumRun sum_run(const ChangeJob& job, const ChangeWorkspace& workspace, const Sum& sum) {
  SumRun run;
  run.old_word = sum.old_word;
  run.at = sum.at;
  run.size = run_length(job.begins, run.at, job.ordered ? *job.ordered : job.size);
  run.keeps = sum.there != 0 && sum.erased == 0;
  if (sum.plan != kNoPlan) {
    const Planned& planned = workspace.planned[sum.plan];
    run.new_word = planned.word;
    run.score = workspace.scores != nullptr ? workspace.scores[planned.score_row()] : job.rows.score;
  }
  return run;
}

inline constexpr std::uint64_t kLongRun = 256;  ///< rows

/// Leaves a long run to `long_sum_kernel`. `i`: which sum it is.
__device__ inline bool is_long(const ChangeJob& job, const ChangeWorkspace& workspace, const SumRun& run,
                               std::uint32_t i) {
  if (run.size < kLongRun) return false;
  workspace.sum_cells[1][atomicAdd(&job.report->long_sums, 1u)] = i;
  return true;
}

/// Values in cells.
template <unsigned kWords, class Shape>
__global__ void __launch_bounds__(kThreads)
    sum_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ ValueView values,
               const __grid_constant__ ChangeJob job, const __grid_constant__ ChangeWorkspace workspace,
               SumParts parts) {
  const WarpTile tile;
  const CudaMemory memory(job.state, nullptr);
  const Summing<kWords, Shape> summing(tile, memory, view, values, job, parts);
  const std::uint64_t sums = job.report->sums;
  for (std::uint64_t base = first_of_warp() * kWarp; base < sums; base += all_warps() * kWarp) {
    SumRun mine;
    if (base + tile.lane() < sums) {
      const std::uint32_t i = workspace.sum_order[0][base + tile.lane()];
      mine = sum_run<Shape>(job, workspace, workspace.sums[i]);
      if (!parts.any_rows()) {
        mine.size = 0;
      } else if (is_long(job, workspace, mine, i)) {
        mine.size = 0;  // its column comes later
        if (parts.only_rows()) mine = {};
      }
    }
    __syncwarp();
    summing.cells(mine);
  }
  memory.fence();
}

/// Values in slots: a thread a run.
template <class Shape>
__global__ void __launch_bounds__(kThreads)
    sum_words_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ ValueView values,
                     const __grid_constant__ ChangeJob job, const __grid_constant__ ChangeWorkspace workspace) {
  const WarpTile tile;
  const CudaMemory memory(job.state, nullptr);
  const gphash::Rows& rows = job.rows;
  const Summing<1, Shape> summing(tile, memory, view, values, job, {});
  for (std::uint64_t i = first_of_thread(); i < job.report->sums; i += all_threads()) {
    const Sum sum = workspace.sums[i];
    const SumRun run = sum_run<Shape>(job, workspace, sum);
    if (is_long(job, workspace, run, static_cast<std::uint32_t>(i))) continue;
    const std::uint64_t old = part_of_word(sum.old_word, rows.column, rows.value_bytes);
    const Part<1> now = summing.apply(run, sum.there != 0, {{old}}, 0);
    if (sum.plan != kNoPlan) {
      workspace.planned[sum.plan].word =
          with_part(run.keeps ? sum.old_word : 0, now.word[0], rows.column, rows.value_bytes);
    }
  }
}

}  // namespace holdfast::gphash::cuda

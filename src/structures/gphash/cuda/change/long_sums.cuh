// long_sums.cuh: sums of runs of many rows (sums.cuh), a block a run: whose threads bring the next rows while a few of them apply
// these, in array order. Sums of integers do not depend on the order, and are made by all threads at once. Of a value whose column
// changes the rest is there already.
#pragma once

#include <type_traits>

#include "core/both.hpp"
#include "structures/gphash/cuda/change/sums.cuh"

namespace holdfast::gphash::cuda {

/// Calls `act` with the element as a constant, so that a loop in it knows how to combine.
template <class Act>
__device__ auto with_element(Element element, const Act& act) {
  switch (element) {
    case Element::i32: return act(std::integral_constant<Element, Element::i32>{});
    case Element::u32: return act(std::integral_constant<Element, Element::u32>{});
    case Element::i64: return act(std::integral_constant<Element, Element::i64>{});
    case Element::f32: return act(std::integral_constant<Element, Element::f32>{});
    case Element::f64: return act(std::integral_constant<Element, Element::f64>{});
    case Element::f16: return act(std::integral_constant<Element, Element::f16>{});
    case Element::bf16: return act(std::integral_constant<Element, Element::bf16>{});
    case Element::u64: break;
  }
  return act(std::integral_constant<Element, Element::u64>{});
}

/// The next rows of a run, a word of each value at a time.
struct Chunk {
  static constexpr unsigned kWords = 1024, kEach = kWords / kThreads;
  std::uint64_t given[kWords];
  std::uint32_t row[kWords];
  Op op[kWords];
};

/// Words of a value, `words` of them from `first` on, of the run that the block works on. Each of the first threads has one.
class LongSum {
 public:
  __device__ LongSum(const ChangeJob& job, const SumRun& run, unsigned first, unsigned words)
      : rows_(job.rows),
        order_(job.order + run.at),
        size_(run.size),
        first_(first),
        words_(words),
        each_(Chunk::kWords / words),
        how_(job.rows.combining()) {}

  /// The word of this thread after the rows. All threads of the block call.
  __device__ gphash::Word operator()(Chunk (&chunks)[2], const gphash::Word& now) const {
    return any_order() ? at_once(chunks[0], now) : in_order(chunks, now);
  }

 private:
  /// True if all rows accumulate integers, and a thread meets one word only.
  __device__ bool any_order() const { return all_accumulate() && !is_float(how_.element) && kThreads % words_ == 0; }
  __device__ bool all_accumulate() const { return rows_.ops == nullptr && rows_.op == Op::accumulate; }

  /// Each thread sums what it meets of a word, and then one for each word sums what all have.
  __device__ gphash::Word at_once(Chunk& chunk, gphash::Word now) const {
    static_assert(kLongRun >= kThreads);  // so that each meets one
    const std::uint64_t mine = with_element(how_.element, [this](auto element) { return sum_of_thread(element); });
    __syncthreads();  // the words before these may still be looked at
    chunk.given[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x >= words_) return now;
    for (unsigned i = threadIdx.x; i < kThreads; i += words_) now = sum_word(now, Op::accumulate, how_, chunk.given[i]);
    return now;
  }
  template <class Fixed>
  __device__ std::uint64_t sum_of_thread(Fixed element) const {
    constexpr unsigned kAhead = 8;
    Combining how = how_;
    how.element = element;
    const unsigned word = threadIdx.x % words_, every = kThreads / words_;
    std::uint64_t base = threadIdx.x / words_, sum = load(base, word);
    for (base += every; base < size_; base += kAhead * every) {
      std::uint64_t given[kAhead];
#pragma unroll
      for (unsigned i = 0; i < kAhead; ++i) given[i] = base + i * every < size_ ? load(base + i * every, word) : 0;
#pragma unroll
      for (unsigned i = 0; i < kAhead; ++i) {
        if (base + i * every < size_) sum = combine_word(sum, given[i], how);
      }
    }
    return sum;
  }

  __device__ gphash::Word in_order(Chunk (&chunks)[2], gphash::Word now) const {
    std::uint64_t given[Chunk::kEach];
    __syncthreads();  // the words before these may still be looked at
    bring(given, chunks[0], 0);
    put(given, chunks[0]);
    __syncthreads();
    for (std::uint64_t base = 0, turn = 0; base < size_; base += each_, ++turn) {
      Chunk& next = chunks[(turn + 1) % 2];
      bring(given, next, base + each_);
      if (threadIdx.x < words_) {
        const std::uint64_t left = size_ - base;
        now = apply(chunks[turn % 2], static_cast<unsigned>(left < each_ ? left : each_), now);
      }
      put(given, next);
      __syncthreads();
    }
    return now;
  }

  __device__ void bring(std::uint64_t (&given)[Chunk::kEach], Chunk& to, std::uint64_t base) const {
    for (unsigned i = threadIdx.x; i < each_; i += kThreads) {
      if (base + i >= size_) continue;
      to.row[i] = order_[base + i];
      to.op[i] = rows_.op_of(order_[base + i]);
    }
#pragma unroll
    for (unsigned e = 0; e < Chunk::kEach; ++e) {
      const unsigned i = e * kThreads + threadIdx.x;
      given[e] = 0;
      if (i < each_ * words_ && base + i / words_ < size_) given[e] = load(base + i / words_, i % words_);
    }
  }
  __device__ static void put(const std::uint64_t (&given)[Chunk::kEach], Chunk& to) {
#pragma unroll
    for (unsigned e = 0; e < Chunk::kEach; ++e) to.given[e * kThreads + threadIdx.x] = given[e];
  }

  __device__ gphash::Word apply(const Chunk& chunk, unsigned size, gphash::Word now) const {
    HOLDFAST_ASSERT(size <= each_);
    if (!all_accumulate()) return apply_mixed(chunk, size, now);
    return with_element(how_.element, [&](auto element) {
      Combining how = how_;
      how.element = element;
      unsigned i = 0;
      if (!now.there) now = gphash::after_row(now, Op::accumulate, how, chunk.given[i++ * words_ + threadIdx.x]);
      std::uint64_t sum = now.bits;
      for (; i < size; ++i) sum = combine_word(sum, chunk.given[i * words_ + threadIdx.x], how);
      return gphash::Word{true, sum};
    });
  }
  __device__ gphash::Word apply_mixed(const Chunk& chunk, unsigned size, gphash::Word now) const {
    const std::size_t at = 8 * (std::size_t{first_} + threadIdx.x);
    for (unsigned i = 0; i < size; ++i) {
      const Op op = chunk.op[i];
      now = sum_word(now, op, how_, chunk.given[i * words_ + threadIdx.x]);
      if (reads_value(op) && rows_.out != nullptr)
        store_user(rows_.result(chunk.row[i]) + at, now.bits, rows_.value_bytes - at);
    }
    return now;
  }

  /// A word of a row.
  __device__ std::uint64_t load(std::uint64_t at, unsigned word) const {
    const std::size_t from = 8 * (std::size_t{first_} + word);
    return load_user(rows_.value(order_[at]) + from, rows_.value_bytes - from);
  }

  const gphash::Rows& rows_;
  const std::uint32_t* order_;
  const std::uint64_t size_;
  const unsigned first_, words_, each_;
  const Combining how_;
};

/// The value that a sum begins with, word by word, and where the sum goes.
template <class Shape>
struct SumWords {
  const View<Shape>& view;
  const CudaMemory& memory;
  const ValueView& values;
  const gphash::Rows& rows;

  /// `left`: bytes of the rows from there on.
  __device__ std::uint64_t old(const Sum& sum, unsigned word, std::size_t left) const {
    if (view.in_slot()) return part_of_word(sum.old_word, rows.column, rows.value_bytes);
    const std::uint64_t cell = sum.old_word - 1,
                        position = values.any() ? copy_of_cell(memory, values, cell) : kNoPosition;
    const std::byte* const from =
        position == kNoPosition ? view.cell(cell) : values.copies + position * view.cell_bytes;
    return load_part(memory, from + rows.column + 8 * word, left);  // padding may hold anything
  }
  __device__ void store_score(std::uint64_t cell, std::uint64_t score) const {
    memory.store_value(view.score_of(cell), score);
    std::byte* const copy = values.copies + cell * view.cell_bytes + view.score_at();
    if (values.resident()) memory.store_value(reinterpret_cast<std::uint64_t*>(copy), score);
  }
  __device__ void store(const Sum& sum, bool keeps, Planned& planned, unsigned word, std::uint64_t bits,
                        std::size_t left) const {
    if (view.in_slot()) {
      planned.word = with_part(keeps ? sum.old_word : 0, bits, rows.column, rows.value_bytes);
      return;
    }
    const std::uint64_t cell = planned.word - 1;
    store_at(view.cell(cell), word, bits, left);
    if (values.resident()) store_at(values.copies + cell * view.cell_bytes, word, bits, left);
  }
  __device__ void store_at(std::byte* cell, unsigned word, std::uint64_t bits, std::size_t left) const {
    std::byte* const to = cell + rows.column + 8 * word;
    if (rows.partial) return memory.store_part(to, bits, left);
    memory.store_value(reinterpret_cast<std::uint64_t*>(to), bits);
  }
};

template <class Shape>
__global__ void __launch_bounds__(kThreads)
    long_sum_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ ValueView values,
                    const __grid_constant__ ChangeJob job, const __grid_constant__ ChangeWorkspace workspace) {
  constexpr unsigned kMost = 64;  ///< words at once
  __shared__ Chunk chunks[2];
  const CudaMemory memory(job.state, nullptr);
  const SumWords<Shape> words{view, memory, values, job.rows};
  const std::size_t bytes = job.rows.value_bytes;
  const auto all = static_cast<unsigned>((bytes + 7) / 8);
  for (std::uint64_t i = blockIdx.x; i < job.report->long_sums; i += gridDim.x) {
    const Sum sum = workspace.sums[workspace.sum_cells[1][i]];
    const SumRun run = sum_run<Shape>(job, workspace, sum);
    for (unsigned first = 0; first < all; first += kMost) {
      const unsigned some = all - first < kMost ? all - first : kMost, word = first + threadIdx.x;
      const bool mine = threadIdx.x < some;
      gphash::Word now{sum.there != 0, 0};
      const std::size_t left = bytes - 8 * std::size_t{word};
      if (mine && now.there) now.bits = words.old(sum, word, left);
      now = LongSum(job, run, first, some)(chunks, now);
      if (mine && sum.plan != kNoPlan) words.store(sum, run.keeps, workspace.planned[sum.plan], word, now.bits, left);
    }
    if (view.scored() && threadIdx.x == 0 && sum.plan != kNoPlan) words.store_score(run.new_word - 1, run.score);
  }
  memory.fence();
}

}  // namespace holdfast::gphash::cuda

// arrays.cuh: the keys and values of a benchmark whose arrays stay in GPU memory: drawn there, and checked there.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "frame/distribution.hpp"
#include "frame/keys.hpp"
#include "holdfast/status.hpp"

namespace holdfast::bench {

inline void must(cudaError_t code, const char* doing) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "link: CUDA failed while %s: %s\n", doing, cudaGetErrorString(code));
  std::exit(1);
}

template <class T>
class GpuArray {
 public:
  explicit GpuArray(std::size_t size) : size_(size) {
    if (size != 0) must(cudaMalloc(&data_, size * sizeof(T)), "taking GPU memory");
  }
  ~GpuArray() { cudaFree(data_); }
  GpuArray(const GpuArray&) = delete;
  GpuArray& operator=(const GpuArray&) = delete;
  T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

/// Which items a batch is about: uniform, zipfian or each, as frame/distribution.hpp has them on the host.
struct Draw {
  std::uint64_t items = 0;  ///< of the table
  std::uint64_t first = 0;  ///< `each`: the items from here on, in the order of the batch
  bool each = false;
  bool skewed = false;  ///< zipfian: by `ranks`, which `scattered` spreads over the items
  Zipfian ranks{1, 0};
  Permutation scattered{1};
  std::uint64_t seed = 0;
};

inline Draw zipfian(std::uint64_t items, double theta) {
  Draw draw;
  draw.items = items;
  draw.skewed = true;
  draw.ranks = Zipfian(items, theta);
  draw.scattered = Permutation(items);
  return draw;
}

__device__ inline std::uint64_t drawn_item(const Draw& draw, std::uint64_t row) {
  if (draw.each) return draw.first + row;
  const std::uint64_t random = mix(draw.seed * kOdd + mix(row + 1));
  return draw.skewed ? draw.scattered(draw.ranks.rank(unit_of(random))) : __umul64hi(random, draw.items);
}

__global__ void draw_kernel(Draw draw, std::uint64_t* keys, std::uint64_t size, std::uint64_t base) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
    keys[i] = key_of(base + drawn_item(draw, i), 1);
}

/// Wide keys of some numbers; the numbers are their first words.
__global__ void widen_kernel(const std::uint64_t* keys, std::uint64_t* wide, std::uint64_t size, unsigned words) {
  const std::uint64_t all = size * words;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < all; i += gridDim.x * blockDim.x)
    wide[i] = i % words == 0 ? keys[i / words] : mix(keys[i / words] + i % words);
}

__global__ void value_kernel(const std::uint64_t* keys, std::uint64_t* values, std::uint64_t size, unsigned words,
                             std::uint64_t version) {
  const std::uint64_t all = size * words;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < all; i += gridDim.x * blockDim.x) {
    const std::uint64_t first = first_value_word(keys[i / words], version);
    values[i] = i % words == 0 ? first : mix(first + i % words);
  }
}

/// keys.hpp's right_value, for words in GPU memory.
__device__ inline bool right_words(const std::uint64_t* value, unsigned words, std::uint64_t key,
                                   std::uint64_t newest) {
  const std::uint64_t first = value[0];
  bool right = (first ^ first_value_word(key, 0)) <= kVersionMask && (first & kVersionMask) <= newest;
  for (unsigned w = 1; w < words; ++w) right &= value[w] == mix(first + w);
  return right;
}

/// Counts rows whose answer is wrong: not there (or there, if `absent`), not whole, or of a version never written.
__global__ void check_kernel(const std::uint64_t* keys, const std::uint64_t* out, const bool* found, std::uint64_t size,
                             unsigned words, std::uint64_t newest, bool absent, unsigned long long* wrong) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
    bool right = found[i] != absent;
    if (out != nullptr && right) {
      const std::uint64_t* const value = out + i * words;
      if (absent) {
        for (unsigned w = 0; w < words; ++w) right &= value[w] == 0;
      } else {
        right = right_words(value, words, keys[i], newest);
      }
    }
    if (!right) atomicAdd(wrong, 1ull);
  }
}

__global__ void status_kernel(const Status* statuses, std::uint64_t size, Status a, Status b,
                              unsigned long long* wrong) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
    if (statuses[i] != a && statuses[i] != b) atomicAdd(wrong, 1ull);
}

/// Word w of every value is w + 1, or what takes that away again.
__global__ void amount_kernel(std::uint64_t* values, std::uint64_t size, unsigned words, bool less) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < size * words;
       i += gridDim.x * blockDim.x) {
    const std::uint64_t amount = i % words + 1;
    values[i] = less ? 0 - amount : amount;
  }
}

/// True of all rows: each word of a value has grown by its amount, equally often, and at least once.
__global__ void check_sums_kernel(const std::uint64_t* before, const std::uint64_t* after, std::uint64_t size,
                                  unsigned words, unsigned long long* wrong) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
    const std::uint64_t times = after[i * words] - before[i * words];
    bool right = times >= 1 && times <= size;
    for (unsigned w = 0; w < words; ++w) right &= after[i * words + w] - before[i * words + w] == times * (w + 1);
    if (!right) atomicAdd(wrong, 1ull);
  }
}

/// Of every twenty rows, `changes` at random are `change`, the others find.
__global__ void mix_kernel(std::uint8_t* ops, std::uint64_t size, unsigned changes, Op change, std::uint64_t seed) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
    ops[i] = static_cast<std::uint8_t>(mix(~seed * kOdd + i) % 20 < changes ? change : Op::find);
}

/// The answers of a mixed batch on keys that are all there.
__global__ void check_mixed_kernel(const std::uint64_t* keys, const std::uint8_t* ops, const Status* statuses,
                                   const std::uint64_t* out, std::uint64_t size, unsigned words, std::uint64_t newest,
                                   unsigned long long* wrong) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
    const bool reads = ops[i] == static_cast<std::uint8_t>(Op::find);
    bool right = statuses[i] == (reads ? Status::found : Status::updated);
    if (reads && right) right = right_words(out + i * words, words, keys[i], newest);
    if (!right) atomicAdd(wrong, 1ull);
  }
}

}  // namespace holdfast::bench

// blobs.cu: what a batch of variable-length pairs reads: measured, cut into parts, and gathered from wherever it lies.
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "gpu/launch.cuh"
#include "gpu/order/word_range.cuh"
#include "structures/gphash/cuda/epochs.cuh"
#include "structures/gphash/cuda/kernels/pair_kernels.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/memory.cuh"

namespace holdfast::gphash::cuda {

namespace {

/// The bytes of a row; none beyond the last.
struct SizeAt {
  const Blob* blobs;
  std::uint64_t rows;
  __host__ __device__ std::uint64_t operator()(std::uint64_t row) const { return row < rows ? blobs[row].size : 0; }
};

void scan_sizes(const Blob* blobs, std::uint64_t size, std::uint64_t* offsets, void* scratch, std::size_t& bytes,
                cudaStream_t stream) {
  const auto sizes = thrust::make_transform_iterator(thrust::counting_iterator<std::uint64_t>(0), SizeAt{blobs, size});
  check(cub::DeviceScan::ExclusiveSum(scratch, bytes, sizes, offsets, size + 1, stream), "measuring results");
}

__global__ void __launch_bounds__(kThreads)
    finish_kernel(const Blob* blobs, const std::uint64_t* offsets, std::uint64_t first, std::uint64_t size,
                  const std::byte* at, Blob* results, bool* present) {
  const std::uint64_t begin = offsets[first];
  for (std::uint64_t row = first + first_of_thread(); row < first + size; row += all_threads()) {
    const bool there = blobs[row].data != nullptr;
    if (present != nullptr) present[row] = there;
    if (results != nullptr && there) results[row] = {at + (offsets[row] - begin), blobs[row].size};
  }
}

__global__ void __launch_bounds__(kThreads) cut_kernel(const std::uint64_t* offsets, std::uint64_t size,
                                                       std::uint64_t bytes, std::uint64_t parts, ResultPart* begins) {
  for (std::uint64_t part = first_of_thread(); part < parts; part += all_threads()) {
    std::uint64_t low = 0, high = size;  // the first that begins there or later
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (offsets[middle] < part * bytes) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    begins[part] = {low, offsets[low]};
  }
}

/// Some bytes on their way: read by whole words of memory, and put together by what lies in two of them.
struct Piece {
  const std::uint64_t* from;
  std::byte* to;
  std::uint32_t size;
  std::uint32_t skew;   ///< bytes of the first word that come before
  std::uint32_t first;  ///< of its words among those of the warp
  bool whole;           ///< what lies beside it in its first and last words may be read too

  __device__ std::uint32_t words() const { return (skew + size + 7) / 8; }
  /// Word `i` of those that it lies in.
  __device__ std::uint64_t load(const CudaMemory& memory, std::uint32_t i) const {
    const std::uint32_t begin = i == 0 ? skew : 0, left = skew + size - 8 * i, end = left < 8 ? left : 8;
    if (whole || (begin == 0 && end == 8)) return memory.load_value(from + i);
    std::uint64_t word = 0;
    for (std::uint32_t b = begin; b < end; ++b)
      word |= std::uint64_t{reinterpret_cast<const std::uint8_t*>(from + i)[b]} << (8 * b);
    return word;
  }
};

/// A warp takes 32 rows as one range of words.
__global__ void __launch_bounds__(kThreads)
    gather_blobs_kernel(const std::byte* memory_begin, std::uint64_t memory_bytes, const Blob* blobs,
                        const std::uint64_t* offsets, std::uint64_t first, std::uint64_t size, std::byte* to) {
  __shared__ Piece all[kThreads];
  const CudaMemory memory(nullptr, nullptr);
  const unsigned lane = threadIdx.x % kWarp;
  Piece* const pieces = all + (threadIdx.x - lane);
  for (std::uint64_t base = first_of_warp() * kWarp; base < size; base += all_warps() * kWarp) {
    Piece mine{};
    std::uint32_t words = 0;
    if (base + lane < size) {
      const Blob blob = blobs[first + base + lane];
      if (blob.size != 0) {
        mine.skew = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(blob.data) % 8);
        mine.from = reinterpret_cast<const std::uint64_t*>(blob.data - mine.skew);
        mine.to = to + (offsets[first + base + lane] - offsets[first]);
        mine.size = static_cast<std::uint32_t>(blob.size);
        mine.whole =
            reinterpret_cast<std::uintptr_t>(blob.data) - reinterpret_cast<std::uintptr_t>(memory_begin) < memory_bytes;
        words = mine.words();
      }
    }
    std::uint32_t total = 0;
    mine.first = words_before(words, total);
    pieces[lane] = mine;
    __syncwarp();
    for (std::uint32_t from = 0; from < total; from += kWarp) {
      const std::uint32_t i = from + lane;
      const Piece piece = pieces[piece_of(pieces, i)];
      const std::uint32_t word = i - piece.first;
      const std::uint64_t low = i < total ? piece.load(memory, word) : 0;
      std::uint64_t high = __shfl_down_sync(kAllLanes, low, 1);
      if (i >= total || 8 * word >= piece.size) continue;
      if (piece.skew == 0) {
        high = 0;
      } else if (lane == kWarp - 1 && word + 1 < piece.words()) {
        high = piece.load(memory, word + 1);
      }
      const std::uint64_t bytes = piece.skew == 0 ? low : low >> (8 * piece.skew) | high << (64 - 8 * piece.skew);
      store_user(piece.to + std::size_t{8} * word, bytes, piece.size - std::size_t{8} * word);
    }
    __syncwarp();
  }
}

__global__ void __launch_bounds__(kThreads)
    check_kernel(const std::uint64_t* key_offsets, const std::uint64_t* value_offsets, const std::uint8_t* ops,
                 std::uint64_t size, std::uint64_t* found) {
  const auto note = [&](unsigned what, std::uint64_t row) {
    atomicMin(reinterpret_cast<unsigned long long*>(&found[what]), static_cast<unsigned long long>(row));
  };
  for (std::uint64_t row = first_of_thread(); row < size; row += all_threads()) {
    if (key_offsets[row + 1] - key_offsets[row] > gphash::kMaxPart) note(0, row);
    if (value_offsets != nullptr && value_offsets[row + 1] - value_offsets[row] > gphash::kMaxPart) note(1, row);
    if (ops != nullptr && (ops[row] >= kOps || static_cast<Op>(ops[row]) == Op::accumulate)) note(2, row);
  }
}

__global__ void enter_kernel(DeviceState* state, std::uint64_t* epoch) {
  *epoch = reclaim::cuda::enter_epoch(state->readers);
}
__global__ void leave_kernel(DeviceState* state, const std::uint64_t* epoch) {
  reclaim::cuda::leave_epoch(state->readers, *epoch);
}

}  // namespace

std::size_t measure_scratch_bytes(std::uint64_t size) {
  std::size_t bytes = 0;
  scan_sizes(nullptr, size, nullptr, nullptr, bytes, nullptr);
  return bytes;
}

void measure_blobs(const Blob* blobs, std::uint64_t size, std::uint64_t* offsets, void* scratch,
                   std::size_t scratch_bytes, cudaStream_t stream) {
  scan_sizes(blobs, size, offsets, scratch, scratch_bytes, stream);
}

void gather_blobs(const std::byte* memory, std::uint64_t bytes, const Blob* blobs, const std::uint64_t* offsets,
                  std::uint64_t first, std::uint64_t size, std::byte* to, cudaStream_t stream) {
  gather_blobs_kernel<<<blocks_for(gather_blobs_kernel, size), kThreads, 0, stream>>>(memory, bytes, blobs, offsets,
                                                                                      first, size, to);
  check_launch("gathering results");
}

void finish_blobs(const Blob* blobs, const std::uint64_t* offsets, std::uint64_t first, std::uint64_t size,
                  const std::byte* at, Blob* results, bool* present, cudaStream_t stream) {
  finish_kernel<<<blocks_for(finish_kernel, size), kThreads, 0, stream>>>(blobs, offsets, first, size, at, results,
                                                                          present);
  check_launch("gathering results");
}

void cut_results(const std::uint64_t* offsets, std::uint64_t size, std::uint64_t bytes, std::uint64_t parts,
                 ResultPart* begins, cudaStream_t stream) {
  cut_kernel<<<blocks_for(cut_kernel, parts), kThreads, 0, stream>>>(offsets, size, bytes, parts, begins);
  check_launch("gathering results");
}

void check_rows(const std::uint64_t* key_offsets, const std::uint64_t* value_offsets, const std::uint8_t* ops,
                std::uint64_t size, std::uint64_t* found, cudaStream_t stream) {
  check(cudaMemsetAsync(found, 0xff, 24, stream), "checking a batch");
  check_kernel<<<blocks_for(check_kernel, size), kThreads, 0, stream>>>(key_offsets, value_offsets, ops, size, found);
  check_launch("checking a batch");
}

void enter_epoch_on(DeviceState* state, std::uint64_t* epoch, cudaStream_t stream) {
  enter_kernel<<<1, 1, 0, stream>>>(state, epoch);
  check_launch("starting a search");
}

void leave_epoch_on(DeviceState* state, const std::uint64_t* epoch, cudaStream_t stream) {
  leave_kernel<<<1, 1, 0, stream>>>(state, epoch);
  check_launch("ending a search");
}

}  // namespace holdfast::gphash::cuda

// kernels.cu: a warp takes a piece, or a block of the data, at a time.
#include "checkpoint/cuda/kernels.hpp"

#include "checkpoint/layout.hpp"
#include "core/both.hpp"
#include "gpu/bytes.cuh"
#include "gpu/launch.cuh"

namespace holdfast::checkpoint::cuda {

namespace {

using gpu::kWarp;

constexpr unsigned kAhead = 8;  // loads of a lane that are under way at once

/// Moves `bytes` bytes and writes zeros behind them. All lanes call.
__device__ void move(std::byte* to, const std::byte* from, std::uint32_t bytes, std::uint32_t zeros) {
  const unsigned lane = threadIdx.x % kWarp;
  std::uint32_t done = 0;
  if (gpu::aligned(to, 16) && gpu::aligned(from, 16)) {
    const auto* const in = reinterpret_cast<const uint4*>(from);
    auto* const out = reinterpret_cast<uint4*>(to);
    const std::uint32_t units = bytes / 16;
    std::uint32_t i = lane;
    for (; i + (kAhead - 1) * kWarp < units; i += kAhead * kWarp) {
      uint4 held[kAhead];
#pragma unroll
      for (unsigned k = 0; k < kAhead; ++k) held[k] = in[i + k * kWarp];
#pragma unroll
      for (unsigned k = 0; k < kAhead; ++k) out[i + k * kWarp] = held[k];
    }
    for (; i < units; i += kWarp) out[i] = in[i];
    done = units * 16;
  } else {
    const std::uint32_t whole = bytes / 8 * 8;
    for (std::uint32_t at = 8 * lane; at < whole; at += 8 * kWarp) {
      gpu::store_user(to + at, gpu::load_user(from + at, 8), 8);
    }
    done = whole;
  }
  for (std::uint32_t at = done + lane; at < bytes + zeros; at += kWarp) to[at] = at < bytes ? from[at] : std::byte{0};
}

__global__ void __launch_bounds__(gpu::kThreads)
    gather_kernel(const Piece* pieces, std::uint64_t count, std::byte* data) {
  for (std::uint64_t i = gpu::first_of_warp(); i < count; i += gpu::all_warps()) {
    const Piece piece = pieces[i];
    HOLDFAST_ASSERT(piece.bytes <= kPiece && piece.bytes + piece.zeros != 0);
    move(data + piece.offset, piece.memory, piece.bytes, piece.zeros);
  }
}

__global__ void __launch_bounds__(gpu::kThreads)
    scatter_kernel(const Piece* pieces, std::uint64_t count, const std::byte* window, std::uint64_t begin) {
  for (std::uint64_t i = gpu::first_of_warp(); i < count; i += gpu::all_warps()) {
    const Piece piece = pieces[i];
    HOLDFAST_ASSERT(piece.bytes <= kPiece && piece.bytes + piece.zeros != 0);
    move(piece.memory, window + (piece.offset - begin), piece.bytes, 0);
  }
}

/// The last tensor that begins at or before `at`.
__device__ std::uint64_t source_of(const Sources& sources, std::uint64_t at) {
  std::uint64_t low = 0, high = sources.count;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (sources.many[middle].offset <= at ? low : high) = middle;
  }
  return low;
}

/// The checksum of [begin, end) of the data, as block_checksum has it. All lanes call, and get it.
__device__ std::uint64_t sum_of(const Sources& sources, std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t kRow = 8 * kWarp;
  HOLDFAST_ASSERT(begin < end && end - begin <= kBlock);
  const unsigned lane = threadIdx.x % kWarp;
  std::uint64_t state = lane, at = begin + 8 * lane;  // this lane's next word
  for (std::uint64_t i = source_of(sources, begin); i < sources.count; ++i) {
    const Placed source = sources.many == nullptr ? sources.one : sources.many[i];
    if (source.offset >= end) break;
    std::uint64_t next = end;
    if (i + 1 < sources.count) next = min(end, sources.many[i + 1].offset);
    const std::uint64_t last = source.offset + source.bytes;
    const std::byte* const from = source.memory - source.offset;  // at the data's offsets
    const std::uint64_t whole = min(next, last / 8 * 8);          // offsets are multiples of 8
    if (gpu::aligned(source.memory, 8)) {
      const auto* const words = reinterpret_cast<const std::uint64_t*>(from);
      for (; at + (kAhead - 1) * kRow < whole; at += kAhead * kRow) {
        std::uint64_t held[kAhead];
#pragma unroll
        for (unsigned k = 0; k < kAhead; ++k) held[k] = words[(at + k * kRow) / 8];
#pragma unroll
        for (unsigned k = 0; k < kAhead; ++k) state = checksum_step(state, held[k]);
      }
      for (; at < whole; at += kRow) state = checksum_step(state, words[at / 8]);
    } else {
      for (; at < whole; at += kRow) state = checksum_step(state, gpu::load_user(from + at, 8));
    }
    for (; at < next; at += kRow) state = checksum_step(state, at < last ? gpu::load_user(from + at, last - at) : 0);
  }
  std::uint64_t sum = checksum_step(0, end - begin);
  for (unsigned k = 0; k < kWarp; ++k) {
    sum = checksum_step(sum, __shfl_sync(gpu::kAllLanes, static_cast<unsigned long long>(state), static_cast<int>(k)));
  }
  return sum;
}

/// Calls `each(block, sum)` for every block of the warp, in all lanes.
template <class Each>
__device__ void each_block(const Sources& sources, std::uint64_t first, std::uint64_t count, std::uint64_t data_bytes,
                           const Each& each) {
  for (std::uint64_t i = gpu::first_of_warp(); i < count; i += gpu::all_warps()) {
    const std::uint64_t begin = (first + i) * kBlock;
    each(first + i, sum_of(sources, begin, min(begin + kBlock, data_bytes)));
  }
}

__global__ void __launch_bounds__(gpu::kThreads) sum_kernel(Sources sources, std::uint64_t first, std::uint64_t count,
                                                            std::uint64_t data_bytes, std::uint64_t* sums) {
  each_block(sources, first, count, data_bytes, [&](std::uint64_t block, std::uint64_t sum) {
    if (threadIdx.x % kWarp == 0) sums[block] = sum;
  });
}

__global__ void __launch_bounds__(gpu::kThreads)
    verify_kernel(Sources sources, std::uint64_t first, std::uint64_t count, std::uint64_t data_bytes,
                  const std::uint64_t* sums, unsigned long long* damaged) {
  each_block(sources, first, count, data_bytes, [&](std::uint64_t block, std::uint64_t sum) {
    if (threadIdx.x % kWarp == 0 && sums[block] != sum) atomicMin(damaged, block);
  });
}

}  // namespace

void gather(const Piece* pieces, std::uint64_t count, std::byte* data, cudaStream_t stream) {
  if (count == 0) return;
  gather_kernel<<<gpu::blocks_for(gather_kernel, count * kWarp), gpu::kThreads, 0, stream>>>(pieces, count, data);
  gpu::check_launch("gathering tensors for a save");
}

void scatter(const Piece* pieces, std::uint64_t count, const std::byte* window, std::uint64_t begin,
             cudaStream_t stream) {
  if (count == 0) return;
  scatter_kernel<<<gpu::blocks_for(scatter_kernel, count * kWarp), gpu::kThreads, 0, stream>>>(pieces, count, window,
                                                                                               begin);
  gpu::check_launch("scattering tensors of a restore");
}

void sum(const Sources& sources, std::uint64_t first, std::uint64_t count, std::uint64_t data_bytes,
         std::uint64_t* sums, cudaStream_t stream) {
  if (count == 0) return;
  sum_kernel<<<gpu::blocks_for(sum_kernel, count * kWarp), gpu::kThreads, 0, stream>>>(sources, first, count,
                                                                                       data_bytes, sums);
  gpu::check_launch("computing the checksums of a save");
}

void verify(const Sources& sources, std::uint64_t first, std::uint64_t count, std::uint64_t data_bytes,
            const std::uint64_t* sums, std::uint64_t* damaged, cudaStream_t stream) {
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  if (count == 0) return;
  verify_kernel<<<gpu::blocks_for(verify_kernel, count * kWarp), gpu::kThreads, 0, stream>>>(
      sources, first, count, data_bytes, sums, reinterpret_cast<unsigned long long*>(damaged));
  gpu::check_launch("verifying a restore");
}

}  // namespace holdfast::checkpoint::cuda

// launch.cuh: how large a grid is, and the few lines that every kernel begins with.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "gpu/runtime.hpp"
#include "gpu/warp.cuh"

namespace holdfast::gpu {

inline constexpr unsigned kThreads = 256;
inline constexpr unsigned kWarpsPerBlock = kThreads / kWarp;

/// The grid of a kernel whose threads take elements in a grid-stride loop.
__device__ inline std::uint64_t first_of_thread() { return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline std::uint64_t all_threads() { return std::uint64_t{gridDim.x} * blockDim.x; }
__device__ inline std::uint64_t first_of_warp() { return first_of_thread() / kWarp; }
__device__ inline std::uint64_t all_warps() { return all_threads() / kWarp; }

inline int attribute_of_gpu(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "asking for the present GPU");
  check(cudaDeviceGetAttribute(&value, attribute, device), "asking what the GPU can do");
  return value;
}

/// The multiprocessors of the present GPU.
inline unsigned processors() { return static_cast<unsigned>(attribute_of_gpu(cudaDevAttrMultiProcessorCount)); }

/// True if blocks of the present GPU can share their memory in clusters.
inline bool has_clusters() { return attribute_of_gpu(cudaDevAttrComputeCapabilityMajor) >= 9; }

/// The blocks that the present GPU runs at once.
template <class Kernel>
unsigned resident_blocks(Kernel* kernel) {
  int each = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kThreads, 0), "planning a launch");
  return std::max(1u, processors() * static_cast<unsigned>(each));
}

/// A grid with a thread for each of `size` elements.
inline unsigned all_blocks(std::uint64_t size) { return static_cast<unsigned>((size + kThreads - 1) / kThreads); }

/// A grid for `size` elements, one a thread at a time, that stays resident.
template <class Kernel>
unsigned blocks_for(Kernel* kernel, std::uint64_t size) {
  return static_cast<unsigned>(std::clamp<std::uint64_t>((size + kThreads - 1) / kThreads, 1, resident_blocks(kernel)));
}

/// A grid for `size` operations that warps carry out, and how many of them a warp takes at a time: all 32 lanes bring one
/// where there is enough to do (GPHash §3.2.1), fewer where warps would stand idle.
struct WarpGrid {
  unsigned blocks, share;
};
template <class Kernel>
WarpGrid warps_for(Kernel* kernel, std::uint64_t size) {
  const std::uint64_t most = std::uint64_t{resident_blocks(kernel)} * kWarpsPerBlock;
  const std::uint64_t share = std::clamp<std::uint64_t>((size + most - 1) / most, 1, kWarp);
  const std::uint64_t warps = (size + share - 1) / share;
  const std::uint64_t blocks = std::min((warps + kWarpsPerBlock - 1) / kWarpsPerBlock, most / kWarpsPerBlock);
  return {static_cast<unsigned>(std::max<std::uint64_t>(blocks, 1)), static_cast<unsigned>(share)};
}

inline void check_launch(const char* doing) { check(cudaGetLastError(), doing); }

}  // namespace holdfast::gpu

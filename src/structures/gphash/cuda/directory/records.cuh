// records.cuh: what those who fill, empty and change the positions of a cache report to the key directory (search/key_directory.cuh).
#pragma once

#include <cstdint>

#include "structures/gphash/cuda/directory_view.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/memory.cuh"
#include "structures/gphash/protocol/key_directory.hpp"

namespace holdfast::gphash::cuda {

/// For the thread that fills a position, before a map names it.
__device__ inline void begin_record(const CudaMemory& memory, const DirectoryView& directory, std::uint64_t position) {
  if (directory.any()) memory.poke(directory.record(position), std::uint64_t{gphash::kBlank});
}

/// No map names the position any longer.
__device__ inline void end_record(const DirectoryView& directory, std::uint64_t position) {
  if (directory.any()) DeviceWord(*directory.record(position)).store(gphash::kGone, ::cuda::memory_order_release);
}

/// The slot that names a cell will change, whose key is claimed: no search answers for the key with the cell's copy from now on. `map`: the
/// cell's word of F.
__device__ inline void forget_key(const CudaMemory& memory, const DirectoryView& directory, const std::uint32_t* map) {
  if (!directory.any()) return;
  gphash::forget_key(memory, map, [&](std::uint32_t position) { return directory.record(position); });
}

}  // namespace holdfast::gphash::cuda

// kernels.hpp: what warps do in a save and a restore: gather, scatter, and checksums of blocks. Enqueues, and waits for nothing.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "checkpoint/pieces.hpp"

namespace holdfast::checkpoint::cuda {

/// Where the bytes of the data are: `count` tensors in an array of the GPU, sorted by offset, or one in `one` where that is null.
/// What lies between them is zero.
struct Sources {
  const Placed* many;
  std::uint64_t count;
  Placed one;
};

/// Pieces, an array of the GPU, come to their places in `data`.
void gather(const Piece* pieces, std::uint64_t count, std::byte* data, cudaStream_t stream);
/// And from the data from `begin` on, which `window` has, back.
void scatter(const Piece* pieces, std::uint64_t count, const std::byte* window, std::uint64_t begin,
             cudaStream_t stream);

/// Blocks [first, first + count) of data of `data_bytes` bytes, a multiple of kAlignment, into `sums`, of all blocks.
void sum(const Sources& sources, std::uint64_t first, std::uint64_t count, std::uint64_t data_bytes,
         std::uint64_t* sums, cudaStream_t stream);
/// Leaves in `damaged` the least number of a block whose checksum is another, if that is less than what it has.
void verify(const Sources& sources, std::uint64_t first, std::uint64_t count, std::uint64_t data_bytes,
            const std::uint64_t* sums, std::uint64_t* damaged, cudaStream_t stream);

}  // namespace holdfast::checkpoint::cuda

// moves.cu: pieces that are too small for a copy engine: a warp moves one at a time, over the link.
#include "gpu/bytes.cuh"
#include "gpu/launch.cuh"
#include "store/cuda/cuda_side.hpp"

namespace holdfast::store::cuda {

namespace {

__global__ void __launch_bounds__(gpu::kThreads)
    move_kernel(const Move* moves, std::size_t count, Direction direction) {
  const unsigned lane = threadIdx.x % gpu::kWarp;
  for (std::uint64_t i = gpu::first_of_warp(); i < count; i += gpu::all_warps()) {
    const Move move = moves[i];
    const std::byte* const from = direction == Direction::in ? move.memory : move.cell;
    std::byte* const to = direction == Direction::in ? move.cell : move.memory;
    for (std::uint64_t at = 8 * lane; at < move.bytes; at += 8 * gpu::kWarp) {
      gpu::store_user(to + at, gpu::load_user(from + at, move.bytes - at), move.bytes - at);
    }
  }
}

}  // namespace

void move_small(const Move* moves, std::size_t count, Direction direction, cudaStream_t stream) {
  if (count == 0) return;
  move_kernel<<<gpu::blocks_for(move_kernel, count * gpu::kWarp), gpu::kThreads, 0, stream>>>(moves, count, direction);
  gpu::check_launch("copying small values of a store");
}

}  // namespace holdfast::store::cuda

// adagrad.cu: the kernel of a step of row-wise Adagrad.
#include "gpu/adagrad.hpp"

#include <algorithm>

#include "gpu/launch.cuh"

namespace holdfast::gpu {

namespace {

constexpr std::uint64_t kMostBlocks = 1 << 14;

/// A warp takes a row. Intrinsics, so that no product is fused with the sum that it goes into.
__global__ void __launch_bounds__(kThreads) adagrad_kernel(const __grid_constant__ AdagradStep step) {
  const unsigned lane = threadIdx.x % kWarp;
  for (std::uint64_t at = first_of_warp(); at < step.size; at += all_warps()) {
    float* const row = step.rows + at * (step.columns + std::uint64_t{1});
    const float* const gradient = step.gradients + at * step.columns;
    const float state = __fadd_rn(row[step.columns], step.means[at]);
    const float rate = __fmul_rn(__frcp_rn(__fadd_rn(__fsqrt_rn(state), step.eps)), step.lr);
    __syncwarp();  // all have read the state
    for (unsigned i = lane; i < step.columns; i += kWarp) row[i] = __fsub_rn(row[i], __fmul_rn(gradient[i], rate));
    if (lane == 0) row[step.columns] = state;
  }
}

}  // namespace

void step_adagrad(const AdagradStep& step, cudaStream_t stream) {
  if (step.size == 0) return;
  const std::uint64_t blocks = std::min((step.size + kWarpsPerBlock - 1) / kWarpsPerBlock, kMostBlocks);
  adagrad_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(step);
  check_launch("stepping an optimizer");
}

}  // namespace holdfast::gpu

// persist.cuh: makes what a kernel wrote to a region durable. GPM §5.1, gpm_persist.
//
// Stores of a thread are durable, in the domain of the region's section, when a persist of that thread returns. Another thread that
// is to rely on them must have waited for it: the persist of a warp or of a block ends with such a wait.
#pragma once

#include <cuda_runtime.h>

namespace holdfast {

/// What the calling thread stored before is durable.
__device__ inline void persist() { __threadfence_system(); }

/// What the lanes of `lanes` stored before is durable; all of them call together.
__device__ inline void persist_warp(unsigned lanes = 0xffffffffu) {
  __threadfence_system();
  __syncwarp(lanes);
}

/// What the threads of the block stored before is durable; all of them call together.
__device__ inline void persist_block() {
  __threadfence_system();
  __syncthreads();
}

}  // namespace holdfast

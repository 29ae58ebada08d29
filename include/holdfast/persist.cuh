// persist.cuh: makes a kernel's stores to a region durable. GPM §5.1, gpm_persist.
//
// Stores of a thread are durable, in the domain of the region's section, when a persist of that thread returns. Another
// thread that relies on them must have waited for it: the persist of a warp or of a block ends with such a wait.
#pragma once

#include <cuda_runtime.h>

namespace holdfast {

/// Makes earlier stores of the calling thread durable.
__device__ inline void persist() { __threadfence_system(); }

/// Makes earlier stores of the lanes of `lanes` durable; all of them call together.
__device__ inline void persist_warp(unsigned lanes = 0xffffffffu) {
  __threadfence_system();
  __syncwarp(lanes);
}

/// Makes earlier stores of the threads of the block durable; all of them call together.
__device__ inline void persist_block() {
  __threadfence_system();
  __syncthreads();
}

}  // namespace holdfast

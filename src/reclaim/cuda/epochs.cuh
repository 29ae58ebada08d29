// epochs.cuh: blocks of readers enter and leave epochs from inside their kernels, so that retired memory is kept until each of those that
// ran then has ended, whichever host thread launched it. Rule 5.
#pragma once

#include <cstdint>

#include "gpu/words.cuh"
#include "reclaim/cuda/epochs.hpp"

namespace holdfast::reclaim::cuda {

/// Joins the present epoch. One thread calls it.
__device__ inline std::uint64_t enter_epoch(Epochs& epochs) {
  for (;;) {
    const std::uint64_t epoch = gpu::DeviceWord(epochs.epoch).load(::cuda::memory_order_seq_cst);
    gpu::DeviceWord(epochs.inside[epoch % 3]).fetch_add(1, ::cuda::memory_order_seq_cst);
    if (gpu::DeviceWord(epochs.epoch).load(::cuda::memory_order_seq_cst) == epoch) return epoch;
    gpu::DeviceWord(epochs.inside[epoch % 3]).fetch_sub(1, ::cuda::memory_order_seq_cst);
  }
}

__device__ inline void leave_epoch(Epochs& epochs, std::uint64_t epoch) {
  gpu::DeviceWord(epochs.inside[epoch % 3]).fetch_sub(1, ::cuda::memory_order_seq_cst);
}

/// Begins new epochs as far as readers allow, two at most: then nothing that was retired before is being read. `ends(epoch)` comes
/// first for each epoch that ends. One thread calls it, and no two at a time.
template <class Ends>
__device__ void advance_epochs(Epochs& epochs, Ends&& ends) {
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t epoch = epochs.epoch;
    if (gpu::DeviceWord(epochs.inside[(epoch + 2) % 3]).load(::cuda::memory_order_seq_cst) != 0)
      return;  // of epoch - 1
    ends(epoch);
    gpu::DeviceWord(epochs.epoch).store(epoch + 1, ::cuda::memory_order_seq_cst);
  }
}

/// Membership of a block for a scope that all its threads begin and end together.
class InEpoch {
 public:
  __device__ explicit InEpoch(Epochs& epochs) : epochs_(epochs) {
    if (threadIdx.x == 0) epoch_ = enter_epoch(epochs);
    __syncthreads();
  }
  __device__ ~InEpoch() {
    __syncthreads();
    if (threadIdx.x == 0) leave_epoch(epochs_, epoch_);
  }
  InEpoch(const InEpoch&) = delete;
  InEpoch& operator=(const InEpoch&) = delete;

 private:
  Epochs& epochs_;
  std::uint64_t epoch_ = 0;
};

}  // namespace holdfast::reclaim::cuda

// session.cu: begins and ends the sessions of users' kernels on the GPU, in stream order. Rules 5, 23.
#include <cuda_runtime_api.h>

#include "gpu/launch.cuh"
#include "structures/gphash/cuda/epochs.cuh"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/users/descriptor.hpp"

namespace holdfast::gphash::cuda {

namespace {

__global__ void __launch_bounds__(kThreads)
    open_kernel(Descriptor* descriptor, const __grid_constant__ Descriptor session) {
  static_assert(sizeof(Descriptor) % 8 == 0);
  const auto* const from = reinterpret_cast<const std::uint64_t*>(&session);
  for (unsigned i = threadIdx.x; i < sizeof(Descriptor) / 8; i += blockDim.x)
    reinterpret_cast<std::uint64_t*>(descriptor)[i] = from[i];
  __syncthreads();
  if (threadIdx.x == 0) descriptor->epoch = reclaim::cuda::enter_epoch(session.state->readers);
}

__global__ void close_kernel(Descriptor* descriptor) {
  if (descriptor->session == 0) return;
  reclaim::cuda::leave_epoch(descriptor->state->readers, descriptor->epoch);
  descriptor->session = 0;
}

}  // namespace

void open_session(Descriptor* descriptor, const Descriptor& session, void* stream) {
  open_kernel<<<1, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(descriptor, session);
  check_launch("beginning a session");
}

void close_session(Descriptor* descriptor, void* stream) {
  close_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(descriptor);
  check_launch("ending a session");
}

}  // namespace holdfast::gphash::cuda

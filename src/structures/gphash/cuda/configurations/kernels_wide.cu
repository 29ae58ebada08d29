// kernels_wide.cu: the kernels, compiled for the default configuration with wide keys.
#include "structures/gphash/cuda/configurations/kernels_impl.cuh"

namespace holdfast::gphash::cuda {

std::unique_ptr<Kernels> make_wide_kernels() {
  return std::make_unique<KernelsImpl<gphash::DefaultWideShape>>(gphash::RuntimeShape{2, 2, 8, 2});
}

}  // namespace holdfast::gphash::cuda

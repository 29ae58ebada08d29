// kernels_default.cu: the kernels, compiled for the default configuration, 2L-2H-8S.
#include "structures/gphash/cuda/configurations/kernels_impl.cuh"

namespace holdfast::gphash::cuda {

std::unique_ptr<Kernels> make_default_kernels() {
  return std::make_unique<KernelsImpl<gphash::DefaultShape>>(gphash::RuntimeShape{2, 2, 8});
}

}  // namespace holdfast::gphash::cuda

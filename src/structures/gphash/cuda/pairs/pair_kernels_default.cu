// pair_kernels_default.cu: the kernels of variable-length pairs, compiled for the default configuration.
#include "structures/gphash/cuda/pairs/pair_kernels_impl.cuh"

namespace holdfast::gphash::cuda {

std::unique_ptr<PairKernels> make_default_pair_kernels() {
  return std::make_unique<PairKernelsImpl<gphash::DefaultVariableShape>>(gphash::RuntimeShape{});
}

}  // namespace holdfast::gphash::cuda

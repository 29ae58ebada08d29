// pair_kernels_runtime.cu: the kernels of variable-length pairs, compiled for any configuration.
#include "structures/gphash/cuda/pairs/pair_kernels_impl.cuh"

namespace holdfast::gphash::cuda {

std::unique_ptr<PairKernels> make_pair_kernels(const gphash::RuntimeShape& shape) {
  if (gphash::is_default(shape)) return make_default_pair_kernels();
  return std::make_unique<PairKernelsImpl<gphash::RuntimeVariableShape>>(shape);
}

}  // namespace holdfast::gphash::cuda

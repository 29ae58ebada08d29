// kernels_runtime.cu: the kernels, compiled for any configuration.
#include "structures/gphash/cuda/configurations/kernels_impl.cuh"

namespace holdfast::gphash::cuda {

std::unique_ptr<Kernels> make_runtime_kernels(const gphash::RuntimeShape& shape) {
  return std::make_unique<KernelsImpl<gphash::RuntimeShape>>(shape);
}

std::unique_ptr<Kernels> make_kernels(const gphash::RuntimeShape& shape) {
  if (!gphash::is_default(shape)) return make_runtime_kernels(shape);
  return shape.wide() ? make_wide_kernels() : make_default_kernels();
}

}  // namespace holdfast::gphash::cuda

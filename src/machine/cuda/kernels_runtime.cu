// kernels_runtime.cu: the kernels, compiled for any configuration.
#include "machine/cuda/kernels_impl.cuh"

namespace holdfast::machine::cuda {

std::unique_ptr<Kernels> make_runtime_kernels(const index::RuntimeShape& shape) {
  return std::make_unique<KernelsImpl<index::RuntimeShape>>(shape);
}

std::unique_ptr<Kernels> make_kernels(const index::RuntimeShape& shape) {
  const bool is_default = shape.levels_ == 2 && shape.hashes_ == 2 && shape.slots_ == 8;
  return is_default ? make_default_kernels() : make_runtime_kernels(shape);
}

}  // namespace holdfast::machine::cuda

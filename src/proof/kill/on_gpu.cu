// on_gpu.cu: lets kernels of a child see the page of failpoints.
#include "core/failpoint.hpp"
#include "proof/kill/children.hpp"
#include "proof/kill/mapped.cuh"

namespace holdfast::proof::kill {

void register_failpoints() {
  void* const page = reinterpret_cast<void*>(failpoint::kPageAddress);
  must(cudaHostRegister(page, failpoint::kPageBytes, cudaHostRegisterPortable | cudaHostRegisterMapped));
}

}  // namespace holdfast::proof::kill

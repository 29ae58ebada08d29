// device_index.cpp: the index of a store in GPU memory.
#include "holdfast/error.hpp"
#include "holdfast/table.hpp"
#include "store/device_side.hpp"
#include "structures/cuckoo/cuda/cuda_index.hpp"

namespace holdfast::store {

std::unique_ptr<cuckoo::AnyIndex> make_device_index(const cuckoo::cpu::CpuOptions& options) {
  std::string why;
  if (cuda_devices(&why) == 0) throw DeviceError(why + ": open the store with its index on the CPU");
  using Index = cuckoo::AnyIndexOf<cuckoo::cuda::CudaIndex, cuckoo::cuda::CudaOptions>;
  return std::make_unique<Index>(cuckoo::cuda::CudaOptions{
      .capacity = options.capacity, .signature_bits = options.signature_bits, .threads = options.threads});
}

}  // namespace holdfast::store

// device_index.cpp: the index of a store in GPU memory.
#include "holdfast/error.hpp"
#include "holdfast/table.hpp"
#include "store/device_side.hpp"
#include "structures/cuckoo/cuda/cuda_index.hpp"

namespace holdfast::store {

std::unique_ptr<cuckoo::AnyIndex> make_device_index(const cuckoo::cpu::CpuOptions& options, int device) {
  std::string why;
  const int devices = cuda_devices(&why);
  if (devices == 0) throw DeviceError(why + ": open the store with its index on the CPU");
  require_device(device, devices);
  using Index = cuckoo::AnyIndexOf<cuckoo::cuda::CudaIndex, cuckoo::cuda::CudaOptions>;
  return std::make_unique<Index>(cuckoo::cuda::CudaOptions{.capacity = options.capacity,
                                                           .device = device,
                                                           .signature_bits = options.signature_bits,
                                                           .threads = options.threads});
}

}  // namespace holdfast::store

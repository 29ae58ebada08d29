// stand_in_store.cpp: stores with their index on a GPU have a stand-in's in these histories, unless they are built with CUDA.
#ifndef HOLDFAST_WITH_CUDA
#include "store/device_side.hpp"
#include "store/stand_in_index.hpp"

namespace holdfast {

std::unique_ptr<cuckoo::AnyIndex> store::make_device_index(const cuckoo::cpu::CpuOptions& options, int device) {
  require_device(device, StandIn::devices);
  return std::make_unique<StandInIndex>(options);
}

}  // namespace holdfast
#endif

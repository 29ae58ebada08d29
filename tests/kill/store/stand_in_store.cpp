// stand_in_store.cpp: the index of a store "on a GPU" is a stand-in's here, with batches only, unless the campaign is built with CUDA.
#ifndef HOLDFAST_WITH_CUDA
#include "store/stand_in_index.hpp"

#include "store/device_side.hpp"

namespace holdfast {

std::unique_ptr<cuckoo::AnyIndex> store::make_device_index(const cuckoo::cpu::CpuOptions& options, int device) {
  require_device(device, StandIn::devices);
  return std::make_unique<StandInIndex>(options);
}

}  // namespace holdfast
#endif

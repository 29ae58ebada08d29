// no_device.cpp: builds without CUDA have no GPU's side of a store.
#ifndef HOLDFAST_WITH_CUDA
#include "holdfast/error.hpp"
#include "store/device_side.hpp"

namespace holdfast::store {

// Weak, so that a test's own takes its place in unity builds too.
[[gnu::weak]] std::unique_ptr<DeviceSide> make_device_side() {
  throw DeviceError("this Holdfast was built without CUDA: open the store without gpu");
}
[[gnu::weak]] std::unique_ptr<cuckoo::AnyIndex> make_device_index(const cuckoo::cpu::CpuOptions&, int) {
  throw DeviceError("this Holdfast was built without CUDA: open the store with its index on the CPU");
}

}  // namespace holdfast::store
#endif

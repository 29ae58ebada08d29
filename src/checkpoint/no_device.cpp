// no_device.cpp: builds without CUDA have no GPU's side of a checkpoint.
#ifndef HOLDFAST_WITH_CUDA
#include "checkpoint/device_side.hpp"
#include "holdfast/error.hpp"

namespace holdfast::checkpoint {

std::unique_ptr<DeviceSide> make_device_side() {
  throw DeviceError("a tensor is said to be on a GPU, but this Holdfast was built without CUDA: copy it to the host");
}

}  // namespace holdfast::checkpoint
#endif

// runtime.cpp: CUDA's errors in words, and owners for what must be given back.
#include "gpu/runtime.hpp"

#include <algorithm>

namespace holdfast::gpu {

bool is_sticky(cudaError_t code) {
  switch (code) {
    case cudaSuccess:
    case cudaErrorMemoryAllocation:
    case cudaErrorInvalidValue:
    case cudaErrorNotReady:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorInvalidConfiguration:
    case cudaErrorLaunchOutOfResources:
    case cudaErrorHostMemoryAlreadyRegistered:
    case cudaErrorHostMemoryNotRegistered:
    case cudaErrorNotSupported:
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureMerge:
    case cudaErrorStreamCaptureUnmatched:
    case cudaErrorStreamCaptureUnjoined:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorCapturedEvent:
    case cudaErrorStreamCaptureWrongThread:
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorInsufficientDriver: return false;
    default: return true;
  }
}

void check(cudaError_t code, const char* doing) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // an error that does not last must not be met again by the next call
  std::string message = std::string("CUDA failed while ") + doing + ": " + cudaGetErrorName(code) + " (" +
                        cudaGetErrorString(code) + "). ";
  if (code == cudaErrorMemoryAllocation) {
    message += "Free some GPU memory, or open the pool with device=\"cpu\".";
  } else if (is_sticky(code)) {
    message +=
        "This process can use the GPU no more. Nothing that was acknowledged is lost: open the pool in a new process.";
  } else {
    message += "Nothing that was acknowledged is lost.";
  }
  throw DeviceError(message);
}

OnDevice::OnDevice(int device) {
  check(cudaGetDevice(&before_), "asking for the present GPU");
  if (before_ != device) {
    check(cudaSetDevice(device), "choosing a GPU");
    changed_ = true;
  }
  check(cudaThreadExchangeStreamCaptureMode(&mode_), "preparing for captures");
}

OnDevice::~OnDevice() {
  static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_));
  if (changed_) static_cast<void>(cudaSetDevice(before_));
}

void require_stream(cudaStream_t stream, int device) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return;
  int its = device;
  check(cudaStreamGetDevice(stream, &its), "asking which GPU the stream is on");
  if (its != device) {
    throw InvalidArgument("stream is on GPU " + std::to_string(its) + ", but it is for GPU " + std::to_string(device) +
                          ": give a stream of that one");
  }
}

void* allocate_device(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, std::max<std::size_t>(bytes, 8)), "taking GPU memory");
  return memory;
}

void require_free(const char* option, std::uint64_t budget, std::uint64_t free) {
  if (budget <= free) return;
  throw DeviceError(std::string(option) + " allows " + std::to_string(budget) + " bytes, but " + std::to_string(free) +
                    " bytes of GPU memory are free: give less, or leave it out for half of what is free");
}

void free_device(void* memory) noexcept {
  if (memory != nullptr) static_cast<void>(cudaFree(memory));
}

Stream::Stream(bool first) {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "making a stream");
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, first ? greatest : least), "making a stream");
}
Stream::~Stream() { static_cast<void>(cudaStreamDestroy(stream_)); }

Event::Event(bool sleeps) {
  const unsigned flags = cudaEventDisableTiming | (sleeps ? cudaEventBlockingSync : 0u);
  check(cudaEventCreateWithFlags(&event_, flags), "making an event");
}
Event::~Event() {
  if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
}

bool Event::passed() const {
  const cudaError_t code = cudaEventQuery(event_);
  if (code == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  check(code, "asking for the end of a batch");
  return true;
}

}  // namespace holdfast::gpu

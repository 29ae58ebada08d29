// runtime.cpp: CUDA's errors in words, and the mapping of a pool for the GPU.
#include "gpu/runtime.hpp"

#include <algorithm>

#include "gphash/table_object.hpp"

namespace holdfast::machine::cuda {

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
    message += "Free some GPU memory, or open the table with device=\"cpu\".";
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
    check(cudaSetDevice(device), "choosing the table's GPU");
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
  check(cudaStreamGetDevice(stream, &its), "asking which GPU the batch's stream is on");
  if (its != device) {
    throw InvalidArgument("stream is on GPU " + std::to_string(its) + ", but the table is on GPU " +
                          std::to_string(device) + ": give a stream of the table's GPU");
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

Event::Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "making an event"); }
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

Registration::Registration(gphash::TableObject& pool) : pool_(pool) {
  if (pool.medium() == Medium::file) {
    throw MediumError(pool.path() +
                      " lies on an ordinary file system. Such a pool works on the CPU until the journal "
                      "exists; put it in /dev/shm, or use device=\"cpu\"");
  }
  pool_.on_extent([this](void* address, std::size_t bytes) { add(address, bytes); },
                  [this](void* address, std::size_t) { remove(address); });
  try {
    require_complete();
  } catch (...) {
    pool_.on_extent({}, {});
    while (!ranges_.empty()) remove(ranges_.back());
    throw;
  }
}

Registration::~Registration() {
  pool_.on_extent({}, {});
  while (!ranges_.empty()) remove(ranges_.back());
}

/// Called by the pool in the midst of its changes, so it notes an error and throws none.
void Registration::add(void* address, std::size_t bytes) {
  unsigned flags = cudaHostRegisterMapped | cudaHostRegisterPortable;
  if (pool_.read_only()) flags |= cudaHostRegisterReadOnly;
  cudaError_t code = cudaHostRegister(address, bytes, flags);
  if (code == cudaSuccess) {
    ranges_.push_back(address);
    void* seen = nullptr;
    code = cudaHostGetDevicePointer(&seen, address, 0);
    if (code == cudaSuccess && seen != address) {
      error_ = "the GPU sees it at another address than the CPU does, which this build cannot use";
    }
  }
  if (code != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    error_ = std::string(cudaGetErrorName(code)) + " (" + cudaGetErrorString(code) + ")";
  }
}

void Registration::remove(void* address) {
  const auto found = std::find(ranges_.begin(), ranges_.end(), address);
  if (found == ranges_.end()) return;
  ranges_.erase(found);
  static_cast<void>(cudaHostUnregister(address));
  static_cast<void>(cudaGetLastError());
}

void Registration::require_complete() const {
  if (error_.empty()) return;
  throw MediumError(pool_.path() + " cannot be mapped for the GPU: " + error_ +
                    ". Put it on another medium (/dev/shm), or use device=\"cpu\"");
}

}  // namespace holdfast::machine::cuda

// words.cuh: words of memory that threads share: of the whole system, and of one GPU.
#pragma once

#include <cuda/atomic>

#include <cstdint>

namespace holdfast::gpu {

using SystemWord = ::cuda::atomic_ref<std::uint64_t, ::cuda::thread_scope_system>;
using DeviceHalf = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>;
using DeviceWord = ::cuda::atomic_ref<std::uint64_t, ::cuda::thread_scope_device>;

}  // namespace holdfast::gpu

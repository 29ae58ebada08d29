// bus_error.hpp: a mapped page that its medium no longer gives (a file cut short, a full or a failing medium) does not end the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast::system {

/// From now on an access to [at, at + bytes) that the kernel answers with SIGBUS sets `lost`, finds zeroed memory of this process there,
/// and continues; what else is close to it may be zero too. Any other SIGBUS goes to the handler that there was before, once and for all.
/// A thread that uses the range asks `lost` before it relies on what was read or written.
void watch_bus_errors(std::byte* at, std::uint64_t bytes, std::uint64_t granule, std::atomic<bool>& lost);

/// Before (a part of) it is unmapped.
void end_bus_errors(std::byte* at, std::uint64_t bytes) noexcept;

}  // namespace holdfast::system

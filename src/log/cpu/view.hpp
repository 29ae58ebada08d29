// view.hpp: a log in mapped memory, for the CPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "log/cpu/memory.hpp"
#include "log/log_header.hpp"

namespace holdfast::log {

/// `holds`: of a conventional log one zero a place, else unused.
inline View<CpuMemory> view_of(const LogShape& shape, std::byte* data, std::uint32_t* holds) {
  auto* const tails = reinterpret_cast<std::uint32_t*>(data + kTailsAt);
  auto* const entries = reinterpret_cast<std::uint32_t*>(data + entries_at(shape));
  return {shape, reinterpret_cast<std::uint32_t*>(data), tails, entries, tails, holds};
}

}  // namespace holdfast::log

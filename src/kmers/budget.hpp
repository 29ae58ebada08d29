// budget.hpp: how much memory there is, and how much of it a count, and its bins or arrays, may take.
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/kmers.hpp"

namespace holdfast::kmers {

struct Budget {
  std::uint64_t process = 0;  ///< bytes that the process may take, without the pages of a pool
  std::size_t bins = 0;       ///< of these, the bytes of bins or arrays
};

/// Divides what a process may take in all: options.memory (0: most of what the system has free). Throws InvalidArgument if
/// that leaves less than `least` bytes for bins or arrays, or if the system has not so much memory.
Budget budget_for(const KmerOptions& options, std::uint64_t least);

}  // namespace holdfast::kmers

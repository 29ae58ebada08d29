// budget.hpp: how much memory there is, and how much of it the bins or arrays of a count may take.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::kmers {

/// What is left for them in a process that may take `memory` bytes in all (0: most of what the system has free). Throws
/// InvalidArgument if that is less than `least`, or if there is not so much memory.
std::size_t budget_for(std::uint64_t memory, unsigned threads, std::uint64_t least);

}  // namespace holdfast::kmers

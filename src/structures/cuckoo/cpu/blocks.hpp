// blocks.hpp: rows in blocks, so that lines of the next block come from memory while a block is worked on.
#pragma once

#include <algorithm>
#include <cstddef>

#include "structures/cuckoo/cpu/cpu_memory.hpp"

namespace holdfast::cuckoo::cpu {

inline constexpr std::size_t kBlock = 32;  // rows

/// Calls `first(i)` for the rows of a block, then `work(begin, end)` for the block before it, and so on; ends when `work` returns false.
template <class First, class Work>
void in_blocks(std::size_t from, std::size_t rows, const First& first, const Work& work) {
  for (std::size_t i = from; i < std::min(from + kBlock, rows); ++i) first(i);
  for (std::size_t begin = from; begin < rows; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, rows), ahead = std::min(end + kBlock, rows);
    for (std::size_t i = end; i < ahead; ++i) first(i);
    if (!work(begin, end)) return;
  }
}

inline void prefetch_row(const CpuMemory& memory, const Geometry& geometry, Hash hash) {
  const BucketNumber home = geometry.primary(hash);
  memory.prefetch(home);
  memory.prefetch_group(home);
}

}  // namespace holdfast::cuckoo::cpu

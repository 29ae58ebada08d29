// blocks.hpp: checksums of many blocks, on as many threads as pay.
#pragma once

#include <cstdint>
#include <optional>

#include "checkpoint/layout.hpp"

namespace holdfast::checkpoint {

/// Of blocks [first, last) of the data, into `sums`.
void sum_blocks(const std::byte* data, std::uint64_t data_bytes, std::uint64_t first, std::uint64_t last,
                std::uint64_t* sums);

/// The first block in [first, last) whose checksum is not in `sums`.
std::optional<std::uint64_t> damaged_block(const std::byte* data, std::uint64_t data_bytes, std::uint64_t first,
                                           std::uint64_t last, const std::uint64_t* sums);

}  // namespace holdfast::checkpoint

// catalogue.hpp: the tensors of a copy, and its text, as bytes; every number is checked before anybody relies on it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/layout.hpp"
#include "holdfast/checkpoint.hpp"

namespace holdfast::checkpoint {

/// Where the parts of a copy lie, in bytes from its beginning.
struct Plan {
  CopyHeader header = {};
  std::vector<std::byte> catalogue;  ///< without the checksums of blocks
  std::vector<TensorEntry> entries;
  std::uint64_t sums_offset() const { return sizeof(CopyHeader) + catalogue.size(); }
  std::uint64_t bytes() const { return header.data_offset + header.data_bytes; }
};

inline std::uint64_t blocks_of(std::uint64_t data_bytes) { return (data_bytes + kBlock - 1) / kBlock; }

/// Throws InvalidArgument: a type that there is not, a name twice, a size that overflows.
Plan plan(std::span<const TensorView> tensors, std::string_view text);

/// What a copy holds, if its catalogue is right.
struct Catalogue {
  std::vector<SavedTensor> tensors;
  std::vector<std::uint64_t> offsets;  ///< of tensors, in the data
  std::string text;
  const std::uint64_t* sums = nullptr;
  std::string damage;  ///< empty: none
};
Catalogue read_catalogue(const std::byte* copy, const CopyHeader& header, std::uint64_t bytes);

}  // namespace holdfast::checkpoint

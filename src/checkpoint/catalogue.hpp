// catalogue.hpp: the tensors of a copy, and its text, as bytes; every number is checked before use.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/device_side.hpp"
#include "checkpoint/layout.hpp"
#include "holdfast/checkpoint.hpp"

namespace holdfast::checkpoint {

inline std::uint64_t blocks_of(std::uint64_t data_bytes) { return (data_bytes + kBlock - 1) / kBlock; }

/// Tensors that were checked, and where they lie in the data of a copy: those of a GPU first.
struct Layout {
  std::vector<std::byte> listed;     ///< tensors, shapes and names, as in a copy
  std::vector<Placed> device, host;  ///< without the empty ones
  std::uint64_t tensors = 0, dimensions = 0, names_bytes = 0;
  std::uint64_t data_bytes = 0, device_bytes = 0;
  std::shared_ptr<const DevicePlan> plan;  ///< of `device`, if they are saved again and again
  /// The blocks that have tensors of a GPU alone.
  std::uint64_t device_blocks() const {
    return device_bytes == data_bytes ? blocks_of(data_bytes) : device_bytes / kBlock;
  }
};

/// Throws InvalidArgument: a type that there is not, a name twice, a size that overflows.
Layout layout_of(std::span<const TensorView> tensors);

/// Where the parts of a copy lie, in bytes from its beginning.
struct Plan {
  Plan(std::shared_ptr<const Layout> tensors, std::string_view text);
  std::shared_ptr<const Layout> layout;
  std::string text;
  CopyHeader header = {};
  std::uint64_t catalogue_bytes() const;  ///< without the checksums of blocks
  std::uint64_t sums_offset() const { return sizeof(CopyHeader) + catalogue_bytes(); }
  std::uint64_t bytes() const { return header.data_offset + header.data_bytes; }
  CopyParts parts(std::byte* copy) const {
    return {copy + header.data_offset, reinterpret_cast<std::uint64_t*>(copy + sums_offset()), header.data_bytes};
  }
  void write_catalogue(std::byte* copy) const;
};

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

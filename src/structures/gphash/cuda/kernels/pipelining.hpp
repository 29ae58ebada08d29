// pipelining.hpp: an ordered search in two parts (pipelining.cu). What it adds to one in one part is here and there.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "gpu/order/bins.hpp"
#include "gpu/runtime.hpp"
#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::gphash::cuda {

/// Which part of a search kernels work on; by default, all of it.
struct SearchPart {
  bool goes_first = false;
  std::uint64_t first = 0;               ///< the rows that go first
  const std::uint32_t* crowd = nullptr;  ///< how many of them fell to the range that most fell to; null: one part
  std::uint32_t crowd_limit = 0;         ///< if more did, all rows go together after all

  /// Known when the crowd has been counted.
  HOLDFAST_BOTH bool apart() const { return crowd != nullptr && *crowd <= crowd_limit; }
  /// The rows that the other part has answered.
  HOLDFAST_BOTH std::uint64_t answered() const { return !goes_first && apart() ? first : 0; }
  /// The other part does all.
  HOLDFAST_BOTH bool is_void() const { return goes_first && !apart(); }
};

/// Where the first part works, beside the workspace of the whole search.
struct Pipelining {
  DeviceBuffer<std::uint32_t> starts{(std::size_t{1} << kBinBits) + 1};  ///< as Bins has them
  DeviceBuffer<std::uint32_t> crowd{1};                                  ///< SearchPart::crowd
  Stream stream{true};
  Event ordered, gathered;
};

}  // namespace holdfast::gphash::cuda

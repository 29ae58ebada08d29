// directory_view.hpp: the key directory as kernels see it (search/key_directory.cuh).
#pragma once

#include <cstdint>

#include "core/both.hpp"

namespace holdfast::gphash::cuda {

inline constexpr unsigned kHintsOfSet = 4;

/// Trivially copyable: it travels into kernels by value.
struct DirectoryView {
  std::uint64_t* records =
      nullptr;  ///< (positions, words) of which key a copy is (structures/gphash/protocol/key_directory.hpp); null: not recorded
  unsigned words = 0;              ///< of a record: a state and the key
  std::uint32_t* hints = nullptr;  ///< sets of 1 + positions, where records are by the hashes of their keys
  std::uint64_t last_set = 0;

  HOLDFAST_BOTH bool any() const { return records != nullptr; }
  HOLDFAST_BOTH std::uint64_t* record(std::uint64_t position) const { return records + position * words; }
};

}  // namespace holdfast::gphash::cuda

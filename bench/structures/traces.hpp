// traces.hpp: the keys of the measurements. Group hashing, §4.1: RandomNum, Bag-of-Words, Fingerprint.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "structures/setup.hpp"

namespace holdfast::bench::structures {

/// A key of either size; of one of 8 bytes the first word.
using Key = std::array<std::uint64_t, 2>;

struct Trace {
  std::string name;
  std::string source;  ///< "generated", or the file or folder
  unsigned item_bytes = 16;
  unsigned bits = 23;     ///< log2 of the cells of the paper's table
  std::vector<Key> keys;  ///< distinct, in the order in which they come
};

/// What a trace has, without its keys. `name`: random, words or fingerprint.
Trace trace_named(const std::string& name, const Setup& setup);

/// Fills in `size` distinct keys: of the user's file or folder, where there is one. Throws InvalidArgument where that is not readable, is
/// cut off, is not what it should be, or has fewer.
void add_keys(Trace& trace, std::uint64_t size, const Setup& setup);

}  // namespace holdfast::bench::structures

// selection.hpp: which items `erase_if`, `export_if` and `size_if` mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>

namespace holdfast {

/// Items whose key lies in a range, whose score lies in a range, and which the predicates, if there are any, choose. Keys of 8 bytes
/// are compared as unsigned numbers, wider ones byte by byte.
///
/// Predicates run on the host, on the calling thread, whichever machine the table has. They may search the table, must not
/// change it (InvalidArgument), and may throw: what they throw comes out of the operation, the table is unharmed, and what
/// was erased until then stays erased.
struct Selection {
  const void* first = nullptr;                       ///< the least key; null: no limit
  const void* last = nullptr;                        ///< the greatest key, which belongs to the range; null: no limit
  std::uint64_t least_score = 0;                     ///< with this or the next, the table must keep scores (score.hpp)
  std::uint64_t greatest_score = ~std::uint64_t{0};  ///< belongs to the range
  std::function<bool(const void* key, const void* value)> where = {};
  /// The same for many items at once: keys (n, key_bytes), values (n, value_bytes); clears keep[i] for those it does not
  /// choose.
  std::function<void(const void* keys, const void* values, std::size_t n, bool* keep)> where_all = {};
  /// Asked before each piece of some ten thousand items, or half a million on a GPU. What was done stands.
  std::stop_token stop = {};
  /// Called on the calling thread before each time that `stop` is asked. What it throws comes out of the operation, as with predicates.
  std::function<void()> progress = {};
};

}  // namespace holdfast

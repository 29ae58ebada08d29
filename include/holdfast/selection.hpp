// selection.hpp: selects the items for `erase_if`, `export_if` and `size_if`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>

namespace holdfast {

/// Selects items by a range of keys, a range of scores, and optional predicates.
/// Keys of 8 bytes are compared as unsigned numbers, wider ones byte by byte.
///
/// Predicates run on the host, on the calling thread, with every backend. They may search
/// the table, and must not change it (InvalidArgument). An exception from a predicate is
/// passed on by the operation; the table is unharmed, and earlier erases stand.
struct Selection {
  const void* first = nullptr;                       ///< the least key; null: no limit
  const void* last = nullptr;                        ///< the greatest key, which belongs to the range; null: no limit
  std::uint64_t least_score = 0;                     ///< with this or the next, the table must keep scores (score.hpp)
  std::uint64_t greatest_score = ~std::uint64_t{0};  ///< belongs to the range
  std::function<bool(const void* key, const void* value)> where = {};
  /// The same for many items at once: keys (n, key_bytes), values (n,
  /// value_bytes); clears keep[i] for items that it does not select.
  std::function<void(const void* keys, const void* values, std::size_t n, bool* keep)> where_all = {};
  /// Checked before each piece of some ten thousand items, or half a million on a GPU. Finished work stands.
  std::stop_token stop = {};
  /// Called on the calling thread before each check of `stop`. The operation passes on its exceptions, as those of predicates.
  std::function<void()> progress = {};
};

}  // namespace holdfast

// row_group.hpp: rows of a batch that are taken, and hashed, together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "structures/dramhit/lane.hpp"

namespace holdfast::dramhit {

/// Rows of a group whose lines are asked for one after another, with nothing between.
struct RowPart {
  const std::size_t* row;
  const std::uint64_t* hash;
  unsigned size;
};

struct RowGroup {
  std::size_t row[kMostDepth];
  std::uint64_t hash[kMostDepth];
  unsigned size = 0;
  std::size_t after = 0;  ///< the rows before this one are in it, or skipped

  RowPart part(unsigned from, unsigned most) const { return {row + from, hash + from, std::min(most, size - from)}; }

  /// Of the rows from `rows.next` to `end` the first, at most `most`.
  template <class Form>
  void take(const Form& form, const Rows& rows, std::size_t end, unsigned most) {
    size = 0;
    after = rows.next;
    if (rows.mask == nullptr && rows.parts == 1) {
      size = static_cast<unsigned>(std::min<std::size_t>(most, end - rows.next));
      after = rows.next + size;
      for (unsigned i = 0; i < size; ++i) row[i] = rows.next + i;
      form.hash_rows(rows, rows.next, size, hash);
      return;
    }
    for (; after < end && size < most; ++after) {
      row[size] = after;
      hash[size] = form.hash(rows, after);
      size += !skips(rows, after, hash[size]);
    }
  }

 private:
  static bool skips(const Rows& rows, std::size_t row, std::uint64_t hash) {
    return (rows.mask != nullptr && rows.mask[row] == 0) || (rows.parts > 1 && high(hash, rows.parts) != rows.part);
  }
};

}  // namespace holdfast::dramhit

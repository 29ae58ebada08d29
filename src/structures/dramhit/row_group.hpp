// row_group.hpp: rows of a batch that are taken together, so that their lines are asked for together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "structures/dramhit/lane.hpp"

namespace holdfast::dramhit {

/// Their lines are asked for one after another, and nothing else between: a prefetch whose address is yet to be translated holds up
/// what comes after it (AMD), and a branch that depends on what a line holds, predicted wrong, ends what the processor has
/// begun. So as many translations as it can have run at once; where memory is large they take longest.
struct RowGroup {
  std::size_t row[kMostDepth];
  std::uint64_t hash[kMostDepth];
  unsigned size = 0;
  std::size_t after = 0;  ///< the rows before this one are in it, or skipped

  /// Of the rows from `rows.next` to `end` the first, at most `most`.
  template <class Form>
  [[gnu::always_inline]] void take(const Form& form, const Rows& rows, std::size_t end, unsigned most) {
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

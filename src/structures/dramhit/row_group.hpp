// row_group.hpp: rows of a batch that are taken together, so that their lines are asked for together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "structures/dramhit/lane.hpp"

namespace holdfast::dramhit {

/// Their lines are asked for one after another, with no look at a line between: a prefetch whose address is yet to be translated holds up
/// what comes after it (AMD), and a branch that depends on what a line holds, predicted wrong, ends what the processor has
/// begun. So as many translations as it can have run at once; where memory is large they take longest.
class RowGroup {
 public:
  const std::size_t* row = nullptr;
  const std::uint64_t* hash = nullptr;
  unsigned size = 0;
  std::size_t after = 0;  ///< the rows before this one are in it or in an earlier one, or skipped

  /// Of the rows from `rows.next` to `end` the first, at most `most`; `rows.next` is where the group before ended.
  template <class Form>
  [[gnu::always_inline]] void take(const Form& form, const Rows& rows, std::size_t end, unsigned most) {
    const bool all = rows.mask == nullptr && rows.parts == 1;
    if (at_ == found_) all ? hash_next(form, rows, end) : scan(form, rows, end);
    row = rows_ + at_;
    hash = hashes_ + at_;
    size = std::min(most, found_ - at_);
    at_ += size;
    after = at_ == found_ ? scanned_ : rows_[at_];
  }

 private:
  static constexpr unsigned kScanned = 256, kHashed = 64;

  /// The next rows, hashed: more than are asked for together, since wide instructions take eight at a time.
  template <class Form>
  [[gnu::always_inline]] void hash_next(const Form& form, const Rows& rows, std::size_t end) {
    found_ = static_cast<unsigned>(std::min<std::size_t>(kHashed, end - rows.next));
    for (unsigned i = 0; i < found_; ++i) rows_[i] = rows.next + i;
    form.hash_rows(rows, rows.next, found_, hashes_);
    at_ = 0;
    scanned_ = rows.next + found_;
  }

  /// Finds the rows of this part among the next ones. Each thread of a batch scans the rows of all parts, so many at a time: without
  /// branches, and by wide instructions except for the last loop.
  template <class Form>
  [[gnu::noinline]] void scan(const Form& form, const Rows& rows, std::size_t end) {
    const auto n = static_cast<unsigned>(std::min<std::size_t>(kScanned, end - rows.next));
    std::uint64_t all[kScanned];
    form.hash_rows(rows, rows.next, n, all);
    form.ask_keys(rows, rows.next + n, std::min<std::size_t>(rows.next + n + kScanned, end));  // of the next scan
    std::uint64_t is_mine[kScanned];
    const std::uint64_t parts = rows.parts, part = rows.part, low = 0xffff'ffff;
    for (unsigned i = 0; i < n; ++i) {  // high(all[i], parts), by products of 32 bits
      is_mine[i] = (((all[i] >> 32) * parts + (((all[i] & low) * parts) >> 32)) >> 32) == part;
    }
    for (unsigned i = 0; rows.mask != nullptr && i < n; ++i) is_mine[i] &= rows.mask[rows.next + i] != 0;
    unsigned found = 0;
    for (unsigned i = 0; i < n; ++i) {
      rows_[found] = rows.next + i;
      hashes_[found] = all[i];
      found += static_cast<unsigned>(is_mine[i]);
    }
    for (unsigned i = 0; i < found; ++i) form.ask_value(rows, rows_[i]);
    at_ = 0;
    found_ = found;
    scanned_ = rows.next + n;
  }

  std::size_t rows_[kScanned];
  std::uint64_t hashes_[kScanned];
  unsigned at_ = 0, found_ = 0;  ///< of those that a scan found, the next
  std::size_t scanned_ = 0;
};
static_assert(kMostDepth <= 256);

}  // namespace holdfast::dramhit

// item_filter.hpp: the items of a piece of an export that a selection selects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "holdfast/selection.hpp"
#include "structures/gphash/machine.hpp"

namespace holdfast::table {

class ItemFilter {
 public:
  ItemFilter(const Selection& selection, std::uint32_t key_bytes, std::uint32_t value_bytes)
      : selection_(selection), key_bytes_(key_bytes), value_bytes_(value_bytes) {}

  /// True if the predicates read values.
  bool reads_values() const { return selection_.where || selection_.where_all; }
  /// True if the range of scores leaves some out.
  bool reads_scores() const { return selection_.least_score != 0 || selection_.greatest_score != ~std::uint64_t{0}; }
  bool stops() const {
    if (selection_.progress) selection_.progress();
    return selection_.stop.stop_requested();
  }

  /// Moves the chosen ones of `n` items to the front of the arrays, and returns how many they are. `values` and `scores` may be
  /// null if they are not read.
  std::size_t choose(const gphash::ExportArrays& items, std::size_t n);

 private:
  bool in_range(const std::byte* key) const;
  bool may_choose_by_bounds(const gphash::ExportArrays& items, std::size_t i) const;
  std::size_t keep_only(const bool* keep, const gphash::ExportArrays& items, std::size_t n) const;

  const Selection& selection_;
  const std::uint32_t key_bytes_, value_bytes_;
  std::unique_ptr<bool[]> keep_;
  std::size_t kept_capacity_ = 0;
};

}  // namespace holdfast::table

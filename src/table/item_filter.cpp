// item_filter.cpp: ranges of keys, and the user's predicates.
#include "table/item_filter.hpp"

#include <algorithm>
#include <cstring>

#include "core/both.hpp"

namespace holdfast::table {

namespace {

/// Below, at or above zero, as with memcmp.
int compare(const void* a, const void* b, std::uint32_t bytes) {
  if (bytes != 8) return std::memcmp(a, b, bytes);
  std::uint64_t x, y;
  std::memcpy(&x, a, 8);
  std::memcpy(&y, b, 8);
  return (x > y) - (x < y);
}

}  // namespace

bool ItemFilter::in_range(const std::byte* key) const {
  return (selection_.first == nullptr || compare(selection_.first, key, key_bytes_) <= 0) &&
         (selection_.last == nullptr || compare(key, selection_.last, key_bytes_) <= 0);
}

bool ItemFilter::may_choose_by_bounds(const gphash::ExportArrays& items, std::size_t i) const {
  if (!in_range(items.keys + i * key_bytes_)) return false;
  return !reads_scores() || (selection_.least_score <= items.scores[i] && items.scores[i] <= selection_.greatest_score);
}

std::size_t ItemFilter::keep_only(const bool* keep, const gphash::ExportArrays& items, std::size_t n) const {
  const auto move = [](std::byte* rows, std::size_t to, std::size_t from, std::size_t bytes) {
    if (rows != nullptr && bytes != 0) std::memcpy(rows + to * bytes, rows + from * bytes, bytes);
  };
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!keep[i]) continue;
    if (count != i) {
      move(items.keys, count, i, key_bytes_);
      move(items.values, count, i, value_bytes_);
      if (items.scores != nullptr) items.scores[count] = items.scores[i];
    }
    ++count;
  }
  return count;
}

std::size_t ItemFilter::choose(const gphash::ExportArrays& items, std::size_t n) {
  HOLDFAST_ASSERT(n == 0 || !reads_scores() || items.scores != nullptr);
  HOLDFAST_ASSERT(n == 0 || !reads_values() || items.values != nullptr);
  if (n > kept_capacity_) {
    keep_ = std::make_unique<bool[]>(n);
    kept_capacity_ = n;
  }
  bool* const keep = keep_.get();
  if (selection_.first != nullptr || selection_.last != nullptr || reads_scores()) {
    for (std::size_t i = 0; i < n; ++i) keep[i] = may_choose_by_bounds(items, i);
    n = keep_only(keep, items, n);
  }
  if (selection_.where) {
    for (std::size_t i = 0; i < n; ++i)
      keep[i] = selection_.where(items.keys + i * key_bytes_, items.values + i * value_bytes_);
    n = keep_only(keep, items, n);
  }
  if (selection_.where_all && n != 0) {
    std::fill_n(keep, n, true);
    selection_.where_all(items.keys, items.values, n, keep);
    n = keep_only(keep, items, n);
  }
  return n;
}

}  // namespace holdfast::table

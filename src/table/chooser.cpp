// chooser.cpp: ranges of keys, and the user's predicates.
#include "table/chooser.hpp"

#include <algorithm>
#include <cstring>

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

bool Chooser::in_range(const std::byte* key) const {
  return (selection_.first == nullptr || compare(selection_.first, key, key_bytes_) <= 0) &&
         (selection_.last == nullptr || compare(key, selection_.last, key_bytes_) <= 0);
}

std::size_t Chooser::keep_only(const bool* keep, std::byte* keys, std::byte* values, std::size_t n) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!keep[i]) continue;
    if (count != i) {
      std::memcpy(keys + count * key_bytes_, keys + i * key_bytes_, key_bytes_);
      if (values && value_bytes_ != 0)
        std::memcpy(values + count * value_bytes_, values + i * value_bytes_, value_bytes_);
    }
    ++count;
  }
  return count;
}

std::size_t Chooser::choose(std::byte* keys, std::byte* values, std::size_t n) {
  if (n > kept_room_) {
    keep_ = std::make_unique<bool[]>(n);
    kept_room_ = n;
  }
  bool* const keep = keep_.get();
  if (selection_.first != nullptr || selection_.last != nullptr) {
    for (std::size_t i = 0; i < n; ++i) keep[i] = in_range(keys + i * key_bytes_);
    n = keep_only(keep, keys, values, n);
  }
  const auto value = [&](std::size_t i) { return values + i * value_bytes_; };
  if (selection_.where) {
    for (std::size_t i = 0; i < n; ++i) keep[i] = selection_.where(keys + i * key_bytes_, value(i));
    n = keep_only(keep, keys, values, n);
  }
  if (selection_.where_all && n != 0) {
    std::fill_n(keep, n, true);
    selection_.where_all(keys, values, n, keep);
    n = keep_only(keep, keys, values, n);
  }
  return n;
}

}  // namespace holdfast::table

// numbers.hpp: keys of any width made of numbers, so that one test does for all widths; many wide ones share a hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "holdfast/table.hpp"

namespace holdfast::test {

/// A number as a key of `bytes` bytes, for a table with this seed. A wide key's first word is the number; the second makes
/// the hashes of 2m and 2m + 1 equal, all 64 bits of them; the others are equal too.
inline void write_key(std::uint64_t number, std::uint32_t bytes, std::uint64_t seed, std::byte* key) {
  std::uint64_t words[16] = {number};
  if (bytes > 8 && number % 2 == 1) words[1] = holdfast::mix(seed + (number - 1)) - holdfast::mix(seed + number);
  for (std::uint32_t i = 2; i < bytes / 8; ++i) words[i] = (number / 2) * 0x9e37'79b9'7f4a'7c15 + i;
  std::memcpy(key, words, bytes);
}

inline std::vector<std::byte> keys_of(const std::uint64_t* numbers, std::size_t n, std::uint32_t bytes,
                                      std::uint64_t seed) {
  std::vector<std::byte> keys(n * bytes + 1);
  for (std::size_t i = 0; i < n; ++i) write_key(numbers[i], bytes, seed, keys.data() + i * bytes);
  return keys;
}

/// The number of a key; all ones if write_key made no such key.
inline std::uint64_t number_of(const std::byte* key, std::uint32_t bytes, std::uint64_t seed) {
  std::uint64_t number;
  std::byte again[128];
  std::memcpy(&number, key, 8);
  write_key(number, bytes, seed, again);
  return std::memcmp(again, key, bytes) == 0 ? number : ~std::uint64_t{0};
}

/// A table that is given numbers for keys. `seed` is the table's.
class NumberedTable {
 public:
  NumberedTable(Table table, std::uint64_t seed) : table_(std::move(table)), seed_(seed) {}

  Table& table() { return table_; }
  /// The number of a key of this table.
  std::uint64_t number_of(const void* key) const {
    return test::number_of(static_cast<const std::byte*>(key), table_.key_bytes(), seed_);
  }

  /// Keys in GPU memory are as keys_of made them already.
  BatchResult run(Batch batch) {
    if (batch.on_device) return table_.run(batch);
    const auto keys = wide(static_cast<const std::uint64_t*>(batch.keys), batch.size);
    batch.keys = keys.data();
    return table_.run(batch);
  }
  BatchResult insert(const std::uint64_t* keys, const void* values, std::size_t n, Status* statuses = nullptr) {
    return table_.insert(wide(keys, n).data(), values, n, statuses);
  }
  BatchResult insert_or_assign(const std::uint64_t* keys, const void* values, std::size_t n,
                               Status* statuses = nullptr) {
    return table_.insert_or_assign(wide(keys, n).data(), values, n, statuses);
  }
  BatchResult assign(const std::uint64_t* keys, const void* values, std::size_t n, Status* statuses = nullptr) {
    return table_.assign(wide(keys, n).data(), values, n, statuses);
  }
  BatchResult find(const std::uint64_t* keys, void* values, std::size_t n, bool* found = nullptr) {
    return table_.find(wide(keys, n).data(), values, n, found);
  }
  BatchResult contains(const std::uint64_t* keys, std::size_t n, bool* found) {
    return table_.contains(wide(keys, n).data(), n, found);
  }
  BatchResult erase(const std::uint64_t* keys, std::size_t n, Status* statuses = nullptr) {
    return table_.erase(wide(keys, n).data(), n, statuses);
  }
  BatchResult accumulate(const std::uint64_t* keys, const void* values, std::size_t n, Combine combine, Element element,
                         Status* statuses = nullptr) {
    return table_.accumulate(wide(keys, n).data(), values, n, combine, element, statuses);
  }
  std::size_t export_batch(std::uint64_t& cursor, std::uint64_t* keys, void* values, std::size_t n) {
    const std::uint32_t bytes = table_.key_bytes();
    std::vector<std::byte> wide_keys(n * bytes + 1);
    const std::size_t got = table_.export_batch(cursor, wide_keys.data(), values, n);
    for (std::size_t i = 0; i < got; ++i) keys[i] = number_of(wide_keys.data() + i * bytes);
    return got;
  }
  void end_export(std::uint64_t cursor) { table_.end_export(cursor); }
  bool on_gpu() const { return table_.on_gpu(); }
  std::uint32_t value_bytes() const { return table_.value_bytes(); }
  std::uint64_t size() const { return table_.size(); }
  std::uint64_t slots() const { return table_.slots(); }
  void clear() { table_.clear(); }
  void reserve(std::uint64_t items) { table_.reserve(items); }
  void sync() { table_.sync(); }
  void load_cache() { table_.load_cache(); }
  void close() { table_.close(); }
  CheckReport check() { return table_.check(); }
  Stats stats() const { return table_.stats(); }
  SnapshotResult snapshot(const std::string& path, const SnapshotOptions& options = {}) {
    return table_.snapshot(path, options);
  }

 private:
  std::vector<std::byte> wide(const std::uint64_t* keys, std::size_t n) const {
    return keys_of(keys, n, table_.key_bytes(), seed_);
  }

  Table table_;
  std::uint64_t seed_;
};

}  // namespace holdfast::test

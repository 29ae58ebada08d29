// numbers.hpp: keys of any width made of numbers, so that one test does for all widths; many wide ones share a hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "holdfast/epoch.hpp"
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

/// Byte strings one after another, as a table of any length takes them.
struct Strings {
  std::vector<std::byte> bytes;
  std::vector<std::uint64_t> offsets{0};
  void add(std::string_view one) {
    const auto* const from = reinterpret_cast<const std::byte*>(one.data());
    bytes.insert(bytes.end(), from, from + one.size());
    offsets.push_back(bytes.size());
  }
  std::size_t size() const { return offsets.size() - 1; }
};

/// A number as a key of 9 to 40 bytes, of which some pairs have one hash.
inline std::string string_key(std::uint64_t number, std::uint64_t seed) {
  std::byte key[40];
  write_key(number, 40, holdfast::mix(seed ^ 40), key);
  const std::size_t bytes = number / 2 % 3 == 0 ? 40 : 9 + number / 2 % 20;
  if (bytes < 40) key[8] = static_cast<std::byte>(number % 2);
  return {reinterpret_cast<const char*>(key), bytes};
}

/// A value of `bytes` bytes as one of any length: behind it come as many of its first byte as that says, a few times over.
inline std::string string_value(const void* value, std::size_t bytes) {
  std::string string(static_cast<const char*>(value), bytes);
  const auto first = bytes == 0 ? 0u : static_cast<unsigned char>(string[0]);
  return string + std::string(first % 8 * 37u, static_cast<char>(first));
}

/// A table that is given numbers for keys. `seed` is the table's. One of any length is given values of `width` bytes, and
/// behaves as if its values had that length.
class NumberedTable {
 public:
  NumberedTable(Table table, std::uint64_t seed, std::uint32_t width = 0)
      : table_(std::move(table)), seed_(seed), width_(width) {}

  std::vector<std::byte> bytes_of(const std::uint64_t* keys, std::size_t n) const { return wide(keys, n); }
  bool any_length() const { return table_.key_bytes() == kVariableBytes; }

  Table& table() { return table_; }
  /// The number of a key of this table.
  std::uint64_t number_of(const void* key) const {
    return test::number_of(static_cast<const std::byte*>(key), table_.key_bytes(), seed_);
  }

  /// Keys in GPU memory are as keys_of made them already.
  BatchResult run(const Batch& batch) { return batch.device ? table_.run(batch) : run_on(table_, batch); }
  /// The same by an epoch of this thread in the table.
  BatchResult run(Epoch& epoch, const Batch& batch) { return run_on(epoch, batch); }
  BatchResult insert(const std::uint64_t* keys, const void* values, std::size_t n, Status* statuses = nullptr) {
    return run(made(Op::insert, keys, values, nullptr, n, statuses, nullptr));
  }
  BatchResult insert_or_assign(const std::uint64_t* keys, const void* values, std::size_t n,
                               Status* statuses = nullptr) {
    return run(made(Op::insert_or_assign, keys, values, nullptr, n, statuses, nullptr));
  }
  BatchResult assign(const std::uint64_t* keys, const void* values, std::size_t n, Status* statuses = nullptr) {
    return run(made(Op::assign, keys, values, nullptr, n, statuses, nullptr));
  }
  BatchResult find(const std::uint64_t* keys, void* values, std::size_t n, bool* found = nullptr) {
    return run(made(Op::find, keys, nullptr, values, n, nullptr, found));
  }
  BatchResult contains(const std::uint64_t* keys, std::size_t n, bool* found) {
    return run(made(Op::contains, keys, nullptr, nullptr, n, nullptr, found));
  }
  BatchResult erase(const std::uint64_t* keys, std::size_t n, Status* statuses = nullptr) {
    return run(made(Op::erase, keys, nullptr, nullptr, n, statuses, nullptr));
  }
  BatchResult accumulate(const std::uint64_t* keys, const void* values, std::size_t n, Combine combine, Element element,
                         Status* statuses = nullptr) {
    return table_.accumulate(wide(keys, n).data(), values, n, combine, element, statuses);
  }
  std::size_t export_batch(std::uint64_t& cursor, std::uint64_t* keys, void* values, std::size_t n) {
    if (any_length()) return export_strings(cursor, keys, static_cast<std::byte*>(values), n);
    const std::uint32_t bytes = table_.key_bytes();
    std::vector<std::byte> wide_keys(n * bytes + 1);
    const std::size_t got = table_.export_batch(cursor, wide_keys.data(), values, n);
    for (std::size_t i = 0; i < got; ++i) keys[i] = number_of(wide_keys.data() + i * bytes);
    return got;
  }
  void end_export(std::uint64_t cursor) { table_.end_export(cursor); }
  bool on_gpu() const { return table_.on_gpu(); }
  std::uint32_t value_bytes() const { return any_length() ? width_ : table_.value_bytes(); }
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
  static Batch made(Op op, const std::uint64_t* keys, const void* values, void* out, std::size_t n, Status* statuses,
                    bool* found) {
    Batch batch;
    batch.op = op;
    batch.keys = keys;
    batch.values = values;
    batch.out = out;
    batch.size = n;
    batch.statuses = statuses;
    batch.found = found;
    return batch;
  }

  /// The value in a byte string, or all 0xa5 if it is not as string_value made it.
  void decode(std::string_view string, std::byte* value) const {
    if (string.size() < width_ || string != string_value(string.data(), width_)) {
      std::memset(value, 0xa5, width_);
    } else if (width_ != 0) {
      std::memcpy(value, string.data(), width_);
    }
  }

  template <class Runs>
  BatchResult run_on(Runs& runs, Batch batch) {
    if (any_length()) return run_strings(runs, batch);
    const auto keys = wide(static_cast<const std::uint64_t*>(batch.keys), batch.size);
    batch.keys = keys.data();
    return runs.run(batch);
  }

  template <class Runs>
  BatchResult run_strings(Runs& runs, Batch batch) {
    Strings keys, values;
    const auto* const numbers = static_cast<const std::uint64_t*>(batch.keys);
    for (std::size_t i = 0; i < batch.size; ++i) {
      keys.add(string_key(numbers[i], seed_));
      const auto* const value = static_cast<const std::byte*>(batch.values) + (batch.values ? i * width_ : 0);
      values.add(batch.values || width_ == 0 ? string_value(value, width_) : std::string());
    }
    Blobs blobs;
    auto* const out = static_cast<std::byte*>(batch.out);
    batch.keys = keys.bytes.data();
    batch.variable =
        VariableLength{.key_offsets = keys.offsets.data(), .value_offsets = values.offsets.data(), .blobs = &blobs};
    batch.values = values.bytes.data();
    batch.out = nullptr;
    const BatchResult result = runs.run(batch);
    for (std::size_t i = 0; out != nullptr && i < batch.size && width_ != 0; ++i) {
      if (blobs.has(i)) {
        decode(blobs[i], out + i * width_);
      } else {
        std::memset(out + i * width_, 0, width_);
      }
    }
    return result;
  }

  std::size_t export_strings(std::uint64_t& cursor, std::uint64_t* keys, std::byte* values, std::size_t n) {
    Blobs key_blobs, value_blobs;
    const std::size_t got = table_.export_pairs(cursor, &key_blobs, &value_blobs, n);
    for (std::size_t i = 0; i < got; ++i) {
      std::memcpy(&keys[i], key_blobs[i].data(), 8);
      if (key_blobs[i] != string_key(keys[i], seed_)) keys[i] = ~std::uint64_t{0} - 7;
      if (values != nullptr) decode(value_blobs[i], values + i * width_);
    }
    return got;
  }

  std::vector<std::byte> wide(const std::uint64_t* keys, std::size_t n) const {
    return keys_of(keys, n, table_.key_bytes(), seed_);
  }

  Table table_;
  std::uint64_t seed_;
  std::uint32_t width_;
};

}  // namespace holdfast::test

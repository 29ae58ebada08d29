// pairs_fixture.hpp: random batches of keys and values of any length against a map, on whatever machine has the table.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "holdfast/table.hpp"

namespace holdfast::test {

/// Byte strings as a batch takes them.
struct ByteStrings {
  std::string bytes;
  std::vector<std::uint64_t> offsets{0};
  void add(const std::string& one) {
    bytes += one;
    offsets.push_back(bytes.size());
  }
  std::size_t size() const { return offsets.size() - 1; }
};

/// A table, the map that it should be, and batches that are run on both.
struct PairsAndMap {
  explicit PairsAndMap(const std::string& path) : path_(path) {}
  ~PairsAndMap() { unlink(path_.c_str()); }
  PairsAndMap(const PairsAndMap&) = delete;
  PairsAndMap& operator=(const PairsAndMap&) = delete;

  void create(CreateOptions options) {
    options.shape.key_bytes = options.shape.value_bytes = kVariableBytes;
    options.overwrite = true;
    table_ = std::make_unique<Table>(Table::create(path_, options));
  }
  void reopen(const OpenOptions& options) {
    if (table_) table_->close();
    table_ = std::make_unique<Table>(Table::open(path_, options));
  }

  std::string some_bytes(std::size_t n) {
    std::string bytes(n, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return bytes;
  }
  /// The empty key, short ones, some that differ in trailing zeros alone, and a few long ones.
  std::string some_key(std::uint64_t range) {
    const std::uint64_t k = random_() % range;
    if (k < 20) return std::string(k, '\0');
    const std::string number = std::to_string(k);
    return k % 97 == 0 ? number + std::string(500 + k % 3000, 'x') : number;
  }
  std::string some_value() {
    const std::uint64_t kind = random_() % 100;
    return some_bytes(kind == 0 ? random_() % 65537 : kind < 10 ? random_() % 4097 : random_() % 100);
  }

  void round(std::size_t n, std::uint64_t key_range, bool mixed, Op op) {
    ByteStrings keys, values;
    std::vector<std::string> key_list, value_list;
    std::vector<std::uint8_t> ops(n), mask(n);
    for (std::size_t i = 0; i < n; ++i) {
      key_list.push_back(some_key(key_range));
      value_list.push_back(some_value());
      keys.add(key_list.back());
      values.add(value_list.back());
      ops[i] = static_cast<std::uint8_t>(mixed ? random_() % 8 : static_cast<unsigned>(op));  // all but accumulate
      mask[i] = random_() % 16 != 0;
    }
    std::vector<Status> statuses(n);
    const auto found = std::make_unique<bool[]>(n);
    Blobs blobs;
    Batch batch;
    batch.size = n;
    batch.op = op;
    batch.ops = mixed ? ops.data() : nullptr;
    batch.keys = keys.bytes.data();
    batch.variable =
        VariableLength{.key_offsets = keys.offsets.data(), .value_offsets = values.offsets.data(), .blobs = &blobs};
    batch.values = values.bytes.data();
    batch.statuses = statuses.data();
    batch.found = found.get();
    batch.mask = mask.data();
    table_->run(batch);
    for (std::size_t i = 0; i < n; ++i) {
      if (!mask[i]) {
        ASSERT_EQ(statuses[i], Status::not_run);
        ASSERT_FALSE(blobs.has(i));
        continue;
      }
      const Op one = static_cast<Op>(ops[i]);
      const auto at = items_.find(key_list[i]);
      const bool there = at != items_.end();
      ASSERT_EQ(found[i], there) << "row " << i;
      Status expected = there ? Status::found : Status::not_found;
      switch (one) {
        case Op::insert:
        case Op::insert_and_find:
          expected = there ? Status::exists : Status::inserted;
          if (!there) items_[key_list[i]] = value_list[i];
          break;
        case Op::find_or_insert:
          expected = there ? Status::found : Status::inserted;
          if (!there) items_[key_list[i]] = value_list[i];
          break;
        case Op::insert_or_assign:
          expected = there ? Status::updated : Status::inserted;
          items_[key_list[i]] = value_list[i];
          break;
        case Op::assign:
          if (there) at->second = value_list[i];
          if (there) expected = Status::updated;
          break;
        case Op::erase:
          if (there) items_.erase(at);
          if (there) expected = Status::erased;
          break;
        default: break;
      }
      ASSERT_EQ(statuses[i], expected) << "row " << i << " op " << int{ops[i]};
      const auto now = items_.find(key_list[i]);
      ASSERT_EQ(blobs.has(i), reads_value(one) && now != items_.end()) << "row " << i << " op " << int{ops[i]};
      if (blobs.has(i)) {
        ASSERT_EQ(blobs[i], now->second) << "row " << i << " op " << int{ops[i]};
      }
    }
  }

  void verify() {
    ASSERT_EQ(table_->size(), items_.size());
    std::map<std::string, std::string> exported;
    Blobs keys, values;
    for (std::uint64_t cursor = 0; cursor != ~std::uint64_t{0};) {
      const std::size_t n = table_->export_pairs(cursor, &keys, &values, 100);
      ASSERT_EQ(keys.size(), n);
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_TRUE(exported.emplace(std::string(keys[i]), std::string(values[i])).second) << "twice";
      }
    }
    ASSERT_TRUE(exported == items_);
    const CheckReport report = table_->check();
    ASSERT_TRUE(report.errors.empty()) << report.errors[0];
  }

  std::string path_;
  std::unique_ptr<Table> table_;
  std::map<std::string, std::string> items_;
  std::mt19937_64 random_{5};
};

}  // namespace holdfast::test

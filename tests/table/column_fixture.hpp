// column_fixture.hpp: random batches about columns of values against a map, on whatever machine has the table.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "holdfast/table.hpp"
#include "support/numbers.hpp"

namespace holdfast::test {

/// The arrays of a batch about one column, in host memory.
struct ColumnRows {
  std::uint32_t column = 0, bytes = 0;
  bool mixed = false;
  std::vector<std::uint64_t> keys;
  std::vector<std::uint8_t> ops, mask, values, out;
  std::vector<Status> statuses;

  Batch batch() {
    Batch batch;
    batch.size = keys.size();
    batch.op = static_cast<Op>(ops[0]);
    batch.ops = mixed ? ops.data() : nullptr;
    batch.keys = keys.data();
    batch.values = values.data();
    batch.out = out.data();
    batch.statuses = statuses.data();
    batch.mask = mask.data();
    batch.column = Column{.begin = column, .bytes = bytes};
    batch.accumulate = Accumulate{.element = Element::u32};
    return batch;
  }
};

/// A table, the map that it should be, and batches that are run on both.
class ColumnsAndMap {
 public:
  using Value = std::string;
  static constexpr std::uint64_t kSeed = 77;

  ColumnsAndMap(const std::string& path, CreateOptions options) : value_bytes_(options.shape.value_bytes), path_(path) {
    options.overwrite = true;
    options.shape.seed = kSeed;
    table_ = std::make_unique<NumberedTable>(Table::create(path_, options), kSeed);
  }
  ~ColumnsAndMap() { unlink(path_.c_str()); }
  ColumnsAndMap(const ColumnsAndMap&) = delete;
  ColumnsAndMap& operator=(const ColumnsAndMap&) = delete;

  void reopen(const OpenOptions& options) {
    table_->close();
    table_ = std::make_unique<NumberedTable>(Table::open(path_, options), kSeed);
  }
  NumberedTable& table() { return *table_; }
  std::mt19937_64& random() { return random_; }

  /// Rows about some column: of any bytes, or of whole words, as `unit` says, where the value has such. A few are masked.
  ColumnRows some_rows(std::size_t n, std::uint64_t key_range, bool mixed, Op op, std::uint32_t unit) {
    ColumnRows rows;
    const std::uint32_t sums = mixed || op == Op::accumulate ? 4 : 1;
    const auto some = [&](std::uint32_t least, std::uint32_t most, std::uint32_t step) {
      return least + static_cast<std::uint32_t>(random_() % ((most - least) / step + 1)) * step;
    };
    if (value_bytes_ < std::max(unit, sums)) unit = 1;
    const std::uint32_t step = std::max(unit, sums);
    rows.bytes = some(step, value_bytes_ / step * step, step);
    rows.column = some(0, value_bytes_ - rows.bytes, unit);
    rows.mixed = mixed;
    rows.keys.resize(n);
    rows.ops.assign(n, static_cast<std::uint8_t>(op));
    rows.mask.resize(n);
    rows.values.resize(n * rows.bytes);
    rows.out.assign(n * rows.bytes, 0xee);
    rows.statuses.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      rows.keys[i] = random_() % key_range;
      rows.mask[i] = random_() % 16 != 0;
      if (mixed) rows.ops[i] = static_cast<std::uint8_t>(random_() % kOps);
    }
    for (auto& byte : rows.values) byte = static_cast<std::uint8_t>(random_());
    return rows;
  }

  /// Compares what a batch answered with the map, which then has seen it.
  void compare(const ColumnRows& rows) {
    for (std::size_t i = 0; i < rows.keys.size(); ++i) {
      const auto one = static_cast<Op>(rows.ops[i]);
      const Value out(reinterpret_cast<const char*>(&rows.out[i * rows.bytes]), rows.bytes);
      if (!rows.mask[i]) {
        ASSERT_EQ(rows.statuses[i], Status::not_run) << "row " << i;
        continue;
      }
      const Value row(reinterpret_cast<const char*>(&rows.values[i * rows.bytes]), rows.bytes);
      Value read;
      ASSERT_EQ(rows.statuses[i], apply(one, rows.keys[i], row, rows.column, read))
          << "row " << i << " op " << rows.ops[i] + 0 << " bytes " << rows.bytes << " from " << rows.column;
      if (reads_value(one)) {
        ASSERT_EQ(out, read) << "row " << i << " op " << rows.ops[i] + 0 << " bytes " << rows.bytes << " from "
                             << rows.column;
      }
    }
  }

  /// One batch from host memory.
  void round(std::size_t n, std::uint64_t key_range, bool mixed, Op op, std::uint32_t unit = 1) {
    ColumnRows rows = some_rows(n, key_range, mixed, op, unit);
    table_->run(rows.batch());
    compare(rows);
  }
  /// A batch of each operation, and a mixed one.
  void rounds(std::size_t n, std::uint64_t key_range, std::uint32_t unit) {
    for (unsigned op = 0; op < kOps; ++op)
      ASSERT_NO_FATAL_FAILURE(round(n, key_range, false, static_cast<Op>(op), unit));
    ASSERT_NO_FATAL_FAILURE(round(n, key_range, true, Op::find, unit));
  }

  /// The table holds exactly what the map does, and every slot and cell is in order.
  void verify() {
    ASSERT_EQ(table_->size(), items_.size());
    std::vector<std::uint64_t> keys;
    for (const auto& item : items_) keys.push_back(item.first);
    std::vector<char> values(keys.size() * value_bytes_);
    table_->find(keys.data(), values.data(), keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i)
      ASSERT_EQ(Value(&values[i * value_bytes_], value_bytes_), items_[keys[i]]) << "key " << keys[i];
    const CheckReport report = table_->check();
    ASSERT_TRUE(report.errors.empty()) << report.errors.front();
  }

 private:
  /// What the operation says and does, and what it reads of the column.
  Status apply(Op op, std::uint64_t key, const Value& row, std::uint32_t column, Value& read) {
    const auto at = items_.find(key);
    const bool was_there = at != items_.end();
    const auto put = [&](bool adds) {
      Value& value = items_.try_emplace(key, value_bytes_, '\0').first->second;
      if (!adds) return void(value.replace(column, row.size(), row));
      for (std::size_t i = 0; i < row.size(); i += 4) {
        std::uint32_t a, b;
        std::memcpy(&a, value.data() + column + i, 4);
        std::memcpy(&b, row.data() + i, 4);
        a += b;
        std::memcpy(value.data() + column + i, &a, 4);
      }
    };
    Status status = was_there ? Status::found : Status::not_found;
    switch (op) {
      case Op::find:
      case Op::contains: break;
      case Op::erase:
        if (was_there) status = Status::erased;
        items_.erase(key);
        break;
      case Op::insert:
      case Op::insert_and_find:
        status = was_there ? Status::exists : Status::inserted;
        if (!was_there) put(false);
        break;
      case Op::find_or_insert:
        if (!was_there) status = Status::inserted;
        if (!was_there) put(false);
        break;
      case Op::assign:
        if (was_there) status = Status::updated;
        if (was_there) put(false);
        break;
      case Op::insert_or_assign:
      case Op::accumulate:
        status = was_there ? Status::updated : Status::inserted;
        put(op == Op::accumulate);
        break;
    }
    const auto now = items_.find(key);
    read = now == items_.end() ? Value(row.size(), '\0') : now->second.substr(column, row.size());
    return status;
  }

  const std::uint32_t value_bytes_;
  const std::string path_;
  std::unique_ptr<NumberedTable> table_;
  std::map<std::uint64_t, Value> items_;
  std::mt19937_64 random_{7};
};

}  // namespace holdfast::test

// column_test.cpp: batches about a column of the values: the bytes outside of it stay, or are zero for a new key.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/table.hpp"

namespace holdfast::test {
namespace {

using Value = std::string;

class Columns : public testing::TestWithParam<std::uint32_t> {
 protected:
  Columns() : path_("/dev/shm/holdfast-column-" + std::to_string(getpid()) + ".hold") {
    CreateOptions options;
    options.value_bytes = GetParam();
    options.capacity = 16;
    options.device = "cpu";
    options.threads = 2;
    options.overwrite = true;
    options.flush = GetParam() == 24;
    table_ = std::make_unique<Table>(Table::create(path_, options));
  }
  ~Columns() override { unlink(path_.c_str()); }

  /// What the operation says and does, and what it reads of the column.
  Status apply(Op op, std::uint64_t key, const Value& row, std::uint32_t column, Value& read) {
    const auto at = model_.find(key);
    const bool was_there = at != model_.end();
    const auto put = [&](bool adds) {
      Value& value = model_.try_emplace(key, GetParam(), '\0').first->second;
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
        model_.erase(key);
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
    const auto now = model_.find(key);
    read = now == model_.end() ? Value(row.size(), '\0') : now->second.substr(column, row.size());
    return status;
  }

  void round(std::size_t n, std::uint64_t keys, bool mixed, Op op) {
    const std::uint32_t whole = GetParam();
    const bool sums = mixed || op == Op::accumulate;
    std::uint32_t bytes = 1 + random_() % whole;
    if (sums) bytes = 4 * (1 + random_() % (whole / 4));
    const auto column = static_cast<std::uint32_t>(random_() % (whole - bytes + 1));
    std::vector<std::uint64_t> key(n);
    std::vector<std::uint8_t> ops(n, static_cast<std::uint8_t>(op)), values(n * bytes), out(n * bytes, 0xee);
    std::vector<Status> statuses(n);
    for (std::size_t i = 0; i < n; ++i) {
      key[i] = random_() % keys;
      if (mixed) ops[i] = static_cast<std::uint8_t>(random_() % kOps);
    }
    for (auto& byte : values) byte = static_cast<std::uint8_t>(random_());
    Batch batch;
    batch.size = n;
    batch.op = op;
    batch.ops = mixed ? ops.data() : nullptr;
    batch.keys = key.data();
    batch.values = values.data();
    batch.out = out.data();
    batch.statuses = statuses.data();
    batch.column = column;
    batch.column_bytes = bytes;
    batch.element = Element::u32;
    batch.ordered = true;
    table_->run(batch);
    for (std::size_t i = 0; i < n; ++i) {
      Value read;
      const Value row(reinterpret_cast<const char*>(&values[i * bytes]), bytes);
      const auto one = static_cast<Op>(ops[i]);
      ASSERT_EQ(statuses[i], apply(one, key[i], row, column, read)) << "row " << i << " op " << int(ops[i]);
      if (reads_value(one)) {
        ASSERT_EQ(Value(reinterpret_cast<const char*>(&out[i * bytes]), bytes), read)
            << "row " << i << " op " << int(ops[i]);
      }
    }
  }

  void verify() {
    ASSERT_EQ(table_->size(), model_.size());
    Value value(GetParam(), '\0');
    for (const auto& [key, expected] : model_) {
      bool found = false;
      table_->find(&key, value.data(), 1, &found);
      ASSERT_TRUE(found);
      ASSERT_EQ(value, expected) << "key " << key;
    }
    const CheckReport report = table_->check();
    ASSERT_TRUE(report.errors.empty()) << report.errors.front();
  }

  const std::string path_;
  std::unique_ptr<Table> table_;
  std::map<std::uint64_t, Value> model_;
  std::mt19937_64 random_{7};
};
INSTANTIATE_TEST_SUITE_P(Values, Columns, testing::Values(4u, 8u, 12u, 24u, 300u));

TEST_P(Columns, EveryOperationAgreesWithAModel) {
  for (int i = 0; i < 60; ++i) {
    for (unsigned op = 0; op < kOps; ++op) ASSERT_NO_FATAL_FAILURE(round(40, 100, false, static_cast<Op>(op)));
    ASSERT_NO_FATAL_FAILURE(round(60, 100, true, Op::find));
  }
  ASSERT_NO_FATAL_FAILURE(round(20'000, 3000, false, Op::insert_or_assign));
  ASSERT_NO_FATAL_FAILURE(round(20'000, 3000, true, Op::find));
  ASSERT_NO_FATAL_FAILURE(verify());
  table_->close();
  OpenOptions options;
  options.device = "cpu";
  table_ = std::make_unique<Table>(Table::open(path_, options));
  ASSERT_NO_FATAL_FAILURE(verify());
}

TEST_P(Columns, RefusesWhatLiesOutsideOfAValue) {
  const std::uint64_t key = 1;
  std::vector<char> room(GetParam());
  Batch batch;
  batch.size = 1;
  batch.op = Op::find;
  batch.keys = &key;
  batch.out = room.data();
  const std::uint32_t whole = GetParam();
  for (const auto& [column, bytes] :
       std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 0}, {0, whole + 1}, {1, whole}, {whole, 1}, {~0u, 2}}) {
    batch.column = column;
    batch.column_bytes = bytes;
    EXPECT_THROW(table_->run(batch), InvalidArgument) << column << " " << bytes;
  }
  batch.op = Op::accumulate;
  batch.values = room.data();
  batch.column = 0;
  batch.column_bytes = 2;
  EXPECT_THROW(table_->run(batch), InvalidArgument);
}

class TwoColumns : public Columns {};
INSTANTIATE_TEST_SUITE_P(Values, TwoColumns, testing::Values(8u, 16u));

/// Two threads, each with a column of its own of the same values: neither undoes what the other did.
TEST_P(TwoColumns, ThreadsOfTwoColumnsLoseNothing) {
  constexpr unsigned kRounds = 400, kKeys = 50;
  const std::uint32_t half = GetParam() / 2;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::uint64_t> keys(kKeys);
      std::vector<std::uint32_t> ones(kKeys * half / 4, 1);
      for (std::size_t i = 0; i < kKeys; ++i) keys[i] = i;
      Batch batch;
      batch.size = kKeys;
      batch.op = Op::accumulate;
      batch.element = Element::u32;
      batch.keys = keys.data();
      batch.values = ones.data();
      batch.column = t * half;
      batch.column_bytes = half;
      for (unsigned i = 0; i < kRounds; ++i) table_->run(batch);
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<std::uint32_t> value(GetParam() / 4);
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    table_->find(&key, value.data(), 1);
    for (const std::uint32_t sum : value) ASSERT_EQ(sum, kRounds);
  }
}

}  // namespace
}  // namespace holdfast::test

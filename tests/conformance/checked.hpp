// checked.hpp: random batches on a table of any kind, every answer compared with the oracle's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "conformance/oracle.hpp"
#include "conformance/rows.hpp"
#include "conformance/table.hpp"
#include "support/numbers.hpp"

namespace holdfast::test {

/// Of the table that is compared. `seed`: of its hash, so that many numbers have keys with one hash.
struct Kept {
  std::uint32_t key_bytes = 8, value_bytes = 8;
  std::uint64_t seed = 0;
  Score score = Score::none;
};

template <BatchTable T>
class Checked {
 public:
  explicit Checked(const Kept& kept) : oracle(kept.value_bytes, kept.score), kept_(kept) {}

  bool any_length() const { return kept_.key_bytes == kVariableBytes; }
  /// The key of a number. Of any length: the empty key, some that differ in trailing zeros alone, and a few long ones.
  std::string key_of(std::uint64_t number) const {
    if (any_length()) {
      if (number < 20) return std::string(number, '\0');
      const std::string digits = std::to_string(number);
      return number % 97 == 0 ? digits + std::string(500 + number % 3000, 'x') : digits;
    }
    std::string key(kept_.key_bytes, '\0');
    write_key(number, kept_.key_bytes, kept_.seed, reinterpret_cast<std::byte*>(key.data()));
    return key;
  }
  std::uint64_t some_key(std::uint64_t range) {
    const std::uint64_t k = random() % range;
    return k == 1 && kept_.key_bytes == 8 ? ~std::uint64_t{0} : k;  // 0 and all ones among them
  }

  /// Random rows: keys repeat, some are masked. `mixed`: of all operations, else of `op`. `unit` not 0: about a column, which begins and
  /// ends at multiples of that, if values are so long.
  Rows some_rows(std::size_t n, std::uint64_t key_range, bool mixed, Op op, std::uint32_t unit = 0) {
    const std::uint32_t whole = any_length() ? 0 : kept_.value_bytes;
    const bool sums = !any_length() && whole % 4 == 0;
    if (!sums && unit == 0 && op == Op::accumulate) op = Op::insert;
    std::optional<Column> column;
    if (unit != 0) column = some_column(unit, mixed || op == Op::accumulate);
    Rows rows(n, column ? column->bytes : whole);
    rows.column = column;
    rows.mixed = mixed;
    for (std::size_t i = 0; i < n; ++i) {
      rows.keys[i] = some_key(key_range);
      rows.ops[i] = static_cast<std::uint8_t>(mixed ? random() % kOps : static_cast<unsigned>(op));
      if (!sums && unit == 0 && rows.ops[i] == static_cast<unsigned>(Op::accumulate)) rows.ops[i] = 0;
      rows.mask[i] = random() % 16 != 0;
    }
    if (any_length()) add_lengths(rows);
    for (std::uint8_t& byte : rows.values) byte = static_cast<std::uint8_t>(random());
    constexpr Element kElement[] = {Element::u32, Element::i32, Element::i64, Element::u64};
    rows.accumulate = Accumulate{.combine = static_cast<Combine>(random() % 3),
                                 .element = kElement[random() % (rows.value_bytes % 8 == 0 ? 4 : 2)]};
    return rows;
  }

  /// Compares what a batch answered with the oracle, which then has seen it. `batch`: as it was run, if not as `rows.batch()`.
  void compare(const Rows& rows, const Batch& batch) {
    const bool reads = batch.ops != nullptr || reads_value(batch.op);
    const Accumulate how = batch.accumulate.value_or(Accumulate{});
    for (std::size_t i = 0; i < rows.keys.size(); ++i) {
      const Op op = batch.ops != nullptr ? static_cast<Op>(rows.ops[i]) : batch.op;
      const auto where = [&] {
        const auto column = batch.column.value_or(Column{});
        return testing::Message() << "row " << i << " op " << int(op) << " key " << rows.keys[i] << " column "
                                  << column.begin << "+" << column.bytes;
      };
      Expected expected{Status::not_run, false, {}};
      if (batch.mask == nullptr || rows.mask[i] != 0) {
        expected = oracle.apply(op, rows.keys[i], rows.value(i), how, batch.column, now_);
        if (batch.found != nullptr) {
          ASSERT_EQ(rows.found[i], expected.found) << where();
        }
      }
      ASSERT_EQ(rows.statuses[i], expected.status) << where();
      if (any_length()) {
        ASSERT_EQ(rows.blobs.has(i), expected.out.has_value()) << where();
        if (expected.out) {
          const std::string_view read = rows.blobs[i];
          ASSERT_TRUE(std::equal(read.begin(), read.end(), expected.out->begin(), expected.out->end(), same_byte))
              << where();
        }
      } else if (reads) {
        const Value read = rows.read(i), nothing(rows.value_bytes, 0);
        const bool kept = read == Value(rows.value_bytes, Rows::kUntouched);
        const bool may_keep = expected.status != Status::not_run && !reads_value(op);
        ASSERT_TRUE(read == expected.out.value_or(nothing) || (kept && may_keep)) << where();
      }
    }
  }

  /// Runs the rows, and compares.
  void run(T& table, Rows& rows) {
    Strings keys;
    for (const std::uint64_t number : rows.keys) keys.add(key_of(number));
    Batch batch = rows.batch();
    batch.keys = keys.bytes.data();
    if (random() % 3 == 0) batch.mask = nullptr;
    if (any_length()) {
      batch.out = nullptr;
      batch.variable = VariableLength{
          .key_offsets = keys.offsets.data(), .value_offsets = rows.value_offsets.data(), .blobs = &rows.blobs};
    }
    const BatchResult result = table.run(batch);
    std::uint64_t counted = 0;
    for (const std::uint64_t count : result.count) counted += count;
    ASSERT_EQ(counted, rows.keys.size());
    compare(rows, batch);
  }

  /// One batch.
  void round(T& table, std::size_t n, std::uint64_t key_range, bool mixed, Op op, std::uint32_t unit = 0) {
    Rows rows = some_rows(n, key_range, mixed, op, unit);
    run(table, rows);
  }
  /// A batch of each operation, and a mixed one.
  void rounds(T& table, std::size_t n, std::uint64_t key_range, std::uint32_t unit = 0) {
    for (unsigned op = 0; op < kOps; ++op) {
      ASSERT_NO_FATAL_FAILURE(round(table, n, key_range, false, static_cast<Op>(op), unit));
    }
    ASSERT_NO_FATAL_FAILURE(round(table, n, key_range, true, Op::find, unit));
  }

  /// The table holds exactly what the oracle does, and finds nothing wrong with itself.
  void verify(T& table) {
    ASSERT_EQ(table.size(), oracle.items().size());
    const std::map<std::string, Value> exported = export_all(table);
    ASSERT_EQ(exported.size(), oracle.items().size());
    for (const auto& [number, value] : oracle.items()) {
      const auto at = exported.find(key_of(number));
      ASSERT_NE(at, exported.end()) << "key " << number << " is not exported";
      ASSERT_EQ(at->second, value) << "key " << number;
    }
    if constexpr (ScoredTable<T>) {
      if (kept_.score != Score::none) {
        ASSERT_NO_FATAL_FAILURE(verify_scores(table));
      }
    }
    if constexpr (SelfChecking<T>) {
      const CheckReport report = table.check();
      ASSERT_TRUE(report.errors.empty()) << report.errors.front();
      ASSERT_EQ(report.items, oracle.items().size());
    }
  }

  /// Searches find every item, with its score where there are some, and no absent key. Keys have one length.
  void verify_searches(T& table) {
    const std::vector<std::uint64_t> numbers = numbers_and_absent();
    const std::size_t n = numbers.size();
    const std::vector<std::byte> keys = keys_of(numbers);
    Rows rows(n, kept_.value_bytes);
    std::vector<std::uint64_t> scores(n, 77);
    Batch batch = rows.batch();
    batch.op = Op::find;
    batch.keys = keys.data();
    if (kept_.score != Score::none) batch.scores = scores.data();
    table.run(batch);
    for (std::size_t i = 0; i + 1 < n; ++i) {
      ASSERT_TRUE(rows.found[i]) << "key " << numbers[i];
      ASSERT_EQ(rows.read(i), oracle.items().at(numbers[i])) << "key " << numbers[i];
    }
    ASSERT_FALSE(rows.found[n - 1]);
    ASSERT_EQ(rows.statuses[n - 1], Status::not_found);
    if (kept_.score != Score::none) compare_scores(numbers, scores);
  }

  /// The score of what is written from now on.
  void set_step(T& table, std::uint64_t step) requires ScoredTable<T> { table.set_step(now_ = step); }
  std::vector<std::byte> keys_of(const std::vector<std::uint64_t>& numbers) const {
    return test::keys_of(numbers.data(), numbers.size(), kept_.key_bytes, kept_.seed);
  }

  Oracle oracle;
  std::mt19937_64 random{42};

 protected:
  /// Of a table that was opened again.
  void begin_with_step(std::uint64_t step) { now_ = step; }

 private:
  static bool same_byte(char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; }
  static std::uint64_t nanoseconds() {
    return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds(1));
  }

  Column some_column(std::uint32_t unit, bool sums) {
    const std::uint32_t whole = kept_.value_bytes, least = sums ? 4 : 1;
    const auto some = [&](std::uint32_t from, std::uint32_t to, std::uint32_t step) {
      return from + static_cast<std::uint32_t>(random() % ((to - from) / step + 1)) * step;
    };
    if (whole < std::max(unit, least)) unit = 1;
    const std::uint32_t step = std::max(unit, least);
    const std::uint32_t bytes = some(step, whole / step * step, step);
    return {.begin = some(0, whole - bytes, unit), .bytes = bytes};
  }
  /// Mostly short values, and a few that are as long as one may be.
  void add_lengths(Rows& rows) {
    rows.value_offsets.assign(1, 0);
    for (std::size_t i = 0; i < rows.keys.size(); ++i) {
      const std::uint64_t kind = random() % 100;
      const std::uint64_t most = kind == 0 ? 65537 : kind < 10 ? 4097 : 100;
      rows.value_offsets.push_back(rows.value_offsets.back() + random() % most);
    }
    rows.values.resize(rows.value_offsets.back() + 1);
  }

  std::map<std::string, Value> export_all(T& table) {
    const std::size_t piece = 1 + random() % 300;
    std::map<std::string, Value> exported;
    const auto take = [&](std::string key, Value value) {
      EXPECT_TRUE(exported.emplace(std::move(key), std::move(value)).second) << "a key is exported twice";
    };
    if constexpr (PairTable<T>) {
      Blobs keys, values;
      for (std::uint64_t cursor = 0; any_length() && cursor != ~std::uint64_t{0};) {
        const std::size_t n = table.export_pairs(cursor, &keys, &values, piece);
        for (std::size_t i = 0; i < n; ++i) {
          take(std::string(keys[i]), Value(values[i].begin(), values[i].end()));
        }
      }
    }
    std::string keys(any_length() ? 0 : piece * kept_.key_bytes, '\0');
    Value values(any_length() ? 0 : piece * kept_.value_bytes + 1);
    for (std::uint64_t cursor = 0; !any_length() && cursor != ~std::uint64_t{0};) {
      const std::size_t n = table.export_batch(cursor, keys.data(), values.data(), piece);
      for (std::size_t i = 0; i < n; ++i) {
        take(keys.substr(i * kept_.key_bytes, kept_.key_bytes),
             Value(&values[i * kept_.value_bytes], &values[(i + 1) * kept_.value_bytes]));
      }
    }
    return exported;
  }

  std::vector<std::uint64_t> numbers_and_absent() const {
    std::vector<std::uint64_t> numbers;
    for (const auto& item : oracle.items()) numbers.push_back(item.first);
    numbers.push_back(std::uint64_t{1} << 60);
    return numbers;
  }
  void verify_scores(T& table) const requires ScoredTable<T> {
    const std::vector<std::uint64_t> numbers = numbers_and_absent();
    std::vector<std::uint64_t> scores(numbers.size(), 77);
    const auto found = std::make_unique<bool[]>(numbers.size());
    table.scores(keys_of(numbers).data(), scores.data(), numbers.size(), found.get());
    for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(found[i], i + 1 < numbers.size());
    compare_scores(numbers, scores);
  }
  void compare_scores(const std::vector<std::uint64_t>& numbers, const std::vector<std::uint64_t>& scores) const {
    ASSERT_EQ(scores.back(), 0u);
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
      const std::uint64_t expected = oracle.scores().at(numbers[i]);
      const bool agrees =
          kept_.score == Score::time ? begun_ <= scores[i] && scores[i] <= nanoseconds() : scores[i] == expected;
      ASSERT_TRUE(agrees) << "key " << numbers[i] << ": " << scores[i] << ", not " << expected;
    }
  }

  const Kept kept_;
  std::uint64_t now_ = 0;
  const std::uint64_t begun_ = nanoseconds();
};

}  // namespace holdfast::test

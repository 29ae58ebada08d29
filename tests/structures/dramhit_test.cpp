// dramhit_test.cpp: a table in memory against an oracle: all operations in array order, sizes of keys and values, growth.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "holdfast/memory_table.hpp"
#include "structures/dramhit/lane.hpp"
#include "structures/dramhit/word.hpp"
#include "support/model.hpp"
#include "support/random.hpp"
#include "support/tiles.hpp"

namespace holdfast {
namespace {

using test::Random;

TEST(DramhitWord, AHashGoesThroughAWordAndBack) {
  Random random(1);
  for (const std::uint64_t lines :
       {dramhit::kLeastLines, std::uint64_t{1} << 13, std::uint64_t{1'000'003}, (std::uint64_t{1} << 42) - 1}) {
    const dramhit::Geometry geometry(lines, random.next());
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t key = i < 8 ? ~std::uint64_t{0} + static_cast<std::uint64_t>(i) - 3 : random.next();
      std::uint64_t hash = geometry.hash(key);
      if (i % 4 == 1) hash = random.below(4) - 2;  // the first and last lines
      const dramhit::Place place = geometry.place(hash);
      ASSERT_LT(place.line, lines);
      for (const unsigned on : {0u, 1u, dramhit::kMostDistance}) {
        const std::uint64_t word = place.want + on * dramhit::kOneLineOn;
        ASSERT_EQ(dramhit::distance(word), on);
        ASSERT_EQ(geometry.hash_of(place.line + on, word), hash) << lines << " lines, hash " << hash;
        ASSERT_TRUE(dramhit::holds(word | dramhit::kLive | dramhit::kPassed | dramhit::kLock, word));
      }
      if (i % 4 != 1) {
        ASSERT_EQ(geometry.key_of(hash), key);
      }
    }
  }
}

struct Shape {
  std::uint32_t key_bytes, value_bytes;
  const char* tile = nullptr;  ///< null: the CPU's best
};
void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.key_bytes << '/' << shape.value_bytes << (shape.tile == nullptr ? "" : shape.tile);
}

using Bytes = std::string;

/// A table beside a map that must agree with it.
class Checked {
 public:
  explicit Checked(MemoryOptions options) : options_(options), table(options) {}

  Bytes key(std::uint64_t number) const {
    Bytes bytes(options_.key_bytes, '\0');
    const std::uint64_t word = number == 0 ? 0 : number == 1 ? ~std::uint64_t{0} : test::mix(number);
    std::memcpy(bytes.data(), &word, 8);
    if (options_.key_bytes > 8) std::memcpy(bytes.data() + options_.key_bytes - 8, &number, 8);
    return bytes;
  }
  Bytes value(std::uint64_t number) const {
    Bytes bytes;
    for (; bytes.size() < options_.value_bytes; ++number) {
      const std::uint64_t word = test::mix(number);
      bytes.append(reinterpret_cast<const char*>(&word), 8);
    }
    bytes.resize(options_.value_bytes);
    return bytes;
  }

  Bytes combined(const Bytes& a, const Bytes& b) const {
    Bytes sum = a;
    for (std::size_t at = 0; at + 4 <= sum.size(); at += 4) {
      std::uint32_t x, y;
      std::memcpy(&x, a.data() + at, 4);
      std::memcpy(&y, b.data() + at, 4);
      x += y;
      std::memcpy(sum.data() + at, &x, 4);
    }
    return sum;
  }

  void batch(Random& random, std::size_t n, std::uint64_t distinct, bool with_mask, bool accumulates) {
    Bytes keys, values;
    std::vector<std::uint8_t> ops(n), mask(n, 1);
    std::vector<std::uint64_t> numbers(n);
    for (std::size_t i = 0; i < n; ++i) {
      numbers[i] = random.below(distinct);
      keys += key(numbers[i]);
      values += value(random.next());
      ops[i] = static_cast<std::uint8_t>(random.below(accumulates ? kOps : kOps - 1));
      if (with_mask) mask[i] = random.chance(70);
    }
    std::vector<Status> statuses(n, Status::no_space);
    const auto found = std::make_unique<bool[]>(n);
    Bytes out(n * options_.value_bytes, '\x55');
    Batch batch;
    batch.size = n;
    batch.ops = ops.data();
    batch.keys = keys.data();
    batch.values = values.data();
    batch.out = out.data();
    batch.statuses = statuses.data();
    batch.found = found.get();
    batch.mask = with_mask ? mask.data() : nullptr;
    batch.accumulate = Accumulate{.element = Element::u32};
    const BatchResult result = table.run(batch);
    std::uint64_t counted = 0;
    for (const std::uint64_t count : result.count) counted += count;
    ASSERT_EQ(counted, n);
    for (std::size_t i = 0; i < n; ++i) {
      const Bytes got = out.substr(i * options_.value_bytes, options_.value_bytes);
      const Bytes zeros(options_.value_bytes, '\0');
      if (mask[i] == 0) {
        ASSERT_EQ(statuses[i], Status::not_run);
        ASSERT_EQ(got, zeros);
        continue;
      }
      const auto at = items.find(numbers[i]);
      std::optional<Bytes> state = at == items.end() ? std::nullopt : std::optional(at->second);
      const bool was_there = state.has_value();
      const auto answer =
          test::step(static_cast<Op>(ops[i]), state, values.substr(i * options_.value_bytes, options_.value_bytes),
                     [this](const Bytes& a, const Bytes& b) { return combined(a, b); });
      ASSERT_EQ(statuses[i], answer.status) << "row " << i << ", operation " << int{ops[i]} << ", key " << numbers[i];
      ASSERT_EQ(found[i], was_there);
      ASSERT_EQ(got, answer.out.value_or(zeros)) << "row " << i << ", operation " << int{ops[i]};
      if (state) {
        items[numbers[i]] = *state;
      } else {
        items.erase(numbers[i]);
      }
    }
  }

  void agree(std::size_t piece) {
    ASSERT_EQ(table.size(), items.size());
    std::map<Bytes, Bytes> exported;
    Bytes keys(piece * options_.key_bytes, '\0'), values(piece * options_.value_bytes + 1, '\0');
    for (std::uint64_t cursor = 0; cursor != ~std::uint64_t{0};) {
      const std::size_t got = table.export_batch(cursor, keys.data(), values.data(), piece);
      for (std::size_t i = 0; i < got; ++i) {
        const bool fresh = exported
                               .emplace(keys.substr(i * options_.key_bytes, options_.key_bytes),
                                        values.substr(i * options_.value_bytes, options_.value_bytes))
                               .second;
        ASSERT_TRUE(fresh) << "exported twice";
      }
    }
    ASSERT_EQ(exported.size(), items.size());
    for (const auto& [number, value] : items) ASSERT_EQ(exported[key(number)], value);
  }

 private:
  const MemoryOptions options_;

 public:
  MemoryTable table;
  std::map<std::uint64_t, Bytes> items;
};

class Dramhit : public testing::TestWithParam<Shape> {
 protected:
  const test::UseTile tile_{GetParam().tile};
  MemoryOptions options() const {
    MemoryOptions options;
    options.key_bytes = GetParam().key_bytes;
    options.value_bytes = GetParam().value_bytes;
    options.capacity = 1000;
    options.seed = 5;
    options.threads = 2;
    return options;
  }
};

TEST_P(Dramhit, MixedBatchesInArrayOrder) {
  Random random(7);
  Checked checked(options());
  const bool accumulates = GetParam().value_bytes % 4 == 0;
  for (int i = 0; i < 60; ++i) {
    checked.batch(random, i % 10 == 9 ? 20'000 : 1 + random.below(500), i % 2 == 0 ? 60 : 4000, i % 3 == 0,
                  accumulates);
    if (HasFatalFailure()) return;
  }
  checked.agree(1 + random.below(300));
  checked.table.clear();
  checked.items.clear();
  checked.agree(7);
  checked.batch(random, 5000, 900, false, accumulates);
  checked.agree(1000);
}

TEST(DramhitBadInput, AnExportNeedsRoomForKeys) {
  MemoryTable table{MemoryOptions{}};
  std::uint64_t cursor = 0, key = 7, value = 8;
  table.insert(&key, &value, 1);
  EXPECT_THROW(table.export_batch(cursor, nullptr, &value, 1), InvalidArgument);
  EXPECT_EQ(cursor, 0u);
  EXPECT_EQ(table.export_batch(cursor, &key, nullptr, 1), 1u) << "values are not always wanted";
}

TEST_P(Dramhit, GrowsFarPastItsCapacity) {
#if defined(HOLDFAST_SANITIZED)
  if (GetParam().tile != nullptr) GTEST_SKIP() << "sanitizers have one, the portable one";
  constexpr int kBatches = 4;
  constexpr std::uint64_t kReserved = 200'000;
#else
  constexpr int kBatches = 12;
  constexpr std::uint64_t kReserved = 1'000'000;
#endif
  Random random(8);
  Checked checked(options());
  for (int i = 0; i < kBatches; ++i) {
    checked.batch(random, 20'000, 300'000, false, false);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(checked.items.size(), 20'000u);
  EXPECT_GT(checked.table.stats().work.growths, 0u);
  checked.agree(4096);
  checked.table.reserve(kReserved);
  EXPECT_GE(checked.table.slots(), kReserved);
  checked.agree(1);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Dramhit,
                         testing::Values(Shape{8, 8}, Shape{8, 8, "avx2"}, Shape{8, 8, "portable"}, Shape{8, 0},
                                         Shape{8, 4}, Shape{8, 5}, Shape{8, 64}, Shape{16, 8}, Shape{24, 12},
                                         Shape{64, 64}, Shape{64, 0}));

}  // namespace
}  // namespace holdfast

// dramhit_test.cpp: a table in memory: words of lines, growth far past its capacity. tests/conformance has its operations.
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>

#include "conformance/checked.hpp"
#include "holdfast/memory_table.hpp"
#include "structures/dramhit/lane.hpp"
#include "structures/dramhit/word.hpp"
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

TEST(DramhitBadInput, AnExportNeedsSpaceForKeys) {
  MemoryTable table{MemoryOptions{}};
  std::uint64_t cursor = 0, key = 7, value = 8;
  table.insert(&key, &value, 1);
  EXPECT_THROW(table.export_batch(cursor, nullptr, &value, 1), InvalidArgument);
  EXPECT_EQ(cursor, 0u);
  EXPECT_EQ(table.export_batch(cursor, &key, nullptr, 1), 1u) << "values are not always wanted";
}

struct Shape {
  std::uint32_t key_bytes, value_bytes;
  const char* tile = nullptr;  ///< null: the CPU's best
};
void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.key_bytes << '/' << shape.value_bytes << (shape.tile == nullptr ? "" : shape.tile);
}

class Dramhit : public testing::TestWithParam<Shape> {};

TEST_P(Dramhit, GrowsFarPastItsCapacity) {
#if defined(HOLDFAST_SANITIZED)
  if (GetParam().tile != nullptr) GTEST_SKIP() << "sanitizers have one, the portable one";
  constexpr int kBatches = 4;
  constexpr std::uint64_t kReserved = 200'000;
#else
  constexpr int kBatches = 8;
  constexpr std::uint64_t kReserved = 1'000'000;
#endif
  const auto& [key_bytes, value_bytes, tile] = GetParam();
  const test::UseTile use(tile);
  MemoryTable table({.key_bytes = key_bytes, .value_bytes = value_bytes, .capacity = 1000, .threads = 2, .seed = 5});
  test::Checked<MemoryTable> checked({key_bytes, value_bytes, 5});
  for (int i = 0; i < kBatches; ++i) {
    ASSERT_NO_FATAL_FAILURE(checked.round(table, 20'000, 300'000, true, Op::find));
  }
  EXPECT_GT(checked.oracle.items().size(), 20'000u);
  EXPECT_GT(table.stats().work.growths, 0u);
  checked.verify_searches(table);
  table.reserve(kReserved);
  EXPECT_GE(table.slots(), kReserved);
  checked.verify(table);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Dramhit,
                         testing::Values(Shape{8, 8}, Shape{8, 8, "avx2"}, Shape{8, 8, "portable"}, Shape{8, 0},
                                         Shape{8, 4}, Shape{8, 5}, Shape{8, 64}, Shape{16, 8}, Shape{24, 12},
                                         Shape{64, 64}, Shape{64, 0}));

}  // namespace
}  // namespace holdfast

// fullness_test.cpp: up to the number of items that a shape is trusted with, no insert grows the table; and a heap that is
// full takes updates.
#include "structures/gphash/fullness.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "core/hash.hpp"
#include "holdfast/table.hpp"

namespace holdfast::test {
namespace {

struct Shape {
  std::uint32_t levels, hashes, slots;
};

class Fullness : public testing::TestWithParam<Shape> {
 protected:
  ~Fullness() override { unlink(path_.c_str()); }

  /// Fills a table of some 98,304 slots or more up to its sure items.
  void fill(bool moves) {
    const Shape shape = GetParam();
    CreateOptions options;
    options.shape.levels = shape.levels;
    options.shape.hash_locations = shape.hashes;
    options.shape.slots = shape.slots;
    options.tuning.moves = moves;
    options.shape.capacity = 60'000;
    options.runtime.device = "cpu";
    options.shape.seed = 77;
    options.overwrite = true;
    Table table = Table::create(path_, options);
    const std::uint64_t slots = table.slots();
    const gphash::RuntimeShape runtime{shape.levels, shape.hashes, shape.slots};
    const std::uint64_t items = gphash::sure_items(runtime, slots, moves);
    std::vector<std::uint64_t> keys(items);
    for (std::uint64_t i = 0; i < items; ++i) keys[i] = hash_key(i + 1, 3);
    table.insert(keys.data(), keys.data(), items);
    EXPECT_EQ(table.slots(), slots) << items << " of " << slots << " slots";
    EXPECT_EQ(table.size(), items);
  }

 private:
  const std::string path_ = testing::TempDir() + "holdfast-fullness-" + std::to_string(getpid()) + ".hold";
};

TEST_P(Fullness, NoInsertGrowsTheTable) { fill(true); }
TEST_P(Fullness, NorWithoutMoves) { fill(false); }

INSTANTIATE_TEST_SUITE_P(Shapes, Fullness,
                         testing::Values(Shape{1, 2, 4}, Shape{1, 2, 8}, Shape{1, 2, 16}, Shape{1, 4, 2},
                                         Shape{1, 4, 8}, Shape{2, 2, 2}, Shape{2, 2, 4}, Shape{2, 2, 8}, Shape{4, 2, 4},
                                         Shape{4, 4, 2}),
                         [](const auto& info) {
                           const Shape& s = info.param;
                           return std::to_string(s.levels) + "L" + std::to_string(s.hashes) + "H" +
                                  std::to_string(s.slots) + "S";
                         });

/// Inserts leave one cell of these to updates, and threads take turns with it.
TEST(AFullHeap, TakesUpdatesOfManyThreads) {
  const std::string path = testing::TempDir() + "holdfast-full-heap-" + std::to_string(getpid()) + ".hold";
  CreateOptions options;
  options.shape.value_bytes = 72;
  options.shape.capacity = 16;
  options.shape.max_bytes = 8192;
  options.runtime.device = "cpu";
  Table table = Table::create(path, options);
  using Value = std::array<std::uint64_t, 9>;
  std::vector<std::uint64_t> keys(200);
  std::iota(keys.begin(), keys.end(), 1);
  const std::vector<Value> values(keys.size());
  const BatchResult filled = table.insert(keys.data(), values.data(), keys.size());
  ASSERT_GT(filled.of(Status::no_space), 0u);
  ASSERT_GE(filled.of(Status::inserted), 100u);
  keys.resize(filled.of(Status::inserted));
  for (std::size_t i = 0, kept = 0; i < 200; ++i) {
    bool found = false;
    const std::uint64_t key = i + 1;
    table.contains(&key, 1, &found);
    if (found) keys[kept++] = key;
  }
  constexpr unsigned kThreads = 4, kEach = 20'000;
  std::atomic<std::uint64_t> updated{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        Value value;
        value.fill(t * kEach + i);
        updated += table.assign(&keys[(i * kThreads + t) % keys.size()], value.data(), 1).of(Status::updated);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(updated, kThreads * kEach);
  EXPECT_EQ(table.assign(keys.data(), values.data(), keys.size()).of(Status::updated), keys.size()) << "in one batch";
  EXPECT_TRUE(table.check().errors.empty());
  unlink(path.c_str());
}

TEST(FullnessOfOneLocation, IsNeverSure) {
  EXPECT_EQ(gphash::sure_items({2, 1, 16}, 1 << 20, true), 0u);
  EXPECT_EQ(gphash::sure_items({1, 2, 2}, 1 << 20, true), 0u);
}

}  // namespace
}  // namespace holdfast::test

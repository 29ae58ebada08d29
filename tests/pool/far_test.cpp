// far_test.cpp: pools of more than 2^32 bytes, on a medium that has only the pages that were written: what lies far back is found,
// grown, copied and checked; and commits beyond the 2^32nd.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/checkpoint.hpp"
#include "holdfast/region.hpp"
#include "holdfast/table.hpp"
#include "pool/copies.hpp"
#include "pool/directory.hpp"
#include "pool/pool_image.hpp"
#include "pool_test.hpp"
#include "support/thin.hpp"

namespace holdfast::pool {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kLong = 5 * kGiB;
constexpr std::uint64_t kFarWords[] = {64, 4 * kGiB - 8, 4 * kGiB + 64, kLong - 8};  // bytes

class FarPools : public testing::Test {
 protected:
  using Value = std::array<std::uint64_t, 2>;
  static void put(Table& table, std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> keys;
    std::vector<Value> values;
    for (std::uint64_t key = first; key < last; ++key) {
      keys.push_back(key);
      values.push_back({key * 3, ~key});
    }
    table.insert(keys.data(), values.data(), keys.size());
  }
  static void expect_items(Table& table, std::uint64_t items) {
    EXPECT_EQ(table.size(), items);
    std::vector<std::uint64_t> keys(items), exported(items + 64);
    std::vector<Value> values(items), exported_values(items + 64);
    const auto found = std::make_unique<bool[]>(items);
    for (std::uint64_t key = 0; key < items; ++key) keys[key] = key + 1;
    table.find(keys.data(), values.data(), items, found.get());
    for (std::uint64_t i = 0; i < items; ++i) {
      ASSERT_TRUE(found[i]) << keys[i];
      ASSERT_EQ(values[i], (Value{keys[i] * 3, ~keys[i]}));
    }
    std::uint64_t cursor = 0;
    ASSERT_EQ(table.export_batch(cursor, exported.data(), exported_values.data(), exported.size()), items);
    for (std::uint64_t i = 0; i < items; ++i) ASSERT_EQ(exported_values[i][0], exported[i] * 3);
    EXPECT_TRUE(table.check().errors.empty());
  }
  static void write_words(Region& region) {
    const Section section = region.section();
    for (const std::uint64_t at : kFarWords) section.as<std::uint64_t>()[at / 8] = at + 1;
  }
  static void expect_words(const Region& region) {
    ASSERT_EQ(region.size(), kLong);
    for (const std::uint64_t at : kFarWords) EXPECT_EQ(region.as<std::uint64_t>()[at / 8], at + 1) << at;
  }
  static void save(Checkpoint& checkpoint, std::uint64_t step, std::size_t words) {
    const std::vector<std::uint64_t> data(words, step);
    const TensorView tensors[] = {{"a", ElementType::u64, {words}, data.data()}};
    checkpoint.save(step, tensors, "saved").wait();
  }
  static void expect_saved(const Checkpoint& checkpoint, std::uint64_t step, std::size_t words) {
    const SavedState state = checkpoint.restore();
    EXPECT_EQ(state.step, step);
    ASSERT_EQ(state.tensors.at(0).bytes, 8 * words);
    const std::vector<std::uint64_t> data(words, step);
    EXPECT_EQ(std::memcmp(state.tensors[0].data, data.data(), 8 * words), 0);
  }

  const proof::ThinMedium thin;
  const Folder folder{"/dev/shm"};
  const std::string path = folder / "a.hold";
};

constexpr CreateOptions kOptions = {.shape = {.value_bytes = 16, .capacity = 8, .seed = 42},
                                    .runtime = {.device = "cpu", .threads = 1}};

/// Every extent of the objects lies beyond 2^32 bytes, also of what they grow by.
TEST_F(FarPools, HaveTheirObjectsBehindALargeOne) {
  std::string copy = folder / "b.hold";
  {
    Pool pool = Pool::create(path);
    Region region = Region::create(pool, "long", kLong);
    write_words(region);
    Table table = pool.create_table("table", kOptions);
    put(table, 1, 500);
    table.reserve(1'000'000);
    put(table, 500, 3000);
    Checkpoint checkpoint = Checkpoint::create(pool, "checkpoint");
    save(checkpoint, 1, 10);
    save(checkpoint, 2, 100'000);
    save(checkpoint, 3, 300'000);
    Region behind = Region::create(pool, "behind", 8 << 20);
    behind.section().as<std::uint64_t>()[0] = 7;
  }
  std::uint64_t far = 0;
  for (const ObjectInfo& object : inspect(path).objects) {
    for (const auto& extent : object.extents) far += extent.offset > 4 * kGiB ? 1 : 0;
  }
  EXPECT_GE(far, 8u);
  const auto expect_all = [](Pool& pool) {
    expect_words(Region::open(pool, "long"));
    Table table = pool.table("table");
    expect_items(table, 2999);
    expect_saved(Checkpoint::open(pool, "checkpoint"), 3, 300'000);
    EXPECT_EQ(Region::open(pool, "behind").as<std::uint64_t>()[0], 7u);
  };
  {
    Pool pool = Pool::open(path);
    expect_all(pool);
    Table table = pool.table("table");
    put(table, 3000, 3001);
    const std::uint64_t key = 3000;
    table.erase(&key, 1);
  }
  {
    Pool pool = Pool::open(path, {.read_only = true});
    expect_all(pool);
    const SnapshotResult result = pool.snapshot(copy);
    EXPECT_GT(result.bytes, kLong);
  }
  Pool pool = Pool::open(copy);
  expect_all(pool);
  pool.drop("long");
  expect_items(*std::make_unique<Table>(pool.table("table")), 2999);
}

/// Cells beyond 2^32 bytes of a heap: as if those before were taken.
TEST_F(FarPools, HaveCellsFarBackInTheHeap) {
  TableShape shape = small_shape();
  shape.value_bytes = 16;
  shape.cells = kLong / 16;
  const std::uint64_t far_cells[] = {4 * kGiB / 16 + 5, 4 * kGiB / 16 + 77, shape.cells - 1};
  create_closed(path, shape);
  {
    Table table = Table::open(path);
    put(table, 1, 4);
  }
  {
    const auto object = open(path);
    ASSERT_GE(object->cells(), shape.cells);
    const auto cell = [&](std::uint64_t number) { return object->heap() + number * object->shape().cell_bytes; };
    object->pool().keep_space();  // what opening it has filled
    std::size_t moved = 0;
    for (unsigned level = 0; level <= 8; ++level) {
      for (std::uint64_t i = 0; object->level(level) != nullptr && i < (std::uint64_t{8} << level); ++i) {
        gphash::Slot& slot = object->level(level)[i];
        if (slot.key == 0) continue;
        const std::uint64_t to = far_cells[moved++];
        std::memcpy(cell(to), cell(slot.word - 1), sizeof(Value));
        std::memset(cell(slot.word - 1), 0, sizeof(Value));
        slot.word = 1 + to;
      }
    }
    ASSERT_EQ(moved, 3u);
    object->sync();
  }
  Table table = Table::open(path);
  expect_items(table, 3);
  put(table, 4, 100);  // and those that were left are free, none of the others
  expect_items(table, 99);
  const std::vector<std::uint64_t> keys{1, 2, 3};
  const std::vector<Value> values{{9, 1}, {9, 2}, {9, 3}};
  table.insert_or_assign(keys.data(), values.data(), 3);
  std::vector<Value> found(3);
  table.find(keys.data(), found.data(), 3);
  EXPECT_EQ(found, values);
  EXPECT_TRUE(table.check().errors.empty());
}

/// Numbers the next commit of a closed pool.
void set_generation(const std::string& path, std::uint64_t generation) {
  PoolImage image = read_pool(system::File::open(path, false));
  image.directory.generation = generation;
  const std::vector<std::byte> area = encode(image.directory);
  std::vector<char> bytes = read_all(path);
  std::memcpy(bytes.data() + area_offset(image.block.area), area.data(), area.size());
  write_all(path, bytes);
  edit_superblock(path, [&](Superblock& block) { block.generation = generation; });
}

TEST(FarCommits, AreInOrderBeyondThe2To32nd) {
  const Folder folder("/dev/shm");
  const std::string path = folder / "a.hold";
  constexpr std::uint64_t kBefore = (std::uint64_t{1} << 32) - 3;
  { Pool pool = Pool::create(path); }
  set_generation(path, kBefore);
  for (std::uint64_t i = 1; i <= 6; ++i) {
    {
      Pool pool = Pool::open(path);
      ASSERT_EQ(pool.objects().size(), i - 1);
      Region::create(pool, "r" + std::to_string(i), 64);
    }
    EXPECT_EQ(read_pool(system::File::open(path, false)).block.generation, kBefore + i);
    // As a crash between the copies leaves it: the newer one counts.
    std::vector<char> bytes = read_all(path);
    edit_superblock(
        path, [](Superblock& block) { block.area ^= 1, --block.generation; }, 2);
    EXPECT_EQ(read_pool(system::File::open(path, false)).block.generation, kBefore + i);
    write_all(path, bytes);
  }
}

TEST(FarCommits, AreInOrderOfAnObjectsPageToo) {
  const Folder folder("/dev/shm");
  const std::string path = folder / "a.hold";
  constexpr std::uint64_t kBefore = (std::uint64_t{1} << 32) - 3;
  create_closed(path);
  edit_page(path, [](ObjectPage& page) { page.generation = kBefore; });
  for (std::uint64_t i = 1; i <= 3; ++i) {
    {
      Table table = Table::open(path);
      std::vector<std::byte> value(128);
      table.insert(&i, value.data(), 1);
    }
    EXPECT_EQ(page_generation(path), kBefore + 2 * i) << "changed, and closed";
    EXPECT_TRUE(inspect_table(path).clean);
    edit_page(
        path, [](ObjectPage& page) { page.clean = 0, --page.generation; }, 2);
    EXPECT_TRUE(inspect_table(path).clean) << "the newer copy counts";
  }
}

}  // namespace
}  // namespace holdfast::pool

// pool_grow_test.cpp: levels and heap grow, shrink and reuse each other's room; a full medium changes nothing.
#include <sys/mount.h>
#include <sys/stat.h>

#include "core/random.hpp"
#include "pool_test.hpp"
#include "system/mapping.hpp"

namespace holdfast::pool {
namespace {

class PoolGrow : public testing::TestWithParam<const char*> {
 protected:
  Folder folder{GetParam()};
  std::string path = folder / "a.hold";
};
INSTANTIATE_TEST_SUITE_P(Media, PoolGrow, testing::Values("/dev/shm", "/tmp"),
                         [](const auto& info) { return std::string(info.param) == "/tmp" ? "file" : "shm"; });

/// Adds the next level and takes out the lowest, as a resize does.
void resize(TableObject& pool) {
  const unsigned top = pool.shape().top_level, levels = pool.shape().levels;
  pool.add_level(top + 1);
  pool.release_level(top + 1 - levels);
}

TEST_P(PoolGrow, ANewLevelIsZeroNamedAndResizing) {
  create(path);
  const auto pool = open(path);
  gphash::Slot* const level8 = pool->level(8);
  level8[5] = {1, 2};
  pool->add_level(9);
  EXPECT_EQ(pool->level(8), level8) << "nothing moves";
  EXPECT_EQ(pool->shape().top_level, 9u);
  EXPECT_TRUE(pool->shape().is_resizing);
  for (unsigned i = 0; i < 8 * 512; ++i) ASSERT_EQ(pool->level(9)[i].key, 0u);
  EXPECT_TRUE(inspect_table(path).table.resizing);
  EXPECT_EQ(inspect_table(path).table.top_level, 9u);
  EXPECT_EQ(inspect(path).valid_copies, 2u);
}

TEST_P(PoolGrow, AnInterruptedResizeIsThereAfterReopening) {
  create(path)->add_level(9);
  const auto pool = open(path);
  EXPECT_TRUE(pool->shape().is_resizing);
  for (const unsigned number : {7u, 8u, 9u}) EXPECT_NE(pool->level(number), nullptr);
  pool->add_level(10);
  EXPECT_THROW(pool->release_level(8), InvalidArgument);
  pool->release_level(7);
  pool->release_level(8);
  EXPECT_THROW(pool->release_level(9), InvalidArgument);
  EXPECT_EQ(pool->level(7), nullptr);
  EXPECT_EQ(pool->level(8), nullptr);
  EXPECT_FALSE(pool->shape().is_resizing);
}

TEST_P(PoolGrow, OnlyTheNextLevelCanBeAdded) {
  const auto pool = create(path);
  for (const unsigned number : {0u, 7u, 8u, 10u, 41u, ~0u}) EXPECT_THROW(pool->add_level(number), InvalidArgument);
  EXPECT_EQ(pool->shape().top_level, 8u);
}

TEST_P(PoolGrow, TheHeapGrowsInPlace) {
  create(path);
  auto pool = open(path);
  std::byte* const heap = pool->heap();
  std::memset(heap, 1, 100 * 128);
  EXPECT_EQ(inspect_table(path).extents.size(), 4u);
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t before = pool->cells();
    pool->grow_heap(10'000);
    EXPECT_GE(pool->cells(), before + 10'000);
    EXPECT_LT(pool->cells(), before + 10'000 + kPage / 128);
  }
  EXPECT_EQ(pool->heap(), heap);
  EXPECT_EQ(heap[99 * 128 + 127], std::byte{1});
  for (std::uint64_t at = 100 * 128; at < pool->cells() * 128; ++at) ASSERT_EQ(heap[at], std::byte{0});
  EXPECT_EQ(inspect_table(path).extents.size(), 4u) << "extended, not scattered";
  std::memset(heap + (pool->cells() - 1) * 128, 7, 128);
  const std::uint64_t cells = pool->cells();
  pool->sync();
  pool.reset();
  const auto again = open(path);
  EXPECT_EQ(again->cells(), cells);
  EXPECT_EQ(again->heap()[cells * 128 - 1], std::byte{7});
}

TEST_P(PoolGrow, ReleasedLevelsBecomeHeap) {
  const auto pool = create(path);
  resize(*pool);
  EXPECT_EQ(inspect_table(path).extents.size(), 4u);
  const std::uint64_t bytes = std::filesystem::file_size(path);
  EXPECT_EQ(inspect(path).free_bytes, gphash::level_bytes(7, 8, 8));
  pool->grow_heap(gphash::level_bytes(7, 8, 8) / 128);
  EXPECT_EQ(std::filesystem::file_size(path), bytes) << "the room of level 7 was enough";
  EXPECT_EQ(inspect(path).free_bytes, 0u);
  EXPECT_EQ(inspect_table(path).extents.size(), 5u);
  for (std::uint64_t at = 0; at < pool->cells() * 128; ++at) ASSERT_EQ(pool->heap()[at], std::byte{0});
}

TEST_P(PoolGrow, AGapIsZeroedForALevel) {
  // Levels 0 and 1 take one page each, so level 1's extent can hold level 2.
  TableShape shape = small_shape();
  shape.top_level = 1;
  {
    const auto pool = create(path, shape);
    resize(*pool);
    pool->sync();
  }
  ASSERT_EQ(inspect(path).free_bytes, 4096u);
  const std::uint64_t offset = inspect_table(path).extents.front().offset + gphash::kPagesBytes;
  std::fstream stream(path, std::ios::binary | std::ios::in | std::ios::out);
  stream.seekp(static_cast<std::streamoff>(offset));
  stream.write(std::string(4096, 'x').data(), 4096);
  stream.close();
  const auto pool = open(path);
  pool->add_level(3);
  EXPECT_EQ(inspect(path).free_bytes, 0u) << "the gap was taken";
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool->level(3)) % kPage, 0u);
  for (unsigned i = 0; i < 8 * 8; ++i) ASSERT_EQ(pool->level(3)[i].key | pool->level(3)[i].word, 0u);
}

TEST_P(PoolGrow, WhatAnInterruptedGrowthLeftIsCutOff) {
  create_closed(path);
  std::ofstream(path, std::ios::app | std::ios::binary) << std::string(100'000, 'x');
  const auto pool = open(path);
  pool->grow_heap(500);
  for (std::uint64_t at = 0; at < pool->cells() * 128; ++at) ASSERT_EQ(pool->heap()[at], std::byte{0}) << at;
}

TEST_P(PoolGrow, LargeExtentsFitHugePages) {
  TableShape shape = small_shape();
  shape.top_level = 16;  // 8 MiB
  shape.cells = 100'000;
  const auto pool = create(path, shape);
  pool->add_level(17);
  pool->grow_heap(100'000);
  for (const ExtentInfo& extent : inspect_table(path).extents) {
    if (extent.kind == "heap" || extent.bytes < 4 * system::kHugePage) continue;
    EXPECT_EQ(extent.offset % system::kHugePage, 0u) << extent.kind;
  }
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool->level(16)) % system::kHugePage, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool->level(17)) % system::kHugePage, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool->heap()) % system::kHugePage, 0u);
  std::uint64_t address = 0;
  for (const ExtentInfo& extent : inspect_table(path).extents) {
    if (extent.kind != "heap") continue;
    EXPECT_EQ(extent.offset % system::kHugePage, address % system::kHugePage);
    address += extent.bytes;
  }
  EXPECT_GE(address, pool->cells() * 128);
}

TEST_P(PoolGrow, TheDeclaredMaximumHolds) {
  TableShape shape = small_shape();
  shape.max_bytes = 64 << 10;
  auto pool = create(path, shape);
  pool->grow_heap(1'000'000);
  EXPECT_EQ(pool->cells(), (64u << 10) / 128);
  expect_error<NoSpace>([&] { pool->grow_heap(1); }, "max_bytes");
  EXPECT_EQ(pool->cells(), (64u << 10) / 128);
  pool->sync();
  pool.reset();
  EXPECT_EQ(open(path)->cells(), (64u << 10) / 128);
}

TEST_P(PoolGrow, AHeapThatOutgrowsItsAddressSpaceMoves) {
  NewPool made(path, false);
  const auto table =
      TableObject::create(made.pool(), "table", small_shape(), {.label = path, .reserve = std::uint64_t{2} << 20});
  std::vector<std::pair<void*, std::size_t>> ranges;
  table->on_extent([&](void* address, std::size_t bytes) { ranges.emplace_back(address, bytes); },
                   [&](void* address, std::size_t bytes) { std::erase(ranges, std::pair(address, bytes)); });
  std::memset(table->heap(), 5, table->cells() * 128);
  const std::byte* const before = table->heap();
  const std::uint64_t cells = table->cells();
  table->grow_heap(100'000);
  EXPECT_NE(table->heap(), before);
  EXPECT_GE(table->cells(), cells + 100'000);
  for (std::uint64_t at = 0; at < cells * 128; ++at) ASSERT_EQ(table->heap()[at], std::byte{5});
  std::memset(table->heap() + cells * 128, 6, (table->cells() - cells) * 128);
  std::uint64_t announced = 0;
  for (const auto& [address, bytes] : ranges) announced += address >= table->heap() ? bytes : 0;
  EXPECT_GE(announced, table->cells() * 128) << "what was announced before is gone, and all of the heap is there";
  table->on_extent({}, {});
  made.publish();
}

TEST_P(PoolGrow, RandomGrowthAlwaysReopens) {
  Random random(5);
  TableShape shape = small_shape();
  shape.top_level = 1;
  create_closed(path, shape);
  auto pool = open(path);
  std::uint64_t stamp = 0;
  std::vector<std::uint64_t> cells(pool->cells());
  for (int step = 0; step < 60; ++step) {
    if (random.below(4) == 0 && pool->shape().top_level < 12) {
      resize(*pool);
    } else {
      pool->grow_heap(1 + random.below(200));
    }
    cells.resize(pool->cells());
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t cell = random.below(cells.size());
      cells[cell] = ++stamp;
      std::memcpy(pool->heap() + cell * 128 + 120, &stamp, 8);
    }
    if (random.below(5) == 0) {
      pool.reset();
      pool = open(path);
    }
    for (std::uint64_t cell = 0; cell < cells.size(); ++cell) {
      std::uint64_t found = 0;
      std::memcpy(&found, pool->heap() + cell * 128 + 120, 8);
      ASSERT_EQ(found, cells[cell]) << "cell " << cell << " in step " << step;
    }
    ASSERT_TRUE(read_pool(system::File::open(path, false)).choice.equal);
  }
}

TEST(PoolGrowFull, AFullMediumChangesNothing) {
  const Folder folder("/tmp");
  if (mount("holdfast-test", folder.path().c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "only root can mount a small tmpfs; ALimitOnFileSizesIsNoSpace covers the rest";
  }
  {
    const std::string path = folder / "a.hold";
    TableShape large = small_shape();
    large.cells = 100'000;
    EXPECT_THROW(create(path, large), NoSpace);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    const auto pool = create(path);
    resize(*pool);
    const std::uint64_t bytes = std::filesystem::file_size(path), generation = inspect(path).generation;
    expect_error<NoSpace>(
        [&] {
          for (unsigned number = 10;; ++number) {
            pool->add_level(number);
          }
        },
        "no space");
    EXPECT_LT(pool->shape().top_level, 14u);
    const std::uint64_t after_levels = std::filesystem::file_size(path);
    EXPECT_GE(after_levels, bytes);
    EXPECT_GE(inspect(path).generation, generation);
    // The heap takes what is left, and says no when there is nothing.
    const std::uint64_t cells = pool->cells();
    pool->grow_heap(100'000);
    EXPECT_GT(pool->cells(), cells);
    EXPECT_LT(pool->cells(), 100'000u);
    while (true) {
      const std::uint64_t before = pool->cells(), size = std::filesystem::file_size(path);
      try {
        pool->grow_heap(100'000);
      } catch (const NoSpace&) {
        EXPECT_EQ(pool->cells(), before);
        EXPECT_EQ(std::filesystem::file_size(path), size);
        break;
      }
    }
    std::memset(pool->heap(), 1, pool->cells() * 128);  // every cell has room: no SIGBUS
    const Superblock block = pool->pool().superblock();
    const auto found = read_pool(system::File::open(path, false));
    EXPECT_EQ(std::memcmp(&block, &found.block, sizeof block), 0);
  }
  EXPECT_EQ(umount(folder.path().c_str()), 0);
}

/// Copies of a pool of two mebibytes whose last pages are holes, on a small medium.
class SparseCopy : public testing::Test {
 protected:
  void SetUp() override {
    if (mount("holdfast-test", folder_.path().c_str(), "tmpfs", 0, "size=3m") != 0)
      GTEST_SKIP() << "only root can mount";
    mounted_ = true;
    TableShape shape = small_shape();
    shape.cells = 12'000;
    create_closed(path_, shape);
    bytes_ = read_all(path_);
  }
  void TearDown() override {
    if (!mounted_) return;
    EXPECT_EQ(umount(folder_.path().c_str()), 0);
  }
  /// `kept` bytes, and holes as far as the pool reaches.
  void copy(std::uint64_t kept) {
    std::filesystem::remove(path_);
    write_all(path_, {bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(kept)});
    std::filesystem::resize_file(path_, bytes_.size());
    there_ = allocated();
    ASSERT_LE(there_, kept + kPage);
  }
  /// Leaves the medium so many bytes.
  void leave_space(std::uint64_t bytes) {
    const auto free = std::filesystem::space(folder_.path()).available;
    const system::File filler = system::File::make(folder_ / "filler", "filler");
    filler.allocate(0, free - bytes);
  }
  std::uint64_t allocated() const { return system::File::open(path_, false).facts().allocated; }
  std::uint64_t words_that_are_not_zero(const TableObject& table) const {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < table.cells() * 16; ++i)
      count += reinterpret_cast<const volatile std::uint64_t*>(table.heap())[i] != 0;
    return count;
  }

  const Folder folder_{"/tmp"};
  const std::string path_ = folder_ / "a.hold";
  std::vector<char> bytes_;
  std::uint64_t there_ = 0;
  bool mounted_ = false;
};

TEST_F(SparseCopy, GetsItsSpaceFromAWriter) {
  copy(bytes_.size() * 2 / 3);
  {
    const auto pool = open(path_);
    EXPECT_GE(allocated(), bytes_.size()) << "a store into a hole is a SIGBUS where there is no room";
    std::memset(pool->heap(), 1, pool->cells() * 128);
    pool->pool().keep_space();
  }
  EXPECT_GE(allocated(), bytes_.size());
}

TEST_F(SparseCopy, GivesBackWhatItCannotUse) {
  copy(bytes_.size() * 2 / 3);
  leave_space(bytes_.size() / 6);
  EXPECT_THROW(open(path_), NoSpace);
  EXPECT_EQ(allocated(), there_);
  EXPECT_EQ(std::filesystem::file_size(path_), bytes_.size());
}

TEST_F(SparseCopy, GivesBackTheSpaceOfTablesThatDoNotOpen) {
  bytes_[inspect_table(path_).extents[0].offset + 100] ^= 1;
  bytes_[inspect_table(path_).extents[0].offset + kPage + 100] ^= 1;
  copy(bytes_.size() * 2 / 3);
  EXPECT_THROW(open(path_), PoolCorrupt);
  EXPECT_LE(allocated(), there_);
}

/// On a medium that is full even a read of a hole would be a SIGBUS.
TEST_F(SparseCopy, IsReadWhereThereIsNoSpace) {
  copy(bytes_.size() / 3);
  leave_space(0);
  for (const Access access : {Access::read_only, Access::scratch}) {
    const auto pool = open(path_, access);
    EXPECT_EQ(words_that_are_not_zero(*pool), 0u);
    EXPECT_NO_THROW(pool->pool().require_whole());
    EXPECT_EQ(allocated(), there_) << "reading takes no room";
  }
}

TEST_F(SparseCopy, OfMoreThanTwiceItsBlocksIsRefusedByAWriter) {
  copy(bytes_.size() / 3);
  expect_error<PoolCorrupt>([&] { open(path_); }, "it is a sparse copy");
  EXPECT_EQ(allocated(), there_);
  system::File::open(path_, true).allocate(0, bytes_.size());  // as the message says
  EXPECT_NE(open(path_), nullptr);
}

}  // namespace
}  // namespace holdfast::pool

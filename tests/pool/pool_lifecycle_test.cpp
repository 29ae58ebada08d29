// pool_lifecycle_test.cpp: pools are created, opened, marked and closed, on each medium.
#include <sys/mman.h>
#include <sys/stat.h>

#include "pool/medium/owner.hpp"
#include "pool_test.hpp"

namespace holdfast::pool {
namespace {

class PoolLifecycle : public testing::TestWithParam<const char*> {
 protected:
  Folder folder{GetParam()};
  Medium medium = std::string(GetParam()) == "/dev/shm" ? Medium::shm : Medium::file;
};
INSTANTIATE_TEST_SUITE_P(Media, PoolLifecycle, testing::Values("/dev/shm", "/tmp"),
                         [](const auto& info) { return std::string(info.param) == "/tmp" ? "file" : "shm"; });

TEST_P(PoolLifecycle, CreateGivesAZeroedPoolOfTheShapeAskedFor) {
  const auto pool = create(folder / "a.hold");
  EXPECT_EQ(pool->path(), folder / "a.hold");
  EXPECT_EQ(pool->medium(), medium);
  EXPECT_EQ(pool->domain(), Domain::process);
  EXPECT_EQ(pool->domain(true), Domain::process);
  EXPECT_FALSE(pool->persist().flushes());
  EXPECT_TRUE(pool->was_clean());
  EXPECT_FALSE(pool->read_only());
  EXPECT_FALSE(pool->forked());
  EXPECT_TRUE(pool->repairs().empty());
  const TableShape& block = pool->shape();
  EXPECT_EQ(block.seed, 42u);
  EXPECT_EQ(block.top_level, 8u);
  EXPECT_EQ(block.cell_bytes, 128u);
  EXPECT_EQ(pool->cells(), 128u) << "whole pages of them";
  EXPECT_EQ(pool->level(6), nullptr);
  EXPECT_EQ(pool->level(9), nullptr);
  EXPECT_EQ(pool->level(1000), nullptr);
  for (const unsigned number : {7u, 8u}) {
    for (std::uint64_t i = 0; i < (std::uint64_t{8} << number); ++i) {
      ASSERT_EQ(pool->level(number)[i].key, 0u);
      ASSERT_EQ(pool->level(number)[i].word, 0u);
    }
  }
  for (std::uint64_t i = 0; i < 100 * 128; ++i) ASSERT_EQ(pool->heap()[i], std::byte{0});
  EXPECT_EQ(pool->reserved_slot()->key, 0u);
}

TEST_P(PoolLifecycle, WhatIsWrittenIsThereAfterReopening) {
  const std::string path = folder / "a.hold";
  {
    const auto pool = create(path);
    pool->mark_changed();
    pool->level(7)[0] = {1, 2};
    pool->level(8)[2047] = {3, 4};
    *pool->reserved_slot() = {5, 6};
    std::memset(pool->heap() + 99 * 128, 0x5a, 128);
    pool->sync();
  }
  const auto pool = open(path);
  EXPECT_TRUE(pool->was_clean());
  EXPECT_EQ(pool->level(7)[0].word, 2u);
  EXPECT_EQ(pool->level(8)[2047].key, 3u);
  EXPECT_EQ(pool->reserved_slot()->key, 5u);
  EXPECT_EQ(pool->heap()[99 * 128 + 127], std::byte{0x5a});
  EXPECT_EQ(pool->shape().seed, 42u);
  EXPECT_GE(pool->map_ms(), 0);
}

TEST_P(PoolLifecycle, TheCleanMarkGoesWithTheFirstChangeAndComesWithSync) {
  const std::string path = folder / "a.hold";
  {
    const auto pool = create(path);
    EXPECT_TRUE(inspect_table(path).clean);
    pool->mark_changed();
    const std::uint64_t generation = page_generation(path);
    pool->mark_changed();
    EXPECT_EQ(page_generation(path), generation) << "cheap if done already";
    EXPECT_FALSE(inspect_table(path).clean);
    pool->sync();
    EXPECT_TRUE(inspect_table(path).clean);
    pool->sync();
    EXPECT_EQ(page_generation(path), generation + 1);
    pool->mark_changed();
    EXPECT_FALSE(inspect_table(path).clean);
  }
  EXPECT_FALSE(inspect_table(path).clean) << "closing does not set the mark by itself";
  const auto pool = open(path);
  EXPECT_FALSE(pool->was_clean());
}

TEST_P(PoolLifecycle, OnlyTheOwnerMayReadIt) {
  const mode_t before = umask(0);
  create(folder / "a.hold");
  umask(0777);
  create(folder / "b.hold");
  umask(before);
  for (const char* const name : {"a.hold", "b.hold"}) {
    struct stat status = {};
    ASSERT_EQ(stat((folder / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u) << name;
  }
}

TEST_P(PoolLifecycle, LeavesNothingBesideThePool) {
  create(folder / "a.hold");
  EXPECT_THROW(create(folder / "a.hold"), PoolExists);
  TableShape impossible = small_shape();
  impossible.max_bytes = 4096;
  EXPECT_THROW(create(folder / "b.hold", impossible), InvalidArgument);
  unsigned files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) files += entry.is_regular_file();
  EXPECT_EQ(files, 1u);
}

TEST_P(PoolLifecycle, OverwriteReplacesAPoolAndFollowsLinks) {
  const std::string path = folder / "a.hold", alias = folder / "link.hold";
  create_closed(path);
  std::filesystem::create_symlink("a.hold", alias);
  const std::vector<char> before = read_all(path);
  TableShape shape = small_shape();
  shape.value_bytes = 8;
  create(alias, shape, true)->sync();
  EXPECT_TRUE(std::filesystem::is_symlink(alias));
  EXPECT_EQ(inspect_table(path).table.value_bytes, 8u);
  EXPECT_EQ(open(alias)->shape().value_bytes, 8u);
}

TEST_P(PoolLifecycle, ValuesInSlotsNeedNoHeap) {
  TableShape shape = small_shape();
  shape.value_bytes = 8;
  create(folder / "a.hold", shape)->sync();
  const auto pool = open(folder / "a.hold");
  EXPECT_EQ(pool->heap(), nullptr);
  EXPECT_EQ(pool->cells(), 0u);
}

TEST_P(PoolLifecycle, FlushRunsThePowerProtocolAndClaimsNoMore) {
  create(folder / "a.hold", small_shape(), false, true)->sync();
  const auto pool = open(folder / "a.hold", Access::read_write, false, true);
  EXPECT_TRUE(pool->persist().flushes());
  EXPECT_EQ(pool->domain(), Domain::process);
  pool->mark_changed();
  pool->add_level(9);
  pool->sync();
}

TEST_P(PoolLifecycle, ReadOnlyWritesNothing) {
  const std::string path = folder / "a.hold";
  create_closed(path);
  const std::vector<char> before = read_all(path);
  {
    const auto one = open(path, Access::read_only), two = open(path, Access::read_only);
    EXPECT_TRUE(one->read_only());
    EXPECT_EQ(two->level(8)[0].key, 0u);
    EXPECT_THROW(one->mark_changed(), ReadOnly);
    EXPECT_THROW(one->sync(), ReadOnly);
    EXPECT_THROW(one->add_level(9), ReadOnly);
    EXPECT_THROW(one->grow_heap(1), ReadOnly);
  }
  EXPECT_EQ(read_all(path), before);
  ASSERT_EQ(chmod(path.c_str(), 0400), 0);
  EXPECT_NE(open(path, Access::read_only), nullptr);
}

TEST_P(PoolLifecycle, ReadOnlyRefusesAPoolThatNeedsRecovery) {
  const std::string path = folder / "a.hold";
  create(path)->mark_changed();
  expect_error<ReadOnly>([&] { open(path, Access::read_only); }, "holdfast recover");
}

TEST_P(PoolLifecycle, ScratchNeverReachesTheFile) {
  const std::string path = folder / "a.hold";
  create(path)->mark_changed();
  const std::vector<char> before = read_all(path);
  {
    const auto pool = open(path, Access::scratch);
    EXPECT_FALSE(pool->was_clean());
    EXPECT_EQ(pool->domain(), Domain::none);
    pool->mark_changed();
    pool->level(8)[0] = {1, 1};
    *pool->reserved_slot() = {1, 1};
    pool->heap()[0] = std::byte{1};
    pool->add_level(9);
    pool->level(9)[4095] = {1, 1};
    pool->release_level(7);
    pool->grow_heap(1'000'000);
    EXPECT_GE(pool->cells(), 1'000'100u);
    pool->heap()[1'000'099 * 128 + 127] = std::byte{1};
    pool->sync();
  }
  EXPECT_EQ(read_all(path), before);
}

TEST_P(PoolLifecycle, AnnouncesEveryRangeAndItsEnd) {
  std::vector<std::pair<void*, std::size_t>> ranges;
  {
    const auto pool = create(folder / "a.hold");
    pool->on_extent(
        [&](void* address, std::size_t bytes) { ranges.emplace_back(address, bytes); },
        [&](void* address, std::size_t bytes) { EXPECT_EQ(std::erase(ranges, std::pair(address, bytes)), 1u); });
    EXPECT_EQ(ranges.size(), 4u) << "pages, two levels, heap";
    const auto covers = [&](const void* at) {
      return std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
        const auto* const start = static_cast<const char*>(range.first);
        return at >= start && at < start + range.second;
      });
    };
    EXPECT_TRUE(covers(pool->reserved_slot()));
    EXPECT_TRUE(covers(&pool->level(8)[2047]));
    EXPECT_TRUE(covers(pool->heap() + 99 * 128));
    pool->add_level(9);
    EXPECT_TRUE(covers(pool->level(9)));
    pool->release_level(7);
    EXPECT_EQ(ranges.size(), 4u);
    pool->grow_heap(1000);
    EXPECT_TRUE(covers(pool->heap() + 1099 * 128));
  }
  EXPECT_TRUE(ranges.empty());
}

TEST_P(PoolLifecycle, InspectReportsWithoutALock) {
  const std::string path = folder / "a.hold";
  const auto pool = create(path);
  pool->mark_changed();
  pool->add_level(9);
  const PoolInfo info = inspect(path);
  EXPECT_EQ(info.medium, medium);
  EXPECT_EQ(info.domain, Domain::process);
  EXPECT_EQ(info.version, kVersion);
  EXPECT_EQ(info.file_bytes, std::filesystem::file_size(path));
  EXPECT_EQ(info.valid_copies, 2u);
  ASSERT_EQ(info.objects.size(), 1u);
  const ObjectInfo& object = info.objects[0];
  EXPECT_EQ(object.name, "table");
  EXPECT_EQ(object.type, "table");
  EXPECT_EQ(object.damage, "");
  EXPECT_TRUE(object.same_boot);
  EXPECT_FALSE(object.clean);
  EXPECT_EQ(object.extents.size(), 5u);
  EXPECT_EQ(object.table.total_slots, 8u * (128 + 256 + 512));
  EXPECT_EQ(object.table.cells, 128u);
  EXPECT_TRUE(object.table.resizing);
  EXPECT_NE(info.owner.find("process " + std::to_string(getpid()) + " (test_pool"), std::string::npos) << info.owner;
}

TEST(PoolMemfd, SurvivesNothingByItself) {
  const int fd = memfd_create("pool", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  {
    const auto pool = create(path);
    EXPECT_EQ(pool->medium(), Medium::shm);
    EXPECT_EQ(pool->domain(), Domain::none);
    pool->level(8)[1] = {7, 8};
    pool->sync();
  }
  EXPECT_THROW(create(path), PoolExists);
  EXPECT_THROW(create(path, small_shape(), true), MediumError) << "nothing could take its place in one step";
  EXPECT_EQ(open(path)->level(8)[1].word, 8u);
  const std::string elsewhere = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd);
  EXPECT_EQ(in_child([&] { return static_cast<int>(open(elsewhere)->domain()); }), static_cast<int>(Domain::process));
  close(fd);
}

TEST(PoolMemfd, IsEmptyAgainIfNoTableCouldBeMade) {
  const int fd = memfd_create("pool", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  TableShape shape = small_shape();
  shape.cells = gphash::kMaxCells;  // more than there is room for
  EXPECT_THROW(create(path, shape), Error);
  EXPECT_EQ(std::filesystem::file_size(path), 0u);
  EXPECT_NE(create(path), nullptr);
  close(fd);
}

}  // namespace
}  // namespace holdfast::pool

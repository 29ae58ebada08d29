// pool_hugetlbfs_test.cpp: a pool on pages of 2 MiB, where the machine has set some aside (vm.nr_hugepages, 32 of them).
#include <sys/mount.h>

#include "pool/medium/medium.hpp"
#include "pool_test.hpp"
#include "system/mapping.hpp"

namespace holdfast::pool {
namespace {

std::uint64_t free_huge_pages() {
  std::ifstream meminfo("/proc/meminfo");
  std::uint64_t pages = 0;
  for (std::string word; meminfo >> word;) {
    if (word == "HugePages_Free:") meminfo >> pages;
  }
  return pages;
}

TEST(PoolHugetlbfs, LivesGrowsAndReopens) {
  if (free_huge_pages() < 32) GTEST_SKIP() << "no huge pages are set aside (sysctl vm.nr_hugepages=32)";
  const Folder folder("/tmp");
  // With pages of its own, so that no other process can take them meanwhile.
  if (mount("holdfast-test", folder.path().c_str(), "hugetlbfs", 0, "pagesize=2M,size=64M,min_size=64M") != 0) {
    GTEST_SKIP() << "only root can mount a hugetlbfs, and only if its pages are free";
  }
  {
    const std::string path = folder / "a.hold";
    {
      auto pool = create(path);
      EXPECT_EQ(pool->medium(), Medium::shm);
      pool->level(8)[2047] = {1, 2};
      pool->mark_changed();
      pool->add_level(9);
      pool->release_level(7);
      pool->grow_heap(20'000);
      EXPECT_GE(pool->cells(), 20'100u);
      std::memset(pool->heap(), 7, pool->cells() * 128);
      pool->sync();
    }
    for (const ExtentInfo& extent : inspect_table(path).extents) {
      EXPECT_TRUE(extent.kind == "free" || extent.offset % system::kHugePage == 0) << extent.kind;
    }
    for (const Access access : {Access::read_write, Access::read_only, Access::scratch}) {
      const auto pool = open(path, access);
      EXPECT_EQ(pool->level(8)[2047].word, 2u);
      EXPECT_EQ(pool->heap()[20'099 * 128], std::byte{7});
    }
    open(path)->add_level(10);
    TableShape large = small_shape();
    large.cells = 10'000'000;
    expect_error<NoSpace>([&] { create(folder / "b.hold", large); }, "no space");
    EXPECT_EQ(open(path)->shape().top_level, 10u);
    // A pool of a file system with small pages has extents that cannot be mapped here.
    const Folder other("/dev/shm");
    create_closed(other / "small.hold");
    std::vector<char> bytes = read_all(other / "small.hold");
    bytes.resize(system::kHugePage);
    const system::File file = system::File::make(folder / "c.hold", "c.hold");
    file.allocate(0, system::kHugePage);
    std::byte* const mapped = system::map_file(file, 0, system::kHugePage, {.granule = system::kHugePage}, false);
    std::memcpy(mapped, bytes.data(), bytes.size());
    system::unmap(mapped, system::kHugePage);
    expect_error<MediumError>([&] { open(folder / "c.hold"); }, "small pages");
  }
  EXPECT_EQ(umount(folder.path().c_str()), 0);
}

}  // namespace
}  // namespace holdfast::pool

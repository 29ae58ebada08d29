// medium_test.cpp: a store on a medium that is small, whose file is removed, or that is of another version: one error, which
// says what to do, and what was there stays.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "holdfast/region.hpp"
#include "holdfast/store.hpp"
#include "holdfast/store_memory.hpp"
#include "holdfast/structures.hpp"
#include "holdfast/table.hpp"
#include "support/errors.hpp"
#include "support/folder.hpp"
#include "support/image.hpp"
#include "support/pool_bytes.hpp"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

class StoreMedium : public testing::Test {
 protected:
  const Folder folder_;
  const std::string path_ = folder_ / "a.hold";
};

/// As /dev/shm of a container, which has 64 MiB, and less.
TEST_F(StoreMedium, ASmallOneSaysHowToEnlargeIt) {
  if (mount("holdfast-test", folder_.path().c_str(), "tmpfs", 0, "size=4m") != 0) {
    GTEST_SKIP() << "only root can mount a small tmpfs";
  }
  {
    Pool pool = Pool::create(path_);
    const std::string error = error_of([&] { Store::create(pool, "s"); });
    EXPECT_NE(error.find("its medium has no space"), std::string::npos) << error;
    EXPECT_NE(error.find("--shm-size"), std::string::npos) << error;
    EXPECT_TRUE(pool.objects().empty());
    ASSERT_EQ(mount("holdfast-test", folder_.path().c_str(), "tmpfs", MS_REMOUNT, "size=13m"), 0);
    Store store = Store::create(pool, "s");  // and so it is done
    int items = 0;
    while (store.set("key " + std::to_string(items), std::string(100'000, 'v')) == StoreStatus::inserted) ++items;
    EXPECT_GT(items, 30) << "what fits is taken";
    EXPECT_EQ(store.set("small", "1"), StoreStatus::no_space);
    for (int i = 0; i < items; ++i) ASSERT_TRUE(store.contains("key " + std::to_string(i))) << i;
    EXPECT_EQ(store.erase("key 0"), StoreStatus::erased);
    EXPECT_EQ(store.set("key 0", std::string(100'000, 'w')), StoreStatus::inserted);
    ASSERT_EQ(mount("holdfast-test", folder_.path().c_str(), "tmpfs", MS_REMOUNT, "size=64m"), 0);
    EXPECT_EQ(store.set("small", "1"), StoreStatus::inserted);
    EXPECT_TRUE(store.check().errors.empty());
  }
  EXPECT_EQ(umount(folder_.path().c_str()), 0);
}

TEST_F(StoreMedium, ARemovedFileIsNoticed) {
  Pool pool = Pool::create(path_);
  Store store = Store::create(pool, "s");
  store.set("a", "1");
  fs::remove(path_);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  for (int again = 0; again < 2; ++again) {
    expect_error([&] { store.set("b", "2"); }, "was removed or replaced");
    expect_error([&] { store.flush_all(); }, "was removed or replaced");
  }
  EXPECT_EQ(store.get("a")->value, "1") << "what was there is still found";
  EXPECT_THROW(store.sync(), MediumError);
  EXPECT_EQ(store.domain(), Domain::none);
  store.snapshot(folder_ / "kept.hold");
  Pool kept = Pool::open(folder_ / "kept.hold");
  EXPECT_EQ(Store::open(kept, "s").get("a")->value, "1");
}

/// Also when it is the last handle to the pool; a closed store has none.
TEST_F(StoreMedium, AStoreCopiesItsPool) {
  Store store = [&] {
    Pool pool = Pool::create(path_);
    pool.create_table("t", {});
    return Store::create(pool, "s");
  }();
  store.set("a", "1");
  EXPECT_EQ(store.snapshot(folder_ / "b.hold").items, 1);
  EXPECT_THROW(store.snapshot(folder_ / "b.hold"), PoolExists);
  EXPECT_THROW(store.snapshot(path_, {.overwrite = true}), ObjectInUse);
  store.set("b", "2");
  EXPECT_EQ(store.snapshot(folder_ / "b.hold", {.overwrite = true}).items, 2);
  store.close();
  EXPECT_THROW(store.snapshot(folder_ / "c.hold"), ObjectClosed);
  EXPECT_NO_THROW(Pool::create(path_, true)) << "nothing keeps the pool open";
  Pool copy = Pool::open(folder_ / "b.hold");
  EXPECT_EQ(copy.objects().size(), 2);
  EXPECT_EQ(Store::open(copy, "s").get("b")->value, "2");
}

/// The error is reported once. Then the file can be opened again, or replaced.
TEST_F(StoreMedium, AFailedOneClosesOnce) {
  Pool pool = Pool::create(path_);
  Store store = Store::create(pool, "s");
  store.set("a", "1");
  std::uint64_t offset = 0;
  const std::vector<ObjectInfo> objects = pool.objects();
  for (const ExtentInfo& extent : objects[0].extents) offset = std::max(offset, extent.offset);
  fs::resize_file(path_, offset);
  EXPECT_THROW(store.get("a"), MediumError);
  EXPECT_THROW(store.close(), MediumError);
  EXPECT_FALSE(store.is_open());
  EXPECT_NO_THROW(store.close());
  EXPECT_THROW(store.get("a"), ObjectClosed);
}

TEST_F(StoreMedium, APoolOnAFailedOneClosesAllItsObjects) {
  Pool pool = Pool::create(path_);
  Store first = Store::create(pool, "first"), second = Store::create(pool, "second");
  Table table = pool.create_table("t", {});
  GroupTable group = GroupTable::create(pool, "g", {.cells = 1024});
  Region region = Region::create(pool, "r", 4096);
  region.section().end();
  for (Store* store : {&first, &second}) store->set("a", "1");
  group.insert(1, 2);
  fs::remove(path_);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_THROW(pool.close(), MediumError);
  EXPECT_FALSE(pool.is_open());
  EXPECT_FALSE(first.is_open() || second.is_open() || table.is_open() || group.is_open() || region.is_open());
  EXPECT_NO_THROW(pool.close());
  EXPECT_NO_THROW(Pool::create(path_));
}

/// An object that its user still needs keeps the pool open, and the others are closed.
TEST_F(StoreMedium, APoolWithALeaseStaysOpen) {
  Pool pool = Pool::create(path_);
  Store store = Store::create(pool, "s");
  store.set("a", "1");
  {
    const Strings keys(std::vector<std::string>{"a"});
    const StoreLease lease = store.lease({keys.bytes(), keys.offsets(), keys.size()});
    EXPECT_THROW(pool.close(), InvalidArgument);
    EXPECT_TRUE(pool.is_open() && store.is_open());
  }
  EXPECT_NO_THROW(pool.close());
  EXPECT_FALSE(store.is_open());
}

TEST_F(StoreMedium, AnotherVersionIsRefused) {
  {
    Pool pool = Pool::create(path_);
    Store::create(pool, "s").set("a", "1");
    pool.create_table("t", {});
  }
  std::string bytes = read_file(path_);
  edit_directory(bytes, [](pool::Directory& directory) {
    for (pool::ObjectEntry& entry : directory.objects) entry.type_version += entry.number == 1 ? 1 : 0;
  });
  write_file(path_, bytes);
  Pool pool = Pool::open(path_);
  EXPECT_THROW(Store::open(pool, "s"), PoolVersion);
  expect_error([&] { Store::open(pool, "s"); }, "install a newer");
  EXPECT_NO_THROW(pool.table("t", {}));
}

}  // namespace
}  // namespace holdfast::test

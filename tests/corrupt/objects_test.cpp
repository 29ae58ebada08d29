// objects_test.cpp: an object that is damaged, or unknown to this version, does not open; it is listed, copied, renamed, replaced
// and dropped like any other, and its neighbours know nothing of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "fixture.hpp"
#include "holdfast/table.hpp"
#include "support/exercise.hpp"
#include "support/exercise_pool.hpp"
#include "support/pool_bytes.hpp"

namespace holdfast::test::corrupt {
namespace {

namespace fs = std::filesystem;

OpenOptions on_cpu() {
  OpenOptions options;
  options.runtime.device = "cpu";
  options.runtime.threads = 1;
  return options;
}

class Objects : public testing::Test {
 protected:
  Objects() {
    for (const std::uint32_t object : {kCells, kWide}) {
      const std::uint64_t page = page_in(bytes_, object);
      bytes_[page + 100] ^= '\x55';
      bytes_[page + pool::kPage + 100] ^= '\x55';
    }
    write_file(path_, bytes_);
  }
  ~Objects() override { fs::remove(path_); }

  static const ObjectInfo& find(const std::vector<ObjectInfo>& objects, std::uint32_t number) {
    return *std::find_if(objects.begin(), objects.end(), [&](const auto& object) { return object.number == number; });
  }
  std::string name_of(std::uint32_t number) const { return find(inspect(path_).objects, number).name; }

  /// All tables but the damaged two hold their items.
  void expect_neighbours(Pool& pool) {
    for (const auto& [number, items] : all_but({kCells, kWide})) {
      Table table = pool.table(find(pool.objects(), number).name, on_cpu());
      Exercised exercised;
      EXPECT_TRUE(export_all(table, exercised) == items) << number;
      EXPECT_EQ(exercised.wrong, "");
      EXPECT_TRUE(table.check().errors.empty()) << number;
    }
  }

  template <class Refused>
  void expect_refused(Pool& pool, std::uint32_t number, const std::string& text) {
    const std::string name = name_of(number);
    try {
      pool.table(name, on_cpu());
      ADD_FAILURE() << name << " opens";
    } catch (const Refused& error) {
      EXPECT_EQ(std::string(error.what()).find(path_ + ":" + name + " is "), 0u) << error.what();
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }

  std::string bytes_ = objects().bytes;
  const std::string path_ = pool_path() + "-objects";
};

TEST_F(Objects, EachIsListedAsItIs) {
  const std::vector<ObjectInfo> listed = inspect(path_).objects;
  ASSERT_EQ(listed.size(), 9u);
  for (const std::uint32_t sound : {kNumbers, kScored, kSet, kOptional}) {
    EXPECT_EQ(find(listed, sound).damage, "");
    EXPECT_EQ(find(listed, sound).type, "table");
  }
  for (const std::uint32_t damaged : {kCells, kWide}) {
    EXPECT_EQ(find(listed, damaged).damage, "both copies of its page are damaged");
    EXPECT_EQ(find(listed, damaged).type, "table");
  }
  for (const std::uint32_t unknown : {kUnknown, kFeatured, kNewer}) EXPECT_NE(find(listed, unknown).damage, "");
  EXPECT_EQ(find(listed, kUnknown).type, "unknown");
  EXPECT_EQ(find(listed, kNewer).type_version, gphash::kTableVersion + 1);
  EXPECT_EQ(find(listed, kNewer).type, "table");
  for (const ObjectInfo& object : listed) {
    std::uint64_t bytes = 0;
    for (const ExtentInfo& extent : object.extents) bytes += extent.bytes;
    EXPECT_EQ(object.bytes, bytes) << object.name;
    EXPECT_GT(bytes, 2 * pool::kPage) << object.name;
  }
}

TEST_F(Objects, NoneOpensThatCannot) {
  Pool pool = Pool::open(path_);
  expect_refused<PoolMismatch>(pool, kUnknown, "an object of type 700, not a table");
  expect_refused<PoolVersion>(pool, kFeatured, "features 32");
  expect_refused<PoolVersion>(pool, kNewer, "version 2");
  expect_refused<PoolCorrupt>(pool, kCells, "both copies of its page are damaged");
  expect_refused<PoolCorrupt>(pool, kWide, "both copies of its page are damaged");
  expect_neighbours(pool);
}

TEST_F(Objects, ARefusedOneIsNotWrittenTo) {
  const auto contents = [&](const ObjectInfo& object) {
    const std::string bytes = read_file(path_);
    std::string content;
    for (const ExtentInfo& extent : object.extents) content += bytes.substr(extent.offset, extent.bytes);
    return content;
  };
  for (const std::uint32_t number : {kUnknown, kFeatured, kNewer, kCells, kWide}) {
    const ObjectInfo object = find(inspect(path_).objects, number);
    const std::string before = contents(object);
    Pool pool = Pool::open(path_);
    EXPECT_THROW(pool.table(object.name, on_cpu()), Error);
    pool.close();
    EXPECT_TRUE(contents(object) == before) << object.name;
  }
}

TEST_F(Objects, CheckNamesThoseThatItCannotOpen) {
  const CheckReport report = check(path_);
  for (const std::uint32_t number : {kUnknown, kFeatured, kNewer, kCells, kWide}) {
    const std::string begins = path_ + ":" + name_of(number) + " ";
    const bool reported = std::any_of(report.errors.begin(), report.errors.end(),
                                      [&](const std::string& error) { return error.rfind(begins, 0) == 0; });
    EXPECT_TRUE(reported) << begins;
  }
  for (const std::string& error : report.errors)
    EXPECT_EQ(error.find(":" + name_of(kNumbers) + " "), std::string::npos) << error;
  std::uint64_t items = 0;
  for (const auto& [number, held] : all_but({kCells, kWide})) items += held.size();
  EXPECT_EQ(report.items, items) << "its neighbours were checked";
}

/// Byte by byte, whatever it is.
TEST_F(Objects, ASnapshotCopiesThem) {
  const std::string to = path_ + "-copy";
  Pool::open(path_).snapshot(to);
  const std::string source = read_file(path_), copy = read_file(to);
  const std::vector<ObjectInfo> before = inspect(path_).objects, after = inspect(to).objects;
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i].number, before[i].number);
    EXPECT_EQ(after[i].name, before[i].name);
    EXPECT_EQ(after[i].damage, before[i].damage);
    EXPECT_EQ(after[i].type_version, before[i].type_version);
    ASSERT_EQ(after[i].extents.size(), before[i].extents.size()) << before[i].name;
    for (const ExtentInfo& from : before[i].extents) {
      const auto same = [&](const ExtentInfo& extent) {
        return extent.kind == from.kind && extent.bytes == from.bytes &&
               copy.compare(extent.offset, extent.bytes, source, from.offset, from.bytes) == 0;
      };
      EXPECT_TRUE(std::any_of(after[i].extents.begin(), after[i].extents.end(), same))
          << before[i].name << ", " << from.kind;
    }
  }
  // What the directory says of them stands there too: the features.
  const pool::Directory directory = directory_in(copy);
  EXPECT_EQ(directory.find(kFeatured)->required, 1u << 5);
  EXPECT_EQ(directory.find(kOptional)->optional, 1u << 9);
  Pool pool = Pool::open(to);
  expect_neighbours(pool);
  pool.close();
  fs::remove(to);
}

TEST_F(Objects, DropRemovesThemAndGivesTheirSpaceBack) {
  Pool pool = Pool::open(path_);
  std::uint64_t freed = 0;
  for (const std::uint32_t number : {kUnknown, kFeatured, kNewer, kCells, kWide}) {
    const ObjectInfo object = find(pool.objects(), number);
    freed += object.bytes;
    pool.drop(object.name);
    EXPECT_THROW(pool.table(object.name, on_cpu()), ObjectNotFound);
  }
  EXPECT_EQ(pool.objects().size(), 4u);
  expect_neighbours(pool);
  pool.close();
  const PoolInfo info = inspect(path_);
  EXPECT_EQ(info.objects.size(), 4u);
  EXPECT_GE(info.free_bytes + (bytes_.size() - info.file_bytes), freed);
  EXPECT_TRUE(check(path_).errors.empty());
}

TEST_F(Objects, AreRenamedAndReplaced) {
  Pool pool = Pool::open(path_);
  const std::string damaged = name_of(kCells);
  pool.rename(damaged, "to be repaired");
  EXPECT_EQ(find(pool.objects(), kCells).name, "to be repaired");
  CreateOptions options;
  options.shape.capacity = 16;
  options.runtime.device = "cpu";
  options.overwrite = true;
  const std::string unknown = find(pool.objects(), kUnknown).name;
  EXPECT_THROW(pool.create_table(unknown, options), PoolMismatch) << "what is no table, a table does not replace";
  pool.drop(unknown);
  for (const std::string& name : {find(pool.objects(), kCells).name, unknown}) {
    pool.create_table(name, options).close();
    EXPECT_EQ(pool.table(name, on_cpu()).size(), 0u);
  }
  EXPECT_EQ(pool.objects().size(), 9u);
  expect_neighbours(pool);
  pool.close();
  pool = Pool::open(path_);
  expect_neighbours(pool);
}

/// The machine stopped while one table was open: that one alone has lost something.
TEST_F(Objects, APowerCutIsOneTablesOwn) {
  bytes_ = objects().bytes;
  edit_page(bytes_, kScored, [](pool::ObjectPage& page) {
    page.clean = 0;
    page.domain = static_cast<std::uint32_t>(Domain::process);
    page.boot_id[0] ^= 1;
  });
  const PoolExercised result = exercise_bytes(bytes_, {kScored});
  EXPECT_EQ(result.wrong, "");
  EXPECT_EQ(result.listed.at(kScored), "") << "it is whole, as far as its pages tell";
  EXPECT_NE(result.refused.at(kScored).find("open when the machine stopped"), std::string::npos);
  write_file(path_, bytes_);
  const std::string to = path_ + "-copy";
  Pool::open(path_).snapshot(to);
  for (const std::string& path : {path_, to}) {
    EXPECT_FALSE(find(inspect(path).objects, kScored).same_boot) << path;
    EXPECT_TRUE(find(inspect(path).objects, kNumbers).same_boot) << path;
    Pool pool = Pool::open(path);
    EXPECT_THROW(pool.table("scores", on_cpu()), PowerLost) << path;
    OpenOptions salvage = on_cpu();
    salvage.salvage = true;
    Exercised exercised;
    Table table = pool.table("scores", salvage);
    EXPECT_TRUE(export_all(table, exercised) == objects().items.at(kScored)) << path;
    // What was lost is lost, however often it is opened, changed, synced, copied and closed.
    table.clear();
    table.sync();
    const std::string again = path + "-again";
    pool.snapshot(again);
    table.close();
    EXPECT_THROW(pool.table("scores", on_cpu()), PowerLost) << path;
    pool.close();
    for (const std::string& marked : {path, again}) {
      EXPECT_FALSE(find(inspect(marked).objects, kScored).clean) << marked;
      EXPECT_FALSE(find(inspect(marked).objects, kScored).same_boot) << marked;
      EXPECT_THROW(Pool::open(marked).table("scores", on_cpu()), PowerLost) << marked;
    }
    fs::remove(again);
  }
  fs::remove(to);
}

/// What lies in the slots of one table is nothing to the others.
TEST_F(Objects, ContentOfOneTableMayBeAnything) {
  bytes_ = objects().bytes;
  const ObjectInfo object = find(inspect(path_).objects, kNumbers);
  for (const ExtentInfo& extent : object.extents) {
    if (extent.kind == "pages") continue;
    for (std::uint64_t at = extent.offset; at < extent.offset + extent.bytes; ++at)
      bytes_[at] = static_cast<char>(at * 31 + 7);
  }
  const PoolExercised result = exercise_bytes(bytes_, {kNumbers});
  EXPECT_EQ(result.wrong, "");
  EXPECT_TRUE(result.opened);
  EXPECT_EQ(result.listed.at(kNumbers), "") << "its pages tell nothing of it";
  EXPECT_EQ(result.refused.count(kNumbers) + (result.damage_found ? 1 : 0), 1u) << "but whoever looks finds it";
}

/// As soon as its page cannot be read, a table alone in its pool is told so by the short way too.
TEST_F(Objects, AloneInItsPoolItIsRefusedByTheShortWay) {
  for (const std::uint32_t left : {kCells, kUnknown, kNewer}) {
    write_file(path_, bytes_);
    Pool pool = Pool::open(path_);
    for (const ObjectInfo& object : pool.objects()) {
      if (object.number != left) pool.drop(object.name);
    }
    pool.close();
    try {
      Table::open(path_, on_cpu());
      ADD_FAILURE() << left << " opens";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find(path_ + " is "), 0u) << error.what();
    }
  }
}

/// Tables of every kind, that of pairs among them, beside damaged ones.
TEST_F(Objects, EveryKindIsSoundBesideTheOthers) {
  const ObjectsImage image = make_objects_image(pool_path(), true);
  const std::string path = pool_path() + "-case";
  write_file(path, image.bytes);
  const PoolExercised result = exercise_pool(path, image.items);
  EXPECT_EQ(result.wrong, "");
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.refused.size(), 3u);
  fs::remove(path);
}

}  // namespace
}  // namespace holdfast::test::corrupt

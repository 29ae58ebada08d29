// edit_test.cpp: several edits in one commit; names, limits and bad arguments; the file stays as small as what lives in it.
#include "pool/edit.hpp"

#include "core/random.hpp"
#include "pool_test.hpp"

namespace holdfast::pool {
namespace {

class PoolEdit : public testing::Test {
 protected:
  Folder folder{"/dev/shm"};
  std::string path = folder / "a.hold";

  std::shared_ptr<PoolFile> make() {
    NewPool pool(path, false);
    pool.publish();
    return pool.pool();
  }
  static std::uint32_t add_object(Edit& edit, const std::string& name, std::uint64_t bytes = 0) {
    const std::uint32_t number = edit.create({.name = name, .type = 77});
    edit.add(number, kPagesRole, 0, 2 * kPage);
    if (bytes != 0) edit.add(number, 1, 0, bytes);
    return number;
  }
  static std::vector<std::string> names(const Directory& directory) {
    std::vector<std::string> all;
    for (const ObjectEntry& entry : directory.objects) all.emplace_back(entry.title());
    return all;
  }
};
using Names = std::vector<std::string>;

TEST_F(PoolEdit, AnEmptyPoolIsOnePageOfNothing) {
  make();
  const PoolInfo info = inspect(path);
  EXPECT_TRUE(info.objects.empty());
  EXPECT_EQ(info.file_bytes, kFirstExtent);
  EXPECT_EQ(info.version, kVersion);
}

TEST_F(PoolEdit, AllEditsOfACommitAreThereOrNone) {
  {
    const auto pool = make();
    {
      Edit edit(*pool);
      EXPECT_EQ(add_object(edit, "one", 5 * kPage), 1u);
      EXPECT_EQ(add_object(edit, "two"), 2u);
      edit.commit();
    }
    {
      Edit edit(*pool);
      edit.drop(1);
      edit.rename(2, "zwei");
      EXPECT_EQ(add_object(edit, "one"), 3u);
    }  // without commit
    EXPECT_EQ(names(*pool->directory()), (Names{"one", "two"}));
    EXPECT_EQ(std::filesystem::file_size(path), pool->directory()->end());
    Edit edit(*pool);
    edit.drop(1);
    edit.rename(2, "zwei");
    EXPECT_EQ(add_object(edit, "one"), 3u) << "numbers are never given twice";
  }
}

TEST_F(PoolEdit, NamesThatCannotBe) {
  const auto pool = make();
  Edit edit(*pool);
  add_object(edit, "one");
  const std::uint32_t two = add_object(edit, "two");
  expect_error<ObjectExists>([&] { edit.create({.name = "one"}); }, "already");
  expect_error<ObjectExists>([&] { edit.rename(two, "one"); }, "already");
  EXPECT_NO_THROW(edit.rename(two, "two"));
  for (const char* const name : {"", "a/b", "a:b", "a\nb", "\xff"}) {
    expect_error<InvalidArgument>([&] { edit.create({.name = name}); }, "give 1 to 63 bytes");
    expect_error<InvalidArgument>([&] { edit.rename(two, name); }, "give 1 to 63 bytes");
  }
  edit.commit();
  EXPECT_EQ(names(*pool->directory()), (Names{"one", "two"}));
}

TEST_F(PoolEdit, AFullDirectorySaysSo) {
  const auto pool = make();
  {
    Edit edit(*pool);
    for (unsigned i = 0; i < kObjects; ++i) add_object(edit, std::to_string(i));
    expect_error<NoSpace>([&] { edit.create({.name = "one more"}); }, "1024 objects");
    for (unsigned i = kObjects; i < kExtents; ++i) edit.add(1, 1, static_cast<std::uint16_t>(i), kPage);
    expect_error<NoSpace>([&] { edit.add(1, 2, 0, kPage); }, "4096 extents");
    expect_error<NoSpace>([&] { edit.extend(2, 3 | kPiecesOfARange, kPage, kPage, 0); }, "4096 extents");
    edit.commit();
  }
  EXPECT_EQ(inspect(path).objects.size(), kObjects);
  Edit edit(*pool);
  for (std::uint32_t i = 1; i <= kObjects; ++i) edit.drop(i);
  edit.commit();
  EXPECT_TRUE(inspect(path).objects.empty());
}

TEST_F(PoolEdit, DroppedSpaceGoesBackAndIsUsedAgain) {
  const auto pool = make();
  const auto make_object = [&](const std::string& name, std::uint64_t bytes) {
    Edit edit(*pool);
    const std::uint32_t number = add_object(edit, name, bytes);
    edit.commit();
    return number;
  };
  const std::uint32_t one = make_object("one", 1 << 20);
  make_object("two", 1 << 20);
  const std::uint64_t blocks = pool->file().facts().allocated, bytes = std::filesystem::file_size(path);
  {
    Edit edit(*pool);
    edit.drop(one);
    edit.commit();
  }
  EXPECT_LE(pool->file().facts().allocated + (1 << 20), blocks) << "its room is the medium's";
  EXPECT_EQ(std::filesystem::file_size(path), bytes) << "but its place is kept";
  EXPECT_EQ(inspect(path).free_bytes, (1u << 20) + 2 * kPage);
  make_object("three", 1 << 20);
  EXPECT_EQ(std::filesystem::file_size(path), bytes);
  Edit edit(*pool);
  edit.drop(2);
  edit.commit();
}

TEST_F(PoolEdit, ANewObjectTakesNothingOverFromAGap) {
  {
    const auto pool = make();
    std::uint32_t one = 0;
    {
      Edit edit(*pool);
      one = add_object(edit, "one", 1 << 20);
      add_object(edit, "two");
      edit.commit();
    }
    Edit edit(*pool);
    edit.drop(one);
    edit.commit();
  }
  {
    std::fstream stream(path, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekp(kFirstExtent);
    stream << std::string(inspect(path).free_bytes, 'x');
  }
  const std::uint64_t bytes = std::filesystem::file_size(path);
  TableObject::create(PoolFile::open(path, Access::read_write), "table", small_shape(), {.label = path});
  ASSERT_EQ(std::filesystem::file_size(path), bytes) << "it did not go into the gap";
  const std::vector<char> all = read_all(path);
  const Extent pages = read_pool(system::File::open(path, false)).directory.extents_of(3, kPagesRole).at(0);
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(pages.offset),
             end = begin + static_cast<std::ptrdiff_t>(pages.bytes);
  EXPECT_EQ(std::search_n(begin, end, 8, 'x'), end) << "one alone may be of a random seed, or of a checksum";
}

TEST_F(PoolEdit, ARangeGrowsIntoGapsBeforeTheFileDoes) {
  const auto pool = make();
  std::uint32_t range = 0;
  {
    Edit edit(*pool);
    range = add_object(edit, "range");
    edit.extend(range, 1 | kPiecesOfARange, 4 * kPage, 4 * kPage, 0);
    for (const char* const name : {"a", "b", "c"}) add_object(edit, name, 10 * kPage);
    edit.commit();
  }
  const std::uint64_t bytes = std::filesystem::file_size(path);
  {
    Edit edit(*pool);
    edit.drop(range + 1);
    edit.drop(range + 2);
    edit.commit();
  }
  Edit edit(*pool);
  const auto parts = edit.extend(range, 1 | kPiecesOfARange, 24 * kPage, kPage, 4 * kPage);
  edit.commit();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].index, 0u) << "what lies right behind it becomes part of its last piece";
  EXPECT_EQ(std::filesystem::file_size(path), bytes);
  EXPECT_EQ(pool->directory()->extents_of(range, 1 | kPiecesOfARange).size(), 1u);
}

/// Creates, grows and drops at random: issue of the objects, bar on the file's size.
TEST_F(PoolEdit, TheFileStaysAsSmallAsWhatLivesInIt) {
  const auto pool = make();
  Random random(11);
  std::uint64_t peak = 0, largest = 0;
  for (int step = 0; step < 10'000; ++step) {
    const auto before = pool->directory();
    const std::size_t count = before->objects.size();
    Edit edit(*pool);
    const std::uint64_t choice = random.below(10);
    if (count < 20 || (choice < 3 && count < 200)) {
      const std::uint32_t number = edit.create({.name = std::to_string(step)});
      edit.add(number, kPagesRole, 0, gphash::kPagesBytes);
      const unsigned level = static_cast<unsigned>(random.below(5));
      for (unsigned i = level; i < level + 2; ++i) {
        edit.add(number, gphash::kLevelRole, static_cast<std::uint16_t>(i), kPage << i);
      }
      edit.extend(number, gphash::kHeapRole, (1 + random.below(64)) * kPage, kPage, 0);
    } else {
      const std::uint32_t number = before->objects[random.below(count)].number;
      const auto levels = before->extents_of(number, gphash::kLevelRole);
      const auto heap = before->extents_of(number, gphash::kHeapRole);
      if (choice < 6) {
        edit.drop(number);
      } else if (choice < 8 && levels.back().index < 8) {
        edit.add(number, gphash::kLevelRole, static_cast<std::uint16_t>(levels.back().index + 1),
                 levels.back().bytes * 2);
        edit.free(number, gphash::kLevelRole, levels.front().index);
      } else {
        std::uint64_t bytes = 0;
        for (const Extent& piece : heap) bytes += piece.bytes;
        edit.extend(number, gphash::kHeapRole, std::min<std::uint64_t>(bytes / 4 / kPage + 1, 256) * kPage, kPage,
                    bytes);
      }
    }
    edit.commit();
    const auto now = pool->directory();
    std::uint64_t live = kFirstExtent;
    for (const Extent& extent : now->extents) live += extent.bytes;
    peak = std::max(peak, live);
    largest = std::max<std::uint64_t>(largest, now->end());
  }
  std::printf("largest file %lu, peak of live bytes %lu, ratio %.3f, %zu extents\n",
              static_cast<unsigned long>(largest), static_cast<unsigned long>(peak),
              static_cast<double>(largest) / static_cast<double>(peak), pool->directory()->extents.size());
  EXPECT_LE(static_cast<double>(largest), 1.1 * static_cast<double>(peak));
  EXPECT_EQ(std::filesystem::file_size(path), std::max(pool->directory()->end(), kFirstExtent));
}

}  // namespace
}  // namespace holdfast::pool

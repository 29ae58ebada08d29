// superblock_test.cpp: which copy counts, of superblocks and of objects' pages: either may be torn, damaged, or made to mislead.
#include "pool/superblock.hpp"

#include "pool/object_page.hpp"
#include "pool_test.hpp"

namespace holdfast::pool {
namespace {

Choice choose(const Superblock& a, const Superblock& b) {
  return choose_copy(a, b, [](const Superblock& block) { return is_intact(block); });
}

Superblock sample_superblock() {
  const Folder folder("/dev/shm");
  create_closed(folder / "a.hold");
  return read_pool(system::File::open(folder / "a.hold", false)).block;
}

TEST(Superblock, TheNewerIntactCopyCounts) {
  Superblock a = sample_superblock(), b = a;
  EXPECT_TRUE(choose(a, b).equal);
  ++a.generation;
  seal(a);
  EXPECT_EQ(choose(a, b).copy, 0);
  EXPECT_EQ(choose(b, a).copy, 1);
  EXPECT_FALSE(choose(a, b).equal);
  ++a.created;  // damaged
  EXPECT_EQ(choose(a, b).copy, 1);
  EXPECT_EQ(choose(b, a).copy, 0);
  ++b.created;
  EXPECT_EQ(choose(a, b).copy, -1);
}

struct SuperblockLie {
  const char* text;  ///< of the flaw
  std::function<void(Superblock&)> tell;
};
const std::vector<SuperblockLie> kSuperblockLies = {
    {"directory area 2", [](Superblock& s) { s.area = 2; }},
    {"generation", [](Superblock& s) { s.generation = 0; }},
    {"generation", [](Superblock& s) { s.generation = ~std::uint64_t{0}; }},
    {"reserved", [](Superblock& s) { s.store_id[15] = 1; }},
    {"reserved", [](Superblock& s) { s.history_id[0] = 1; }},
    {"reserved", [](Superblock& s) { s.last_lsn = 1; }},
    {"reserved", [](Superblock& s) { s.reserved[sizeof s.reserved - 1] = 1; }},
    {"its directory is of generation", [](Superblock& s) { s.area ^= 1; }},
    {"its directory is of generation", [](Superblock& s) { ++s.generation; }},
};

TEST(Superblock, EveryLieInAFileIsRefused) {
  const Folder folder("/dev/shm");
  create_closed(folder / "good.hold");
  const std::string path = folder / "bad.hold";
  for (const SuperblockLie& lie : kSuperblockLies) {
    std::filesystem::copy_file(folder / "good.hold", path, std::filesystem::copy_options::overwrite_existing);
    edit_superblock(path, lie.tell);
    for (const Access access : {Access::read_write, Access::read_only, Access::scratch}) {
      expect_error<PoolCorrupt>([&] { open(path, access); }, lie.text);
    }
    expect_error<PoolCorrupt>([&] { inspect(path); }, lie.text);
  }
}

TEST(Superblock, OneDamagedCopyIsMendedAndReported) {
  const Folder folder("/dev/shm");
  const std::string path = folder / "a.hold";
  const auto damage = [](auto& block) { block.reserved[7] = 1; };
  const std::pair<const char*, std::function<void(unsigned)>> places[] = {
      {" of the superblock", [&](unsigned which) { edit_superblock(path, damage, 1u << which, false); }},
      {" of the page of", [&](unsigned which) { edit_page(path, damage, 1u << which, false); }}};
  for (const auto& [name, damage_copy] : places) {
    for (const unsigned which : {0u, 1u}) {
      create_closed(path);
      damage_copy(which);
      const std::vector<char> before = read_all(path);
      EXPECT_TRUE(open(path, Access::read_only)->repairs().empty());
      EXPECT_TRUE(open(path, Access::scratch)->repairs().empty());
      EXPECT_EQ(read_all(path), before);
      const auto repairs = open(path)->repairs();
      ASSERT_EQ(repairs.size(), 1u) << name;
      EXPECT_EQ(repairs[0].find(std::string("copy ") + (which == 0 ? "A" : "B") + name), 0u) << repairs[0];
      EXPECT_EQ(inspect(path).valid_copies, 2u);
      EXPECT_TRUE(open(path)->repairs().empty());
      std::filesystem::remove(path);
    }
  }
}

TEST(Superblock, AnObjectWithBothPagesDamagedIsRefusedAndItsNeighboursOpen) {
  const Folder folder("/dev/shm");
  const std::string path = folder / "a.hold";
  {
    auto pool = NewPool(path, false);
    TableObject::create(pool.pool(), "one", small_shape(), {.label = path})->sync();
    TableObject::create(pool.pool(), "two", small_shape(), {.label = path})->sync();
    pool.publish();
  }
  edit_page(
      path, [](ObjectPage& page) { page.header[3] ^= 1; }, 3, false);
  expect_error<PoolCorrupt>([&] { open(path); }, "both copies of its page are damaged");
  const PoolInfo info = inspect(path);
  EXPECT_EQ(info.objects.at(0).damage, "both copies of its page are damaged");
  EXPECT_EQ(info.objects.at(1).damage, "");
  const auto pool = PoolFile::open(path, Access::read_write);
  EXPECT_EQ(TableObject::open(pool, *pool->directory()->find("two"), {.label = path})->shape().seed, 42u);
}

struct PageLie {
  const char* text;
  std::function<void(ObjectPage&)> tell;
};
TEST(Superblock, EveryLieInAPageIsRefused) {
  const PageLie lies[] = {
      {"page is that of object 2", [](ObjectPage& p) { p.number = 2; }},
      {"clean mark is 2", [](ObjectPage& p) { p.clean = 2; }},
      {"domain is 3", [](ObjectPage& p) { p.domain = 3; }},
      {"generation 0", [](ObjectPage& p) { p.generation = 0; }},
      {"header has 513 bytes", [](ObjectPage& p) { p.header_bytes = 513; }},
      {"reserved", [](ObjectPage& p) { p.header[511] = 1; }},
      {"reserved", [](ObjectPage& p) { p.reserved[0] = 1; }},
      {"header has 48 bytes",
       [](ObjectPage& p) {
         p.header_bytes = 48;
         std::memset(p.header + 48, 0, 8);
       }},
  };
  const Folder folder("/dev/shm");
  const std::string path = folder / "a.hold";
  for (const PageLie& lie : lies) {
    create(path, small_shape(), true)->sync();
    edit_page(path, lie.tell);
    for (const Access access : {Access::read_write, Access::read_only, Access::scratch}) {
      expect_error<PoolCorrupt>([&] { open(path, access); }, lie.text);
    }
    EXPECT_NE(inspect_table(path).damage.find(lie.text), std::string::npos) << inspect_table(path).damage;
  }
}

}  // namespace
}  // namespace holdfast::pool

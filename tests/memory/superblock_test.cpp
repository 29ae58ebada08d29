// superblock_test.cpp: which copy counts, and what is refused: a superblock may be torn, damaged, or made to mislead.
#include "memory/superblock.hpp"

#include "memory/superblock_file.hpp"
#include "pool_test.hpp"

namespace holdfast::memory {
namespace {

/// The superblock of a closed pool with two levels and a heap.
Superblock sample(std::uint64_t* file_bytes = nullptr) {
  const Folder folder("/dev/shm");
  create_closed(folder / "a.hold");
  const auto found = read_superblock(File::open(folder / "a.hold", false));
  if (file_bytes != nullptr) *file_bytes = found.file_bytes;
  return found.block;
}

TEST(Superblock, TheNewerIntactCopyCounts) {
  Superblock a = sample(), b = a;
  EXPECT_TRUE(choose_superblock(a, b).equal);
  ++a.generation;
  seal(a);
  EXPECT_EQ(choose_superblock(a, b).copy, 0);
  EXPECT_EQ(choose_superblock(b, a).copy, 1);
  EXPECT_FALSE(choose_superblock(a, b).equal);
  ++a.seed;  // damaged
  EXPECT_EQ(choose_superblock(a, b).copy, 1);
  EXPECT_EQ(choose_superblock(b, a).copy, 0);
  ++b.seed;
  EXPECT_EQ(choose_superblock(a, b).copy, -1);
  EXPECT_EQ(choose_superblock(a, b).newer_version, 0u);
}

TEST(Superblock, ANewerVersionIsToldFromDamage) {
  Superblock a = sample();
  a.version = kVersion + 1;
  EXPECT_EQ(choose_superblock(a, a).newer_version, kVersion + 1) << "even if its checksum is computed otherwise";
  EXPECT_EQ(choose_superblock(a, sample()).newer_version, 0u) << "one copy alone is a flipped bit";
}

struct Lie {
  const char* text;  ///< of the flaw
  std::function<void(Superblock&)> tell;
};

/// The extents of the sample: levels 7 and 8, then the heap.
const std::vector<Lie> kLies = {
    {"version 0", [](Superblock& s) { s.version = 0; }},
    {"clean mark", [](Superblock& s) { s.clean = 2; }},
    {"mark of a resize", [](Superblock& s) { s.is_resizing = 7; }},
    {"generation", [](Superblock& s) { s.generation = 0; }},
    {"generation", [](Superblock& s) { s.generation = ~std::uint64_t{0}; }},
    {"keys of 16 bytes in a pool of version 1", [](Superblock& s) { s.key_bytes = 16; }},
    {"keys of 8 bytes in a pool of version 2", [](Superblock& s) { s.version = 2; }},
    {"keys of 20 bytes", [](Superblock& s) { s.version = 2, s.key_bytes = 20; }},
    {"keys of 136 bytes", [](Superblock& s) { s.version = 2, s.key_bytes = 136; }},
    {"is level 7, but has", [](Superblock& s) { s.version = 2, s.key_bytes = 32; }},
    {"values of 65537 bytes", [](Superblock& s) { s.value_bytes = 65537; }},
    {"cells of", [](Superblock& s) { s.cell_bytes = 0; }},
    {"cells of", [](Superblock& s) { s.cell_bytes = 136; }},
    {"0 levels", [](Superblock& s) { s.levels = 0; }},
    {"6 levels", [](Superblock& s) { s.levels = 6; }},
    {"hash locations", [](Superblock& s) { s.hash_locations = 0; }},
    {"hash locations", [](Superblock& s) { s.hash_locations = 1u << 31; }},
    {"slots a bucket", [](Superblock& s) { s.slots = 0; }},
    {"slots a bucket", [](Superblock& s) { s.slots = ~0u; }},
    {"candidate slots", [](Superblock& s) { s.slots = 9; }},
    {"top level", [](Superblock& s) { s.top_level = kMaxLevel + 1; }},
    {"top level", [](Superblock& s) { s.top_level = 0; }},
    {"top level", [](Superblock& s) { s.top_level = ~0u; }},
    {"scores of kind 4", [](Superblock& s) { s.version = 4, s.score = 4; }},
    {"scores of kind 256", [](Superblock& s) { s.version = 4, s.score = 256; }},
    {"scores of kind 1", [](Superblock& s) { s.version = 4, s.score = 1, s.key_bytes = s.value_bytes = kVariable; }},
    {"and scores in a pool of version 1", [](Superblock& s) { s.score = 1; }},
    {"keys of 8 bytes in a pool of version 4", [](Superblock& s) { s.version = 4; }},
    {"cells of 128 bytes", [](Superblock& s) { s.version = 4, s.score = 3; }},
    {"domain", [](Superblock& s) { s.domain = 3; }},
    {"at most", [](Superblock& s) { s.max_bytes = 0; }},
    {"at most", [](Superblock& s) { s.max_bytes = 4097; }},
    {"at most", [](Superblock& s) { s.max_bytes = kMaxHeapBytes + kPage; }},
    {"address space", [](Superblock& s) { s.max_bytes = kPage; }},
    {"reserved", [](Superblock& s) { s.reserved[0] = 1; }},
    {"reserved", [](Superblock& s) { s.reserved[sizeof s.reserved - 1] = 1; }},
    {"unused, but not zero", [](Superblock& s) { s.extents[kExtents - 1].bytes = kPage; }},
    {"of kind 4", [](Superblock& s) { s.extents[0].kind = static_cast<ExtentKind>(4); }},
    {"begins at byte 8192", [](Superblock& s) { s.extents[0].offset = kAsideOffset; }},
    {"begins at byte", [](Superblock& s) { s.extents[0].offset += 8; }},
    {"has 0 bytes", [](Superblock& s) { s.extents[2].bytes = 0; }},
    {"has", [](Superblock& s) { s.extents[2].bytes -= 8; }},
    {"beyond the end", [](Superblock& s) { s.extents[2].bytes += kPage; }},
    {"beyond the end", [](Superblock& s) { s.extents[2].offset = ~std::uint64_t{0} - kPage + 1; }},
    {"beyond the end", [](Superblock& s) { s.extents[2].bytes = ~std::uint64_t{0} - kPage + 1; }},
    {"overlap", [](Superblock& s) { s.extents[1].offset = s.extents[0].offset; }},
    {"above the top level", [](Superblock& s) { s.extents[0].level = 9; }},
    {"is level 6, but has", [](Superblock& s) { s.extents[0].level = 6; }},
    {"no level, but", [](Superblock& s) { s.extents[2].level = 1; }},
    {"2 levels and needs 3", [](Superblock& s) { s.levels = 3, s.hash_locations = 1; }},
    {"is there twice",
     [](Superblock& s) {
       s.extents[2] = {s.extents[2].offset, 16384, ExtentKind::level, 7};
     }},
    {"1 levels and needs 2", [](Superblock& s) { s.extents[0].kind = ExtentKind::free, s.extents[0].level = 0; }},
    {"no resize runs", [](Superblock& s) { s.levels = 1; }},
    {"too small for 130", [](Superblock& s) { s.cells = 130; }},
    {"cells", [](Superblock& s) { s.cells = ~std::uint64_t{0}; }},
    {"too small", [](Superblock& s) { s.cells = kMaxCells; }},
    {"does not need", [](Superblock& s) { s.value_bytes = 8, s.cell_bytes = 0; }},
};

TEST(Superblock, EveryLieIsFound) {
  std::uint64_t file_bytes = 0;
  const Superblock good = sample(&file_bytes);
  EXPECT_EQ(flaw(good, file_bytes), "");
  EXPECT_NE(flaw(good, file_bytes - 1), "");
  for (const Lie& lie : kLies) {
    Superblock block = good;
    lie.tell(block);
    seal(block);
    EXPECT_NE(flaw(block, file_bytes).find(lie.text), std::string::npos) << lie.text << ": " << flaw(block, file_bytes);
  }
}

TEST(Superblock, EveryLieInAFileIsRefused) {
  const Folder folder("/dev/shm");
  create_closed(folder / "good.hold");
  const std::string path = folder / "bad.hold";
  for (const Lie& lie : kLies) {
    std::filesystem::copy_file(folder / "good.hold", path, std::filesystem::copy_options::overwrite_existing);
    edit_superblock(path, lie.tell);
    for (const Access access : {Access::read_write, Access::read_only, Access::scratch}) {
      EXPECT_THROW(open(path, access), PoolCorrupt) << lie.text;
    }
    EXPECT_THROW(inspect(path), PoolCorrupt) << lie.text;
  }
}

TEST(Superblock, SeveralLevelsMoreAreARunningResize) {
  std::uint64_t file_bytes = 0;
  Superblock block = sample(&file_bytes);
  block.levels = 1;
  block.is_resizing = 1;
  EXPECT_EQ(flaw(block, file_bytes), "");
}

/// Opens the pool and expects what is in the sample.
void expect_opens(const std::string& path) {
  const auto pool = open(path, Access::scratch);
  EXPECT_EQ(pool->superblock().seed, 42u);
  EXPECT_EQ(pool->superblock().top_level, 8u);
  EXPECT_EQ(pool->cells(), 100u);
  EXPECT_EQ(pool->level(8)[2047].key, 77u);
}

TEST(Superblock, EveryBitOfOneCopyMayBeFlipped) {
  const Folder folder("/dev/shm");
  const std::string path = folder / "a.hold";
  create(path)->level(8)[2047].key = 77;
  std::fstream stream(path, std::ios::binary | std::ios::in | std::ios::out);
  for (std::uint64_t bit = 0; bit < 2 * kSuperblockBytes * 8; ++bit) {
    const auto flip = [&] {
      stream.seekg(static_cast<std::streamoff>(bit / 8));
      const char byte = static_cast<char>(stream.get() ^ (1 << (bit % 8)));
      stream.seekp(static_cast<std::streamoff>(bit / 8));
      stream.put(byte).flush();
    };
    flip();
    EXPECT_EQ(read_superblock(File::open(path, false)).block.seed, 42u);
    if (bit % 13 == 0) expect_opens(path);
    if (testing::Test::HasFailure()) FAIL() << "bit " << bit;
    flip();
  }
}

TEST(Superblock, TheSameBitOfBothCopiesIsRefused) {
  const Folder folder("/dev/shm");
  const std::string path = folder / "a.hold";
  create_closed(path);
  const auto good = read_superblock(File::open(path, false));
  std::fstream stream(path, std::ios::binary | std::ios::in | std::ios::out);
  for (std::uint64_t bit = 0; bit < kSuperblockBytes * 8; ++bit) {
    Superblock block = good.block;
    reinterpret_cast<unsigned char*>(&block)[bit / 8] ^= static_cast<unsigned char>(1u << (bit % 8));
    stream.seekp(0);
    stream.write(reinterpret_cast<const char*>(&block), sizeof block);
    stream.write(reinterpret_cast<const char*>(&block), sizeof block).flush();
    const bool of_version = block.version > kVersion;  // another that this build knows is damage
    try {
      open(path);
      FAIL() << "bit " << bit << " went unnoticed";
    } catch (const PoolVersion&) {
      EXPECT_TRUE(of_version) << bit;
    } catch (const PoolCorrupt&) {
      EXPECT_FALSE(of_version) << bit;
    }
  }
}

TEST(Superblock, OneDamagedCopyIsMendedAndReported) {
  const Folder folder("/dev/shm");
  const std::string path = folder / "a.hold";
  for (const unsigned which : {0u, 1u}) {
    create_closed(folder / "a.hold");
    edit_superblock(
        path, [](Superblock& block) { block.seed = 0; }, 1u << which, false);
    EXPECT_EQ(inspect(path).valid_copies, 1u);
    const std::vector<char> before = read_all(path);
    EXPECT_TRUE(open(path, Access::read_only)->repairs().empty());
    EXPECT_TRUE(open(path, Access::scratch)->repairs().empty());
    EXPECT_EQ(read_all(path), before);
    const std::string wanted = std::string("copy ") + (which == 0 ? "A" : "B") + " of the superblock";
    const auto repairs = open(path)->repairs();
    ASSERT_EQ(repairs.size(), 1u);
    EXPECT_EQ(repairs[0].find(wanted), 0u) << repairs[0];
    EXPECT_EQ(inspect(path).valid_copies, 2u);
    EXPECT_TRUE(open(path)->repairs().empty());
    std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace holdfast::memory

// corrupt_test.cpp: damaged pools give an error or a correct table, never a crash, a hang or a lie. The default run takes
// a sample of the bits; HOLDFAST_LONG=1 flips every one, and HOLDFAST_RESULTS=folder keeps the counts.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cases.hpp"
#include "holdfast/table.hpp"
#include "memory/superblock.hpp"
#include "support/exercise.hpp"
#include "support/image.hpp"
#include "support/pages.hpp"
#include "support/random.hpp"

namespace holdfast::test::corrupt {
namespace {

namespace fs = std::filesystem;

/// The same in the children that run the cases.
const std::string kPath = "/dev/shm/holdfast-corrupt-" + std::to_string(getpid());

const std::string& pool_path() { return kPath; }

/// The pools that are damaged: values in slots and in cells, closed and killed; wide keys, pairs of which share a hash; and scores.
const std::vector<Image>& images() {
  static const std::vector<Image> all = [] {
    std::vector<Image> made;
    for (const std::uint32_t value_bytes : {8u, 40u}) {
      for (const bool clean : {true, false}) made.push_back(make_image(pool_path(), value_bytes, 12, clean));
    }
    for (const std::uint32_t value_bytes : {8u, 40u})
      made.push_back(make_image(pool_path(), value_bytes, 12, false, 32));
    made.push_back(make_image(pool_path(), 8, 12, false, 8, Score::frequency));
    return made;
  }();
  return all;
}

/// Writes the damaged image and does with it all that a user could.
Outcome outcome_of(const std::string& bytes, const Items* expected) {
  const std::string path = pool_path() + "-case";
  write_file(path, bytes);
  const Exercised result = exercise(path, expected);
  return {result.opened, result.damage_reported || result.repaired, result.wrong};
}

void expect_sound(const std::string& group, const Tally& tally) {
  keep(group, tally);
  std::printf("%s: %llu cases, %llu opened, %llu reported\n", group.c_str(),
              static_cast<unsigned long long>(tally.cases), static_cast<unsigned long long>(tally.opened),
              static_cast<unsigned long long>(tally.reported));
  for (const std::string& wrong : tally.wrong) ADD_FAILURE() << group << ": " << wrong;
  fs::remove(pool_path() + "-case");
}

std::string bit_name(std::uint64_t bit) {
  return "bit " + std::to_string(bit % 8) + " of byte " + std::to_string(bit / 8);
}

/// Flips bit `first + i * stride` for every i below `count`, also `both` bits further on.
Tally flip_bits(const Image& image, std::uint64_t first, std::uint64_t count, std::uint64_t stride, std::uint64_t both,
                const Items* expected) {
  const auto bit_of = [=](std::uint64_t i) { return first + i * stride; };
  return run_cases((count + stride - 1) / stride,
                   [&](std::uint64_t i) {
                     std::string bytes = image.bytes;
                     const std::uint64_t bit = bit_of(i);
                     bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
                     if (both != 0) bytes[(bit + both) / 8] = static_cast<char>(bytes[(bit + both) / 8] ^ 1 << bit % 8);
                     return outcome_of(bytes, expected);
                   },
                   [&](std::uint64_t i) { return image.name + ", " + bit_name(bit_of(i)); });
}

constexpr std::uint64_t kCopyBits = memory::kSuperblockBytes * 8;

TEST(Corrupt, UndamagedImagesAreSound) {
  for (const Image& image : images()) {
    const Tally tally = run_cases(
        1, [&](std::uint64_t) { return outcome_of(image.bytes, &image.items); },
        [&](std::uint64_t) { return image.name; });
    EXPECT_EQ(tally.opened, 1u) << image.name;
    EXPECT_EQ(tally.reported, 0u) << image.name;
    expect_sound("undamaged", tally);
  }
}

TEST(Corrupt, EveryBitOfEitherSuperblockCopy) {
  const Image& image = images()[3];
  const Tally tally = flip_bits(image, 0, 2 * kCopyBits, is_long() ? 1 : 13, 0, &image.items);
  EXPECT_EQ(tally.opened, tally.cases) << "the other copy is whole";
  EXPECT_EQ(tally.reported, tally.cases) << "mended, and said so";
  expect_sound("superblock_bits", tally);
}

TEST(Corrupt, EveryBitOfBothSuperblockCopies) {
  const Image& image = images()[1];
  const Tally tally = flip_bits(image, 0, kCopyBits, is_long() ? 1 : 13, kCopyBits, &image.items);
  EXPECT_EQ(tally.opened, 0u);
  expect_sound("superblock_bits_in_both_copies", tally);
}

TEST(Corrupt, BitsOfSlotsAndCells) {
  for (const Image& image : images()) {
    Random random(99);
    std::vector<std::uint64_t> bits;
    const std::uint64_t first = memory::kAsideOffset;
    for (unsigned i = 0; i < (is_long() ? 4000u : 1000u); ++i) {
      // Half of them where something lies, since most of a small pool is zero.
      std::uint64_t byte = first + random.below(image.bytes.size() - first);
      while (i % 2 == 0 && image.bytes[byte] == 0) byte = first + (byte + 1 - first) % (image.bytes.size() - first);
      bits.push_back(byte * 8 + random.below(8));
    }
    const Tally tally = run_cases(
        bits.size(),
        [&](std::uint64_t i) {
          std::string bytes = image.bytes;
          bytes[bits[i] / 8] = static_cast<char>(bytes[bits[i] / 8] ^ 1 << bits[i] % 8);
          return outcome_of(bytes, nullptr);
        },
        [&](std::uint64_t i) { return image.name + ", " + bit_name(bits[i]); });
    expect_sound("random_bits", tally);
  }
}

/// Pools of format 3 are large, and nearly all zeros: what is damaged here is their pages that are not.
TEST(Corrupt, BitsOfPairs) {
  const std::string path = pool_path() + "-case";
  for (const bool clean : {true, false}) {
    const Image image = make_pairs_image(pool_path(), 30, clean);
    const std::string packed = pack_pages(image.bytes);
    const auto outcome = [&](const std::string& bytes, const Items* expected) {
      write_pages(path, bytes);
      const Exercised result = exercise(path, expected);
      return Outcome{result.opened, result.damage_reported || result.repaired, result.wrong};
    };
    const Tally whole = run_cases(
        1, [&](std::uint64_t) { return outcome(packed, &image.items); }, [&](std::uint64_t) { return image.name; });
    EXPECT_EQ(whole.opened, 1u) << image.name;
    EXPECT_EQ(whole.reported, 0u) << image.name;
    expect_sound("undamaged", whole);
    Random random(99);
    std::vector<std::uint64_t> bits;
    const std::uint64_t first = memory::kAsideOffset, end = packed.size() / kPageBytes * kPageBytes;
    while (bits.size() < (is_long() ? 4000u : 250u)) {
      const std::uint64_t byte = first + random.below(end - first);
      if (packed[byte] != 0 || bits.size() % 4 == 0) bits.push_back(byte * 8 + random.below(8));
    }
    const Tally tally = run_cases(
        bits.size(),
        [&](std::uint64_t i) {
          std::string bytes = packed;
          bytes[bits[i] / 8] = static_cast<char>(bytes[bits[i] / 8] ^ 1 << bits[i] % 8);
          return outcome(bytes, nullptr);
        },
        [&](std::uint64_t i) { return image.name + ", packed, " + bit_name(bits[i]); });
    expect_sound("random_bits", tally);
  }
}

TEST(Corrupt, TruncatedAtEveryBoundary) {
  for (const Image& image : images()) {
    std::vector<std::uint64_t> sizes{0, 1, 7, 8, 64, 4088};
    std::vector<std::uint64_t> boundaries{4096, 8192, 12288, image.bytes.size()};
    for (const ExtentInfo& extent : image.extents) {
      boundaries.push_back(extent.offset);
      boundaries.push_back(extent.offset + extent.bytes);
    }
    for (std::uint64_t at = 4096; at < image.bytes.size(); at += 4096) boundaries.push_back(at);
    for (const std::uint64_t at : boundaries) sizes.insert(sizes.end(), {at - 1, at, at + 1});
    const Tally tally = run_cases(
        sizes.size(),
        [&](std::uint64_t i) {
          std::string bytes = image.bytes;
          bytes.resize(sizes[i]);
          Outcome outcome = outcome_of(bytes, &image.items);
          if (outcome.opened && sizes[i] < image.bytes.size()) outcome.wrong += "opened though truncated";
          return outcome;
        },
        [&](std::uint64_t i) { return image.name + ", cut at " + std::to_string(sizes[i]); });
    expect_sound("truncations", tally);
  }
}

TEST(Corrupt, ZeroedAndSwappedPages) {
  for (const Image& image : images()) {
    const std::uint64_t pages = image.bytes.size() / 4096;
    const Tally tally = run_cases(
        pages * pages,
        [&](std::uint64_t i) {
          std::string bytes = image.bytes;
          const std::uint64_t a = i / pages * 4096, b = i % pages * 4096;
          if (a == b) {
            std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(a), 4096, '\0');
          } else {
            std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(a),
                             bytes.begin() + static_cast<std::ptrdiff_t>(a + 4096),
                             bytes.begin() + static_cast<std::ptrdiff_t>(b));
          }
          return outcome_of(bytes, nullptr);
        },
        [&](std::uint64_t i) {
          return image.name + ", pages " + std::to_string(i / pages) + " and " + std::to_string(i % pages);
        });
    expect_sound("pages", tally);
  }
}

/// What a word of a superblock is replaced by, in a pool that someone made to harm.
std::uint64_t hostile(std::uint64_t old, unsigned how) {
  constexpr std::uint64_t kValues[] = {0,
                                       1,
                                       2,
                                       3,
                                       7,
                                       8,
                                       31,
                                       63,
                                       64,
                                       120,
                                       121,
                                       4095,
                                       4096,
                                       12288,
                                       65535,
                                       65537,
                                       0x7fff'ffff,
                                       0x8000'0000,
                                       0xffff'ffff,
                                       0x1'0000'0000,
                                       0x7fff'ffff'ffff'ffff,
                                       0x8000'0000'0000'0000,
                                       ~std::uint64_t{0},
                                       ~std::uint64_t{4095}};
  constexpr unsigned kCount = sizeof(kValues) / sizeof(kValues[0]);
  if (how < kCount) return kValues[how];
  const std::uint64_t changes[] = {old + 1, old - 1, old * 2, old + 4096, old - 4096, old | 1ull << 40};
  return changes[how - kCount];
}
constexpr unsigned kHostileWays = 30;

TEST(Corrupt, HostileSuperblocksWithRightChecksums) {
  for (const Image& image : images()) {
    struct Place {
      std::uint32_t at, bytes;
    };
    std::vector<Place> places;
    const std::uint32_t directory = offsetof(memory::Superblock, extents);
    const std::uint32_t used = directory + 24 * static_cast<std::uint32_t>(image.extents.size() + 2);
    for (std::uint32_t at = 8; at < used; at += 4) {
      if (at >= 128 && at < directory && at % 256 != 0) continue;  // reserved
      places.push_back({at, 4});
      if (at % 8 == 0) places.push_back({at, 8});
    }
    const std::uint64_t stride = is_long() ? 1 : 2;
    const Tally tally = run_cases(
        places.size() * kHostileWays / stride,
        [&](std::uint64_t number) {
          const std::uint64_t i = number * stride + number % stride;
          std::string bytes = image.bytes;
          const Place place = places[i / kHostileWays];
          std::uint64_t word = 0;
          std::memcpy(&word, bytes.data() + place.at, place.bytes);
          word = hostile(word, static_cast<unsigned>(i % kHostileWays));
          for (unsigned copy = 0; copy < 2; ++copy) {
            std::memcpy(bytes.data() + copy * memory::kSuperblockBytes + place.at, &word, place.bytes);
            fix_checksum(bytes, copy);
          }
          return outcome_of(bytes, nullptr);
        },
        [&](std::uint64_t number) {
          const std::uint64_t i = number * stride + number % stride;
          return image.name + ", word at " + std::to_string(places[i / kHostileWays].at) + " of " +
                 std::to_string(places[i / kHostileWays].bytes) + " bytes, way " + std::to_string(i % kHostileWays);
        });
    expect_sound("hostile_superblocks", tally);
  }
}

TEST(Corrupt, SwappedDirectoryEntries) {
  for (const Image& image : images()) {
    const std::uint64_t entries = image.extents.size() + 1;
    const Tally tally = run_cases(
        entries * entries,
        [&](std::uint64_t i) {
          std::string bytes = image.bytes;
          for (unsigned copy = 0; copy < 2; ++copy) {
            char* directory = bytes.data() + copy * memory::kSuperblockBytes + offsetof(memory::Superblock, extents);
            std::swap_ranges(directory + i / entries * 24, directory + i / entries * 24 + 24,
                             i % entries == i / entries ? directory + 119 * 24 : directory + i % entries * 24);
            fix_checksum(bytes, copy);
          }
          return outcome_of(bytes, nullptr);
        },
        [&](std::uint64_t i) {
          return image.name + ", entries " + std::to_string(i / entries) + " and " + std::to_string(i % entries);
        });
    expect_sound("swapped_entries", tally);
  }
}

TEST(Corrupt, ForeignFiles) {
  std::vector<std::string> files{"", "\n", "HOLDFAST", std::string(8192, '\0'), std::string(65536, '\xff')};
  files.push_back(std::string("HOLDFAST") + std::string(65536, '\x01'));
  files.push_back(read_file("/proc/self/exe").substr(0, 65536));
  files.push_back(read_file("/proc/cpuinfo"));
  Random random(5);
  std::string noise(65536, '\0');
  for (char& byte : noise) byte = static_cast<char>(random.next());
  files.push_back(noise);
  const Tally tally = run_cases(
      files.size(),
      [&](std::uint64_t i) {
        Outcome outcome = outcome_of(files[i], nullptr);
        if (outcome.opened) outcome.wrong += "opened";
        return outcome;
      },
      [&](std::uint64_t i) { return "foreign file " + std::to_string(i); });
  expect_sound("foreign_files", tally);
}

TEST(Corrupt, NewerVersionIsNamed) {
  std::string bytes = images()[1].bytes;
  const std::uint32_t newer = memory::kVersion + 1;
  for (unsigned copy = 0; copy < 2; ++copy) {
    std::memcpy(bytes.data() + copy * memory::kSuperblockBytes + offsetof(memory::Superblock, version), &newer, 4);
    fix_checksum(bytes, copy);
  }
  const std::string path = pool_path() + "-newer";
  write_file(path, bytes);
  EXPECT_THROW(Table::open(path, {.device = "cpu"}), PoolVersion);
  EXPECT_THROW(inspect(path), PoolVersion);
  EXPECT_THROW(check(path), PoolVersion);
  EXPECT_EQ(read_file(path), bytes) << "a refused pool is not written to";
  fs::remove(path);
}

TEST(Corrupt, RefusedPoolsAreNotWrittenTo) {
  const std::string path = pool_path() + "-refused";
  for (const Image& image : images()) {
    for (const std::uint64_t at : {std::uint64_t{64}, std::uint64_t{1208}}) {
      std::string bytes = image.bytes;
      bytes[at] = bytes[at + 4096] = '\x55';
      write_file(path, bytes);
      EXPECT_THROW(Table::open(path, {.device = "cpu"}), PoolCorrupt) << image.name;
      EXPECT_EQ(read_file(path), bytes) << image.name;
    }
  }
  fs::remove(path);
}

TEST(Corrupt, CheckWithoutRepairDoesNotWrite) {
  const std::string path = pool_path() + "-check";
  for (const Image& image : images()) {
    std::string bytes = image.bytes;
    bytes[100] = '\x55';  // one copy of the superblock
    write_file(path, bytes);
    check(path);
    EXPECT_EQ(read_file(path), bytes) << image.name;
  }
  fs::remove(path);
}

TEST(Corrupt, PathsThatAreNoFiles) {
  const std::string path = pool_path() + "-odd";
  const auto refused = [&](const std::string& what) {
    const Tally tally = run_cases(
        1,
        [&](std::uint64_t) {
          Exercised result = exercise(path);
          if (result.opened) result.wrong += "opened";
          return Outcome{result.opened, result.damage_reported, result.wrong};
        },
        [&](std::uint64_t) { return what; });
    expect_sound("odd_paths", tally);
  };
  refused("nothing there");
  fs::create_directory(path);
  refused("a directory");
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  refused("a FIFO");
  fs::remove(path);
  for (const char* target : {"/dev/zero", "/dev/null", "/proc/self/mem", "/nowhere", "."}) {
    fs::create_symlink(target, path);
    refused(std::string("a link to ") + target);
    fs::remove(path);
  }
  fs::create_symlink(path, path);
  refused("a link to itself");
  fs::remove(path);
}

TEST(Corrupt, SymbolicLinkToAPoolOpens) {
  const std::string path = pool_path() + "-link";
  write_file(path + "-target", images()[0].bytes);
  fs::create_symlink(path + "-target", path);
  EXPECT_EQ(exercise(path, &images()[0].items).wrong, "");
  fs::remove(path);
  fs::remove(path + "-target");
}

TEST(Corrupt, PoolsAreReadableByTheirOwnerAlone) {
  const std::string path = pool_path() + "-mode";
  const mode_t before = umask(0);
  Table::create(path, {.capacity = 16, .device = "cpu", .overwrite = true}).close();
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  fs::remove(path);
}

}  // namespace
}  // namespace holdfast::test::corrupt

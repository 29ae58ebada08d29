// corrupt_test.cpp: damaged pools of one table give an error or a correct table, never a crash, a hang or a lie. The default run
// takes a sample of the bits; HOLDFAST_LONG=1 flips every one, and HOLDFAST_RESULTS=folder keeps the counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "fixture.hpp"
#include "holdfast/table.hpp"
#include "support/exercise.hpp"
#include "support/pages.hpp"
#include "support/pool_bytes.hpp"
#include "support/random.hpp"

namespace holdfast::test::corrupt {
namespace {

namespace fs = std::filesystem;

/// Where what a table stores begins: its reserved slot, and then its levels and heap.
std::uint64_t content_of(const Image& image) { return image.extents[0].offset + gphash::kReservedSlotOffset; }

/// Random bits of a table's content, half of them where something lies, since most of a small pool is zero.
std::vector<std::uint64_t> bits_of_content(const Image& image, unsigned count) {
  Random random(99);
  std::vector<std::uint64_t> bits;
  const std::uint64_t first = content_of(image), size = image.bytes.size() - first;
  for (unsigned i = 0; i < count; ++i) {
    std::uint64_t byte = random.below(size);
    while (i % 2 == 0 && image.bytes[first + byte] == 0) byte = (byte + 1) % size;
    bits.push_back((first + byte) * 8 + random.below(8));
  }
  return bits;
}

TEST(Corrupt, UndamagedImagesAreSound) {
  for (const Image& image : images()) {
    const Tally tally = expect_sound(
        "undamaged", 1, [&](std::uint64_t) { return outcome_of(image.bytes, &image.items); },
        [&](std::uint64_t) { return image.name; });
    EXPECT_EQ(tally.opened, 1u) << image.name;
    EXPECT_EQ(tally.reported, 0u) << image.name;
  }
}

TEST(Corrupt, BitsOfSlotsAndCells) {
  for (const Image& image : images()) {
    const std::vector<std::uint64_t> bits = bits_of_content(image, is_long() ? 4000 : 300);
    expect_sound(
        "random_bits", bits.size(),
        [&](std::uint64_t i) {
          std::string bytes = image.bytes;
          flip(bytes, bits[i]);
          return outcome_of(bytes, nullptr);
        },
        [&](std::uint64_t i) { return image.name + ", " + bit_name(bits[i]); });
  }
}

/// Pools of pairs are large, and nearly all zeros: they are written with holes.
TEST(Corrupt, BitsOfPairs) {
  const std::string path = pool_path() + "-case";
  for (const bool clean : {true, false}) {
    const Image image = make_pairs_image(pool_path(), 30, clean);
    const std::string packed = pack_pages(image.bytes);
    const auto outcome = [&](const Items* expected) {
      const Exercised result = exercise(path, expected);
      return Outcome{result.opened, result.damage_reported || result.repaired, result.wrong};
    };
    const Tally whole = expect_sound(
        "undamaged", 1,
        [&](std::uint64_t) {
          write_pages(path, packed);
          return outcome(&image.items);
        },
        [&](std::uint64_t) { return image.name; });
    EXPECT_EQ(whole.opened, 1u) << image.name;
    EXPECT_EQ(whole.reported, 0u) << image.name;
    const std::vector<std::uint64_t> bits = bits_of_content(image, is_long() ? 4000 : 60);
    expect_sound(
        "random_bits", bits.size(),
        [&](std::uint64_t i) {
          write_pages(path, packed);
          std::string byte(1, image.bytes[bits[i] / 8]);
          flip(byte, bits[i] % 8);
          write_at(path, bits[i] / 8, byte);
          return outcome(nullptr);
        },
        [&](std::uint64_t i) { return image.name + ", " + bit_name(bits[i]); });
  }
}

TEST(Corrupt, AKeyThatIsThereTwiceIsFoundByCheck) {
  const std::string path = pool_path() + "-twice";
  write_file(path, make_key_twice_image(path).bytes);
  EXPECT_FALSE(check(path).errors.empty());
  EXPECT_EQ(exercise(path).wrong, "");
  fs::remove(path);
}

TEST(Corrupt, TruncatedAtEveryBoundary) {
  for (const Image& image : images()) {
    const bool first = &image == &images().front();
    std::vector<std::uint64_t> sizes{0, 1, 7, 8, 64, 4088};
    std::vector<std::uint64_t> boundaries{4096, 8192, pool::kFirstArea, pool::area_offset(1), pool::kFirstExtent};
    for (const ExtentInfo& extent : image.extents) {
      boundaries.push_back(extent.offset);
      boundaries.push_back(extent.offset + extent.bytes);
    }
    for (std::uint64_t at = 4096; first && at < image.bytes.size(); at += 4096) boundaries.push_back(at);
    for (const std::uint64_t at : boundaries) sizes.insert(sizes.end(), {at - 1, at, at + 1});
    expect_sound(
        "truncations", sizes.size(),
        [&](std::uint64_t i) {
          std::string bytes = image.bytes;
          bytes.resize(sizes[i]);
          Outcome outcome = outcome_of(bytes, &image.items);
          if (outcome.opened && sizes[i] < image.bytes.size()) outcome.wrong += "opened though truncated";
          return outcome;
        },
        [&](std::uint64_t i) { return image.name + ", cut at " + std::to_string(sizes[i]); });
  }
}

TEST(Corrupt, ZeroedAndSwappedPages) {
  for (const Image& image : images()) {
    std::vector<std::uint64_t> pages;  // where something lies, and one of the directory where nothing does
    for (std::uint64_t at = 0; at < image.bytes.size(); at += 4096) {
      const bool empty = image.bytes.find_first_not_of('\0', at) >= at + 4096;
      if (!empty || at == pool::kFirstArea + 4096) pages.push_back(at);
    }
    expect_sound(
        "pages", pages.size() * pages.size(),
        [&](std::uint64_t i) {
          std::string bytes = image.bytes;
          const std::uint64_t a = pages[i / pages.size()], b = pages[i % pages.size()];
          if (a == b) {
            bytes.replace(a, 4096, 4096, '\0');
          } else {
            const auto at = [&](std::uint64_t byte) { return bytes.begin() + static_cast<std::ptrdiff_t>(byte); };
            std::swap_ranges(at(a), at(a + 4096), at(b));
          }
          return outcome_of(bytes, nullptr);
        },
        [&](std::uint64_t i) {
          return image.name + ", pages " + std::to_string(pages[i / pages.size()] / 4096) + " and " +
                 std::to_string(pages[i % pages.size()] / 4096);
        });
  }
}

TEST(Corrupt, NewerVersionIsNamed) {
  std::string bytes = images()[1].bytes;
  edit_superblock(bytes, [](pool::Superblock& block) { block.version = pool::kVersion + 1; });
  const std::string path = pool_path() + "-newer";
  write_file(path, bytes);
  EXPECT_THROW(Table::open(path, {.runtime = {.device = "cpu"}}), PoolVersion);
  EXPECT_THROW(inspect(path), PoolVersion);
  EXPECT_THROW(check(path), PoolVersion);
  EXPECT_EQ(read_file(path), bytes) << "a refused pool is not written to";
  fs::remove(path);
}

TEST(Corrupt, RefusedPoolsAreNotWrittenTo) {
  const std::string path = pool_path() + "-refused";
  for (const Image& image : images()) {
    const std::uint64_t page = page_in(image.bytes, 1);
    for (const std::uint64_t at : {std::uint64_t{64}, page + offsetof(pool::ObjectPage, header)}) {
      std::string bytes = image.bytes;
      bytes[at] = bytes[at + 4096] = '\x55';
      write_file(path, bytes);
      EXPECT_THROW(Table::open(path, {.runtime = {.device = "cpu"}}), PoolCorrupt) << image.name;
      // Where the table alone was refused, the pool was open: the note of its owner went.
      if (at >= page) bytes.replace(pool::kOwnerOffset, pool::kPage, pool::kPage, '\0');
      EXPECT_TRUE(read_file(path) == bytes) << image.name;
    }
  }
  fs::remove(path);
}

TEST(Corrupt, CheckWithoutRepairDoesNotWrite) {
  const std::string path = pool_path() + "-check";
  for (const Image& image : images()) {
    std::string bytes = image.bytes;
    bytes[100] = '\x55';                                                       // one copy of the superblock
    bytes[page_in(bytes, 1) + offsetof(pool::ObjectPage, reserved)] = '\x55';  // and one of the table's page
    write_file(path, bytes);
    check(path);
    EXPECT_TRUE(read_file(path) == bytes) << image.name;
  }
  fs::remove(path);
}

}  // namespace
}  // namespace holdfast::test::corrupt

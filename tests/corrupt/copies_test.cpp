// copies_test.cpp: what is kept twice bears every flipped bit of one copy; what both copies have lost is refused, alone.
#include <gtest/gtest.h>

#include "fixture.hpp"
#include "pool/object_page.hpp"
#include "support/pool_bytes.hpp"

namespace holdfast::test::corrupt {
namespace {

constexpr std::uint64_t kPageBits = pool::kPage * 8;

/// The bits of [first, end), of which the fields are in the first bytes. By default a sample: more of the fields.
std::vector<std::uint64_t> bits_of(std::uint64_t first, std::uint64_t end) {
  constexpr std::uint64_t kFieldBits = 128 * 8;
  std::vector<std::uint64_t> bits;
  for (std::uint64_t bit = first; bit < end; bit += is_long() ? 1 : bit < first + kFieldBits ? 7 : 211)
    bits.push_back(bit);
  return bits;
}

/// Flips each of the bits, and the one that lies `both` bits further on.
Tally flip_bits(const std::string& group, const std::vector<std::uint64_t>& bits, std::uint64_t both,
                const std::set<std::uint32_t>& victims) {
  return expect_sound(
      group, bits.size(),
      [&](std::uint64_t i) {
        std::string bytes = objects().bytes;
        flip(bytes, bits[i]);
        if (both != 0) flip(bytes, bits[i] + both);
        return glance_at_objects(bytes, victims, i);
      },
      [&](std::uint64_t i) { return bit_name(bits[i]); });
}

TEST(CorruptCopies, EveryBitOfOneSuperblockCopyMayBeFlipped) {
  for (const std::uint64_t first : {std::uint64_t{0}, kPageBits}) {
    const Tally tally = flip_bits("superblock_bits", bits_of(first, first + kPageBits), 0, {});
    EXPECT_EQ(tally.opened, tally.cases) << "the other copy is whole";
    EXPECT_EQ(tally.reported, tally.cases) << "mended, and said so";
  }
}

TEST(CorruptCopies, TheSameBitOfBothSuperblockCopiesIsRefused) {
  const Tally tally = flip_bits("superblock_bits_in_both_copies", bits_of(0, kPageBits), kPageBits, {});
  EXPECT_EQ(tally.opened, 0u);
}

TEST(CorruptCopies, EveryBitOfTheDirectoryIsRefused) {
  const std::string& bytes = objects().bytes;
  std::vector<std::uint64_t> bits;
  for (std::uint64_t bit = area_in(bytes) * 8; bit < area_end_in(bytes) * 8; bit += is_long() ? 1 : 13)
    bits.push_back(bit);
  const Tally tally = flip_bits("directory_bits", bits, 0, {});
  EXPECT_EQ(tally.opened, 0u);
}

/// The area before the last, and what lies behind the last entry, mean nothing.
TEST(CorruptCopies, NoBitBesideTheDirectoryCounts) {
  const std::string& bytes = objects().bytes;
  const std::uint64_t other = area_in(bytes) == pool::area_offset(0) ? pool::area_offset(1) : pool::area_offset(0);
  for (const std::uint64_t first : {other, area_end_in(bytes)}) {
    const Tally tally = flip_bits("unused_directory_bits", bits_of(first * 8, first * 8 + kPageBits / 2), 0, {});
    EXPECT_EQ(tally.opened, tally.cases);
    EXPECT_EQ(tally.reported, 0u) << "there is nothing to mend";
  }
}

TEST(CorruptCopies, EveryBitOfOnePageCopyMayBeFlipped) {
  for (const std::uint32_t object : {kNumbers, kCells}) {
    for (const unsigned copy : {0u, 1u}) {
      const std::uint64_t first = page_in(objects().bytes, object) * 8 + copy * kPageBits;
      const std::vector<std::uint64_t> bits = bits_of(first, first + kPageBits);
      const Tally tally = expect_sound(
          "page_bits", bits.size(),
          [&](std::uint64_t i) {
            std::string bytes = objects().bytes;
            flip(bytes, bits[i]);
            // The table itself is read in every other case, and its neighbour in the others.
            Outcome outcome = glance_at_objects(bytes, {}, object - kNumbers + i % 2);
            if (outcome.reported != (i % 2 == 0)) outcome.wrong += "mended another's page, or not its own; ";
            return outcome;
          },
          [&](std::uint64_t i) { return bit_name(bits[i]); });
      EXPECT_EQ(tally.opened, tally.cases);
    }
  }
}

/// The object is refused, and listed as damaged; its neighbours are read.
TEST(CorruptCopies, TheSameBitOfBothPageCopiesDamagesOneObject) {
  for (const std::uint32_t object : {kNumbers, kCells, kUnknown}) {
    const std::uint64_t first = page_in(objects().bytes, object) * 8;
    const std::vector<std::uint64_t> bits = bits_of(first, first + kPageBits);
    const Tally tally = expect_sound(
        "page_bits_in_both_copies", bits.size(),
        [&](std::uint64_t i) {
          std::string bytes = objects().bytes;
          flip(bytes, bits[i]);
          flip(bytes, bits[i] + kPageBits);
          const PoolExercised result = glance_at_bytes(bytes, {object}, i);
          Outcome outcome{result.opened, result.refused.count(object) != 0, result.wrong};
          if (result.listed.at(object) != "both copies of its page are damaged") outcome.wrong += "not listed so; ";
          return outcome;
        },
        [&](std::uint64_t i) { return bit_name(bits[i]); });
    EXPECT_EQ(tally.opened, tally.cases) << "its neighbours are whole";
    EXPECT_EQ(tally.reported, tally.cases) << "it is not";
  }
}

}  // namespace
}  // namespace holdfast::test::corrupt

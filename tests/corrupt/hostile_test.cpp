// hostile_test.cpp: every word of every structure that counts, set to what may do harm, with right checksums: one clear error, or a
// pool that agrees with itself; and no other object is harmed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "fixture.hpp"
#include "pool/object_page.hpp"
#include "pool/superblock.hpp"
#include "support/exercise_pool.hpp"
#include "support/pages.hpp"
#include "support/pool_bytes.hpp"

namespace holdfast::test::corrupt {
namespace {

/// What a word is replaced by, in a pool that someone made to harm.
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
                                       4095,
                                       4096,
                                       12288,
                                       pool::kFirstExtent,
                                       32768,
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
  if (how < std::size(kValues)) return kValues[how];
  const std::uint64_t changes[] = {old + 1,    old - 1,          old * 2,         old + 4096,
                                   old - 4096, old | 1ull << 40, old ^ 1ull << 16};
  return changes[how - std::size(kValues)];
}
constexpr unsigned kHostileWays = 32;

enum class Seal { superblock, area, page };

/// A word that is altered: in both copies, where there are two.
struct Field {
  std::string name;
  std::uint64_t at;
  std::uint32_t bytes;
  Seal seal;
  std::uint32_t object = 0;  ///< that it is about; 0: the pool
};

/// The words of [at, at + bytes), as halves and as wholes.
void add_words(std::vector<Field>& places, const Field& structure) {
  for (std::uint32_t offset = 0; offset < structure.bytes; offset += 2) {
    for (const std::uint32_t width : {2u, 4u, 8u}) {
      if (offset % width != 0 || offset + width > structure.bytes) continue;
      Field place = structure;
      place.name += ", " + std::to_string(width) + " bytes at " + std::to_string(offset);
      place.at += offset;
      place.bytes = width;
      places.push_back(place);
    }
  }
}

std::vector<Field> places_of(const std::string& bytes) {
  std::vector<Field> places;
  add_words(places, {"superblock", 0, 96, Seal::superblock});
  std::uint64_t at = area_in(bytes);
  add_words(places, {"area", at, offsetof(pool::AreaHeader, checksum), Seal::area});
  at += sizeof(pool::AreaHeader);
  const pool::Directory directory = directory_in(bytes);
  for (const pool::Extent& extent : directory.extents) {
    const std::string name = "extent " + std::to_string(extent.role) + " of " + std::to_string(extent.object);
    add_words(places, {name, at, sizeof extent, Seal::area, extent.object});
    at += sizeof extent;
  }
  for (const pool::ObjectEntry& entry : directory.objects) {
    add_words(places, {"object " + std::to_string(entry.number), at, sizeof entry, Seal::area, entry.number});
    at += sizeof entry;
    add_words(places, {"page of " + std::to_string(entry.number), page_in(bytes, entry.number),
                       offsetof(pool::ObjectPage, header) + sizeof(gphash::TableHeader) + 8, Seal::page, entry.number});
  }
  return places;
}

void alter(std::string& bytes, const Field& place, unsigned how) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + place.at, place.bytes);
  word = hostile(word, how);
  std::memcpy(bytes.data() + place.at, &word, place.bytes);
  if (place.seal == Seal::area) return seal_area(bytes);
  std::memcpy(bytes.data() + place.at + pool::kPage, &word, place.bytes);
  const std::uint64_t page = place.seal == Seal::page ? page_in(bytes, place.object) : 0;
  for (unsigned copy = 0; copy < 2; ++copy) {
    if (place.seal == Seal::page) seal_page(bytes, page + copy * pool::kPage);
    if (place.seal == Seal::superblock) seal_superblock(bytes, copy);
  }
}

/// The objects that a lie about one may lead astray: an extent that changes hands is missed by one and not known by the other. A
/// directory that says that it is empty has none to miss.
std::set<std::uint32_t> victims_of(const std::string& bytes, const Field& place) {
  std::set<std::uint32_t> victims{place.object};
  const pool::Directory before = directory_in(objects().bytes), after = directory_in(bytes);
  for (const pool::Extent& extent : after.extents) {
    if (std::find(before.extents.begin(), before.extents.end(), extent) == before.extents.end())
      victims.insert(extent.object);
  }
  for (const pool::ObjectEntry& entry : before.objects) {
    if (after.objects.empty() && after.extents.empty()) victims.insert(entry.number);
  }
  return victims;
}

TEST(Hostile, WordsOfEveryStructure) {
  const std::vector<Field> places = places_of(objects().bytes);
  const std::uint64_t stride = is_long() ? 1 : 61;
  const std::uint64_t count = places.size() * kHostileWays / stride;
  expect_sound(
      "hostile_words", count,
      [&](std::uint64_t number) {
        const std::uint64_t i = number * stride;
        std::string bytes = objects().bytes;
        alter(bytes, places[i / kHostileWays], static_cast<unsigned>(i % kHostileWays));
        return outcome_of_objects(bytes, victims_of(bytes, places[i / kHostileWays]));
      },
      [&](std::uint64_t number) {
        const std::uint64_t i = number * stride;
        return places[i / kHostileWays].name + ", way " + std::to_string(i % kHostileWays);
      });
}

/// Every word of every structure exchanged for the next one of its kind: extents and objects, and pages of two objects.
TEST(Hostile, ExchangedEntries) {
  const std::string& whole = objects().bytes;
  const pool::Directory directory = directory_in(whole);
  const std::uint64_t extents = directory.extents.size(), entries = directory.objects.size();
  const std::uint64_t first = area_in(whole) + sizeof(pool::AreaHeader);
  struct Pair {
    std::uint64_t a, b, bytes;
  };
  std::vector<Pair> pairs;
  for (std::uint64_t a = 0; a < extents; ++a) {
    for (std::uint64_t b = a + 1; b < extents; b += is_long() ? 1 : 5)
      pairs.push_back({first + a * sizeof(pool::Extent), first + b * sizeof(pool::Extent), sizeof(pool::Extent)});
  }
  const std::uint64_t objects_at = first + extents * sizeof(pool::Extent);
  for (std::uint64_t a = 0; a < entries; ++a) {
    for (std::uint64_t b = a + 1; b < entries; ++b) {
      constexpr std::uint64_t kSize = sizeof(pool::ObjectEntry);
      pairs.push_back({objects_at + a * kSize, objects_at + b * kSize, kSize});
      pairs.push_back(
          {page_in(whole, directory.objects[a].number), page_in(whole, directory.objects[b].number), 2 * pool::kPage});
    }
  }
  expect_sound(
      "exchanged", pairs.size(),
      [&](std::uint64_t i) {
        std::string bytes = whole;
        const auto at = [&](std::uint64_t byte) { return bytes.begin() + static_cast<std::ptrdiff_t>(byte); };
        std::swap_ranges(at(pairs[i].a), at(pairs[i].a + pairs[i].bytes), at(pairs[i].b));
        seal_area(bytes);
        std::set<std::uint32_t> victims;
        for (const pool::ObjectEntry& entry : directory.objects) {
          const std::uint64_t page = page_in(whole, entry.number);
          if (page == pairs[i].a || page == pairs[i].b) victims.insert(entry.number);
        }
        Outcome outcome = outcome_of_objects(bytes, victims);
        if (outcome.opened == victims.empty()) outcome.wrong += "refused, or not, against what was expected; ";
        return outcome;
      },
      [&](std::uint64_t i) {
        return std::to_string(pairs[i].bytes) + " bytes at " + std::to_string(pairs[i].a) + " and " +
               std::to_string(pairs[i].b);
      });
}

}  // namespace
}  // namespace holdfast::test::corrupt

// far_test.cpp: regions, logs and transactions with words beyond 2^32, and bytes beyond 2^34, on a medium that has only the pages that
// were written.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../pool/pool_test.hpp"
#include "holdfast/transaction.hpp"
#include "pool/medium/persist.hpp"
#include "support/thin.hpp"

namespace holdfast::test {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kFarBytes = 20 * kGiB;              // 5 × 2^30 words of 4 bytes: more than 2^32
constexpr std::uint64_t kBehind = std::uint64_t{64} << 20;  // more than any gap before it
/// Bytes whose offsets are alike where one of them is cut to 32 bits, as bytes or as words.
constexpr std::uint64_t kOffsets[] = {64, 4 * kGiB - 8, 4 * kGiB + 64, 16 * kGiB - 8, 16 * kGiB + 64, kFarBytes - 8};

class Far : public testing::Test {
 protected:
  static std::uint64_t& word(const Section& section, std::uint64_t offset) {
    return section.as<std::uint64_t>()[offset / 8];
  }
  static void expect_words(const Region& region, std::uint64_t first) {
    for (std::size_t i = 0; i < std::size(kOffsets); ++i) {
      EXPECT_EQ(region.as<std::uint64_t>()[kOffsets[i] / 8], first + i) << kOffsets[i];
    }
  }
  static void write_words(Region& region, std::uint64_t first) {
    const Section section = region.section();
    for (std::size_t i = 0; i < std::size(kOffsets); ++i) word(section, kOffsets[i]) = first + i;
  }

  const proof::ThinMedium thin;
  pool::Folder folder{"/dev/shm"};
  const std::string path = folder / "a.hold";
};

TEST_F(Far, RegionsKeepTheirWords) {
  {
    Pool pool = Pool::create(path);
    Region region = Region::create(pool, "r", kFarBytes);
    EXPECT_EQ(region.size(), kFarBytes);
    write_words(region, 100);
    Region behind = Region::create(pool, "behind", kBehind);
    behind.section().as<std::uint64_t>()[0] = 7;
  }
  Pool pool = Pool::open(path);
  for (const ObjectInfo& object : pool.objects()) {
    EXPECT_EQ(object.extents.at(1).bytes, object.name == "r" ? kFarBytes : kBehind);
    EXPECT_EQ(object.extents.at(1).offset > kFarBytes, object.name == "behind");
  }
  Region region = Region::open(pool, "r");
  EXPECT_EQ(region.size(), kFarBytes);
  EXPECT_EQ(region.bytes().size(), kFarBytes);
  expect_words(region, 100);
  EXPECT_EQ(Region::open(pool, "behind").as<std::uint64_t>()[0], 7u);
  EXPECT_TRUE(pool.check().errors.empty());
}

/// What is to be persisted is flushed as it was given, however long it is and wherever it lies.
TEST_F(Far, SectionsFlushAsMuchAsTheyAreTold) {
  struct Flushes : pool::FlushObserver {
    void flush(const void* address, std::size_t bytes) noexcept override { last = {address, bytes}; }
    void fence() noexcept override {}
    std::pair<const void*, std::size_t> last;
  } flushes;
  pool::FlushObserver* const before = pool::observe_flushes(&flushes);
  {
    Pool pool = Pool::create(path);
    Region region = Region::create(pool, "r", kFarBytes, {.flush = true});
    const Section section = region.section();
    const std::byte* const begin = section.bytes().data();
    for (const auto& [offset, bytes] : {std::pair{16 * kGiB + 64, std::uint64_t{8}}, {std::uint64_t{64}, 17 * kGiB}}) {
      section.persist(begin + offset, bytes);
      EXPECT_EQ(flushes.last.first, begin + offset);
      EXPECT_EQ(flushes.last.second, bytes);
    }
    EXPECT_THROW(section.persist(begin + 8, kFarBytes), InvalidArgument);
  }
  pool::observe_flushes(before);
}

/// Each update is logged with its own place, and undone there: by the process that began it, and by another after a kill.
TEST_F(Far, TransactionsUndoWhatTheyUpdated) {
  {
    Pool pool = Pool::create(path);
    Region region = Region::create(pool, "r", kFarBytes);
    write_words(region, 100);
    Log::create(pool, "l", {.entry_bytes = 16, .capacity = 2});
  }
  const auto update = [](Transaction& batch, std::uint64_t first) {
    for (std::size_t i = 0; i < std::size(kOffsets); ++i) {
      EXPECT_EQ(batch.update(i, kOffsets[i], first + i), LogStatus::ok);
    }
    EXPECT_EQ(batch.update(0, kFarBytes, first), LogStatus::no_place);
    EXPECT_EQ(batch.update(0, kFarBytes - 4, first), LogStatus::no_place);
  };
  for (const bool killed : {false, true}) {
    EXPECT_EQ(pool::in_child([&] {
                Pool pool = Pool::open(path);
                Region region = Region::open(pool, "r");
                Log log = Log::open(pool, "l");
                {
                  Transaction batch(log, region);
                  update(batch, 200);
                  if (killed) _exit(0);
                }
                return 0;
              }),
              0);
    Pool pool = Pool::open(path);
    Region region = Region::open(pool, "r");
    Log log = Log::open(pool, "l");
    expect_words(region, killed ? 200 : 100);
    EXPECT_EQ(Transaction::recover(log, region), killed);
    expect_words(region, 100);
  }
  Pool pool = Pool::open(path);
  Region region = Region::open(pool, "r");
  Log log = Log::open(pool, "l");
  Transaction batch(log, region);
  update(batch, 300);
  batch.commit();
  expect_words(region, 300);
}

/// Entries of 4 KiB in so many places that the last lie beyond 2^34 words.
class FarLogs : public Far, public testing::WithParamInterface<bool> {
 protected:
  static constexpr std::uint64_t kWhole = std::uint64_t{1} << 22;  // places: 64 GiB of entries
  static constexpr std::uint64_t kPlaces[] = {0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (1 << 21) + 33, kWhole - 1};
  using Entry = std::array<std::uint32_t, 1024>;

  static Entry entry_of(std::uint64_t place, std::uint32_t number) {
    Entry entry;
    for (std::uint32_t k = 0; k < entry.size(); ++k) {
      entry[k] = static_cast<std::uint32_t>(place * 31 + place / 1024 * 7 + number * 5 + k * 3);
    }
    return entry;
  }
  static void expect_entries(const Log& log) {
    ASSERT_EQ(log.places(), kWhole);
    for (const std::uint64_t place : kPlaces) {
      ASSERT_EQ(log.count(place), 3u) << place;
      for (std::uint32_t back = 0; back < 3; ++back) {
        Entry entry;
        ASSERT_EQ(log.read(place, &entry, sizeof entry, back), LogStatus::ok);
        EXPECT_TRUE(entry == entry_of(place, 2 - back)) << place << ", " << back << " back";
      }
    }
    EXPECT_EQ(log.count(2), 0u);
    EXPECT_EQ(log.count(kWhole - 2), 0u);
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, FarLogs, testing::Bool(),
                         [](const auto& info) { return info.param ? "Partitions" : "Threads"; });

TEST_P(FarLogs, KeepTheirEntries) {
  LogOptions options = {.entry_bytes = sizeof(Entry), .capacity = 4, .blocks = kWhole / 1024, .threads = 1024};
  if (GetParam()) options.partitions = kWhole;
  {
    Pool pool = Pool::create(path);
    Log log = Log::create(pool, "l", options);
    for (std::uint32_t number = 0; number < 3; ++number) {
      for (const std::uint64_t place : kPlaces) {
        EXPECT_EQ(log.insert(place, entry_of(place, number)), LogStatus::ok);
      }
    }
    expect_entries(log);
    EXPECT_EQ(log.insert(kWhole, entry_of(0, 0)), LogStatus::no_place);
  }
  Pool pool = Pool::open(path);
  Log log = Log::open(pool, "l");
  expect_entries(log);
  EXPECT_TRUE(pool.check().errors.empty());
  EXPECT_EQ(log.remove(kWhole - 1), LogStatus::ok);
  EXPECT_EQ(log.count(kWhole - 1), 2u);
  EXPECT_EQ(log.clear(1 << 20), LogStatus::ok);
  EXPECT_EQ(log.count(1 << 20), 0u);
  EXPECT_EQ(log.count(0), 3u);
}

}  // namespace
}  // namespace holdfast::test

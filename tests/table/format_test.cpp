// format_test.cpp: a pool of every released version opens, and holds what was put into it. docs/format.md.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "holdfast/table.hpp"
#include "support/image.hpp"
#include "support/numbers.hpp"
#include "support/pages.hpp"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kBytes = 12;
constexpr std::uint64_t kItems = 20;
constexpr std::uint64_t kSeed = 12345;
constexpr std::uint64_t kFixtureScore = 4711;

struct Fixture {
  const char* file;
  std::uint32_t version, key_bytes;
  Score score = Score::none;
};

/// What the fixtures hold: keys 0 (the reserved one), 1000, 2000, …, erased ones in between.
std::vector<std::uint64_t> fixture_keys() {
  std::vector<std::uint64_t> keys(kItems);
  for (std::uint64_t i = 0; i < kItems; ++i) keys[i] = i * 1000;
  return keys;
}
std::vector<std::uint8_t> fixture_values() {
  std::vector<std::uint8_t> values(kItems * kBytes);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * 7 + 1);
  return values;
}

/// Writes a fixture with this version: HOLDFAST_WRITE_FIXTURE=PATH test_table --gtest_filter='*Format*/N'. One of format 3, whose
/// heap is mebibytes of zeros, is packed (support/pages.hpp).
void write_fixture(const std::string& path, std::uint32_t key_bytes, Score score) {
  CreateOptions options;
  options.score = score;
  options.key_bytes = key_bytes;
  options.value_bytes = key_bytes == kVariableBytes ? kVariableBytes : kBytes;
  options.capacity = kItems;
  options.device = "cpu";
  options.seed = kSeed;
  options.max_bytes = key_bytes == kVariableBytes ? 1 << 24 : 1 << 20;
  NumberedTable table(Table::create(path, options), kSeed, kBytes);
  auto keys = fixture_keys();
  if (score != Score::none) table.table().set_step(kFixtureScore);
  table.insert(keys.data(), fixture_values().data(), kItems);
  for (std::uint64_t& key : keys) key += 1;
  table.insert(keys.data(), fixture_values().data(), kItems / 2);
  table.erase(keys.data(), kItems / 2);
  table.close();
  if (key_bytes != kVariableBytes) return;
  const std::string packed = pack_pages(read_file(path));
  fs::remove(path);
  write_file(path, packed);
}

/// The fixture's pool, as its user had it.
void unpack(const fs::path& fixture, const fs::path& copy) {
  const std::string bytes = read_file(fixture);
  if (is_packed(bytes)) return write_pages(copy, bytes);
  fs::copy_file(fixture, copy, fs::copy_options::overwrite_existing);
  fs::permissions(copy, fs::perms::owner_read | fs::perms::owner_write);
}

class Format : public testing::TestWithParam<Fixture> {};

TEST_P(Format, PoolsOfThisVersionOpenAndHoldTheirItems) {
  const fs::path fixture = fs::path(HOLDFAST_TEST_DATA) / GetParam().file;
  if (const char* const path = std::getenv("HOLDFAST_WRITE_FIXTURE")) {
    write_fixture(path, GetParam().key_bytes, GetParam().score);
    GTEST_SKIP() << "wrote " << path;
  }
  const fs::path copy = fs::temp_directory_path() / ("holdfast-format-" + std::to_string(getpid()) + ".hold");
  unpack(fixture, copy);
  EXPECT_EQ(inspect(copy).version, GetParam().version);
  EXPECT_TRUE(check(copy).errors.empty());
  OpenOptions options;
  options.device = "cpu";
  {
    NumberedTable table(Table::open(copy, options), kSeed, kBytes);
    EXPECT_EQ(table.size(), kItems);
    EXPECT_EQ(table.table().key_bytes(), GetParam().key_bytes);
    EXPECT_EQ(table.table().value_bytes(), table.any_length() ? kVariableBytes : kBytes);
    std::vector<std::uint8_t> values(kItems * kBytes);
    bool found[kItems];
    table.find(fixture_keys().data(), values.data(), kItems, found);
    for (const bool there : found) EXPECT_TRUE(there);
    EXPECT_EQ(values, fixture_values());
    EXPECT_EQ(table.table().score(), GetParam().score);
    if (GetParam().score != Score::none) {
      std::uint64_t scores[kItems];
      table.table().scores(fixture_keys().data(), scores, kItems);
      for (const std::uint64_t score : scores) EXPECT_EQ(score, kFixtureScore);
    }
    const std::uint64_t one = 1;
    table.insert(&one, values.data(), 1);
  }
  Table table = Table::open(copy, options);
  EXPECT_EQ(table.size(), kItems + 1);
  EXPECT_TRUE(table.check().errors.empty());
  fs::remove(copy);
}

INSTANTIATE_TEST_SUITE_P(Versions, Format,
                         testing::Values(Fixture{"pool-v1.hold", 1, 8}, Fixture{"pool-v2.hold", 2, 32},
                                         Fixture{"pool-v3.hold.pages", 3, kVariableBytes},
                                         Fixture{"pool-v4.hold", 4, 8, Score::step}));

}  // namespace
}  // namespace holdfast::test

// refused_test.cpp: regions, logs and checkpoints that are of another type or a later version, or whose page is damaged: one error that
// says so, nothing written to them, and those beside them open.
#include <functional>
#include <string>

#include "../pool/pool_test.hpp"
#include "holdfast/checkpoint.hpp"
#include "holdfast/log.hpp"
#include "holdfast/region.hpp"
#include "log_test.hpp"
#include "support/image.hpp"
#include "support/pool_bytes.hpp"

namespace holdfast::test {
namespace {

constexpr std::uint32_t kRegion = 1, kLog = 2, kCheckpoint = 3;

class Refused : public OnMedium {
 protected:
  void SetUp() override {
    OnMedium::SetUp();
    {
      Pool pool = Pool::create(path);
      Region region = Region::create(pool, "1", 64);
      Section section = region.section();
      section.as<std::uint64_t>()[0] = 7;
      section.end();
      Log::create(pool, "2", {.entry_bytes = 8}).insert(5, std::uint64_t{7});
      const std::uint64_t value = 7;
      const TensorView tensors[] = {{"a", ElementType::u64, {}, &value}};
      Checkpoint::create(pool, "3").save(7, tensors).wait();
    }
    whole = read_file(path);
  }

  /// What an object holds: 7, or an error.
  static std::uint64_t content(Pool& pool, std::uint32_t number) {
    const std::string name = std::to_string(number);
    if (number == kRegion) return Region::open(pool, name).as<std::uint64_t>()[0];
    if (number == kCheckpoint) return Checkpoint::open(pool, name).restore().step;
    std::uint64_t entry = 0;
    EXPECT_EQ(Log::open(pool, name).read(5, &entry, sizeof entry), LogStatus::ok);
    return entry;
  }

  std::string bytes_of(std::uint32_t number) const {
    const std::string bytes = read_file(path);
    std::string found;
    for (const pool::Extent& extent : directory_in(bytes).extents_of(number)) {
      found += bytes.substr(extent.offset, extent.bytes);
    }
    return found;
  }

  template <class Wanted>
  void expect_refused(std::uint32_t number, const std::string& bytes, const std::string& text) {
    SCOPED_TRACE(number);
    write_file(path, bytes);
    const std::string before = bytes_of(number);
    {
      Pool pool = Pool::open(path);
      pool::expect_error<Wanted>([&] { content(pool, number); }, text);
      for (const std::uint32_t other : {kRegion, kLog, kCheckpoint}) {
        if (other == number) continue;
        EXPECT_EQ(content(pool, other), 7u);
      }
    }
    EXPECT_TRUE(bytes_of(number) == before);
  }

  std::string whole;
};

TEST_P(Refused, WhereAnotherTypeIsAskedFor) {
  Pool pool = Pool::open(path);
  pool::expect_error<PoolMismatch>([&] { Region::open(pool, "2"); }, "not a region");
  pool::expect_error<PoolMismatch>([&] { Region::open(pool, "3"); }, "not a region");
  pool::expect_error<PoolMismatch>([&] { Log::open(pool, "1"); }, "not a log");
  pool::expect_error<PoolMismatch>([&] { Log::open(pool, "3"); }, "not a log");
  pool::expect_error<PoolMismatch>([&] { Checkpoint::open(pool, "1"); }, "not a checkpoint");
  pool::expect_error<PoolMismatch>([&] { Checkpoint::open(pool, "2"); }, "not a checkpoint");
  for (const std::uint32_t number : {kRegion, kLog, kCheckpoint}) {
    pool::expect_error<PoolMismatch>([&] { pool.table(std::to_string(number)); }, "not a table");
    EXPECT_EQ(content(pool, number), 7u);
  }
}

TEST_P(Refused, ToReplaceAnotherType) {
  const char* const names[] = {"", "a region", "a log", "a checkpoint"};
  Pool pool = Pool::open(path);
  for (const std::uint32_t number : {kRegion, kLog, kCheckpoint}) {
    const std::string there = std::to_string(number);
    const std::string text = there + " is " + names[number] + ", which a";
    const auto refused = [&](const std::function<void()>& act) { pool::expect_error<PoolMismatch>(act, text); };
    CreateOptions table;
    table.overwrite = true;
    table.runtime.device = "cpu";
    refused([&] { pool.create_table(there, table); });
    if (number != kRegion) refused([&] { Region::create(pool, there, 64, {.overwrite = true}); });
    if (number != kLog) refused([&] { Log::create(pool, there, {.entry_bytes = 8, .overwrite = true}); });
    if (number != kCheckpoint) refused([&] { Checkpoint::create(pool, there, {.overwrite = true}); });
    for (const std::uint32_t other : {kRegion, kLog, kCheckpoint}) {
      if (other != number) refused([&] { pool.rename(std::to_string(other), there, true); });
    }
  }
  for (const std::uint32_t number : {kRegion, kLog, kCheckpoint}) {
    EXPECT_EQ(content(pool, number), 7u);
    const CheckReport report = pool.check(std::to_string(number));
    EXPECT_TRUE(report.was_clean && report.errors.empty()) << number;
  }
  Region::create(pool, "1", 128, {.overwrite = true}).close();
  EXPECT_EQ(Region::open(pool, "1").size(), 128u) << "one of its own kind is replaced";
}

TEST_P(Refused, OfALaterVersionOrWithUnknownFeatures) {
  const auto edited = [&](std::uint32_t number, const std::function<void(pool::ObjectEntry&)>& edit) {
    std::string bytes = whole;
    edit_directory(bytes, [&](pool::Directory& directory) {
      for (pool::ObjectEntry& entry : directory.objects) {
        if (entry.number == number) edit(entry);
      }
    });
    return bytes;
  };
  for (const std::uint32_t number : {kRegion, kLog, kCheckpoint}) {
    expect_refused<PoolVersion>(number, edited(number, [](auto& entry) { ++entry.type_version; }), "install a newer");
    expect_refused<PoolVersion>(number, edited(number, [](auto& entry) { entry.required = 1; }), "install a newer");
    expect_refused<PoolCorrupt>(number, edited(number, [](auto& entry) { entry.type_version = 0; }), "version 0");
  }
  write_file(path, whole);
  Pool pool = Pool::open(path);
  for (const std::uint32_t number : {kRegion, kLog, kCheckpoint}) EXPECT_EQ(content(pool, number), 7u);
}

TEST_P(Refused, WithBothCopiesOfTheirPageDamaged) {
  for (const std::uint32_t number : {kRegion, kLog, kCheckpoint}) {
    std::string bytes = whole;
    const std::uint64_t page = page_in(bytes, number);
    bytes[page + 100] ^= 1;
    write_file(path, bytes);
    {
      Pool pool = Pool::open(path);
      EXPECT_EQ(content(pool, number), 7u) << "the other copy of its page counts";
    }
    bytes[page + pool::kPage + 100] ^= 1;
    expect_refused<PoolCorrupt>(number, bytes, "both copies of its page");
  }
}

INSTANTIATE_TEST_SUITE_P(Media, Refused, testing::Values("/tmp", "/dev/shm"), medium_name);

}  // namespace
}  // namespace holdfast::test

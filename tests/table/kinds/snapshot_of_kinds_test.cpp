// snapshot_of_kinds_test.cpp: snapshots and checks of a pool whose table, checkpoint, region and log are open.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "../../pool/at_first_write.hpp"
#include "../../pool/pool_test.hpp"
#include "holdfast/checkpoint.hpp"
#include "holdfast/log.hpp"
#include "holdfast/region.hpp"
#include "holdfast/table.hpp"
#include "holdfast/transaction.hpp"

namespace holdfast::test {
namespace {

using pool::expect_error;

constexpr std::size_t kWords = 40'000;

SaveTicket save(Checkpoint& checkpoint, std::uint64_t step, bool wait = true) {
  const std::vector<std::uint64_t> data(kWords, step);
  const TensorView tensors[] = {{"weights", ElementType::u64, {kWords}, data.data()}};
  return checkpoint.save(step, tensors, "", {.wait = wait});
}

/// The step of a state all of whose elements are its step; 0: they are not.
std::uint64_t step_of(const SavedState& state) {
  const std::vector<std::uint64_t> wanted(kWords, state.step);
  return std::memcmp(state.tensors.at(0).data, wanted.data(), kWords * 8) == 0 ? state.step : 0;
}

struct OpenKinds : ::testing::Test {
  pool::Folder folder{"/dev/shm"}, disk{"/tmp"};
  const std::string path = folder / "a.hold", copy = disk / "b.hold";
  Pool pool = Pool::create(path);
  Checkpoint checkpoint = Checkpoint::create(pool, "model");
  Table table = pool.create_table("items", [] {
    CreateOptions options;
    options.runtime.device = "cpu";
    return options;
  }());

  void insert(std::uint64_t key) { ASSERT_EQ(table.insert_or_assign(&key, &key, 1).of(Status::no_space), 0u); }
  std::uint64_t offset_of(const std::string& name, std::size_t extent) {
    for (const ObjectInfo& object : inspect(path).objects) {
      if (object.name == name) return object.extents.at(extent).offset;
    }
    return 0;
  }
  void flip(std::uint64_t offset) {
    auto bytes = pool::read_all(path);
    bytes[offset] ^= 1;
    pool::write_all(path, bytes);
  }
};

TEST_F(OpenKinds, AllAreCopiedAtOneMoment) {
  Region region = Region::create(pool, "sums", 8192);
  Log log = Log::create(pool, "journal", {.entry_bytes = 8, .capacity = 4, .partitions = 2});
  insert(1);
  save(checkpoint, 5).wait();
  {
    Section section = region.section();
    section.as<std::uint64_t>()[1000] = 6;
    section.persist(&section.as<std::uint64_t>()[1000], 8);
  }
  log.insert(1, std::uint64_t{7});
  for (const char* const name : {"sums", "journal"}) {
    expect_error<ObjectInUse>([&] { pool.snapshot(copy); }, "SnapshotOptions::writers_idle");
    if (std::string(name) == "sums") region.close();
  }
  region = Region::open(pool, "sums");
  const SnapshotResult taken = pool.snapshot(copy, {.writers_idle = true});
  EXPECT_EQ(taken.items, 1u);
  insert(2);
  save(checkpoint, 8).wait();
  EXPECT_EQ(log.insert(1, std::uint64_t{9}), LogStatus::ok);

  Pool there = Pool::open(copy);
  for (const ObjectInfo& object : there.objects()) EXPECT_TRUE(object.clean) << object.name;
  EXPECT_TRUE(there.check().errors.empty());
  EXPECT_EQ(there.table("items", {.runtime = {.device = "cpu"}}).size(), 1u);
  EXPECT_EQ(step_of(Checkpoint::open(there, "model").restore()), 5u);
  EXPECT_EQ(Region::open(there, "sums").as<std::uint64_t>()[1000], 6u);
  std::uint64_t entry = 0;
  Log copied = Log::open(there, "journal");
  EXPECT_EQ(copied.count(1), 1u);
  EXPECT_EQ(copied.read(1, &entry, 8), LogStatus::ok);
  EXPECT_EQ(entry, 7u);
}

TEST_F(OpenKinds, ReadersOfRegionsNeedNoWord) {
  Region::create(pool, "sums", 64);
  checkpoint.close();
  table.close();
  pool.close();
  Pool reading = Pool::open(path, {.read_only = true});
  Region region = Region::open(reading, "sums");
  EXPECT_NO_THROW(reading.snapshot(copy));
  EXPECT_EQ(Pool::open(copy).objects().size(), 3u);
}

TEST_F(OpenKinds, ASaveWaitsForTheSnapshotAndTheSnapshotForASave) {
  save(checkpoint, 1).wait();
  std::atomic<bool> saved = false;
  std::jthread saver;
  const auto act = [&] {
    expect_error<ObjectInUse>([&] { save(checkpoint, 2, false); }, "a snapshot copies");
    saver = std::jthread([&] {
      save(checkpoint, 3).wait();
      saved = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(saved);
  };
  const SaveTicket running = save(checkpoint, 2);
  {
    const test::AtFirstWrite during(act);
    pool.snapshot(copy);
    EXPECT_TRUE(running.is_done());
    saver.join();
  }
  EXPECT_EQ(step_of(checkpoint.restore()), 3u);
  Pool there = Pool::open(copy);
  EXPECT_EQ(step_of(Checkpoint::open(there, "model").restore()), 2u);
}

TEST_F(OpenKinds, ASectionWaitsForTheSnapshot) {
  Region region = Region::create(pool, "sums", 64);
  std::atomic<bool> wrote = false;
  std::jthread writer;
  const auto act = [&] {
    writer = std::jthread([&] {
      Section section = region.section();
      section.as<std::uint64_t>()[0] = 1;
      wrote = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(wrote);
  };
  {
    const test::AtFirstWrite during(act);
    pool.snapshot(copy, {.writers_idle = true});
    writer.join();
  }
  EXPECT_TRUE(wrote);
  Pool there = Pool::open(copy);
  EXPECT_EQ(Region::open(there, "sums").as<std::uint64_t>()[0], 0u);
}

TEST_F(OpenKinds, CheckSaysOfEachKindWhatItVerified) {
  Region region = Region::create(pool, "sums", 64);
  Log log = Log::create(pool, "journal", {.entry_bytes = 8, .capacity = 4, .partitions = 2});
  log.insert(1, std::uint64_t{7});
  save(checkpoint, 5).wait();
  for (const bool open : {true, false}) {
    EXPECT_EQ(pool.check("items").checked.at(0), "every slot and cell");
    EXPECT_EQ(pool.check("model").checked.at(0), "1 saved states, 5 blocks") << open;
    EXPECT_NE(pool.check("sums").checked.at(0).find("the bytes of a region have no checksum"), std::string::npos);
    EXPECT_NE(pool.check("journal").checked.at(0).find("the tails of 2 places, which count 1 entries"),
              std::string::npos);
    EXPECT_EQ(pool.check().checked.size(), 4u);
    if (!open) break;
    checkpoint.close();
    region.close();
    log.close();
    table.close();
  }
}

TEST_F(OpenKinds, CheckFindsDamageInEachKind) {
  Region region = Region::create(pool, "sums", 64);
  Log log = Log::create(pool, "journal", {.entry_bytes = 64, .capacity = 4, .partitions = 2});
  save(checkpoint, 5).wait();
  save(checkpoint, 6).wait();
  checkpoint.close();
  const std::uint64_t word = offset_of("model", 0) + 2 * pool::kPage, block = offset_of("model", 1) + 8192;
  const std::uint64_t tail = offset_of("journal", 1) + pool::kPage;
  {
    Transaction unfinished(log, region);
    const std::uint64_t value = 1;
    ASSERT_EQ(unfinished.update(0, 8, &value, 8), LogStatus::ok);
    const auto bytes = pool::read_all(path);  // as a crash here leaves it
    pool::write_all(copy, bytes);
  }
  EXPECT_EQ(check(copy, false, "journal").checked.back(), "the undo entries of a transaction that was not finished");
  log.close();
  region.close();
  table.close();
  pool.close();
  const auto error_of = [&](const std::string& file, const char* name) {
    const CheckReport report = check(file, false, name);
    return report.errors.empty() ? "" : report.errors[0];
  };
  flip(block);
  EXPECT_NE(error_of(path, "model").find("block"), std::string::npos) << error_of(path, "model");
  flip(block);
  EXPECT_EQ(error_of(path, "model"), "");
  flip(word);
  EXPECT_NE(error_of(path, "model").find("the word"), std::string::npos);
  flip(tail);
  EXPECT_EQ(error_of(path, "journal"), "the tail of place 0 is damaged");
  EXPECT_EQ(check(path, false).errors.size(), 2u);
}

}  // namespace
}  // namespace holdfast::test

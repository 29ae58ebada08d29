// log_objects_test.cpp: logs and transactions in a pool: written, found again by another opening, damaged, refused, killed.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <latch>
#include <thread>
#include <vector>

#include "holdfast/transaction.hpp"
#include "log_test.hpp"

namespace holdfast::test {
namespace {

class Logs : public OnMedium {
 protected:
  /// Changes a word of the file, in the extent of the first object's data.
  void write_word(std::uint64_t at, std::uint32_t value) const {
    const std::uint64_t offset = inspect(path).objects.at(0).extents.at(1).offset + at;
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
};
using Entry = std::array<std::uint32_t, 4>;

TEST_P(Logs, KeepEntriesOfEverySizeAndKind) {
  for (const std::uint32_t partitions : {0u, 5u}) {
    for (const std::uint32_t bytes : {4u, 12u, 100u, 4096u}) {
      {
        Pool pool = Pool::create(path, true);
        Log log = Log::create(pool, "a", {bytes, 3, 2, 40, partitions});
        EXPECT_EQ(log.places(), partitions != 0 ? 5u : 128u);
        for (std::uint64_t place = 0; place < log.places(); ++place) {
          for (std::uint32_t i = 0; i < place % 4; ++i) {
            std::vector<std::uint32_t> entry(bytes / 4, static_cast<std::uint32_t>(place * 8 + i));
            EXPECT_EQ(log.insert(place, entry.data(), bytes), LogStatus::ok);
          }
        }
        EXPECT_EQ(log.remove(1), LogStatus::ok);
        EXPECT_EQ(log.clear(2), LogStatus::ok);
      }
      Pool pool = Pool::open(path);
      EXPECT_EQ(pool.objects().at(0).type, "log");
      EXPECT_TRUE(pool.check().errors.empty());
      Log log = Log::open(pool, "a");
      for (std::uint64_t place = 0; place < log.places(); ++place) {
        ASSERT_EQ(log.count(place), place == 1 || place == 2 ? 0 : place % 4);
        for (std::uint32_t back = 0; back < log.count(place); ++back) {
          std::vector<std::uint32_t> entry(bytes / 4);
          ASSERT_EQ(log.read(place, entry.data(), bytes, back), LogStatus::ok);
          const auto value = static_cast<std::uint32_t>(place * 8 + log.count(place) - 1 - back);
          ASSERT_EQ(entry, std::vector<std::uint32_t>(bytes / 4, value));
        }
      }
      log.clear();
      EXPECT_EQ(log.count(3), 0u);
    }
  }
}

TEST_P(Logs, SayWhatTheyCannotTake) {
  Pool pool = Pool::create(path);
  Log log = Log::create(pool, "a", {.entry_bytes = 8});
  Entry entry = {};
  EXPECT_EQ(log.insert(0, entry), LogStatus::too_large);
  EXPECT_EQ(log.insert(0, &entry, 7), LogStatus::too_large);
  EXPECT_EQ(log.insert(32, &entry, 8), LogStatus::no_place);
  EXPECT_EQ(log.read(0, &entry, 8), LogStatus::empty);
  EXPECT_EQ(log.remove(0), LogStatus::empty);
  EXPECT_EQ(log.insert(0, &entry, 4), LogStatus::ok);
  EXPECT_EQ(log.insert(0, &entry, 8), LogStatus::full);
  EXPECT_EQ(log.count(0), 1u);
  EXPECT_EQ(log.count(99), 0u);
  EXPECT_THROW(log.handle(), InvalidArgument);
  log.close();
  EXPECT_THROW(log.count(0), ObjectClosed);
  EXPECT_THROW(Log::open(pool, "a", {.entry_bytes = 16}), PoolMismatch);
  EXPECT_THROW(Region::open(pool, "a"), PoolMismatch);
  EXPECT_EQ(Log::open(pool, "a", {.entry_bytes = 8}).count(0), 1u);
  for (const LogOptions& bad :
       {LogOptions{}, LogOptions{.entry_bytes = 6}, LogOptions{.entry_bytes = 4100},
        LogOptions{.entry_bytes = 4, .capacity = 0}, LogOptions{.entry_bytes = 4, .blocks = 0},
        LogOptions{.entry_bytes = 4, .threads = 1025},
        LogOptions{.entry_bytes = 4096, .capacity = 1 << 23, .blocks = 1u << 31, .threads = 1024}}) {
    EXPECT_THROW(Log::create(pool, "b", bad), InvalidArgument);
  }
}

TEST_P(Logs, AreRefusedWithADamagedTail) {
  {
    Pool pool = Pool::create(path);
    Log::create(pool, "a", {.entry_bytes = 8, .capacity = 9}).insert(3, std::uint64_t{1});
  }
  for (const std::uint32_t tail : {2u, 0x0a00'000au, 0xffff'ffffu}) {
    write_word(4096 + 3 * 4, tail);
    Pool pool = Pool::open(path);
    EXPECT_THROW(Log::open(pool, "a"), PoolCorrupt);
  }
  write_word(4096 + 3 * 4, 0x0100'0001);
  Pool pool = Pool::open(path);
  EXPECT_EQ(Log::open(pool, "a").count(3), 1u);
}

TEST_P(Logs, GiveAPartitionToOneThreadAtATime) {
  Pool pool = Pool::create(path);
  constexpr std::uint32_t kThreads = 4, kEach = 25'000;  // long beside the start of a thread, so that they meet
  Log log = Log::create(pool, "a", {.entry_bytes = 16, .capacity = kThreads * kEach, .partitions = 1});
  std::vector<std::thread> threads;
  std::latch started(kThreads);
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&log, &started, t] {
      started.arrive_and_wait();
      for (std::uint32_t i = 0; i < kEach; ++i) log.insert(0, Entry{t, i, t, i});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(log.count(0), kThreads * kEach);
  std::uint32_t seen[kThreads] = {};
  for (std::uint32_t back = kThreads * kEach; back-- > 0;) {
    Entry entry;
    ASSERT_EQ(log.read(0, &entry, sizeof entry, back), LogStatus::ok);
    ASSERT_EQ(entry[1], seen[entry[0]]++);
    ASSERT_EQ(entry[3], entry[1]);
  }
}

TEST_P(Logs, UndoABatchThatDidNotCommit) {
  Pool pool = Pool::create(path);
  Region region = Region::create(pool, "r", 64);
  Log log = Log::create(pool, "l", {.entry_bytes = 16, .capacity = 2});
  EXPECT_FALSE(Transaction::recover(log, region));
  {
    Transaction batch(log, region);
    EXPECT_THROW(Transaction(log, region), InvalidArgument);
    EXPECT_EQ(batch.update(0, 8, std::uint64_t{1}), LogStatus::ok);
    EXPECT_EQ(batch.update(0, 60, std::uint64_t{1}), LogStatus::no_place);
    EXPECT_EQ(batch.update(1, 0, Entry{}), LogStatus::too_large);
    batch.commit();
    EXPECT_THROW(batch.commit(), InvalidArgument);
  }
  {
    Transaction batch(log, region);
    EXPECT_EQ(batch.update(0, 8, std::uint64_t{2}), LogStatus::ok);
    EXPECT_EQ(batch.update(0, 8, std::uint64_t{3}), LogStatus::ok);
    EXPECT_EQ(batch.update(0, 8, std::uint64_t{4}), LogStatus::full);
    EXPECT_EQ(region.as<std::uint64_t>()[1], 3u);
  }
  EXPECT_EQ(region.as<std::uint64_t>()[1], 1u);
  EXPECT_EQ(log.count(0), 0u);
}

#ifndef NDEBUG
TEST_P(Logs, FindThreadsThatUpdateOneLocation) {
  Pool pool = Pool::create(path);
  Region region = Region::create(pool, "r", 64);
  Log log = Log::create(pool, "l", {.entry_bytes = 16, .threads = 2});
  {
    Transaction batch(log, region);
    batch.update(0, 8, std::uint64_t{2});
    batch.update(1, 12, std::uint32_t{2});
    EXPECT_THROW(batch.commit(), InvalidArgument);
  }
  EXPECT_EQ(region.as<std::uint64_t>()[1], 0u);
}
#endif

/// A child is killed in the midst of a batch; its parent finds the batch before it.
TEST_P(Logs, UndoWhatAKilledProcessBegan) {
  {
    Pool pool = Pool::create(path);
    Region::create(pool, "r", 4096);
    Log::create(pool, "l", {.entry_bytes = 16, .capacity = 4, .threads = 64});
  }
  const pid_t child = fork();
  if (child == 0) {
    Pool pool = Pool::open(path);
    Region region = Region::open(pool, "r");
    Log log = Log::open(pool, "l");
    for (std::uint64_t round = 1; round <= 2; ++round) {
      Transaction batch(log, region);
      for (std::uint64_t place = 0; place < 64; ++place) {
        batch.update(place, place * 8, round);
        if (round == 2 && place == 40) kill(getpid(), SIGKILL);
      }
      batch.commit();
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  Pool pool = Pool::open(path);
  Region region = Region::open(pool, "r");
  Log log = Log::open(pool, "l");
  EXPECT_THROW(Transaction(log, region), InvalidArgument);
  Region other = Region::create(pool, "other", 4096);
  EXPECT_THROW(Transaction::recover(log, other), InvalidArgument);
  EXPECT_TRUE(Transaction::recover(log, region));
  EXPECT_FALSE(Transaction::recover(log, region));
  for (std::uint64_t place = 0; place < 64; ++place) EXPECT_EQ(region.as<std::uint64_t>()[place], 1u);
}

INSTANTIATE_TEST_SUITE_P(Media, Logs, testing::Values("/dev/shm", "/tmp"), medium_name);

}  // namespace
}  // namespace holdfast::test

// pieces_test.cpp: batches that stop between two pieces, and go on: what runs in between holds nothing of the table.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "holdfast/memory_table.hpp"
#include "holdfast/table.hpp"

namespace holdfast::test {
namespace {

constexpr std::size_t kRows = 600'000;

class Pieces : public testing::Test {
 protected:
  Pieces() : keys(kRows), values(kRows), statuses(kRows, Status::no_space) {
    std::iota(keys.begin(), keys.end(), 0u);
    for (std::size_t i = 0; i < kRows; ++i) values[i] = i * i;
  }
  ~Pieces() override {
    unlink(path.c_str());
    unlink(copy.c_str());
  }
  /// Threads: rows of one piece are scattered over the array, and yet it ends where the next begins.
  Table make(unsigned threads = 2) const {
    CreateOptions options;
    options.shape.capacity = kRows;
    options.runtime.device = "cpu";
    options.runtime.threads = threads;
    options.overwrite = true;
    return Table::create(path, options);
  }
  Batch inserting() {
    Batch batch;
    batch.op = Op::insert;
    batch.size = kRows;
    batch.keys = keys.data();
    batch.values = values.data();
    batch.statuses = statuses.data();
    return batch;
  }
  /// Stops the batch after every piece, and then calls `between` with how often it was called before; that says whether to go on.
  /// What all its parts did.
  template <class AnyTable>
  BatchResult run(AnyTable& table, Batch batch, const std::function<bool(int)>& between) {
    std::stop_source stopping;
    stopping.request_stop();
    batch.stop = stopping.get_token();
    BatchResult all;
    for (;;) {
      const BatchResult part = table.run(batch);
      for (unsigned s = 0; s < kStatuses; ++s) all.count[s] += part.count[s];
      EXPECT_EQ(part.stopped, part.next != batch.size);
      all.stopped = part.stopped;
      all.next = batch.from = part.next;
      if (!part.stopped || !between(pauses++)) return all;
      all.count[static_cast<unsigned>(Status::not_run)] -= batch.size - part.next;
    }
  }
  std::size_t count(Status status) const {
    return static_cast<std::size_t>(std::count(statuses.begin(), statuses.end(), status));
  }
  void expect_whole(Table& table, std::size_t items) const {
    std::vector<std::uint64_t> out(kRows);
    const auto found = std::make_unique<bool[]>(kRows);
    EXPECT_EQ(table.find(keys.data(), out.data(), kRows, found.get()).of(Status::found), items);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kRows; ++i) wrong += out[i] != (found[i] ? values[i] : 0);
    EXPECT_EQ(wrong, 0u);
    EXPECT_TRUE(table.check().errors.empty());
  }

  const std::string path = "/dev/shm/holdfast-pieces-" + std::to_string(getpid()) + ".hold", copy = path + ".copy";
  std::vector<std::uint64_t> keys, values;
  std::vector<Status> statuses;
  int pauses = 0;
};

#if defined(HOLDFAST_SANITIZED)  // the others have one and two
constexpr unsigned kThreads[] = {3};
#else
constexpr unsigned kThreads[] = {1, 2, 3};
#endif

TEST_F(Pieces, AllIsDoneOnce) {
  for (const unsigned threads : kThreads) {
    Table table = make(threads);
    pauses = 0;
    const BatchResult result = run(table, inserting(), [](int) { return true; });
    EXPECT_FALSE(result.stopped);
    EXPECT_EQ(result.of(Status::inserted), kRows);
    EXPECT_EQ(count(Status::inserted), kRows);
    EXPECT_GT(pauses, 0);
    expect_whole(table, kRows);
  }
}

TEST_F(Pieces, WhatRunsInBetweenMayDoAnything_1t) {
  Table table = make(1);
  SnapshotOptions over;
  over.overwrite = true;
  const auto between = [&](int pause) {
    const auto done = static_cast<std::uint64_t>(std::count(statuses.begin(), statuses.end(), Status::inserted));
    EXPECT_EQ(table.size(), done);
    if (pause % 3 == 0) table.sync();
    if (pause % 3 == 1) {
      EXPECT_EQ(table.snapshot(copy, over).items, done);
      OpenOptions options;
      options.runtime.device = "cpu";
      Table taken = Table::open(copy, options);
      expect_whole(taken, done);
    }
    if (pause % 3 == 2) {
      std::vector<std::uint64_t> again(1000);
      EXPECT_EQ(table.insert(keys.data(), again.data(), again.size()).of(Status::no_space), 0u);
    }
    return true;
  };
  const BatchResult result = run(table, inserting(), between);
  EXPECT_GE(pauses, 3);  // each of them
  EXPECT_EQ(result.of(Status::inserted) + result.of(Status::exists), kRows);
  expect_whole(table, kRows);
}

TEST_F(Pieces, EndedInBetween) {
  Table table = make();
  std::vector<std::uint64_t> out(kRows, 7);
  const auto found = std::make_unique<bool[]>(kRows);
  std::fill_n(found.get(), kRows, true);
  Batch batch = inserting();
  batch.op = Op::find_or_insert;
  batch.out = out.data();
  batch.found = found.get();
  const BatchResult result = run(table, batch, [](int pause) { return pause == 0; });
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.of(Status::inserted) + result.of(Status::not_run), kRows);
  EXPECT_GT(result.of(Status::inserted), 0u);
  EXPECT_GT(result.of(Status::not_run), 0u);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    wrong += found[i] || out[i] != (statuses[i] == Status::inserted ? values[i] : 0);
  }
  EXPECT_EQ(wrong, 0u);
  expect_whole(table, count(Status::inserted));
}

TEST_F(Pieces, ClosedInBetween) {
  Table table = make();
  EXPECT_THROW(run(table, inserting(),
                   [&](int pause) {
                     if (pause == 1) table.close();
                     return true;
                   }),
               ObjectClosed);
  const std::size_t done = count(Status::inserted);
  EXPECT_GT(done, 0u);
  EXPECT_EQ(done + count(Status::not_run), kRows);
  OpenOptions options;
  options.runtime.device = "cpu";
  Table again = Table::open(path, options);
  EXPECT_TRUE(again.stats().recovery.was_clean);
  expect_whole(again, done);
}

TEST_F(Pieces, SyncedInBetweenIsNotCleanAfterwards) {
  Table table = make();
  run(table, inserting(), [&](int pause) {
    if (pause == 0) table.sync();
    EXPECT_EQ(inspect(path).objects.at(0).clean, pause == 0);
    return pause == 0;
  });
  EXPECT_EQ(pauses, 2);
}

TEST_F(Pieces, OfPairsHaveSoManyBytes_1t) {
  CreateOptions options;
  options.shape.key_bytes = options.shape.value_bytes = kVariableBytes;
  options.runtime.device = "cpu";
  options.runtime.threads = 1;
  Table table = Table::create(path, options);
  constexpr std::size_t kPairs = 4000, kBytes = 60'000;  // together nearly four times 64 MiB
  std::vector<std::uint64_t> key_offsets(kPairs + 1), value_offsets(kPairs + 1);
  for (std::size_t i = 0; i <= kPairs; ++i) {
    key_offsets[i] = 8 * i;
    value_offsets[i] = kBytes * i;
  }
  const std::vector<std::byte> bytes(kPairs * kBytes, std::byte{7});
  Batch batch = inserting();
  batch.size = kPairs;
  batch.variable = VariableLength{.key_offsets = key_offsets.data(), .value_offsets = value_offsets.data()};
  batch.values = bytes.data();
  EXPECT_EQ(run(table, batch, [](int) { return true; }).of(Status::inserted), kPairs);
  EXPECT_EQ(pauses, 3);
}

TEST_F(Pieces, ReadsOfPairsStayWhereTheBatchWasStopped_1t) {
  constexpr std::size_t kPairs = 4000, kBytes = 60'000;
  Table table = Table::create(path, {.shape = {.key_bytes = kVariableBytes, .value_bytes = kVariableBytes},
                                     .runtime = {.device = "cpu", .threads = 1}});
  std::vector<std::uint64_t> key_offsets(kPairs + 1), value_offsets(kPairs + 1);
  for (std::size_t i = 0; i <= kPairs; ++i) {
    key_offsets[i] = 8 * i;
    value_offsets[i] = kBytes * i;
  }
  std::vector<std::byte> bytes(kPairs * kBytes);
  for (std::size_t i = 0; i < kPairs; ++i) std::fill_n(&bytes[i * kBytes], kBytes, static_cast<std::byte>(i % 251));
  Blobs blobs;
  Batch batch = inserting();
  batch.op = Op::insert_and_find;
  batch.size = kPairs;
  batch.values = bytes.data();
  batch.variable =
      VariableLength{.key_offsets = key_offsets.data(), .value_offsets = value_offsets.data(), .blobs = &blobs};
  for (unsigned round = 0; round < 2; ++round) {  // what `insert_and_find` reads is there the second time
    pauses = 0;
    run(table, batch, [](int) { return true; });
    EXPECT_GT(pauses, 0);
  }
  for (std::size_t i = 0; i < kPairs; ++i) {
    ASSERT_EQ(blobs[i].size(), kBytes) << i;
    ASSERT_EQ(blobs[i].back(), static_cast<char>(i % 251)) << i;
  }
  batch.from = 7;
  Blobs other;
  batch.variable->blobs = &other;
  EXPECT_THROW(table.run(batch), InvalidArgument) << "blobs of another batch";
}

TEST_F(Pieces, BeginningBehindTheEndIsRefused) {
  Table table = make();
  Batch batch = inserting();
  batch.from = kRows + 1;
  EXPECT_THROW(table.run(batch), InvalidArgument);
  EXPECT_THROW(MemoryTable().run(batch), InvalidArgument);
  batch.from = kRows;
  EXPECT_EQ(table.run(batch).of(Status::inserted), 0u);
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(Pieces, OfATableInMemory) {
  MemoryTable table;
  keys.resize(2'000'000);
  std::iota(keys.begin(), keys.end(), 0u);
  statuses.resize(keys.size());
  Batch batch = inserting();
  batch.size = keys.size();
  batch.values = keys.data();
  const BatchResult result = run(table, batch, [&](int pause) {
    table.reserve(3'000'000);
    EXPECT_GT(table.size(), 0u);
    return pause < 3;
  });
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(pauses, 4);
  EXPECT_EQ(result.of(Status::inserted), table.size());
  EXPECT_EQ(result.of(Status::inserted) + result.of(Status::not_run), keys.size());
}

}  // namespace
}  // namespace holdfast::test

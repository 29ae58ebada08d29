// dramhit_threads_test.cpp: handles, whose answers come in any order, and errors. Threads on the same keys: dramhit_whole_test.cpp.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "core/hash.hpp"
#include "holdfast/memory_table.hpp"
#include "structures/dramhit/word.hpp"
#include "support/random.hpp"
#include "support/tiles.hpp"
#include "system/calls.hpp"

namespace holdfast {
namespace {

using test::Random;

/// Answers of one call after another.
struct Buffers {
  explicit Buffers(std::size_t space) : ids(space), values(space), statuses(space) {
    answers.ids = ids;
    answers.values = std::as_writable_bytes(std::span(values));
    answers.statuses = statuses;
  }
  std::vector<std::uint64_t> ids, values;
  std::vector<Status> statuses;
  MemoryAnswers answers;
};

TEST(DramhitHandles, NothingIsLostWithABufferForOneAnswer) {
  MemoryTable table({.capacity = 10'000, .seed = 3});
  MemoryHandle handle = table.handle();
  constexpr std::uint64_t kKeys = 5000;
  Buffers one(1);
  std::vector<std::uint64_t> keys(kKeys), values(kKeys), ids(kKeys);
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    keys[i] = i == 0 ? 0 : i == 1 ? ~std::uint64_t{0} : test::mix(i);
    values[i] = i * 7;
    ids[i] = i + 1'000'000;
  }
  std::map<std::uint64_t, std::uint64_t> answered;
  const auto read = [&] {
    for (std::size_t i = 0; i < one.answers.size; ++i) {
      EXPECT_TRUE(answered.emplace(one.ids[i], one.values[i]).second) << "answered twice";
    }
    one.answers.size = 0;
  };
  for (std::size_t at = 0; at < kKeys;) {
    at += handle.put(&keys[at], &values[at], std::span(ids).subspan(at), kKeys - at, one.answers);
    read();
  }
  EXPECT_GT(handle.waiting(), 0u);
  while (!handle.flush(one.answers)) read();
  read();
  EXPECT_EQ(answered.size(), kKeys);
  answered.clear();
  for (std::size_t at = 0; at < kKeys;) {
    at += handle.get(&keys[at], std::span(ids).subspan(at), kKeys - at, one.answers);
    read();
  }
  while (!handle.flush(one.answers)) read();
  read();
  ASSERT_EQ(answered.size(), kKeys);
  for (std::uint64_t i = 0; i < kKeys; ++i) ASSERT_EQ(answered[ids[i]], i * 7);
}

// In a table so full that many searches go on: a change that does must not be overtaken by the next on its key.
TEST(DramhitHandles, ChangesOfOneKeyKeepTheirOrder) {
  for (const unsigned run : {0, 1, 2, 3}) {
    const bool silent = (run & 1) != 0, alike = (run & 2) != 0;  // alike: a queue remembers them in one set
    MemoryTable table({.capacity = 1000, .grows = false, .seed = 4});
    MemoryHandle handle = table.handle({.silent = silent});
    Buffers buffers(4096);
    const std::uint64_t others = table.slots() * 17 / 20;
    std::vector<std::uint64_t> keys(others);
    for (std::uint64_t i = 0; i < others; ++i) keys[i] = 1000 + i;
    ASSERT_EQ(table.insert(keys.data(), keys.data(), others).of(Status::inserted), others);
    constexpr unsigned kKeys = 50;
    std::vector<std::uint64_t> names;
    for (std::uint64_t name = 1'000'000; names.size() < kKeys; ++name)
      if (!alike || hash_key(name, 4) % 1024 == 0) names.push_back(name);
    std::uint64_t expected[kKeys] = {};
    std::vector<Status> statuses(100'000);
    std::uint64_t overtaken = 0;
    const auto check = [&] {
      ASSERT_TRUE(handle.flush(buffers.answers));
      const MemoryAnswers& answers = buffers.answers;
      for (std::size_t i = 0; i < answers.size; ++i) overtaken += answers.statuses[i] != statuses[answers.ids[i]];
      buffers.answers.size = 0;
      for (std::uint64_t key = 0; key < kKeys; ++key) {
        std::uint64_t value = 0;
        table.find(&names[key], &value, 1);
        overtaken += value != expected[key];
      }
    };
    Random random(7);
    for (std::uint64_t i = 1; i < statuses.size(); ++i) {
      const std::uint64_t key = random.below(random.chance(50) ? 5 : kKeys), id[] = {i};
      const unsigned kind = static_cast<unsigned>(random.below(4));
      const std::size_t taken = kind == 0   ? handle.put(&names[key], &i, id, 1, buffers.answers)
                                : kind == 1 ? handle.erase(&names[key], id, 1, buffers.answers)
                                            : handle.upsert(&names[key], &i, id, 1, buffers.answers);
      ASSERT_EQ(taken, 1u);
      const bool was_there = expected[key] != 0;
      statuses[i] = kind == 1 ? (was_there ? Status::erased : Status::not_found)
                              : (was_there ? Status::updated : Status::inserted);
      expected[key] = kind == 0 ? i : kind == 1 ? 0 : expected[key] + i;
      if (i % 1000 == 0) check();
    }
    check();
    EXPECT_EQ(overtaken, 0u) << "run " << run;
  }
}

TEST(DramhitErrors, BadInputIsOneClearError) {
  EXPECT_THROW(MemoryTable({.key_bytes = 12}), InvalidArgument);
  EXPECT_THROW(MemoryTable({.key_bytes = 72}), InvalidArgument);
  EXPECT_THROW(MemoryTable({.value_bytes = 65}), InvalidArgument);
  EXPECT_THROW(MemoryTable({.capacity = std::uint64_t{1} << 50}), InvalidArgument);
  EXPECT_THROW(MemoryTable({.capacity = std::uint64_t{1} << 39}), NoSpace);
  MemoryTable table({.capacity = 1000});
  const std::uint64_t key = 1, value = 2;
  std::uint64_t ids[3] = {};
  MemoryHandle handle = table.handle();
  Buffers buffers(8);
  EXPECT_THROW(handle.get(nullptr, {}, 1, buffers.answers), InvalidArgument);
  EXPECT_THROW(handle.put(&key, nullptr, {}, 1, buffers.answers), InvalidArgument);
  EXPECT_THROW(handle.get(&key, ids, 1, buffers.answers), InvalidArgument);
  MemoryAnswers wrong = buffers.answers;
  wrong.statuses = wrong.statuses.first(3);
  EXPECT_THROW(handle.get(&key, {}, 1, wrong), InvalidArgument);
  wrong = buffers.answers;
  wrong.values = wrong.values.first(9);
  EXPECT_THROW(handle.get(&key, {}, 1, wrong), InvalidArgument);
  EXPECT_THROW(table.handle({.depth = 128}), InvalidArgument);
  EXPECT_THROW(MemoryTable({.threads = 1025}), InvalidArgument);
  EXPECT_THROW(MemoryTable({.partitions = 1025}), InvalidArgument);
  std::uint64_t cursor = 0, out = 0;
  EXPECT_THROW(table.export_batch(cursor, nullptr, nullptr, 1), InvalidArgument);
  EXPECT_EQ(table.export_batch(cursor, &out, nullptr, std::size_t{1} << 60), 0u)
      << "of so many there is no room for a word";
  EXPECT_EQ(cursor, ~std::uint64_t{0});
  EXPECT_THROW(table.insert(nullptr, &value, 1), InvalidArgument);
  EXPECT_THROW(table.insert(&key, nullptr, 1), InvalidArgument);
  Batch column;
  column.size = 1;
  column.keys = &key;
  column.column = Column{.bytes = 4};
  EXPECT_THROW(table.run(column), InvalidArgument);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(handle.waiting(), 0u);
  EXPECT_EQ(handle.put(&key, &value, {}, 1, buffers.answers), 1u);
  EXPECT_TRUE(handle.flush(buffers.answers));
  EXPECT_EQ(table.size(), 1u);
  EXPECT_THROW(table.reserve(std::uint64_t{1} << 38), NoSpace);
  EXPECT_EQ(table.size(), 1u);
}

TEST(DramhitErrors, ATableThatDoesNotGrowSaysNoSpaceAndKeepsTheRest) {
  MemoryTable table({.capacity = 1000, .grows = false});
  const std::uint64_t n = table.slots() * 2;
  std::vector<std::uint64_t> keys(n), out(n);
  for (std::uint64_t i = 0; i < n; ++i) keys[i] = test::mix(i);
  std::vector<Status> statuses(n);
  const BatchResult result = table.insert(keys.data(), keys.data(), n, statuses.data());
  EXPECT_EQ(result.of(Status::inserted) + result.of(Status::no_space), n);
  EXPECT_GT(result.of(Status::inserted), table.slots() * 9 / 10);
  EXPECT_EQ(table.size(), result.of(Status::inserted));
  const auto found = std::make_unique<bool[]>(n);
  table.find(keys.data(), out.data(), n, found.get());
  for (std::uint64_t i = 0; i < n; ++i) {
    ASSERT_EQ(found[i], statuses[i] == Status::inserted);
    ASSERT_EQ(out[i], found[i] ? keys[i] : 0);
  }
}

class NoMemory final : public system::Observer {
 public:
  NoMemory() { system::observe(this); }
  ~NoMemory() override { system::observe(nullptr); }
  int before(const system::Event& event) noexcept override { return event.call == system::Call::mmap ? ENOMEM : 0; }
};

TEST(DramhitErrors, WithoutMemoryForAGrowthTheRestStands) {
  MemoryTable table({.capacity = 1000, .threads = 1});
  const std::size_t n = 2 * table.slots();
  std::vector<std::uint64_t> keys(n), out(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = test::mix(i);
  std::vector<Status> statuses(n);
  {
    const NoMemory none;
    EXPECT_THROW(MemoryTable{}, NoSpace);
    EXPECT_THROW(table.reserve(2 * n), NoSpace);
    const BatchResult result = table.insert(keys.data(), keys.data(), n, statuses.data());
    EXPECT_GT(result.of(Status::inserted), table.slots() * 3 / 4);
    EXPECT_GT(result.of(Status::no_space), 0u);
    EXPECT_EQ(table.size(), result.of(Status::inserted));
  }
  const auto found = std::make_unique<bool[]>(n);
  table.find(keys.data(), out.data(), n, found.get());
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(found[i], statuses[i] == Status::inserted);
  table.insert(keys.data(), keys.data(), n, statuses.data());
  EXPECT_EQ(table.size(), n) << "it did not grow when there was memory again";
}

TEST(DramhitErase, ErasedSlotsAreUsedAgain) {
  // Where slots are read by two loads, they do not pass from key to key: the table tidies up now and then.
  const bool passes = MemoryTable({.capacity = 1000}).stats().machine.tile != "portable";
  MemoryTable table({.capacity = 1000, .grows = !passes});
  const std::uint64_t items = table.slots() * 3 / 4, slots = table.slots();
  for (std::uint64_t i = 0; i < items * 11; ++i) {  // ten times all of them
    const std::uint64_t key = test::mix(i), old = test::mix(i - items);
    Status status;
    if (i >= items) {
      table.erase(&old, 1, &status);
      ASSERT_EQ(status, Status::erased);
    }
    table.insert(&key, &i, 1, &status);
    ASSERT_EQ(status, Status::inserted) << "at " << i;
  }
  EXPECT_EQ(table.size(), items);
  EXPECT_LE(table.slots(), passes ? slots : 2 * slots);
}

#if !defined(NDEBUG)
TEST(DramhitErrors, AHandleUsedByTwoThreadsIsNoticed) {
  MemoryTable table({.capacity = 1'000'000});
  MemoryHandle handle = table.handle({.silent = true});
  std::atomic<unsigned> noticed{0};
  std::atomic<bool> stop{false};
  const auto work = [&] {
    std::vector<std::uint64_t> keys(100'000, 5);
    MemoryAnswers none;
    for (unsigned i = 0; i < 20'000 && !stop; ++i) {
      try {
        handle.put(keys.data(), keys.data(), {}, keys.size(), none);
      } catch (const Error&) {
        ++noticed;
        stop = true;
      }
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_GT(noticed, 0u);
}
#endif

}  // namespace
}  // namespace holdfast

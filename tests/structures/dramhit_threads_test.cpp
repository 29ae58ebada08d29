// dramhit_threads_test.cpp: threads that insert, erase, count and read the same keys, with slots that pass from key to key and
// tables that grow; and handles, whose answers come in any order.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "core/hash.hpp"
#include "holdfast/memory_table.hpp"
#include "pool/medium/system.hpp"
#include "structures/dramhit/word.hpp"
#include "support/random.hpp"
#include "support/tiles.hpp"

namespace holdfast {
namespace {

using test::Random;

/// A value says whose it is, so that a pair torn between two keys is seen.
std::uint64_t value_for(std::uint64_t key, std::uint64_t version) { return (test::mix(key) & ~0xffffull) | version; }
bool belongs(std::uint64_t key, std::uint64_t value) { return ((value ^ test::mix(key)) & ~0xffffull) == 0; }

/// Answers of one call after another.
struct Buffers {
  explicit Buffers(std::size_t room) : ids(room), values(room), statuses(room) {
    answers.ids = ids;
    answers.values = std::as_writable_bytes(std::span(values));
    answers.statuses = statuses;
  }
  std::vector<std::uint64_t> ids, values;
  std::vector<Status> statuses;
  MemoryAnswers answers;
};

struct Load {
  std::uint64_t capacity, keys;
  bool grows;
  std::uint32_t key_bytes;
  const char* name;
  const char* tile = nullptr;  ///< null: the CPU's best
};
void PrintTo(const Load& load, std::ostream* out) { *out << load.name; }

class DramhitThreads : public testing::TestWithParam<Load> {};

TEST_P(DramhitThreads, EveryKeyIsThereOnceOrNot) {
  const Load& load = GetParam();
  MemoryOptions options;
  options.capacity = load.capacity;
  options.grows = load.grows;
  options.key_bytes = load.key_bytes;
  options.threads = 1;
  const test::UseTile tile(load.tile);
  MemoryTable table(options);
  constexpr unsigned kThreads = 4;
#if defined(HOLDFAST_SANITIZED)
  constexpr unsigned kRounds = 60;
#else
  constexpr unsigned kRounds = 600;
#endif
  const std::uint64_t words = load.key_bytes / 8;
  std::vector<std::atomic<int>> there(load.keys);
  std::atomic<std::uint64_t> torn{0}, not_stored{0};
  const auto work = [&](unsigned t) {
    Random random(t + 1);
    constexpr std::size_t kRows = 256;
    std::vector<std::uint64_t> numbers(kRows), keys(kRows * words), values(kRows), out(kRows);
    std::vector<std::uint8_t> ops(kRows);
    std::vector<Status> statuses(kRows);
    for (unsigned round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < kRows; ++i) {
        numbers[i] = random.below(load.keys);
        keys[i * words] = numbers[i];
        values[i] = value_for(numbers[i], random.below(1000));
        constexpr Op kMix[] = {Op::insert,           Op::insert, Op::erase, Op::find,
                               Op::insert_or_assign, Op::erase,  Op::find,  Op::assign};
        ops[i] = static_cast<std::uint8_t>(kMix[random.below(8)]);
      }
      Batch batch;
      batch.size = kRows;
      batch.ops = ops.data();
      batch.keys = keys.data();
      batch.values = values.data();
      batch.out = out.data();
      batch.statuses = statuses.data();
      table.run(batch);
      for (std::size_t i = 0; i < kRows; ++i) {
        if (statuses[i] == Status::inserted) ++there[numbers[i]];
        if (statuses[i] == Status::erased) --there[numbers[i]];
        if (statuses[i] == Status::no_space) ++not_stored;
        if (statuses[i] == Status::found && !belongs(numbers[i], out[i])) ++torn;
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < kThreads; ++t) threads.emplace_back(work, t);
  work(0);
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(torn, 0u);
  std::uint64_t items = 0;
  std::vector<std::uint64_t> key(words);
  for (std::uint64_t number = 0; number < load.keys; ++number) {
    key[0] = number;
    bool found = false;
    std::uint64_t value = 0;
    table.find(key.data(), &value, 1, &found);
    ASSERT_EQ(there[number], found ? 1 : 0) << "key " << number;
    ASSERT_TRUE(!found || belongs(number, value));
    items += found;
  }
  EXPECT_EQ(table.size(), items);
  std::vector<std::uint64_t> keys(load.keys * words + words);
  std::uint64_t cursor = 0;
  EXPECT_EQ(table.export_batch(cursor, keys.data(), nullptr, load.keys + 1), items) << "a key has two slots";
#if !defined(HOLDFAST_SANITIZED)  // fewer rounds add too few keys
  if (load.grows && load.keys > 10'000) {
    EXPECT_GT(table.stats().work.growths, 0u);
  }
#endif
}

INSTANTIATE_TEST_SUITE_P(Loads, DramhitThreads,
                         testing::Values(Load{1000, 24, true, 8, "few_keys"},
                                         Load{1000, 24, true, 8, "few_keys_avx2", "avx2"},
                                         Load{1000, 24, true, 8, "few_keys_portable", "portable"},
                                         Load{12'000, 19'000, false, 8, "full_avx2", "avx2"},
                                         Load{1000, 40'000, true, 8, "growing_portable", "portable"},
                                         Load{1000, 40'000, true, 8, "growing"}, Load{12'000, 19'000, false, 8, "full"},
                                         Load{1000, 12'000, true, 24, "records"}),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Growing, DramhitThreads, testing::Values(Load{1000, 100'000, true, 8, "more"}));

TEST(DramhitHandles, SumsOfAllThreadsArriveWithOrWithoutAnswers) {
  for (const bool silent : {false, true}) {
    MemoryTable table({.capacity = 1000});
    constexpr std::uint64_t kKeys = 30'000, kAdds = 200'000;
    const auto work = [&](unsigned t) {
      MemoryHandle handle = table.handle({.silent = silent});
      Random random(t);
      Buffers buffers(64);
      std::uint64_t answers = 0;
      const std::uint64_t one = 1;
      for (std::uint64_t i = 0; i < kAdds; ++i) {
        const std::uint64_t key = random.chance(30) ? random.below(4) : random.below(kKeys);  // some are popular
        while (handle.upsert(&key, &one, {}, 1, buffers.answers) == 0) {
          answers += buffers.answers.size;
          buffers.answers.size = 0;
        }
      }
      while (!handle.flush(buffers.answers)) {
        answers += buffers.answers.size;
        buffers.answers.size = 0;
      }
      answers += buffers.answers.size;
      EXPECT_EQ(answers, silent ? 0 : kAdds);
    };
    std::thread other(work, 1);
    work(2);
    other.join();
    std::uint64_t sum = 0;
    std::vector<std::uint64_t> keys(kKeys), values(kKeys);
    std::uint64_t cursor = 0;
    const std::size_t items = table.export_batch(cursor, keys.data(), values.data(), kKeys);
    for (std::size_t i = 0; i < items; ++i) sum += values[i];
    EXPECT_EQ(sum, 2 * kAdds);
    EXPECT_EQ(table.size(), items);
  }
}

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

class NoMemory final : public memory::system::Observer {
 public:
  NoMemory() { memory::system::observe(this); }
  ~NoMemory() override { memory::system::observe(nullptr); }
  int before(const memory::system::Event& event) noexcept override {
    return event.call == memory::system::Call::mmap ? ENOMEM : 0;
  }
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

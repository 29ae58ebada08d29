// batched_threads_test.cpp: threads against maps over an index that has batches only, and the CPU's index in the place of one that fails amid them.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/strings.hpp"
#include "store/batched_kit.hpp"

namespace holdfast::store::cpu {
namespace {

/// What one thread does to keys of its own, and what they must have.
class KeyOwner {
 public:
  KeyOwner(Engine& engine, unsigned number) : engine_(engine), number_(number), random_(number) {}

  void step() {
    switch (random_() % 6) {
      case 0: return set_some();
      case 1: return erase_some();
      case 2: return get_some();
      case 3: return set_one();
      case 4: return erase_one();
      default: return count();
    }
  }
  void verify() {
    for (unsigned i = 0; i < kKeys; ++i) {
      const auto at = map_.find(key(i));
      ASSERT_EQ(get(engine_, key(i)), at == map_.end() ? std::nullopt : std::optional(at->second));
    }
  }
  std::size_t size() const { return map_.size(); }
  std::uint64_t counted() const { return counted_; }
  void erase_all() {
    for (const auto& [key, value] : map_) EXPECT_EQ(engine_.erase(bytes_of(key)), Change::erased);
    map_.clear();
  }

 private:
  static constexpr unsigned kKeys = 40;
  std::string key(std::uint64_t i) const { return std::to_string(number_) + " has " + std::to_string(i % kKeys); }
  std::string value() { return std::string(random_() % 200, static_cast<char>('a' + random_() % 26)); }
  Change apply(const std::string& key, const std::string& value) {
    return map_.insert_or_assign(key, value).second ? Change::inserted : Change::replaced;
  }
  std::vector<std::string> some() {
    std::vector<std::string> keys(1 + random_() % 30);
    for (std::string& one : keys) one = key(random_());
    return keys;
  }
  void set_some() {
    const std::vector<std::string> keys = some();
    std::vector<std::string> values(keys.size());
    for (std::string& one : values) one = value();
    const std::vector<Change> changes = set_rows_of_engine(engine_, Strings(keys), Strings(values));
    for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(changes[i], apply(keys[i], values[i]));
  }
  void erase_some() {
    const std::vector<std::string> keys = some();
    const Strings rows(keys);
    engine_.erase(engine_rows(rows), [&](std::size_t row, Change change) {
      EXPECT_EQ(change, map_.erase(keys[row]) != 0 ? Change::erased : Change::not_found);
    });
  }
  void get_some() {
    const std::vector<std::string> keys = some();
    const auto values = get_rows_of_engine(engine_, Strings(keys));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto at = map_.find(keys[i]);
      ASSERT_EQ(values[i], at == map_.end() ? std::nullopt : std::optional(at->second));
    }
  }
  void set_one() {
    const std::string one = key(random_()), its = value();
    ASSERT_EQ(set(engine_, one, its), apply(one, its));
  }
  void erase_one() {
    const std::string one = key(random_());
    ASSERT_EQ(engine_.erase(bytes_of(one)), map_.erase(one) != 0 ? Change::erased : Change::not_found);
  }
  /// A key of all.
  void count() {
    std::uint64_t result = 0;
    ASSERT_EQ(engine_.add(bytes_of("count"), 1, false, result), Change::replaced);
    ++counted_;
  }

  Engine& engine_;
  const unsigned number_;
  std::mt19937_64 random_;
  std::map<std::string, std::string> map_;
  std::uint64_t counted_ = 0;
};

/// Several threads change keys, while the index fails at its call number `fails_at`.
void change_while_it_fails(Engine& engine, std::int64_t fails_at, unsigned steps) {
  constexpr unsigned kThreads = 3;
  ASSERT_EQ(set(engine, "count", "0"), Change::inserted);
  StandIn::calls_left = fails_at;
  std::vector<KeyOwner> owners;
  for (unsigned i = 0; i < kThreads; ++i) owners.emplace_back(engine, i + 1);
  std::vector<std::thread> threads;
  for (KeyOwner& owner : owners) {
    threads.emplace_back([&] {
      for (unsigned i = 0; i < steps && !testing::Test::HasFailure(); ++i) owner.step();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t counted = 0, items = 1;
  for (KeyOwner& owner : owners) {
    owner.verify();
    counted += owner.counted();
    items += owner.size();
  }
  EXPECT_EQ(get(engine, "count"), std::to_string(counted));
  EXPECT_EQ(engine.size(), items) << "the index names something twice, or what is dead";
  for (KeyOwner& owner : owners) owner.erase_all();
  std::uint64_t left = 0;
  EXPECT_EQ(engine.verify(10, left), std::vector<std::string>());
  EXPECT_EQ(left, 1u) << "an item lives that the index does not name";
  EXPECT_EQ(engine.size(), 1u);
}

TEST_F(BatchedIndex, ThreadsSeeTheirChanges) {
  for (const std::size_t shards : {1, 2, 3}) {
    Heap heap(8);
    Engine engine(mapped(heap), {}, options(shards));
    change_while_it_fails(engine, -1, 300);
    EXPECT_EQ(engine.index().failure(), "");
  }
}

TEST_F(BatchedIndex, TheCpuTakesThePlaceOfAnIndexThatFails) {
  const std::int64_t calls[] = {0, 1, 2, 3, 5, 8, 13, 30, 31, 32, 33, 77, 100, 101, 150, 213};
  for (const std::int64_t fails_at : calls) {
    const std::size_t shards = 1 + static_cast<std::size_t>(fails_at % 3);
    Heap heap(8);
    {
      Engine engine(mapped(heap), {}, options(shards));
      ASSERT_NO_FATAL_FAILURE(change_while_it_fails(engine, fails_at, 150)) << fails_at;
      EXPECT_EQ(engine.index().failure(), "the GPU was lost");
      EXPECT_FALSE(engine.index().is_batched());
    }
    StandIn::calls_left = -1;
    Engine again(mapped(heap), {}, options(4 - shards));
    EXPECT_EQ(again.recovered().killed, 0u);
    EXPECT_EQ(again.size(), 1u);
    EXPECT_TRUE(again.index().is_batched());
  }
}

TEST_F(BatchedIndex, TheCpuTakesThePlaceOfAnIndexWithoutMemory) {
  for (const std::uint64_t most : {1, 10, 25, 40}) {
    Heap heap(8);
    const std::size_t shards = 1 + most % 3;
    Engine engine(mapped(heap), {}, options(shards));
    StandIn::most_entries = (most + shards - 1) / shards;  // of one of them
    ASSERT_NO_FATAL_FAILURE(change_while_it_fails(engine, -1, 150)) << most;
    EXPECT_EQ(engine.index().failure(), "it has no memory for more entries");
    StandIn::most_entries = ~std::uint64_t{0};
  }
}

TEST_F(BatchedIndex, AnIndexWithoutMemoryForAllItemsIsRefused) {
  Heap heap(4);
  {
    Engine engine(mapped(heap), {}, options());
    for (int i = 0; i < 20; ++i) set(engine, std::to_string(i), "v");
  }
  for (const std::size_t shards : {1, 2}) {
    StandIn::most_entries = 10 / shards - 1;
    EXPECT_THROW(Engine(mapped(heap), {}, options(shards)), DeviceError);
  }
}

/// With each call of the index, of each shard, as the one that fails.
TEST_F(BatchedIndex, AnyShardMayFailAmidABatch) {
  std::vector<std::string> texts;
  for (int i = 0; i < 200; ++i) texts.push_back("key " + std::to_string(i));
  const Strings keys(texts), some(std::vector<std::string>(texts.begin() + 100, texts.end()));
  const Strings values(std::vector<std::string>(200, "new"));
  for (std::int64_t fails_at = 0; fails_at < 9; ++fails_at) {
    StandIn::calls_left = -1;
    Heap heap(4);
    Engine engine(mapped(heap), {}, options(3));
    ASSERT_EQ(set_rows_of_engine(engine, some, some), std::vector<Change>(100, Change::inserted));
    StandIn::calls_left = fails_at;  // three calls search, three exchange, three search
    const std::vector<Change> changes = set_rows_of_engine(engine, keys, values);
    EXPECT_EQ(engine.size(), 200u) << "what waits is exchanged";
    for (std::size_t i = 0; i < 200; ++i) ASSERT_EQ(changes[i], i < 100 ? Change::inserted : Change::replaced);
    EXPECT_EQ(get_rows_of_engine(engine, keys), std::vector<std::optional<std::string>>(200, "new"));
    EXPECT_EQ(engine.index().failure(), "the GPU was lost") << fails_at;
    std::uint64_t items = 0;
    EXPECT_EQ(engine.verify(10, items), std::vector<std::string>());
    EXPECT_EQ(items, 200u);
  }
}

}  // namespace
}  // namespace holdfast::store::cpu

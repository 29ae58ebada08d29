// scheme_table_test.cpp: tables of each form in a pool: filled, grown, opened again, shared by threads.
#include <latch>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "scheme_fixture.hpp"
#include "support/random.hpp"

namespace holdfast::test {
namespace {

class SchemeTables : public SchemeTest {};

TEST_P(SchemeTables, KeepItemsOfBothSizes) {
  Pool pool = Pool::create(path);
  for (const std::uint32_t bytes : {16u, 32u}) {
    const std::string name = std::to_string(bytes);
    constexpr std::uint64_t kItems = 3000;
    {
      HashTable table = form.create(pool, name, {.item_bytes = bytes, .cells = 1, .flush = true});
      EXPECT_EQ(table.key_bytes(), bytes / 2);
      EXPECT_EQ(table.survives_crashes(), form.is_durable);
      ASSERT_NO_FATAL_FAILURE(insert_and_change(table, kItems));
      EXPECT_GE(table.cells(), kItems);
      EXPECT_EQ(table.check().errors, std::vector<std::string>{});
    }
    HashTable table = form.open(pool, name, {.item_bytes = 0});
    ASSERT_NO_FATAL_FAILURE(expect_changed(table, kItems));
    const std::uint64_t cells = table.cells();
    table.clear();
    EXPECT_EQ(table.size(), 0u);
    EXPECT_EQ(table.cells(), cells);
    EXPECT_EQ(table.insert(wide(1).data(), wide(1).data()), Status::inserted);
  }
  EXPECT_EQ(pool.check().errors, std::vector<std::string>{});
}

TEST_P(SchemeTables, TakeEveryKey) {
  Pool pool = Pool::create(path);
  for (const std::uint32_t bytes : {16u, 32u}) {
    HashTable table = form.create(pool, std::to_string(bytes), {.item_bytes = bytes, .cells = 1});
    constexpr std::uint64_t kWords[] = {0, 1, ~std::uint64_t{0}, ~std::uint64_t{0} - 1, std::uint64_t{1} << 63};
    std::vector<Wide> keys;
    for (const std::uint64_t first : kWords) {
      for (const std::uint64_t second : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
        if (bytes == 32 || second == 0) keys.push_back({first, second});
      }
    }
    for (const Wide& key : keys) {
      Wide value = {};
      EXPECT_EQ(table.find(key.data(), value.data()), Status::not_found);
      EXPECT_EQ(table.insert(key.data(), key.data()), Status::inserted);
      EXPECT_EQ(table.insert(key.data(), value.data()), Status::exists);
      EXPECT_EQ(table.find(key.data(), value.data()), Status::found);
      EXPECT_EQ(value[0], key[0]);
    }
    while (table.cells() < 1000) table.reserve(table.cells() + 1);
    EXPECT_EQ(table.size(), keys.size());
    EXPECT_EQ(table.check().errors, std::vector<std::string>{});
    std::set<Wide> seen;
    table.for_each([&](const void* key, const void*) {
      const auto* const words = static_cast<const std::uint64_t*>(key);
      seen.insert({words[0], bytes == 32 ? words[1] : 0});
      return true;
    });
    EXPECT_EQ(seen, std::set<Wide>(keys.begin(), keys.end()));
    for (const Wide& key : keys) EXPECT_EQ(table.erase(key.data()), Status::erased);
    EXPECT_EQ(table.size(), 0u);
  }
}

#if defined(HOLDFAST_SANITIZED)
constexpr std::uint64_t kSchemeRounds = 300, kShared = 1;
#else
constexpr std::uint64_t kSchemeRounds = 1000, kShared = 16;  // tables of each size, which grow from the smallest
#endif

/// Threads change and search keys that only they change and a few that they share, while the table grows under them.
TEST_P(SchemeTables, AreOneTableForAllThreads) {
  constexpr unsigned kThreads = 4;
  Pool pool = Pool::create(path);
  for (std::uint64_t i = 0; i < 2 * kShared; ++i) {
    const std::uint32_t bytes = i % 2 == 0 ? 16 : 32;
    HashTable table =
        form.create(pool, "a" + std::to_string(bytes), {.item_bytes = bytes, .cells = 1, .overwrite = true});
    std::latch begin(kThreads);
    std::vector<std::thread> threads;
    std::vector<std::string> wrong(kThreads);
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        begin.arrive_and_wait();
        Random random(t);
        for (std::uint64_t i = 0; i < kSchemeRounds; ++i) {
          const std::uint64_t own = 1000 + i * kThreads + t;
          if (table.insert(wide(own).data(), wide(own).data()) != Status::inserted) wrong[t] = "its own key is there";
          const Wide shared = wide(random.below(8));
          switch (random.below(4)) {
            case 0: table.insert(shared.data(), wide(random.below(1000)).data()); break;
            case 1: table.assign(shared.data(), wide(random.below(1000)).data()); break;
            case 2: table.erase(shared.data()); break;
            default: break;
          }
          Wide value = {};
          if (table.find(shared.data(), value.data()) == Status::found && bytes == 32 && value != wide(value[0])) {
            wrong[t] = "a value is torn";
          }
          const std::uint64_t old = 1000 + random.below(i + 1) * kThreads + t;
          if (table.find(wide(old).data(), value.data()) != Status::found || value[0] != old)
            wrong[t] = "its own key is lost";
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& what : wrong) EXPECT_EQ(what, "");
    EXPECT_GE(table.size(), kSchemeRounds * kThreads);
    EXPECT_LE(table.size(), kSchemeRounds * kThreads + 8);
    EXPECT_TRUE(table.check().errors.empty());
  }
}

/// A visit sees each item once, while items move and the table grows.
TEST_P(SchemeTables, CopyEveryItemOnceWhileItemsMove) {
  Pool pool = Pool::create(path);
  HashTable table = form.create(pool, "a", {.cells = 1100});
  for (std::uint64_t key = 0; key < 1000; ++key) table.insert(key, key);
  std::map<std::uint64_t, unsigned> seen;
  table.for_each([&](const void* key, const void*) {
    const std::uint64_t number = *static_cast<const std::uint64_t*>(key);
    ++seen[number];
    if (number % 10 == 0) table.erase(number);
    if (number % 200 == 0) table.reserve(table.cells() + 1);
    return true;
  });
  EXPECT_EQ(seen.size(), 1000u);
  for (const auto& [key, times] : seen) EXPECT_EQ(times, 1u) << key;
  EXPECT_EQ(table.size(), 900u);
  EXPECT_EQ(inspect(path).objects.at(0).extents.size(), 2u);
  EXPECT_EQ(table.check().errors, std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(All, SchemeTables, testing::ValuesIn(kForms), kFormName);
INSTANTIATE_TEST_SUITE_P(Groups, SchemeTables, testing::ValuesIn(kGroupForms.begin() + 1, kGroupForms.end()),
                         kFormName);

}  // namespace
}  // namespace holdfast::test

// candidates_test.cpp: batches whose answers are the items that the index names, for callers that compare keys (Mega-KV §4).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/strings.hpp"
#include "store/cpu/rows.hpp"
#include "store/engine_kit.hpp"
#include "store/store_fixture.hpp"

namespace holdfast {
namespace {

/// The value of the candidate that has the key; null: none has.
const StoreCandidate* candidate_of(const StoreCandidates& found, std::size_t row, std::string_view key) {
  for (std::size_t i = found.first[row]; i < found.first[row + 1]; ++i) {
    if (found.items[i].key == key) return &found.items[i];
  }
  return nullptr;
}

TEST_F(StoreTest, CandidatesHaveTheKeysItem) {
  Store store = make({.max_value_bytes = 4u << 20});
  Strings keys;
  for (int i = 0; i < 100; ++i) {
    keys.add("key " + std::to_string(i));
    if (i < 50) store.set("key " + std::to_string(i), "value " + std::to_string(i), {.flags = 5});
  }
  store.set("key 7", std::string(3'000'000, 'c'));  // in chunks
  store.set("key 8", "over", {.expiry = 1});
  store.erase("key 9");
  StoreCandidates found;
  store.getk(rows_of(keys), found);
  ASSERT_EQ(found.first.size(), 101u);
  for (int i = 0; i < 100; ++i) {
    const std::string key = "key " + std::to_string(i);
    const StoreCandidate* const its = candidate_of(found, i, key);
    const auto item = store.get(key);
    ASSERT_EQ(its != nullptr, item.has_value()) << key;
    if (!item) continue;
    EXPECT_EQ(its->value, item->value);
    EXPECT_EQ(its->flags, item->flags);
    EXPECT_EQ(its->cas, item->cas);
    EXPECT_EQ(its->expiry, item->expiry);
  }
}

TEST_F(StoreTest, CandidatesNeverLackAKeyThatIsReplaced) {
  Store store = make();
  Strings keys;
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) {
    names.push_back("key " + std::to_string(i));
    keys.add(names[i]);
    store.set(names[i], "0");
  }
  std::atomic<bool> ends = false;
  std::thread writer([&] {
    for (int version = 1; !ends.load(); ++version) {
      for (int i = 0; i < 40; ++i) store.set(names[i], std::to_string(version));
    }
  });
  StoreCandidates found;
  for (int round = 0; round < 500; ++round) {
    store.getk(rows_of(keys), found);
    for (int i = 0; i < 40; ++i) EXPECT_NE(candidate_of(found, i, names[i]), nullptr) << names[i];
  }
  ends.store(true);
  writer.join();
}

}  // namespace

namespace store::cpu {
namespace {

class Candidates : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Store, Candidates, testing::Values(2u, 32u, kBatched | 2u, kBatched | 32u));

TEST_P(Candidates, AreAllItemsOfASignature) {
  Heap heap(8);
  Engine engine(mapped(heap), {}, options());
  constexpr std::size_t kKeys = 12;
  std::string bytes;
  std::vector<std::uint64_t> offsets = {0};
  for (std::size_t i = 0; i < kKeys; ++i) {
    const std::string key = "k" + std::to_string(i);
    set(engine, key, key + "'s value");
    bytes += key;
    offsets.push_back(bytes.size());
  }
  engine.index().flush();  // otherwise those of other keys need not be found
  const ByteRows keys{reinterpret_cast<const std::byte*>(bytes.data()), offsets.data(), kKeys};
  std::vector<std::vector<std::string>> found(kKeys);
  std::string seen;
  engine.read_candidates(
      keys,
      [&](const Header& header, State, std::uint64_t, const Cell& cell) {
        seen.resize(header.key_bytes);
        engine.copy_key(header, cell, reinterpret_cast<std::byte*>(seen.data()));
        return true;
      },
      [&](std::size_t row) { found[row].push_back(seen); }, [&](std::size_t row) { found[row].clear(); });
  std::size_t all = 0;
  for (std::size_t i = 0; i < kKeys; ++i) {
    all += found[i].size();
    EXPECT_EQ(std::count(found[i].begin(), found[i].end(), "k" + std::to_string(i)), 1) << i;
  }
  if (bits() == 2) {
    EXPECT_GT(all, kKeys) << "keys with one signature are candidates of each other";
  } else {
    EXPECT_EQ(all, kKeys);
  }
}

}  // namespace
}  // namespace store::cpu
}  // namespace holdfast

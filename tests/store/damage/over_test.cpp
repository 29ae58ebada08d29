// over_test.cpp: what is left of items that were over when a store was opened is no damage, whatever took their chunks.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "store/engine_kit.hpp"

namespace holdfast::store::cpu {
namespace {

void expect_whole(Engine& engine, std::uint64_t items) {
  std::uint64_t found = 0;
  EXPECT_EQ(engine.verify(5, found), std::vector<std::string>());
  EXPECT_EQ(found, items);
  EXPECT_EQ(engine.damaged_at_open(), 0u);
}

class Over : public EngineTest {
 protected:
  /// A store in which "large" is over when it is opened; `change` reuses what it had, and the store is opened twice more.
  static void expect_no_damage(const EngineOptions& options, bool expires, const std::function<void(Engine&)>& change,
                               std::uint64_t items) {
    Heap heap(10);
    time_now = 1000;
    {
      Engine engine(mapped(heap), {}, options);
      set(engine, "large", std::string(5 << 20, 'x'), 0, 0, expires ? 2000 : 0);
      if (!expires) engine.flush_all();
      set(engine, "small", "1");
      time_now = 3000;
      engine.now();
      expect_whole(engine, 1);
    }
    {
      Engine engine(mapped(heap), {}, options);
      expect_whole(engine, 1);
      change(engine);
      expect_whole(engine, items);
    }
    for (int i = 0; i < 2; ++i) {
      Engine engine(mapped(heap), {}, options);
      expect_whole(engine, items);
      EXPECT_EQ(get(engine, "small"), "1");
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Store, Over, testing::Values(32u), name_of);

TEST_P(Over, ItsChunksAreUsedAgain) {
  for (const bool expires : {false, true}) {
    expect_no_damage(
        options(), expires, [](Engine&) {}, 1);
    expect_no_damage(
        options(), expires,
        [](Engine& engine) { EXPECT_EQ(set(engine, "other", std::string(3 << 20, 'y')), Change::inserted); }, 2);
    expect_no_damage(
        options(), expires,
        [](Engine& engine) {  // its pieces get other sizes, while its own cell is left
          for (const unsigned bytes : {400, 900, 3000, 9000, 20'000, 50'000, 100'000, 2'000'000}) {
            EXPECT_EQ(set(engine, "size " + std::to_string(bytes), std::string(bytes, 'y')), Change::inserted);
          }
        },
        9);
    expect_no_damage(
        options(), expires,
        [](Engine& engine) { EXPECT_EQ(set(engine, "large", std::string(7 << 20, 'z')), Change::inserted); }, 2);
  }
}

/// A flipped number of a short item does not pass for one that was flushed.
TEST_P(Over, ADamagedNumberIsNotAFlush) {
  Heap heap(4);
  const std::string text = "a text to find";
  {
    Engine engine(mapped(heap), {}, options());
    for (int i = 0; i < 5; ++i) set(engine, "before", "1");
    engine.flush_all();
    for (int i = 0; i < 4; ++i) set(engine, "text", text);  // the last one has the number 9
  }
  auto* const begin = reinterpret_cast<char*>(heap.words.data());
  char* const end = begin + 8 * heap.words.size();
  for (char* at = begin; (at = std::search(at, end, text.begin(), text.end())) != end; ++at) {
    auto* const words = reinterpret_cast<std::uint64_t*>(at) - Header{0, 0, 4, false, 0}.value_at();
    if (State{words[kStateWord]}.is_live()) words[kSequenceWord] ^= 8;
  }
  Engine engine(mapped(heap), {}, options());
  EXPECT_EQ(get(engine, "text"), std::nullopt);
  std::uint64_t items = 0;
  EXPECT_EQ(engine.verify(5, items).size(), 1u);
}

}  // namespace
}  // namespace holdfast::store::cpu

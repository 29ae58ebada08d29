// refused_test.cpp: a store without free memory answers changes with conditions as any store does.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/batched_kit.hpp"

namespace holdfast::store::cpu {
namespace {

using RefusedChanges = EngineTest;

INSTANTIATE_TEST_SUITE_P(Store, RefusedChanges, testing::Values(32u, kBatched | 32u), name_of);

Change set_if(Engine& engine, const std::string& key, const std::string& value, Condition condition,
              std::uint64_t cas = 0) {
  Content content;
  content.key = bytes_of(key).data();
  content.key_bytes = static_cast<std::uint16_t>(key.size());
  content.value = bytes_of(value).data();
  content.value_bytes = static_cast<std::uint32_t>(value.size());
  return engine.set(content, condition, cas);
}

TEST_P(RefusedChanges, TheConditionIsAnsweredFirst) {
  Heap heap(3);
  Engine engine(mapped(heap), {}, options_for_many(false));
  set(engine, "text", "x");
  set(engine, "number", "7");
  for (int i = 0; set(engine, "item " + std::to_string(i), "v") == Change::inserted; ++i) {
  }  // ends: the heap is bounded
  const std::uint64_t newest = engine.newest();
  std::uint64_t number = 5;
  for (const std::size_t bytes : {1, 100, 3'000'000}) {
    const std::string value(bytes, 'v');
    EXPECT_EQ(set_if(engine, "none", value, Condition::present), Change::not_found);
    EXPECT_EQ(set_if(engine, "none", value, Condition::cas, 9), Change::not_found);
    EXPECT_EQ(set_if(engine, "none", value, Condition::absent), Change::no_space);
    EXPECT_EQ(set_if(engine, "text", value, Condition::absent), Change::exists);
    EXPECT_EQ(set_if(engine, "text", value, Condition::cas, 123'456'789), Change::mismatch);
    EXPECT_EQ(set_if(engine, "text", value, Condition::cas, 1), Change::no_space);
    EXPECT_EQ(set_if(engine, "text", value, Condition::present), Change::no_space);
  }
  EXPECT_EQ(engine.add(bytes_of("none"), 1, false, number), Change::not_found);
  EXPECT_EQ(engine.add(bytes_of("text"), 1, false, number), Change::mismatch);
  EXPECT_EQ(engine.add(bytes_of("number"), 1, false, number), Change::no_space);
  EXPECT_EQ(number, 5u) << "nothing was counted";
  EXPECT_EQ(engine.extend(bytes_of("none"), bytes_of("x"), false, 100), Change::not_found);
  EXPECT_EQ(engine.extend(bytes_of("text"), bytes_of("x"), false, 100), Change::no_space);
  EXPECT_EQ(get(engine, "text"), "x");
  EXPECT_EQ(get(engine, "number"), "7");
  EXPECT_EQ(engine.newest(), newest) << "no number was drawn";
  const Strings keys(std::vector<std::string>{"none", "text", "other"});
  std::vector<Change> answers;
  const auto content = [&](std::size_t row) {
    Content its;
    its.key = engine_rows(keys)[row].data();
    its.key_bytes = static_cast<std::uint16_t>(engine_rows(keys)[row].size());
    return its;
  };
  engine.set(engine_rows(keys), content, Condition::present,
             [&](std::size_t, Change change) { answers.push_back(change); });
  EXPECT_EQ(answers, (std::vector<Change>{Change::not_found, Change::no_space, Change::not_found}));
}

}  // namespace
}  // namespace holdfast::store::cpu

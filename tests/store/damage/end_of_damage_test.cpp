// end_of_damage_test.cpp: what was damaged when a store was opened ends with its key, or when all of it is dropped; its memory is used again.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "store/batched_kit.hpp"

namespace holdfast::store::cpu {
namespace {

using EndOfDamage = EngineTest;

INSTANTIATE_TEST_SUITE_P(Store, EndOfDamage, testing::Values(32u, 32u | kBatched), name_of);

/// The words of the cell whose item has this key and this value of more than 8 bytes.
std::uint64_t* cell_with(Heap& heap, const std::string& key, const std::string& value) {
  auto* const begin = reinterpret_cast<char*>(heap.words.data());
  char* const end = begin + 8 * heap.words.size();
  char* const found = std::search(begin, end, value.begin(), value.end());
  if (found == end) return nullptr;
  return reinterpret_cast<std::uint64_t*>(found) -
         Header{0, 0, static_cast<std::uint16_t>(key.size()), false, 0}.value_at();
}

std::vector<std::string> errors_of(Engine& engine) {
  std::uint64_t items = 0;
  return engine.verify(5, items);
}

/// An engine over a heap in which the item "text" is damaged; then `change`; then the store is opened again.
void expect_end(const EngineOptions& options, const std::function<void(Engine&)>& change) {
  Heap heap(10);
  const Mapped mapped{heap.view(), heap.record, 0x1234'5678};
  const std::string text(40, 'x');
  {
    Engine engine(mapped, {}, options);
    set(engine, "text", text);
    set(engine, "other", "1");
  }
  cell_with(heap, "text", text)[kHeaderWords + 2] ^= 1;
  {
    Engine engine(mapped, {}, options);
    EXPECT_EQ(errors_of(engine).size(), 1u);
    set(engine, "other", "2");
    engine.touch(bytes_of("text"), 0);
    EXPECT_EQ(errors_of(engine).size(), 1u) << "it is another key's change, or none";
    change(engine);
    EXPECT_EQ(errors_of(engine), std::vector<std::string>());
    EXPECT_EQ(engine.damaged_at_open(), 1u);
    EXPECT_EQ(engine.drop_damaged(), 0u);
    EXPECT_EQ(get(engine, "other"), "2");
  }
  Engine engine(mapped, {}, options);
  EXPECT_EQ(errors_of(engine), std::vector<std::string>());
  EXPECT_EQ(engine.damaged_at_open(), 0u);
}

TEST_P(EndOfDamage, ItEndsWithItsKey) {
  expect_end(options(), [](Engine& engine) {
    EXPECT_EQ(set(engine, "text", "again"), Change::inserted);
    EXPECT_EQ(get(engine, "text"), "again");
  });
  expect_end(options(), [](Engine& engine) { EXPECT_EQ(engine.erase(bytes_of("text")), Change::not_found); });
  expect_end(options(), [](Engine& engine) {
    const Strings keys(std::vector<std::string>{"new", "text", "text"});
    set_rows_of_engine(engine, keys, keys);
    EXPECT_EQ(get(engine, "text"), "text");
  });
  expect_end(options(), [](Engine& engine) {
    const Strings keys(std::vector<std::string>{"none", "text"});
    engine.erase(engine_rows(keys), [](std::size_t, Change change) { EXPECT_EQ(change, Change::not_found); });
  });
  expect_end(options(), [](Engine& engine) {
    const std::string large(3 << 20, 'y');
    EXPECT_EQ(set(engine, "text", large), Change::inserted) << "a reserved item";
  });
  expect_end(options(), [](Engine& engine) { EXPECT_EQ(engine.drop_damaged(), 1u); });
}

/// A change that changes nothing leaves it.
TEST_P(EndOfDamage, ARefusedChangeLeavesIt) {
  Heap heap(2);
  const std::string text(1'000'000, 'x');
  {
    Engine engine(mapped(heap), {}, options());
    ASSERT_EQ(set(engine, "text", text), Change::inserted);
  }
  cell_with(heap, "text", text)[kHeaderWords + 2] ^= 1;
  Engine engine(mapped(heap), {}, options());
  const std::string key = "text";
  Content content;
  content.key = bytes_of(key).data();
  content.key_bytes = 4;
  EXPECT_EQ(engine.set(content, Condition::present), Change::not_found);
  EXPECT_EQ(set(engine, "text", std::string(2 << 20, 'y')), Change::no_space);
  EXPECT_EQ(errors_of(engine).size(), 1u);
}

/// The heap holds three such items.
TEST_P(EndOfDamage, ItsMemoryIsUsedAgain) {
  Heap heap(3);
  const auto value = [](int i) { return std::string(1'200'000, static_cast<char>('a' + i)); };
  {
    Engine engine(mapped(heap), {}, options());
    for (int i = 0; i < 3; ++i) ASSERT_EQ(set(engine, "key " + std::to_string(i), value(i)), Change::inserted);
  }
  cell_with(heap, "key 1", value(1))[kValueWord] ^= std::uint64_t{1} << 62;  // a length that no cell has
  Engine engine(mapped(heap), {}, options());
  ASSERT_EQ(errors_of(engine).size(), 1u);
  EXPECT_NE(errors_of(engine)[0].find("--drop-damaged"), std::string::npos) << errors_of(engine)[0];
  EXPECT_EQ(set(engine, "key 1", value(3)), Change::no_space);
  EXPECT_EQ(engine.drop_damaged(), 1u);
  EXPECT_EQ(set(engine, "key 1", value(3)), Change::inserted);
  EXPECT_EQ(errors_of(engine), std::vector<std::string>());
}

TEST_P(EndOfDamage, APieceIsUsedAgain) {
  Heap heap(2);
  {
    Engine engine(mapped(heap), {}, options());
    ASSERT_EQ(set(engine, "a", std::string(1'200'000, 'a')), Change::inserted);
    ASSERT_EQ(set(engine, "b", std::string(1'200'000, 'b')), Change::inserted);
  }
  *heap.view().entry(1) ^= std::uint64_t{1} << 9;
  const auto value = std::string(100, 'c');
  {
    Engine engine(mapped(heap), {}, options());
    ASSERT_EQ(errors_of(engine).size(), 1u);
    EXPECT_EQ(engine.damaged_at_open(), 1u);
    EXPECT_EQ(set(engine, "c", value), Change::no_space);
    EXPECT_EQ(engine.drop_damaged(), 1u);
    EXPECT_EQ(errors_of(engine), std::vector<std::string>());
    EXPECT_EQ(set(engine, "c", value), Change::inserted);
  }
  Engine engine(mapped(heap), {}, options());
  EXPECT_EQ(errors_of(engine), std::vector<std::string>());
  EXPECT_EQ(get(engine, "c"), value);
  EXPECT_EQ(engine.size(), 2u);
}

/// The first word of a chunk only says that no item begins there: what it belongs to is whole.
/// A value's chunk that is named, since the store was opened, by an item which is not its own.
TEST_P(EndOfDamage, WhatAnotherItemOwnsStays) {
  for (const bool erases : {false, true}) {
    Heap heap(12);
    Engine engine({heap.view(), heap.record, 0x1234'5678}, {}, options());
    const std::string large(3 << 20, 'y'), other(3 << 20, 'o'), next(3 << 20, 'n');
    set(engine, "large", large);
    set(engine, "other", other);
    const auto locations = [&](const std::string& key) {
      std::uint64_t* found = nullptr;
      engine.read(bytes_of(key), [&](const Header& header, State, std::uint64_t, const Cell& cell) {
        found = cell.words + header.value_at();
        return true;
      });
      return found;
    };
    *locations("large") = *locations("other");
    if (erases) {
      EXPECT_EQ(engine.erase(bytes_of("large")), Change::erased);
    } else {
      EXPECT_EQ(set(engine, "large", "small"), Change::replaced);
    }
    EXPECT_EQ(set(engine, "next", next), Change::inserted);
    EXPECT_EQ(errors_of(engine), std::vector<std::string>());
    const Strings keys(std::vector<std::string>{"other", "next"});
    EXPECT_EQ(get_rows_of_engine(engine, keys), (std::vector<std::optional<std::string>>{other, next}));
  }
}

TEST_P(EndOfDamage, AChunkThatLooksLikeAnItemIsNone) {
  Heap heap(4);
  const std::string large(3 << 20, 'y');
  {
    Engine engine(mapped(heap), {}, options());
    ASSERT_EQ(set(engine, "large", large), Change::inserted);
  }
  auto* const begin = reinterpret_cast<char*>(heap.words.data());
  char* const found = std::search(begin, begin + 8 * heap.words.size(), large.begin(), large.begin() + 1000);
  reinterpret_cast<std::uint64_t*>(found - 8 * kChunkHeaderWords)[kSequenceWord] ^= 4;
  Engine engine(mapped(heap), {}, options());
  EXPECT_EQ(engine.damaged_at_open(), 0u);
  EXPECT_EQ(errors_of(engine), std::vector<std::string>());
  EXPECT_EQ(engine.drop_damaged(), 0u);
  std::string space(large.size(), '\0');
  Value value;
  ASSERT_TRUE(engine.get(bytes_of("large"), std::as_writable_bytes(std::span(space)), value));
  EXPECT_EQ(space, large);
  EXPECT_EQ(engine.erase(bytes_of("large")), Change::erased);
  EXPECT_EQ(set(engine, "large", large), Change::inserted);
}

}  // namespace
}  // namespace holdfast::store::cpu

// damage_test.cpp: bits of a store's memory flip, mostly while it is closed: of cells, of pieces' entries, of the record. Verification names
// what is damaged, everything else is served, and nothing answers a wrong value.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "holdfast/error.hpp"
#include "store/cpu/parts.hpp"
#include "store/engine_kit.hpp"
#include "store/sanitized.hpp"

namespace holdfast::store::cpu {
namespace {

using DamageTest = EngineTest;

/// A store of items of several classes, closed; and its items.
struct Filled {
  explicit Filled(const EngineOptions& options, const Mapped& mapped) {
    Engine engine(mapped, {}, options);
    constexpr std::size_t kSizes[] = {20, 150, 500};
    for (int i = 0; i < 60; ++i) {
      const std::string key = "key " + std::to_string(i);
      items[key] = std::string(kSizes[i % 3], static_cast<char>('a' + i % 26));
      EXPECT_EQ(set(engine, key, items[key], 0, i % 5 == 0 ? 0x4000'0000 + i : 0, i % 7 == 0 ? 100'000 : 0),
                Change::inserted);
    }
    for (int i = 0; i < 60; i += 4) {  // cells with dead items
      set(engine, "key " + std::to_string(i), "again");
      items["key " + std::to_string(i)] = "again";
    }
  }
  std::map<std::string, std::string> items;
};

/// How many items are missing. None has a wrong value.
std::size_t missing(Engine& engine, const std::map<std::string, std::string>& items) {
  std::size_t absent = 0;
  for (const auto& [key, value] : items) {
    const auto found = get(engine, key);
    absent += found ? 0 : 1;
    if (found) {
      EXPECT_EQ(*found, value) << key;
    }
  }
  return absent;
}

INSTANTIATE_TEST_SUITE_P(Store, DamageTest, testing::Values(32u));

TEST_P(DamageTest, EachBitOfACellIsNamedOrHarmless) {
  Heap heap(10);
  const Filled filled(options(), mapped(heap));
  const std::vector<std::uint64_t> whole = heap.words;
  std::vector<std::uint64_t> lines;  // with something in them
  for (std::uint64_t piece = 1; piece < heap.view().count; ++piece) {
    auto* const begin = reinterpret_cast<std::uint64_t*>(heap.view().base + piece * kPieceBytes);
    for (std::uint64_t at = 0; at < kPieceBytes / 8; at += 8) {
      if (begin[at] != 0) lines.push_back(static_cast<std::uint64_t>(begin + at - heap.words.data()));
    }
  }
  ASSERT_GT(lines.size(), 60u);
  std::uint64_t named = 0, cases = 0;
  for (std::size_t i = 0; i < lines.size(); i += kSanitized ? 131 : 37) {
    for (unsigned bit = static_cast<unsigned>(i % 3); bit < 64 * 8; bit += 7) {
      std::uint64_t& word = heap.words[lines[i] + bit / 64];
      word ^= std::uint64_t{1} << bit % 64;
      Engine engine(mapped(heap), {}, options());
      std::uint64_t items = 0;
      const auto errors = engine.verify(5, items);
      const std::size_t absent = missing(engine, filled.items);
      ASSERT_LE(absent, errors.empty() ? 0u : 1u) << "line " << i << ", bit " << bit;
      named += errors.empty() ? 0 : 1;
      if (++cases % 50 == 0) {  // it works on
        ASSERT_EQ(set(engine, "new", "1"), Change::inserted);
        ASSERT_EQ(get(engine, "new"), "1");
        heap.words = whole;
      } else {
        word ^= std::uint64_t{1} << bit % 64;
      }
    }
  }
  EXPECT_GT(named, kSanitized ? 30u : 100u) << "of " << cases;
}

TEST_P(DamageTest, EachBitOfAnEntryIsNamed) {
  Heap heap(10);
  const Filled filled(options(), mapped(heap));
  const std::vector<std::uint64_t> whole = heap.words;
  for (std::uint64_t piece = 1; piece < heap.view().count; ++piece) {
    std::uint64_t* const entry = heap.view().entry(piece);
    if (*entry == 0) continue;
    for (unsigned bit = piece % 3; bit < 64; bit += 5) {
      *entry ^= std::uint64_t{1} << bit;
      Engine engine(mapped(heap), {}, options());
      std::uint64_t items = 0;
      const auto errors = engine.verify(5, items);
      ASSERT_EQ(errors.size(), 1u) << "piece " << piece << ", bit " << bit;
      EXPECT_NE(errors[0].find("piece " + std::to_string(piece)), std::string::npos) << errors[0];
      EXPECT_GT(missing(engine, filled.items), 0u);
      EXPECT_EQ(set(engine, "new", "1"), Change::inserted);
      heap.words = whole;
    }
  }
}

/// It is refused, or served; what is there has its value.
TEST_P(DamageTest, BitsOfTheRecordCrashNothing) {
  Heap heap(10);
  const Filled filled(options(), mapped(heap));
  const std::vector<std::uint64_t> whole = heap.words;
  std::uint64_t record[kRecordWords];
  std::copy(std::begin(heap.record), std::end(heap.record), record);
  unsigned refused = 0;
  for (unsigned bit = 0; bit < 64 * kRecordWords; bit += 5) {
    heap.record[bit / 64] ^= std::uint64_t{1} << bit % 64;
    try {
      Engine engine(mapped(heap), {}, options());
      missing(engine, filled.items);
      EXPECT_EQ(set(engine, "new", "1"), Change::inserted) << bit;
      EXPECT_EQ(get(engine, "new"), "1") << "word " << bit / 64 << ", bit " << bit % 64;
    } catch (const PoolCorrupt& error) {
      EXPECT_NE(std::string(error.what()).find("restore the pool from a copy"), std::string::npos);
      ++refused;
    }
    heap.words = whole;
    std::copy(std::begin(record), std::end(record), heap.record);
  }
  EXPECT_GT(refused, 40u);
}

/// A flush reads numbers that are drawn before their block is reserved: a crash in between must not leave flushed what is set later.
TEST_P(DamageTest, WhatIsSetAfterAnInterruptedReservationStays) {
  Heap heap(4);
  {
    Engine engine(mapped(heap), {}, options());
    set(engine, "old", "1");
  }
  heap.record[kFlushedWord] = heap.record[kReservedWord] + 3;
  Engine engine(mapped(heap), {}, options());
  EXPECT_EQ(get(engine, "old"), std::nullopt);
  EXPECT_EQ(set(engine, "a", "2"), Change::inserted);
  EXPECT_EQ(get(engine, "a"), "2");
}

/// Bits flip while the store is open: in the bytes of a cell that has `text`.
void flip(Heap& heap, const std::string& text, std::size_t byte) {
  auto* const begin = reinterpret_cast<char*>(heap.words.data());
  char* const end = begin + 8 * heap.words.size();
  char* const found = std::search(begin, end, text.begin(), text.end());
  ASSERT_NE(found, end);
  found[byte] = static_cast<char>(found[byte] ^ 1);
}

/// A change that makes a new value of the old one must not give damaged bytes a checksum that matches.
TEST_P(DamageTest, ChangesOfADamagedValueAreRefused) {
  Heap heap(10);
  Engine engine(mapped(heap), {}, options());
  const std::string text(40, 'x'), large(3 << 20, 'y');
  set(engine, "text", text);
  set(engine, "number", "1000001");
  set(engine, "large", large);
  flip(heap, text, 39);
  flip(heap, "1000001", 3);
  flip(heap, large.substr(0, 1000), 500);
  std::uint64_t number = 7;
  for (const bool before : {false, true}) {
    EXPECT_EQ(engine.extend(bytes_of("text"), bytes_of("+"), before, 1 << 20), Change::damaged);
    EXPECT_EQ(engine.extend(bytes_of("large"), bytes_of("+"), before, 8 << 20), Change::damaged);
    EXPECT_EQ(engine.add(bytes_of("number"), 1, before, number), Change::damaged);
  }
  EXPECT_EQ(number, 7u);
  EXPECT_EQ(get(engine, "number"), "1001001") << "reads do not verify";
  EXPECT_EQ(engine.touch(bytes_of("text"), 0), Change::touched) << "the checksum stays as it is";
  std::uint64_t items = 0;
  const auto errors = engine.verify(5, items);
  ASSERT_EQ(errors.size(), 3u);
  for (const std::string& error : errors) EXPECT_NE(error.find("reads return it"), std::string::npos) << error;
  EXPECT_NE(errors[0].find("\"text\""), std::string::npos) << errors[0];
  for (const char* key : {"text", "number", "large"}) EXPECT_EQ(set(engine, key, "1"), Change::replaced);
  EXPECT_EQ(engine.extend(bytes_of("text"), bytes_of("+"), false, 1 << 20), Change::replaced);
  EXPECT_TRUE(engine.verify(5, items).empty());
}

/// A new expiry gets new check bits.
TEST_P(DamageTest, ChangesOfADamagedStateAreRefused) {
  Heap heap(10);
  Engine engine(mapped(heap), {}, options());
  const std::string text(40, 'x');
  set(engine, "text", text);
  auto* const begin = reinterpret_cast<char*>(heap.words.data());
  char* const found = std::search(begin, begin + 8 * heap.words.size(), text.begin(), text.end());
  auto* const words = reinterpret_cast<std::uint64_t*>(found) - Header{0, 40, 4, false, 0}.value_at();
  words[kStateWord] ^= State::kStale;
  EXPECT_EQ(engine.touch(bytes_of("text"), 5000), Change::damaged);
  EXPECT_EQ(engine.mark_stale(bytes_of("text"), 5000), Change::damaged);
  State state;
  const auto copy = [](const Header&, State, std::uint64_t, const Cell&) { return true; };
  EXPECT_EQ(engine.get_and_touch(bytes_of("text"), 5000, copy, state), Change::damaged);
  std::uint64_t items = 0;
  EXPECT_EQ(engine.verify(5, items).size(), 1u);
}

/// What names a chunk is damaged: a search must not look for ever.
TEST_P(DamageTest, AValueWithoutItsChunksIsRefused) {
  Heap heap(10);
  Engine engine(mapped(heap), {}, options());
  const std::string large(3 << 20, 'y');
  set(engine, "large", large);
  auto* const begin = reinterpret_cast<char*>(heap.words.data());
  char* const found = std::search(begin, begin + 8 * heap.words.size(), large.begin(), large.begin() + 1000);
  reinterpret_cast<std::uint64_t*>(found - 8 * kChunkHeaderWords)[kOwnerSequenceWord] ^= 4;
  std::vector<std::byte> space(large.size());
  Value value;
  EXPECT_THROW(engine.get(bytes_of("large"), space, value), PoolCorrupt);
  EXPECT_EQ(set(engine, "large", "1"), Change::replaced);
  EXPECT_EQ(get(engine, "large"), "1");
}

TEST_P(DamageTest, DamagedItemsAreCountedAtOpening) {
  Heap heap(10);
  const std::string text(40, 'x');
  {
    Engine engine(mapped(heap), {}, options());
    set(engine, "text", text);
    set(engine, "other", "1");
    EXPECT_EQ(engine.damaged_at_open(), 0u);
  }
  flip(heap, text, 0);
  Engine engine(mapped(heap), {}, options());
  EXPECT_EQ(engine.damaged_at_open(), 1u);
  EXPECT_EQ(get(engine, "text"), std::nullopt);
  std::uint64_t items = 0;
  const auto errors = engine.verify(5, items);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("\"text\""), std::string::npos) << errors[0];
  EXPECT_NE(errors[0].find("absent since"), std::string::npos) << errors[0];
  EXPECT_EQ(set(engine, "text", "again"), Change::inserted);
  unsigned visited = 0;
  for (std::uint64_t slab = 0; slab < engine.slabs(); ++slab) {
    engine.visit(slab, 0, 0, engine.newest(), [&](auto, std::span<const std::byte> value, const Value&) {
      EXPECT_LT(value.size(), text.size());
      ++visited;
      return true;
    });
  }
  EXPECT_EQ(visited, 2u);
}

}  // namespace
}  // namespace holdfast::store::cpu

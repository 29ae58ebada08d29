// damage_test.cpp: bits of a store's memory flip while it is closed: of cells, of pieces' entries, of the record. Verification names
// what is damaged, everything else is served, and nothing answers a wrong value.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "holdfast/error.hpp"
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

}  // namespace
}  // namespace holdfast::store::cpu

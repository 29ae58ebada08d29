// engine_test.cpp: the inner loops of every instruction set give what counting letter by letter gives.
#include "kmers/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <memory>

#include "holdfast/kmers.hpp"
#include "kmers/chunks.hpp"
#include "kmers/method.hpp"
#include "kmers/naive.hpp"

namespace holdfast::kmers {
namespace {

using test::KmerMap;
using test::Random;

std::vector<const Engine*> engines() {
  std::vector<const Engine*> all{&portable_engine()};
  if (std::string_view(engine().name()) != "portable") all.push_back(&avx2_engine());
  if (std::string_view(engine().name()) == "avx512") all.push_back(&avx512_engine());
  return all;
}

std::vector<std::uint8_t> codes_of(const std::string& bases) {
  std::vector<std::uint8_t> codes(bases.size() + kSlack, 1);
  for (std::size_t i = 0; i < bases.size(); ++i) codes[i] = kCodes[static_cast<unsigned char>(bases[i])];
  return codes;
}

KmerMap counted(const Bins& bins, const Engine& engine, unsigned k, bool canonical) {
  KmerMap counts;
  BinTable table;
  std::vector<std::uint8_t> buffer;
  for (unsigned bin = 0; bin < bins.count(); ++bin) {
    table.clear(0);
    bins.read(bin, buffer,
              [&](const std::uint8_t* data, std::size_t bytes) { engine.count(data, bytes, k, canonical, table); });
    std::size_t live = 0;
    for (const BinTable::Slot& slot : table) {
      if (slot.count == 0) continue;
      EXPECT_TRUE(counts.emplace(test::text_of(slot.kmer, k), slot.count).second) << "in two bins, or twice in one";
      ++live;
    }
    EXPECT_EQ(live, table.size());
  }
  return counts;
}

/// What is not initialized in what is called next, is not 0 and no code either.
[[gnu::noinline]] void fill_stack() {
  volatile std::uint8_t bytes[std::size_t{64} << 10];
  for (volatile std::uint8_t& byte : bytes) byte = 0xFF;
}

KmerMap count(const Engine& engine, const std::vector<std::string>& runs, unsigned k, unsigned m, bool canonical,
              std::size_t budget, std::uint64_t* spilled = nullptr) {
  Bins bins(Bins::sizes_for(4, 1, budget), ::testing::TempDir());
  {
    BinWriter writer(bins);
    for (const std::string& run : runs) {
      const std::vector<std::uint8_t> codes = codes_of(run);
      fill_stack();
      engine.split({k, m, 4}, codes.data(), run.size(), writer);
    }
    writer.finish();
  }
  if (spilled != nullptr) *spilled = bins.spilled_bytes();
  return counted(bins, engine, k, canonical);
}

TEST(KmerEngine, CodesAndLinesAreThoseOfEachLetter) {
  Random random(1);
  for (const Engine* engine : engines()) {
    for (std::size_t size = 0; size < 300; ++size) {
      std::string text = test::random_sequence(random, size, size % 2 == 0);
      if (size > 0 && size % 5 == 0) text[random.below(size)] = '\n';
      const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
      EXPECT_EQ(engine->newlines(text.data(), size), lines);
      const bool all =
          std::all_of(text.begin(), text.end(), [](char c) { return kCodes[static_cast<unsigned char>(c)] < 4; });
      text.resize(size + kSlack, '\n');
      std::vector<std::uint8_t> codes(size + kSlack);
      EXPECT_EQ(engine->encode(text.data(), size, codes.data()), all) << engine->name() << " " << size;
      for (std::size_t i = 0; i < size; ++i) {
        const std::uint8_t right = kCodes[static_cast<unsigned char>(text[i])];
        if (right < kNoBase) {
          ASSERT_EQ(codes[i], right) << text[i];
        } else {
          ASSERT_GE(codes[i], kNoBase) << text[i];
        }
      }
    }
    const std::string many(100'000, '\n');  // more than a counter of one byte holds
    EXPECT_EQ(engine->newlines(many.data(), many.size()), many.size());
  }
}

TEST(KmerEngine, SuperKmersInBinsHaveEveryKmerOnce) {
  Random random(2);
  for (const Engine* engine : engines()) {
    for (unsigned k = 13; k <= kMostK; ++k) {
      const unsigned m = 7 + k % 5;
      std::vector<std::string> runs;
      for (const std::size_t size : {k + 0u, k + 1u, 100u, 150u, 1024u + k - 1, 1024u + k, 5000u}) {
        runs.push_back(test::random_sequence(random, std::max<std::size_t>(size, k), false));
      }
      runs.push_back(std::string(700, 'A'));
      runs.push_back(std::string(300, 'T'));
      for (const bool canonical : {false, true}) {
        KmerMap naive;
        for (const std::string& run : runs) test::count_naively(run, k, canonical, naive);
        EXPECT_EQ(count(*engine, runs, k, m, canonical, 64 << 20), naive) << engine->name() << " k " << k;
      }
    }
  }
}

TEST(KmerEngine, RunsOfEachLengthKeepTheirLastKmers) {
  Random random(5);
  for (const Engine* engine : engines()) {
    for (const unsigned k : {13u, 31u, 32u}) {
      for (std::size_t size = k; size < k + 130; ++size) {
        const std::vector<std::string> runs{test::random_sequence(random, size, false)};
        KmerMap naive;
        test::count_naively(runs[0], k, false, naive);
        ASSERT_EQ(count(*engine, runs, k, 11, false, 1 << 20), naive)
            << engine->name() << " k " << k << " size " << size;
      }
    }
  }
}

TEST(KmerEngine, BinsThatDoNotFitGoToAFileAndComeBack) {
  Random random(3);
  std::vector<std::string> runs;
  for (unsigned i = 0; i < 2000; ++i) runs.push_back(test::random_sequence(random, 150, false));
  KmerMap naive;
  for (const std::string& run : runs) test::count_naively(run, 31, true, naive);
  std::uint64_t spilled = 0;
  EXPECT_EQ(count(engine(), runs, 31, 11, true, 100'000, &spilled), naive);
  EXPECT_GT(spilled, 100'000u);
}

TEST(KmerTable, GrowsAndKnowsKmerZero) {
  Random random(4);
  BinTable table;
  std::map<std::uint64_t, std::uint64_t> right;
  for (unsigned round = 0; round < 3; ++round) {
    right.clear();
    table.clear(round == 1 ? 5000 : 0);
    for (unsigned i = 0; i < 40'000; ++i) {
      const std::uint64_t kmer = i % 100 == 0 ? 0 : random.below(10'000) << 40;
      table.reserve(1);
      table.add(kmer, table.home(kmer));
      ++right[kmer];
    }
    EXPECT_EQ(table.size(), right.size());
    std::map<std::uint64_t, std::uint64_t> found;
    for (const BinTable::Slot& slot : table) {
      if (slot.count == 0) continue;
      EXPECT_TRUE(found.emplace(slot.kmer, slot.count).second);
    }
    EXPECT_EQ(found, right);
  }
}

/// As if the k-mers had been there nearly 2^32 times.
TEST(KmerTable, CountsBeyond32Bits) {
  constexpr std::uint64_t kBefore = (std::uint64_t{1} << 32) - 2;
  BinTable table;
  table.clear(0);
  for (const std::uint64_t kmer : {0, 7}) table.add(kmer, table.home(kmer));
  for (const BinTable::Slot& slot : table) {
    if (slot.count != 0) const_cast<BinTable::Slot&>(slot).count = kBefore;
  }
  for (unsigned i = 0; i < 4; ++i) {
    for (const std::uint64_t kmer : {0, 7}) table.add(kmer, table.home(kmer));
  }
  table.reserve(100'000);  // and grows with them
  unsigned found = 0;
  for (const BinTable::Slot& slot : table) {
    if (slot.count == 0) continue;
    EXPECT_EQ(slot.count, kBefore + 4);
    ++found;
  }
  EXPECT_EQ(found, 2u);
}

KmerMap taken_from(Method& method, unsigned k) {
  ChunkQueue queue(1000);
  ChunkWriter out(queue, 4096, 1, std::numeric_limits<std::uint64_t>::max());
  const auto counter = method.part_counter();
  for (unsigned part = 0; part < method.parts(); ++part) counter->count(part, out);
  out.finish();
  queue.end();
  KmerMap counts;
  for (Chunk chunk; queue.pop(chunk) == ChunkQueue::Got::chunk;) {
    for (std::size_t i = 0; i < chunk.size; ++i) counts.emplace(test::text_of(chunk.kmers[i], k), chunk.counts[i]);
  }
  return counts;
}

/// A writer that waits for space is told when chunks are taken no more.
TEST(KmerChunks, AWriterThatWaitsEndsWhenItsReaderDoes) {
  ChunkQueue queue(1);
  ASSERT_TRUE(queue.push(queue.empty(1)));
  std::future<bool> pushed = std::async(std::launch::async, [&] { return queue.push({}); });
  EXPECT_EQ(pushed.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout) << "it is full";
  queue.stop();
  const bool ended = pushed.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(ended);
  Chunk chunk;
  queue.pop(chunk);  // lets it end where it did not
  EXPECT_EQ(pushed.get(), !ended);
  EXPECT_FALSE(queue.push({}));
}

/// Counters of four bytes that move to those of eight, again and again, and at the last k-mer that they can hold.
TEST(KmerArrays, CountersMoveBeforeTheyAreFull) {
  Random random(6);
  for (const bool canonical : {false, true}) {
    for (const std::uint64_t most : {300u, 1000u, 5000u}) {
      const unsigned k = 5;
      const auto method = make_array_method({.k = k, .canonical = canonical}, most);
      KmerMap naive;
      std::vector<std::unique_ptr<Lane>> lanes;
      for (unsigned i = 0; i < 3; ++i) lanes.push_back(method->lane());
      for (unsigned i = 0; i < 60; ++i) {
        const std::size_t size = 100 + i;
        const std::string run = i < 30 ? std::string(size, 'A') : test::random_sequence(random, size, false);
        const std::vector<std::uint8_t> codes = codes_of(run);
        lanes[i % 3]->run(codes.data(), run.size());
        test::count_naively(run, k, canonical, naive);
      }
      for (const auto& lane : lanes) lane->finish();
      EXPECT_EQ(taken_from(*method, k), naive) << most;
    }
  }
}

}  // namespace
}  // namespace holdfast::kmers

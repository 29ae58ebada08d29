// value_sum_test.cpp: the sums of values as a GPU takes them: the same as the CPU's, of any parts; and which rows of a reservation have them.
#include "store/value_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "holdfast/store_memory.hpp"
#include "store/in_place/fake_device.hpp"
#include "store/store_fixture.hpp"

namespace holdfast {
namespace {

std::string bytes_to_sum(std::mt19937_64& random, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}
const std::byte* byte_at(const std::string& text, std::size_t offset) {
  return reinterpret_cast<const std::byte*>(text.data()) + offset;
}

TEST(ValueSum, IsThatOfTheWordsWhateverTheirParts) {
  std::mt19937_64 random(11);
  for (const std::size_t bytes : {0, 1, 8, 500, 511, 512, 513, 520, 1'025, 8'191, 16'384, 40'001, 300'000}) {
    for (int split = 0; split < 20; ++split) {
      const std::string text = bytes_to_sum(random, bytes + 8);
      const std::size_t skip = random() % 8;  // the parts begin at any byte
      store::SumTable table;
      table.parts.resize(3);  // of another job
      for (std::size_t from = 0; from < bytes;) {
        const std::size_t most = split % 3 == 0 ? bytes : split % 3 == 1 ? 200 : 5'000;
        const std::size_t part = std::min<std::size_t>(8 * (1 + random() % (most / 8 + 1)), bytes - from);
        table.parts.push_back({byte_at(text, skip + from), part});
        from += part;
      }
      const auto parts = static_cast<std::uint32_t>(table.parts.size() - 3);
      table.jobs = {{(bytes + 7) / 8, 3, parts}};
      const std::uint64_t sum = store::sum_of(
          (bytes + 7) / 8, [&](std::uint64_t i) { return store::padded_word(byte_at(text, skip), bytes, i); });
      ASSERT_EQ(store::sum_job(table, 0), sum) << bytes << " bytes in " << parts << " parts";
    }
  }
}

#ifndef HOLDFAST_WITH_CUDA

constexpr std::size_t kSummedRows = 20;

class StoreValueSum : public StoreTest {
 protected:
  StoreValueSum() : store_(make({.limit_bytes = 512 << 20, .max_value_bytes = 16u << 20, .gpu = true})) {}
  /// Reserves and copies `texts_`, in parts of `part` bytes.
  StoreReservation copied(std::size_t part, bool on_device = true) {
    std::vector<std::uint64_t> bytes;
    for (const std::string& text : texts_) bytes.push_back(text.size());
    StoreReservation reserved = store_.reserve(rows_of(keys_), bytes);
    copy_into(reserved, part, on_device);
    return reserved;
  }
  void copy_into(StoreReservation& reserved, std::size_t part, bool on_device = true) {
    std::vector<StoreSource> parts;
    for (std::size_t row = 0; row < kSummedRows; ++row) {
      for (std::size_t from = 0; from < texts_[row].size(); from += part) {
        parts.push_back({row, from, texts_[row].data() + from, std::min(part, texts_[row].size() - from), on_device});
      }
    }
    std::shuffle(parts.begin(), parts.end(), std::mt19937_64(5));
    reserved.copy_in(parts);
  }
  /// Commits all rows; their checksums are verified. `sums`: how many the device took.
  void expect_whole(StoreReservation& reserved, std::size_t sums, bool same = true) {
    for (std::size_t row = 0; row < kSummedRows; ++row) ASSERT_LE(reserved.commit(row), StoreStatus::updated);
    EXPECT_EQ(std::exchange(device_.sums, 0), sums);
    EXPECT_EQ(store_.check().errors, std::vector<std::string>());
    for (std::size_t row = 0; row < kSummedRows && same; ++row) {
      ASSERT_TRUE(store_.get("key " + std::to_string(row))->value == texts_[row]) << row;
    }
  }
  void fill(std::size_t bytes, std::size_t last) {
    texts_.clear();
    for (std::size_t row = 0; row < kSummedRows; ++row)
      texts_.push_back(bytes_to_sum(random_, row + 1 < kSummedRows ? bytes : last));
  }

  static Strings keys() {
    std::vector<std::string> names;
    for (std::size_t row = 0; row < kSummedRows; ++row) names.push_back("key " + std::to_string(row));
    return Strings(names);
  }
  store::FakeDevice device_;
  std::mt19937_64 random_{7};
  const Strings keys_ = keys();
  std::vector<std::string> texts_;
  Store store_;
};

TEST_F(StoreValueSum, WhatADeviceBringsItSums) {
  fill(100'000, 70'003);
  StoreReservation whole = copied(1 << 20);
  expect_whole(whole, kSummedRows);
  StoreReservation parts = copied(10'008);
  expect_whole(parts, kSummedRows);
  fill(2 << 20, 5'000'001);  // two chunks, and three
  StoreReservation chunks = copied(700'000);
  expect_whole(chunks, 2 * (kSummedRows - 1) + 3);
}

TEST_F(StoreValueSum, OtherBytesAreSummedByTheCpu) {
  fill(100'000, 100'000);
  StoreReservation unaligned = copied(10'001);
  expect_whole(unaligned, 0);
  StoreReservation of_host = copied(1 << 20, false);
  expect_whole(of_host, 0);
  fill(100'000, 5'000);
  StoreReservation short_one = copied(1 << 20);
  expect_whole(short_one, kSummedRows - 1);
  fill(5'000, 1'500'000);
  StoreReservation one = copied(1 << 20);  // the GPU would take longer than the CPU
  expect_whole(one, 0);
}

TEST_F(StoreValueSum, WhatWasWrittenOtherwiseIsSummedByTheCpu) {
  fill(100'000, 100'000);
  const auto change = [&](std::size_t row) { texts_[row][77] ^= 1; };
  StoreReservation twice = copied(1 << 20);
  for (std::size_t row = 0; row < kSummedRows; ++row) change(row);
  copy_into(twice, 1 << 20);
  expect_whole(twice, kSummedRows);  // of the first call, which do not count
  StoreReservation pieces = copied(1 << 20);
  const auto memory = pieces.pieces(3)[0];
  pieces.commit(0);
  change(3);
  memory[77] ^= std::byte{1};
  for (std::size_t row = 1; row < kSummedRows; ++row) ASSERT_LE(pieces.commit(row), StoreStatus::updated);
  EXPECT_EQ(store_.check().errors, std::vector<std::string>());
  std::vector<std::uint64_t> bytes(kSummedRows, 100'000);
  StoreReservation host_first = store_.reserve(rows_of(keys_), bytes);
  host_first.copy_in(std::vector<StoreSource>{{2, 0, texts_[2].data(), 10}});
  device_.sums = 0;
  copy_into(host_first, 1 << 20);
  expect_whole(host_first, kSummedRows - 1);
  StoreReservation with_host = copied(1 << 20);
  change(5);
  with_host.copy_in(std::vector<StoreSource>{{5, 72, texts_[5].data() + 72, 8}});
  expect_whole(with_host, kSummedRows, false);
}

#endif

}  // namespace
}  // namespace holdfast

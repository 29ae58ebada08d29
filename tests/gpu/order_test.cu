// order_test.cu: rows in the order of their keys, and in that of the memory that they read, by kernels that know of no table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "arrays.hpp"
#include "gpu/order/bins.cuh"
#include "gpu/order/copy_rows.cuh"
#include "gpu/order/key_order.hpp"

namespace holdfast::gpu {
namespace {

// Keys.

struct OrderArrays {
  explicit OrderArrays(std::uint64_t n)
      : prefixes(2 * n), rows(2 * n), ordered(1), scratch(key_order_scratch_bytes(n)) {}
  KeyOrderWorkspace workspace() const {
    const std::size_t n = rows.size() / 2;
    return {{prefixes.data(), prefixes.data() + n},
            {rows.data(), rows.data() + n},
            ordered.data(),
            scratch.data(),
            scratch.size()};
  }
  DeviceBuffer<std::uint32_t> prefixes, rows;
  DeviceBuffer<std::uint64_t> ordered;
  DeviceBuffer<std::byte> scratch;
};

/// Each key's rows stand together, once each, in array order, behind the place where its run begins.
void expect_runs(const KeyOrder& order, std::uint64_t n, const std::vector<std::string>& keys,
                 const std::vector<std::uint8_t>& mask) {
  const std::uint64_t size = order.ordered == nullptr ? n : on_host(order.ordered, 1)[0];
  const auto rows = on_host(order.rows, n), begins = on_host(order.begins, n);
  ASSERT_EQ(size, mask.empty() ? n : static_cast<std::uint64_t>(std::count(mask.begin(), mask.end(), 1)));
  std::set<std::string> ended;
  for (std::uint64_t at = 0; at < size; ++at) {
    const std::string& key = keys[rows[at]];
    if (!mask.empty()) {
      ASSERT_EQ(mask[rows[at]], 1);
    }
    const bool begins_here = at == 0 || keys[rows[at - 1]] != key;
    ASSERT_EQ(begins[at] == at, begins_here) << at;
    if (begins_here) {
      ASSERT_TRUE(ended.insert(key).second) << "its rows do not stand together";
    } else {
      ASSERT_EQ(begins[at], begins[at - 1]);
      ASSERT_LT(rows[at - 1], rows[at]);
    }
  }
}

TEST_F(OnGpu, SmallOrderOfKeysPutsRunsTogether) {
  std::mt19937_64 random(1);
  for (const std::uint64_t n : {1, 31, 1000, 20'000}) {
    for (const unsigned words : {1u, 2u, 8u}) {
      std::vector<std::uint64_t> numbers(n * words);
      std::vector<std::string> keys(n);
      for (std::uint64_t row = 0; row < n; ++row) {
        for (unsigned i = 0; i < words; ++i) numbers[row * words + i] = i + 1 == words ? random() % (n / 3 + 1) : 7;
        keys[row].assign(reinterpret_cast<const char*>(&numbers[row * words]), 8 * words);
      }
      for (const bool masked : {false, true}) {
        std::vector<std::uint8_t> mask(masked ? n : 0);
        for (std::uint8_t& runs : mask) runs = random() % 3 != 0;
        const auto bytes = on_gpu(numbers);
        const auto marks = on_gpu(mask.empty() ? std::vector<std::uint8_t>(1) : mask);
        const OrderArrays arrays(n);
        const Stream stream;
        const BatchKeys batch{reinterpret_cast<const std::byte*>(bytes.data()), words, nullptr};
        const KeyOrder order = order_keys(batch, n, masked ? marks.data() : nullptr, 5, arrays.workspace(), stream);
        stream.wait("ordering");
        SCOPED_TRACE(std::to_string(n) + " rows of " + std::to_string(words) + (masked ? " words, masked" : " words"));
        expect_runs(order, n, keys, mask);
      }
    }
  }
}

TEST_F(OnGpu, SmallOrderOfKeysOfAnyLength) {
  std::mt19937_64 random(2);
  constexpr std::uint64_t kRows = 5000;
  std::vector<std::string> keys(kRows);
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::byte> bytes;
  for (std::string& key : keys) {
    key.assign(random() % 40, 'x');
    if (!key.empty()) key.back() = static_cast<char>('a' + random() % 9);
    for (const char c : key) bytes.push_back(static_cast<std::byte>(c));
    offsets.push_back(bytes.size());
  }
  const auto there = on_gpu(bytes);
  const auto begins = on_gpu(offsets);
  const OrderArrays arrays(kRows);
  const Stream stream;
  const KeyOrder order = order_keys({there.data(), 0, begins.data()}, kRows, nullptr, 9, arrays.workspace(), stream);
  stream.wait("ordering");
  expect_runs(order, kRows, keys, {});
}

/// So many keys that the first halves of some hashes are equal.
TEST_F(OnGpu, OrderOfKeysTellsEqualPrefixesApart) {
  constexpr std::uint64_t kRows = 1 << 20;
  std::mt19937_64 random(3);
  std::vector<std::uint64_t> numbers(kRows);
  std::vector<std::string> keys(kRows);
  for (std::uint64_t row = 0; row < kRows; ++row) {
    numbers[row] = random() % (kRows / 2);
    keys[row].assign(reinterpret_cast<const char*>(&numbers[row]), 8);
  }
  const auto bytes = on_gpu(numbers);
  const OrderArrays arrays(kRows);
  const Stream stream;
  const KeyOrder order = order_keys({reinterpret_cast<const std::byte*>(bytes.data()), 1, nullptr}, kRows, nullptr, 4,
                                    arrays.workspace(), stream);
  stream.wait("ordering");
  expect_runs(order, kRows, keys, {});
}

// Memory.

template <class Cell>
__global__ void count_kernel(Bins bins, std::uint64_t size) {
  const auto* const cells = static_cast<const Cell*>(bins.cells);
  for (std::uint64_t row = first_of_thread(); row < size; row += all_threads())
    if (cells[row] != kNoPlace<Cell>) count_row(bins, row, cells[row]);
}
template <class Cell>
__global__ void place_kernel(Bins bins, std::uint64_t size) {
  place_rows_of<Cell>(bins, 0, size);
}

/// Each row of a window whose cell no row before it wants brings it, and the others copy that row.
template <class Cell, class Unit>
__global__ void __launch_bounds__(kThreads)
    read_kernel(Bins bins, const Unit* memory, unsigned units, Unit* out, std::uint64_t* reads) {
  __shared__ Window<Cell> window;
  const Warp warp;
  const auto* const places = static_cast<const Place<Cell>*>(bins.places);
  const std::uint64_t all = bins.starts[bins.bins];
  const auto store = [&](std::uint64_t row, unsigned unit, Unit data) { out[row * units + unit] = data; };
  for (std::uint64_t base = std::uint64_t{blockIdx.x} * kWindow; base < all;
       base += std::uint64_t{gridDim.x} * kWindow) {
    const auto size = static_cast<unsigned>(min(std::uint64_t{kWindow}, all - base));
    window.load(places + base, size);
    for (const bool leads : {true, false}) {
      for (unsigned i = threadIdx.x; i < kWindow; i += kThreads) {
        Wanted wanted;
        if (i < size && (window.leader[i] == i) == leads) {
          wanted.row = window.row[i];
          wanted.word = 1 + (leads ? std::uint64_t{window.cell[i]} : std::uint64_t{window.row[window.leader[i]]});
          if (leads) atomicAdd(reinterpret_cast<unsigned long long*>(reads), 1ull);
        }
        const Unit* const from = leads ? memory : out;
        copy_rows<Unit>(
            warp, wanted, units, [&](std::uint64_t at, unsigned unit) { return from[at * units + unit]; }, store);
      }
      __syncthreads();
    }
  }
}

bool operator==(const ulonglong2& a, const ulonglong2& b) { return a.x == b.x && a.y == b.y; }
template <class Unit>
Unit unit_of(std::uint64_t number) {
  if constexpr (sizeof(Unit) == 8) {
    return number;
  } else {
    return {number, ~number};
  }
}

template <class Cell, class Unit>
void read_in_order(std::uint64_t cells, std::uint64_t rows, unsigned units, std::uint64_t wanted_cells) {
  std::mt19937_64 random(cells + rows + units);
  std::vector<Unit> memory(cells * units);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = unit_of<Unit>(i);
  std::vector<Cell> wants(rows);
  for (Cell& cell : wants) cell = random() % 8 == 0 ? kNoPlace<Cell> : static_cast<Cell>(random() % wanted_cells);
  const auto there = on_gpu(memory);
  const auto in_cells = on_gpu(wants);
  Bins bins;
  divide(bins, cells, static_cast<std::uint32_t>(units * sizeof(Unit)));
  const auto counts = zeros<std::uint32_t>(bins.bins + 1), starts = zeros<std::uint32_t>(bins.bins + 1);
  const DeviceBuffer<std::uint32_t> ranks(rows);
  const DeviceBuffer<Cell> places(2 * rows);
  const DeviceBuffer<std::byte> scratch(bins_scratch_bytes());
  bins.cells = in_cells.data();
  bins.ranks = ranks.data();
  bins.places = places.data();
  bins.counts = counts.data();
  bins.starts = starts.data();
  bins.scratch = scratch.data();
  bins.scratch_bytes = scratch.size();
  const auto out = zeros<Unit>(rows * units);
  const auto reads = zeros<std::uint64_t>(1);
  const Stream stream;
  count_kernel<Cell><<<8, kThreads, 0, stream>>>(bins, rows);
  add_up(bins, stream);
  place_kernel<Cell><<<8, kThreads, 0, stream>>>(bins, rows);
  read_kernel<Cell, Unit><<<8, kThreads, 0, stream>>>(bins, there.data(), units, out.data(), reads.data());
  check_launch("reading in order");
  stream.wait("reading in order");

  const std::uint64_t placed = on_host(bins.starts, bins.bins + 1)[bins.bins];
  ASSERT_EQ(placed, rows - static_cast<std::uint64_t>(std::count(wants.begin(), wants.end(), kNoPlace<Cell>)));
  const auto order = on_host(static_cast<const Cell*>(bins.places), 2 * placed);
  std::set<Cell> seen, distinct;
  for (std::uint64_t at = 0; at < placed; ++at) {
    const Cell cell = order[2 * at], row = order[2 * at + 1];
    ASSERT_EQ(wants[row], cell);
    ASSERT_TRUE(seen.insert(row).second) << "a row twice";
    distinct.insert(cell);
    if (at != 0) {
      ASSERT_LE(order[2 * at - 2] >> bins.shift, cell >> bins.shift) << "bins in the order of addresses";
    }
  }
  const auto got = on_host(out.data(), rows * units);
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (unsigned unit = 0; unit < units; ++unit) {
      const Unit expected = wants[row] == kNoPlace<Cell> ? Unit{} : memory[wants[row] * units + unit];
      ASSERT_TRUE(got[row * units + unit] == expected) << "row " << row << " unit " << unit;
    }
  }
  EXPECT_LT(on_host(reads.data(), 1)[0], distinct.size() + placed / kWindow * 64 + 64) << "cells are read twice";
}

TEST_F(OnGpu, SmallReadsInAddressOrderGiveEachRowItsCell) {
  read_in_order<std::uint32_t, std::uint64_t>(1, 1, 1, 1);
  read_in_order<std::uint32_t, std::uint64_t>(100'000, 10'000, 3, 100'000);
  read_in_order<std::uint64_t, std::uint64_t>(100'000, 10'000, 40, 500);
  read_in_order<std::uint32_t, ulonglong2>(50'000, 4'000, 1, 50'000);
  read_in_order<std::uint64_t, ulonglong2>(50'000, 4'000, 9, 50'000);
}

}  // namespace
}  // namespace holdfast::gpu

// cuda_copies_test.cu: parts of values that are copied between a store and GPU memory: bytes, order on the stream, and the ends of rows. They skip where
// there is no GPU.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "core/hash.hpp"
#include "gpu/runtime.hpp"
#include "holdfast/store_memory.hpp"
#include "store/store_fixture.hpp"

namespace holdfast {
namespace {

constexpr unsigned kThreads = 256;

__global__ void fill_kernel(std::uint64_t* words, std::uint64_t count, std::uint64_t seed) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  if (i < count) words[i] = mix(seed + i);
}
__global__ void check_kernel(const std::uint64_t* words, std::uint64_t count, std::uint64_t seed,
                             unsigned long long* wrong) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  if (i < count && words[i] != mix(seed + i)) atomicAdd(wrong, 1ull);
}
__global__ void wait_kernel(const volatile unsigned* go) {
  while (*go == 0) __nanosleep(1'000);  // ends: the test sets it
}

class StoreCudaCopies : public StoreTest {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "there is no GPU";
  }
  Store on_gpu(std::uint64_t limit = 0) {
    return make({.limit_bytes = limit, .max_value_bytes = 64u << 20, .gpu = true});
  }
  static Strings keys(std::size_t size) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < size; ++i) all.push_back("block " + std::to_string(i));
    return Strings(all);
  }
};

/// GPU memory in pages, with words that depend on a seed.
class Pages {
 public:
  Pages(std::size_t pages, std::uint64_t bytes) : bytes_(bytes), memory_(pages * bytes), wrong_(1) {}
  std::byte* at(std::size_t page) const { return memory_.data() + page * bytes_; }
  void fill(std::uint64_t seed, cudaStream_t stream) {
    fill_kernel<<<blocks(), kThreads, 0, stream>>>(words(), count(), seed);
  }
  void clear() { gpu::check(cudaMemset(memory_.data(), 0, memory_.size()), "clearing"); }
  /// Words that are not as `fill` leaves them.
  unsigned long long wrong(std::uint64_t seed, cudaStream_t stream) {
    gpu::check(cudaMemsetAsync(wrong_.data(), 0, 8, stream), "clearing");
    check_kernel<<<blocks(), kThreads, 0, stream>>>(words(), count(), seed, wrong_.data());
    unsigned long long wrong = 0;
    gpu::check(cudaMemcpyAsync(&wrong, wrong_.data(), 8, cudaMemcpyDeviceToHost, stream), "reading");
    gpu::check(cudaStreamSynchronize(stream), "reading");
    return wrong;
  }

 private:
  std::uint64_t* words() const { return reinterpret_cast<std::uint64_t*>(memory_.data()); }
  std::uint64_t count() const { return memory_.size() / 8; }
  unsigned blocks() const { return static_cast<unsigned>((count() + kThreads - 1) / kThreads); }
  const std::uint64_t bytes_;
  gpu::DeviceBuffer<std::byte> memory_;
  gpu::DeviceBuffer<unsigned long long> wrong_;
};

template <class Part>
std::vector<Part> scattered(const Pages& pages, std::size_t rows, std::uint64_t bytes, std::uint64_t seed) {
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  std::vector<Part> parts;
  for (const std::size_t row : order) parts.push_back({row, 0, pages.at(row), bytes, true});
  return parts;
}

TEST_F(StoreCudaCopies, ThousandsOfScatteredBlocks) {
  constexpr std::size_t kRows = 4'096;
  constexpr std::uint64_t kBytes = 160 << 10;
  Store store = on_gpu();
  const Strings names = keys(kRows);
  Pages pages(kRows, kBytes);
  const gpu::Stream stream;
  for (std::uint64_t round = 1; round <= 2; ++round) {  // the second replaces
    pages.fill(round, stream);
    StoreReservation reserved = store.reserve(rows_of(names), std::vector<std::uint64_t>(kRows, kBytes));
    const StoreTransfer in = reserved.copy_in(scattered<StoreSource>(pages, kRows, kBytes, round), stream);
    for (std::size_t row = 0; row < kRows; ++row) {
      ASSERT_EQ(reserved.commit(row), round == 1 ? StoreStatus::inserted : StoreStatus::updated);
    }
    EXPECT_TRUE(in.poll());
    std::vector<std::uint64_t> value(kBytes / 8);
    for (std::size_t row = 0; row < kRows; row += 111) {
      const std::string stored = store.get("block " + std::to_string(row))->value;
      ASSERT_EQ(stored.size(), kBytes);
      std::memcpy(value.data(), stored.data(), kBytes);
      for (std::size_t i = 0; i < value.size(); ++i) ASSERT_EQ(value[i], mix(round + row * kBytes / 8 + i)) << row;
    }
    pages.clear();
    StoreLease lease = store.lease(rows_of(names));
    lease.copy_out(scattered<StoreTarget>(pages, kRows, kBytes, round + 10), stream);
    EXPECT_EQ(pages.wrong(round, stream), 0u) << "later work of the stream sees the values";
  }
  EXPECT_TRUE(store.check().errors.empty());
}

TEST_F(StoreCudaCopies, PartsOfAnySizeAndPlace) {
  constexpr std::uint64_t kBytes = 5'000'003;
  Store store = on_gpu();
  Pages source(1, 5'000'008), target(1, 5'000'008);
  source.fill(3, nullptr);
  gpu::check(cudaMemcpy(target.at(0), source.at(0), 5'000'008, cudaMemcpyDeviceToDevice), "copying");
  gpu::check(cudaMemset(target.at(0), 0, kBytes), "clearing");  // the bytes behind stay
  std::mt19937_64 random(5);
  std::vector<StoreSource> sources;
  std::vector<StoreTarget> targets;
  for (std::uint64_t at = 0; at < kBytes;) {
    const std::uint64_t bytes =
        std::min<std::uint64_t>(1 + random() % (random() % 2 == 0 ? 100'000 : 500), kBytes - at);
    sources.push_back({0, at, source.at(0) + at, bytes, true});
    targets.push_back({0, at, target.at(0) + at, bytes, true});
    at += bytes;
  }
  std::shuffle(sources.begin(), sources.end(), random);
  std::shuffle(targets.begin(), targets.end(), random);
  StoreReservation reserved = store.reserve(rows_of(keys(1)), std::vector<std::uint64_t>{kBytes});
  reserved.copy_in(sources).wait();  // the default stream
  reserved.commit(0);
  store.lease(rows_of(keys(1))).copy_out(targets);
  EXPECT_EQ(target.wrong(3, nullptr), 0u);
  EXPECT_TRUE(store.check().errors.empty());
}

TEST_F(StoreCudaCopies, ChecksumsThatTheGpuTakes) {
  Store store = on_gpu();
  struct Case {
    std::size_t rows;
    std::uint64_t bytes, part;
    std::size_t skip;
  };
  for (const Case& its : {Case{64, 2 << 20, 2 << 20, 0}, Case{64, 1 << 20, 300'000, 0}, Case{100, 200'000, 1 << 20, 4},
                          Case{40, 5'000'003, 1 << 20, 3}, Case{300, 33'001, 4'096, 8}}) {
    const std::uint64_t space = (its.bytes + 23) / 8 * 8;
    Pages pages(its.rows, space);
    pages.fill(21, nullptr);
    std::vector<StoreSource> parts;
    for (std::size_t row = 0; row < its.rows; ++row) {
      for (std::uint64_t from = 0; from < its.bytes; from += its.part) {
        parts.push_back({row, from, pages.at(row) + its.skip + from, std::min(its.part, its.bytes - from), true});
      }
    }
    std::shuffle(parts.begin(), parts.end(), std::mt19937_64(3));
    const gpu::Stream stream;
    gpu::check(cudaDeviceSynchronize(), "filling");
    StoreReservation reserved = store.reserve(rows_of(keys(its.rows)), std::vector<std::uint64_t>(its.rows, its.bytes));
    reserved.copy_in(parts, stream);
    pages.fill(22, stream);  // after the sums, too
    for (std::size_t row = 0; row < its.rows; ++row) ASSERT_LE(reserved.commit(row), StoreStatus::updated);
    EXPECT_EQ(store.check().errors, std::vector<std::string>()) << its.rows << " of " << its.bytes << " bytes";
    std::vector<std::byte> words(space);
    const std::string last = store.get("block " + std::to_string(its.rows - 1))->value;
    for (std::size_t word = 0; word < space / 8; ++word) {
      const std::uint64_t value = mix(21 + (its.rows - 1) * (space / 8) + word);
      std::memcpy(words.data() + 8 * word, &value, 8);
    }
    EXPECT_EQ(std::memcmp(last.data(), words.data() + its.skip, its.bytes), 0);
  }
}

TEST_F(StoreCudaCopies, RowsEndAfterTheirBytes) {
  constexpr std::uint64_t kBytes = 1 << 20;
  Store store = on_gpu(64 << 20);
  Pages page(1, kBytes);
  const gpu::Stream stream;
  unsigned* go = nullptr;
  gpu::check(cudaHostAlloc(reinterpret_cast<void**>(&go), sizeof *go, cudaHostAllocMapped), "taking memory");
  const auto opens_late = [&](const auto& ends) {
    *static_cast<volatile unsigned*>(go) = 0;
    wait_kernel<<<1, 1, 0, stream>>>(go);
    std::jthread opens([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      *static_cast<volatile unsigned*>(go) = 1;
    });
    ends();
  };
  opens_late([&] {
    page.fill(7, stream);
    StoreReservation reserved = store.reserve(rows_of(keys(1)), std::vector<std::uint64_t>{kBytes});
    const StoreTransfer in = reserved.copy_in(std::vector<StoreSource>{{0, 0, page.at(0), kBytes, true}}, stream);
    EXPECT_FALSE(in.poll());
    EXPECT_EQ(reserved.commit(0), StoreStatus::inserted);
    EXPECT_TRUE(in.poll());
    std::uint64_t last = 0;
    std::memcpy(&last, store.get("block 0")->value.data() + kBytes - 8, 8);
    EXPECT_EQ(last, mix(7 + kBytes / 8 - 1)) << "committed before the bytes";
  });
  page.clear();
  opens_late([&] {
    StoreLease lease = store.lease(rows_of(keys(1)));
    lease.copy_out(std::vector<StoreTarget>{{0, 0, page.at(0), kBytes, true}}, stream);
    store.erase("block 0");
    lease.release(0);
    for (int i = 0; i < 40; ++i) store.set("other " + std::to_string(i), std::string(900'000, 'o'));
  });
  EXPECT_EQ(page.wrong(7, stream), 0u) << "used again while it was leased";
  gpu::check(cudaFreeHost(go), "freeing memory");
}

TEST_F(StoreCudaCopies, ABatchOfReadsFillsAnArray) {
  Store store = on_gpu();
  for (const std::uint64_t bytes : {std::uint64_t{24}, std::uint64_t{1'000}, std::uint64_t{100'000}}) {
    const std::size_t rows = bytes > 10'000 ? 300 : 40'000;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < rows; ++i) {
      names.push_back(std::to_string(bytes) + " " + std::to_string(i));
      std::vector<std::uint64_t> value(bytes / 8);
      for (std::size_t word = 0; word < value.size(); ++word) value[word] = mix(9 + i * value.size() + word);
      store.set(names.back(), {reinterpret_cast<const char*>(value.data()), bytes});
    }
    Pages pages(rows, bytes);
    std::vector<StoreStatus> statuses(rows);
    std::vector<std::uint64_t> sizes(rows);
    const gpu::Stream stream;
    store.get(rows_of(Strings(names)), {pages.at(0), bytes, true}, statuses, sizes, stream);
    EXPECT_EQ(pages.wrong(9, stream), 0u);
    EXPECT_EQ(std::count(statuses.begin(), statuses.end(), StoreStatus::found), static_cast<long>(rows));
    EXPECT_EQ(std::count(sizes.begin(), sizes.end(), bytes), static_cast<long>(rows));
    store.get(rows_of(Strings(std::vector<std::string>(rows, "none"))), {pages.at(0), bytes, true});
    std::vector<std::byte> zeros(rows * bytes, std::byte{1});
    gpu::check(cudaMemcpy(zeros.data(), pages.at(0), zeros.size(), cudaMemcpyDeviceToHost), "reading");
    EXPECT_EQ(std::count(zeros.begin(), zeros.end(), std::byte{0}), static_cast<long>(zeros.size()));
  }
}

TEST_F(StoreCudaCopies, ReadValuesAreWholeBesideChanges) {
  constexpr std::uint64_t kBytes = 4'000;
  Store store = on_gpu(64 << 20);
  const Strings names = keys(64);
  const auto change = [&](unsigned i) {
    for (int key = 0; key < 64; ++key) {
      store.set("block " + std::to_string(key), std::string(kBytes, static_cast<char>('a' + i % 26)));
    }
  };
  change(0);
  std::jthread changing([&](const std::stop_token& ends) {
    for (unsigned i = 0; !ends.stop_requested(); ++i) change(i);
  });
  gpu::DeviceBuffer<std::byte> rows(64 * kBytes);
  std::string seen(64 * kBytes, '?');
  for (int i = 0; i < 500; ++i) {
    store.get(rows_of(names), {rows.data(), kBytes, true});
    gpu::check(cudaMemcpy(seen.data(), rows.data(), seen.size(), cudaMemcpyDeviceToHost), "reading");
    for (std::size_t row = 0; row < 64; ++row) {
      const std::string_view value = std::string_view(seen).substr(row * kBytes, kBytes);
      ASSERT_EQ(value.find_first_not_of(value[0]), std::string_view::npos) << "torn";
      ASSERT_NE(value[0], '\0');
    }
  }
}

TEST_F(StoreCudaCopies, MemoryOfTheHostIsRefusedAsAGpus) {
  Store store = on_gpu();
  StoreReservation reserved = store.reserve(rows_of(keys(1)), std::vector<std::uint64_t>{8});
  std::uint64_t word = 0;
  EXPECT_THROW(reserved.copy_in(std::vector<StoreSource>{{0, 0, &word, 8, true}}), InvalidArgument);
  EXPECT_EQ(reserved.commit(0), StoreStatus::inserted);
}

}  // namespace
}  // namespace holdfast

// cuda_test.cpp: the index in GPU memory, with each kind of kernel: what batches answer, colliding signatures, displacement, growth, and
// searches beside changing batches. Needs a GPU.
#if defined(HOLDFAST_WITH_CUDA)

#include <atomic>
#include <thread>

#include "entries.hpp"
#include "holdfast/error.hpp"
#include "structures/cuckoo/cuda/cuda_index.hpp"

namespace holdfast::cuckoo {
namespace {

using cuda::CudaIndex;
using cuda::Lanes;
using cuda::Work;

class GpuIndex : public testing::TestWithParam<Work> {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU";
  }
};

std::unordered_map<std::uint64_t, Location> keys_to(std::uint64_t end) {
  std::unordered_map<std::uint64_t, Location> expected;
  for (std::uint64_t key = 0; key < end; ++key) expected[key] = static_cast<Location>(key);
  return expected;
}

TEST_P(GpuIndex, SmallBatchesAreAnswered) {
  CudaIndex index({.capacity = 1000, .work = GetParam()});
  Batch batch = inserts(0, 500);
  exchange(index, batch);
  EXPECT_EQ(count(batch, Outcome::inserted), 500u);
  Batch next;
  next.add(7, 7, 1007);
  next.add(8, 9, 1008);
  next.add(600, 5, 1600);
  next.add(601, kNone, 601);
  exchange(index, next);
  const std::vector<Outcome> expected = {Outcome::replaced, Outcome::absent, Outcome::absent, Outcome::inserted};
  EXPECT_EQ(next.outcomes, expected);
  const std::vector<Hash> hashes = {hash_of(7), hash_of(8), hash_of(600), hash_of(601)};
  std::vector<Location> found(4);
  index.search(hashes, found);
  EXPECT_EQ(found, (std::vector<Location>{1007, 8, kNone, 601}));
  std::vector<Outcome> outcomes(4);
  index.erase(hashes, std::vector<Location>{7, 8, 600, 601}, outcomes);
  EXPECT_EQ(outcomes, (std::vector<Outcome>{Outcome::absent, Outcome::erased, Outcome::absent, Outcome::erased}));
  index.search(hashes, found);
  EXPECT_EQ(found, (std::vector<Location>{1007, kNone, kNone, kNone}));
  EXPECT_EQ(index.size(), 499u);
}

TEST_P(GpuIndex, SmallSignaturesLeadToAllKeys) {
  CudaIndex index({.capacity = 3000, .work = GetParam(), .signature_bits = 4});
  Batch batch = inserts(0, 2000);
  exchange(index, batch);
  ASSERT_EQ(count(batch, Outcome::inserted), 2000u);
  auto expected = keys_to(2000);
  EXPECT_GT(expect_candidates(index, expected), 500u);
  Batch changes;
  std::vector<Hash> hashes;
  std::vector<Location> erased;
  for (std::uint64_t key = 0; key < 2000; ++key) {
    if (key % 3 == 0) {
      changes.add(key, static_cast<Location>(key), static_cast<Location>(10'000 + key));
      expected[key] = static_cast<Location>(10'000 + key);
    } else if (key % 3 == 1) {
      hashes.push_back(hash_of(key));
      erased.push_back(static_cast<Location>(key));
      expected.erase(key);
    }
  }
  exchange(index, changes);
  EXPECT_EQ(count(changes, Outcome::replaced), changes.size());
  std::vector<Outcome> outcomes(hashes.size());
  index.erase(hashes, erased, outcomes);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), Outcome::erased), static_cast<std::ptrdiff_t>(hashes.size()));
  expect_candidates(index, expected);
}

TEST_P(GpuIndex, FillsItsCellsByDisplacement) {
  CudaIndex index({.capacity = 400'000, .work = GetParam()});
  const std::uint64_t cells = index.cells(), rows = cells * 96 / 100;
  for (std::uint64_t begin = 0; begin < rows; begin += rows / 3 + 1) {
    Batch batch = inserts(begin, std::min(rows, begin + rows / 3 + 1));
    exchange(index, batch);
    EXPECT_EQ(count(batch, Outcome::inserted), batch.size());
  }
  EXPECT_EQ(index.cells(), cells) << "grew before 96% of the cells were in use";
  EXPECT_GT(index.moves(), rows / 100);
  expect_candidates(index, keys_to(rows));
}

TEST_P(GpuIndex, GrowsAndDropsNothing) {
  CudaIndex index({.capacity = 0, .work = GetParam()});
  for (std::uint64_t begin = 0; begin < 400'000; begin += 50'000) {
    Batch batch = inserts(begin, begin + 50'000);
    exchange(index, batch);
    ASSERT_EQ(count(batch, Outcome::inserted), batch.size());
  }
  expect_candidates(index, keys_to(400'000));
  EXPECT_EQ(index.cells(), std::uint64_t{1} << 19);
}

TEST_P(GpuIndex, SearchesBesideChangesMissNothing) {
  CudaIndex index({.capacity = 110'000, .work = GetParam(), .signature_bits = 16});
  constexpr std::uint64_t kStable = 60'000;
  const std::uint64_t own = index.cells() * 93 / 100 - kStable;
  Batch stable = inserts(0, kStable);
  exchange(index, stable);
  std::atomic<bool> ends = false;
  std::atomic<std::uint64_t> wrong = 0;
  std::thread searcher([&] {
    std::vector<Candidates> lists(kStable);
    std::vector<Location> found(kStable);
    do {
      index.search(stable.hashes, found);
      index.candidates(stable.hashes, lists);
      for (std::uint64_t i = 0; i < kStable; ++i) {
        wrong += contains(lists[i], stable.locations[i]) && found[i] != kNone ? 0 : 1;
      }
    } while (!ends.load());
  });
  for (unsigned round = 0; round < 20; ++round) {
    Batch in = inserts(kStable, kStable + own);
    exchange(index, in);
    EXPECT_EQ(count(in, Outcome::inserted), in.size());
    index.erase(in.hashes, in.locations, in.outcomes);
    EXPECT_EQ(count(in, Outcome::erased), in.size());
  }
  ends = true;
  searcher.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(index.moves(), 0u) << "no search ran beside a move";
  EXPECT_EQ(index.size(), kStable);
}

TEST_P(GpuIndex, RefusesBadInput) {
  EXPECT_THROW(CudaIndex({.capacity = std::uint64_t{1} << 32}), InvalidArgument);
  EXPECT_THROW(CudaIndex({.capacity = 1, .signature_bits = 33}), InvalidArgument);
  CudaIndex index({.capacity = 100, .work = GetParam()});
  const std::vector<Hash> two = {1, 2};
  std::vector<Location> one(1), both(2);
  std::vector<Outcome> outcomes(2);
  EXPECT_THROW(index.search(two, one), InvalidArgument);
  EXPECT_THROW(index.erase(two, one, outcomes), InvalidArgument);
  EXPECT_THROW(index.exchange(two, one, both, outcomes), InvalidArgument);
  both[1] = kNone;
  EXPECT_THROW(index.exchange(two, both, both, outcomes), InvalidArgument);
  EXPECT_EQ(index.size(), 0u);
  index.search({}, {});
  index.reserve(10'000);
  EXPECT_GE(index.cells(), 10'000u);
}

INSTANTIATE_TEST_SUITE_P(Kernels, GpuIndex,
                         testing::Values(Work{Lanes::one, true}, Work{Lanes::one, false}, Work{Lanes::eight, true},
                                         Work{Lanes::eight, false}),
                         [](const auto& instance) {
                           return std::string(instance.param.lanes == Lanes::one ? "one" : "eight") +
                                  (instance.param.overlaps ? "_overlapping" : "_in_order");
                         });

}  // namespace
}  // namespace holdfast::cuckoo

#endif

// cuda_test.cpp: the suite on the GPU, with searches that overlap changes and without; large batches; searches beside changing batches. Needs a
// GPU.
#if defined(HOLDFAST_WITH_CUDA)

#include <atomic>
#include <thread>

#include "filled.hpp"
#include "structures/cuckoo/cuda/cuda_index.hpp"
#include "suite.hpp"

namespace holdfast::cuckoo {
namespace {

using cuda::CudaIndex;

template <bool kOverlaps>
struct OnGpu {
  static bool available() {
    int devices = 0;
    return cudaGetDeviceCount(&devices) == cudaSuccess && devices != 0;
  }
  static CudaIndex make(const Options& options) {
    return CudaIndex({.capacity = options.capacity, .overlaps = kOverlaps, .signature_bits = options.signature_bits});
  }
};

using GpuMakers = testing::Types<OnGpu<true>, OnGpu<false>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, IndexSuite, GpuMakers);

class GpuIndex : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!OnGpu<true>::available()) GTEST_SKIP() << "no GPU";
  }
};

TEST_P(GpuIndex, LargeBatchesOfAllKinds) {
  CudaIndex index({.capacity = 3'300'000, .overlaps = GetParam()});
  const std::uint64_t cells = index.cells(), rows = cells * 94 / 100;
  constexpr std::uint64_t kPart = 1'000'003;
  for (std::uint64_t begin = 0; begin < rows; begin += kPart) {
    Batch batch = inserts(begin, std::min(rows, begin + kPart));
    exchange(index, batch);
    ASSERT_EQ(count(batch, Outcome::inserted), batch.size());
  }
  EXPECT_EQ(index.cells(), cells);
  auto expected = keys_to(rows);
  expect_candidates(index, expected);
  // Replacements, some of them of absent entries, among inserts.
  Batch mixed;
  std::vector<Outcome> outcomes;
  for (std::uint64_t key = 0; key < kPart; ++key) {
    const bool inserts = key % 50 == 0, is_there = key % 3 != 0;
    const std::uint64_t of = inserts ? rows + key : key;
    const auto old = inserts ? kNone : static_cast<Location>(is_there ? key : key + 1);
    mixed.add(of, old, static_cast<Location>(of + cells));
    outcomes.push_back(inserts ? Outcome::inserted : is_there ? Outcome::replaced : Outcome::absent);
    if (inserts || is_there) expected[of] = static_cast<Location>(of + cells);
  }
  exchange(index, mixed);
  EXPECT_TRUE(mixed.outcomes == outcomes);
  expect_candidates(index, expected);
}

TEST_P(GpuIndex, SearchesBesideChangesMissNothing) {
  CudaIndex index({.capacity = 110'000, .overlaps = GetParam(), .signature_bits = 16});
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

TEST_P(GpuIndex, SmallIndexIsFilledFromCollectedRows) {
  const FillCase cases[] = {{0, 0, 0},          {1, 0, 1},          {100, 0, 32'768}, {1000, 0, 2000, 32, 1000},
                            {1000, 0, 1000, 4}, {20'000, 0, 20'000}};
  for (const FillCase& test : cases) {
    CudaIndex index(
        {.capacity = test.capacity, .overlaps = GetParam(), .signature_bits = test.signature_bits, .threads = 3});
    expect_filled(index, 0, test);
  }
}

TEST_P(GpuIndex, IsFilledByThreadsThatTakeParts) {
  const FillCase cases[] = {{400'000, 0, 400'000},
                            {400'000, 400'000, 400'000},
                            {300'000, 0, 400'000, 32, 100'000},
                            {200'000, 200'000, 200'000, 8, 1000}};
  for (const FillCase& test : cases) {
    CudaIndex index(
        {.capacity = test.capacity, .overlaps = GetParam(), .signature_bits = test.signature_bits, .threads = 3});
    expect_filled(index, 4, test);
  }
}

TEST_P(GpuIndex, SmallSearchesAreUnderWaySideBySide) {
  CudaIndex index({.capacity = 2000, .overlaps = GetParam()});
  Batch batch = inserts(0, 1000);
  exchange(index, batch);
  std::vector<std::unique_ptr<Searching>> searches;
  for (int i = 0; i < 3; ++i) searches.push_back(index.searching());
  for (std::size_t round = 1; round <= 3; ++round) {
    for (std::size_t i = 0; i < 3; ++i) searches[i]->begin(std::span(batch.hashes).subspan(30 * i, 300 * round));
    for (std::size_t i = 0; i < 3; ++i) {
      std::vector<Location> found(300 * round);
      searches[i]->finish(found);
      for (std::size_t row = 0; row < found.size(); ++row) ASSERT_EQ(found[row], batch.locations[30 * i + row]);
    }
  }
  searches[0]->begin(batch.hashes);  // ends with its batch under way
  searches[1]->begin({});
  searches[1]->finish({});
}

/// Batches of several pieces, of which the last is not full.
TEST_P(GpuIndex, BatchesOfSeveralPieces) {
  constexpr std::uint64_t kRows = 5 * cuda::LinkStage::kPieceRows + 7;
  CudaIndex index({.capacity = kRows, .overlaps = GetParam()});
  Batch batch = inserts(0, kRows);
  exchange(index, batch);
  ASSERT_EQ(count(batch, Outcome::inserted), kRows);
  std::vector<Location> found(kRows);
  index.search(batch.hashes, found);
  EXPECT_EQ(found, batch.locations);
  expect_candidates(index, keys_to(kRows));
  std::vector<Hash> some(batch.hashes.begin() + 3, batch.hashes.end());
  std::vector<Location> theirs(batch.locations.begin() + 3, batch.locations.end());
  std::vector<Outcome> outcomes(some.size());
  index.erase(some, theirs, outcomes);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), Outcome::erased), static_cast<std::ptrdiff_t>(some.size()));
  EXPECT_EQ(index.size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Kernels, GpuIndex, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "overlapping" : "in_order"; });

}  // namespace
}  // namespace holdfast::cuckoo

#endif

// kit_test.cu: what kernels of any system begin with: places, stretches, warps and epochs, by kernels that know of no table.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "arrays.hpp"
#include "gpu/launch.cuh"
#include "gpu/numbered.cuh"
#include "gpu/order/word_range.cuh"
#include "reclaim/cuda/epochs.cuh"

namespace holdfast::gpu {
namespace {

__global__ void __launch_bounds__(kThreads)
    odd_kernel(std::uint64_t size, unsigned long long* counter, std::uint64_t* to) {
  const std::uint64_t whole = (size + kThreads - 1) / kThreads * kThreads;
  for (std::uint64_t i = first_of_thread(); i < whole; i += all_threads()) {
    const bool wants = i < size && i % 2 == 1;
    const std::uint64_t place = numbered(wants, counter);
    if (wants) to[place] = i;
  }
}

TEST_F(OnGpu, SmallPlacesAreGivenOnceEach) {
  constexpr std::uint64_t kSize = 100'001;
  const auto counter = zeros<unsigned long long>(1);
  const auto places = zeros<std::uint64_t>(kSize / 2);
  odd_kernel<<<blocks_for(odd_kernel, kSize), kThreads>>>(kSize, counter.data(), places.data());
  check_launch("numbering");
  EXPECT_EQ(on_host(counter.data(), 1)[0], kSize / 2);
  auto odd = on_host(places.data(), kSize / 2);
  std::sort(odd.begin(), odd.end());
  for (std::uint64_t i = 0; i < odd.size(); ++i) ASSERT_EQ(odd[i], 2 * i + 1);
}

struct Piece {
  std::uint32_t first;
};

/// Which piece each word of a warp's stretch belongs to.
__global__ void range_kernel(const std::uint32_t* words, std::uint32_t* owners, std::uint32_t* all) {
  __shared__ Piece pieces[kWarp];
  std::uint32_t sum = 0;
  pieces[threadIdx.x] = {words_before(words[threadIdx.x], sum)};
  __syncwarp();
  for (std::uint32_t i = threadIdx.x; i < sum; i += kWarp) owners[i] = piece_of(pieces, i);
  if (threadIdx.x == 0) *all = sum;
}

TEST_F(OnGpu, SmallRangesGiveEachWordToItsPiece) {
  std::vector<std::uint32_t> words(kWarp);
  for (unsigned i = 0; i < kWarp; ++i) words[i] = i % 5 == 0 ? 0 : i * 7 % 19;
  std::vector<std::uint32_t> expected;
  for (unsigned i = 0; i < kWarp; ++i) expected.insert(expected.end(), words[i], i);
  const auto lengths = on_gpu(words);
  const auto owners = zeros<std::uint32_t>(expected.size()), all = zeros<std::uint32_t>(1);
  range_kernel<<<1, kWarp>>>(lengths.data(), owners.data(), all.data());
  check_launch("stretching");
  EXPECT_EQ(on_host(all.data(), 1)[0], expected.size());
  EXPECT_EQ(on_host(owners.data(), expected.size()), expected);
}

__global__ void copy_kernel(std::byte* to, const std::byte* from, std::size_t bytes, bool clears) {
  const Warp warp;
  warp.copy(to, from, bytes);
  if (clears) warp.zero(to, bytes / 2);
}

TEST_F(OnGpu, SmallCopiesBeginAndEndAtAnyByte) {
  std::vector<std::byte> bytes(600);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 31 + 1);
  const auto from = on_gpu(bytes);
  for (const std::size_t begin : {0, 1, 4, 7}) {
    for (const std::size_t size : {1, 8, 13, 255, 512}) {
      for (const bool clears : {false, true}) {
        const auto to = zeros<std::byte>(bytes.size());
        copy_kernel<<<1, kWarp>>>(to.data() + begin + 3, from.data() + begin, size, clears);
        check_launch("copying");
        const auto got = on_host(to.data(), bytes.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
          const bool inside = i >= begin + 3 && i < begin + 3 + size;
          const bool cleared = clears && i < begin + 3 + size / 2;
          ASSERT_EQ(got[i], inside && !cleared ? bytes[i - 3] : std::byte{0}) << begin << " " << size << " at " << i;
        }
      }
    }
  }
}

/// Reads for as long as `stays` is set. Not under a sanitizer, where no kernel runs beside another.
__global__ void reader_kernel(reclaim::cuda::Epochs* epochs, const std::uint64_t* stays, std::uint64_t* inside) {
  const reclaim::cuda::InEpoch membership(*epochs);
  if (threadIdx.x == 0) {
    SystemWord(*inside).store(1);
    while (SystemWord(*const_cast<std::uint64_t*>(stays)).load() != 0) continue;
  }
  __syncthreads();
}
__global__ void advance_kernel(reclaim::cuda::Epochs* epochs) {
  reclaim::cuda::advance_epochs(*epochs, [](std::uint64_t) {});
}

TEST_F(OnGpu, EpochsWaitForWhoReads) {
  struct Shared {
    std::uint64_t stays = 1, inside = 0;
  };
  Shared* shared = nullptr;
  check(cudaHostAlloc(&shared, sizeof *shared, cudaHostAllocMapped), "allocating");
  new (shared) Shared;
  const auto epochs = on_gpu(std::vector<reclaim::cuda::Epochs>{{3, {}}});
  const Stream readers, others;
  const auto advance = [&] {
    advance_kernel<<<1, 1, 0, others>>>(epochs.data());
    others.wait("advancing");
  };
  const auto now = [&] {
    reclaim::cuda::Epochs host{};
    check(cudaMemcpyAsync(&host, epochs.data(), sizeof host, cudaMemcpyDeviceToHost, others), "reading epochs");
    others.wait("reading epochs");
    return host;
  };
  advance();  // also loads the kernel, for which CUDA would wait until the reader has ended
  ASSERT_EQ(now().epoch, 5u) << "nobody reads";
  reader_kernel<<<1, 32, 0, readers>>>(epochs.data(), &shared->stays, &shared->inside);
  check_launch("reading");
  while (SystemWord(shared->inside).load() == 0) continue;
  for (int i = 0; i < 5; ++i) advance();
  EXPECT_EQ(now().epoch, 6u) << "what the reader's epoch retires is not free before it has left";
  SystemWord(shared->stays).store(0);
  readers.wait("reading");
  advance();
  EXPECT_EQ(now().epoch, 8u);
  EXPECT_EQ(now().inside[0] + now().inside[1] + now().inside[2], 0u);
  check(cudaFreeHost(shared), "freeing");
}

}  // namespace
}  // namespace holdfast::gpu

// memory_test.cu: memory that hosts and kernels share, and what graphs keep, by kernels that know of no table.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "arrays.hpp"
#include "gpu/capture.hpp"
#include "gpu/host_ranges.hpp"
#include "gpu/launch.cuh"
#include "gpu/pinned.hpp"
#include "gpu/staging.hpp"

namespace holdfast::gpu {
namespace {

__global__ void number_kernel(std::uint64_t* to, std::uint64_t size, std::uint64_t first) {
  for (std::uint64_t i = first_of_thread(); i < size; i += all_threads()) to[i] = first + i;
}

void number(std::uint64_t* to, std::uint64_t size, std::uint64_t first, cudaStream_t stream) {
  number_kernel<<<blocks_for(number_kernel, size), kThreads, 0, stream>>>(to, size, first);
  check_launch("numbering");
}

cudaMemoryType type_of(const void* memory) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, memory), "asking where an array is");
  return attributes.type;
}

/// Pages of the host that CUDA knows nothing of.
struct Pages {
  static constexpr std::size_t kBytes = 1 << 16;
  static constexpr std::uint64_t kWords = kBytes / 8;
  std::uint64_t* const words =
      static_cast<std::uint64_t*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ~Pages() { munmap(words, kBytes); }
};

TEST_F(OnGpu, SmallKernelsReachARangeWhileItIsThere) {
  const Pages pages;
  const Stream stream;
  {
    HostRanges ranges;
    ranges.add(pages.words, Pages::kBytes, false);
    ASSERT_EQ(ranges.error(), "");
    EXPECT_EQ(type_of(pages.words), cudaMemoryTypeHost);
    number(pages.words, Pages::kWords, 7, stream);
    stream.wait("numbering");
    for (std::uint64_t i = 0; i < Pages::kWords; ++i) ASSERT_EQ(pages.words[i], 7 + i);
    ranges.remove(pages.words);
    EXPECT_EQ(type_of(pages.words), cudaMemoryTypeUnregistered);
    ranges.add(pages.words, Pages::kBytes, false);
    EXPECT_EQ(type_of(pages.words), cudaMemoryTypeHost);
  }
  EXPECT_EQ(type_of(pages.words), cudaMemoryTypeUnregistered) << "a range ends with those that it is of";
}

/// Not under a sanitizer, which reports the error that is wanted.
TEST_F(OnGpu, ARangeThatCannotBeMappedIsLeftOutAndSaysWhy) {
  const Pages pages;
  HostRanges first, second;
  first.add(pages.words, Pages::kBytes, false);
  ASSERT_EQ(first.error(), "");
  second.add(pages.words, Pages::kBytes, false);
  EXPECT_NE(second.error().find("cudaErrorHostMemoryAlreadyRegistered"), std::string::npos) << second.error();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the next call must not get this one's error";
  second.remove_all();
  EXPECT_EQ(type_of(pages.words), cudaMemoryTypeHost) << "it is the first's";
}

TEST_F(OnGpu, SmallPinnedMemoryIsKeptForTheNext) {
  auto pinned = std::make_shared<PinnedMemory>();
  std::shared_ptr<std::byte[]> one = pinned->take(100'000);
  EXPECT_EQ(type_of(one.get()), cudaMemoryTypeHost);
  const std::byte* const was = one.get();
  const std::shared_ptr<std::byte[]> other = pinned->take(100'000);
  EXPECT_NE(other.get(), was) << "what somebody has is given to nobody else";
  one.reset();
  one = pinned->take(80'000);
  EXPECT_EQ(one.get(), was) << "of the same size, rounded up";
  EXPECT_NE(pinned->take(100'000).get(), was) << "given once only";
  pinned.reset();
  one[79'999] = std::byte{1};  // it outlives who gave it
  EXPECT_EQ(type_of(one.get()), cudaMemoryTypeHost);
}

TEST_F(OnGpu, SmallAStageCarriesArraysThereAndBack) {
  Stages stages;
  const std::vector<std::uint64_t> first{1, 2, 3}, second(1000, 9);
  std::vector<std::uint64_t> back(3), numbers(1000), same(1000);
  const Stages::Lease stage = stages.lend();
  for (unsigned turn = 0; turn < 2; ++turn) {
    (*stage).begin(8 * (3 + 1000 + 1000), 3);
    const auto* const small = (*stage).upload<std::uint64_t>(first.data(), 8 * 3);
    const auto* const large = (*stage).upload<std::uint64_t>(second.data(), 8 * 1000);
    auto* const results = (*stage).take<std::uint64_t>(8 * 1000);
    EXPECT_EQ((*stage).upload<std::uint64_t>(nullptr, 8), nullptr);
    for (const void* const array : {static_cast<const void*>(small), static_cast<const void*>(large)})
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array) % 256, 0u);
    number(results, 1000, turn, (*stage).stream());
    (*stage).download(back.data(), small, 8 * 3);
    (*stage).download(same.data(), large, 8 * 1000);
    (*stage).download(numbers.data(), results, 8 * 1000);
    (*stage).download(nullptr, results, 8);  // nobody wants it
    (*stage).stream().wait("copying");
    EXPECT_EQ(back, first);
    EXPECT_EQ(same, second);
    for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(numbers[i], turn + i);
  }
}

TEST_F(OnGpu, SmallAStageIsLentToOneAtATime) {
  Stages stages;
  const Stage* was = nullptr;
  {
    const Stages::Lease one = stages.lend(), two = stages.lend();
    EXPECT_NE(&*one, &*two);
    was = &*one;
  }
  const auto first = std::make_unique<Stage>(), second = std::make_unique<Stage>();  // in their place, were they gone
  const Stages::Lease one = stages.lend(), two = stages.lend();
  EXPECT_TRUE(&*one == was || &*two == was) << "those that came back are lent again";
}

TEST_F(OnGpu, SmallAGraphKeepsWhatItIsGiven) {
  const Stream stream;
  auto given = std::make_shared<DeviceBuffer<std::uint64_t>>(100);
  const std::weak_ptr<DeviceBuffer<std::uint64_t>> watched = given;
  EXPECT_FALSE(is_capturing(stream));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t run = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
  EXPECT_TRUE(is_capturing(stream));
  keep_for_graph(stream, given);
  number_kernel<<<1, kThreads, 0, stream>>>(given->data(), 100, 5);
  check(cudaStreamEndCapture(stream, &graph), "capturing");
  EXPECT_FALSE(is_capturing(stream));
  check(cudaGraphInstantiate(&run, graph, 0), "making a graph");
  check(cudaGraphDestroy(graph), "letting a graph go");
  given.reset();
  free_what_graphs_kept();
  ASSERT_FALSE(watched.expired()) << "what was made of the graph is still there";
  check(cudaGraphLaunch(run, stream), "running a graph");
  stream.wait("running a graph");
  EXPECT_EQ(on_host(watched.lock()->data(), 100)[99], 104u);
  check(cudaGraphExecDestroy(run), "letting a graph go");
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);  // CUDA lets go of it when it likes
  while (!watched.expired() && std::chrono::steady_clock::now() < until) {
    free_what_graphs_kept();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace holdfast::gpu

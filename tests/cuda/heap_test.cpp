// heap_test.cpp: slabs and free cells in GPU memory, of a heap that belongs to no table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "fixture.hpp"
#include "heap/cuda/ring.hpp"
#include "heap/cuda/slab_heap.hpp"

namespace holdfast::heap::cuda {
namespace {

using gpu::check;

/// A heap in host memory that kernels reach, all zeros.
class PinnedHeap {
 public:
  explicit PinnedHeap(std::uint64_t slabs) : slabs_(slabs) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, slabs * kSlabBytes, cudaHostAllocDefault), "taking a heap");
    base_ = static_cast<std::byte*>(memory);
    std::memset(base_, 0, slabs * kSlabBytes);
  }
  ~PinnedHeap() { cudaFreeHost(base_); }
  PinnedHeap(const PinnedHeap&) = delete;
  PinnedHeap& operator=(const PinnedHeap&) = delete;
  View view() const { return {base_, slabs_, kSlabBits}; }

 private:
  std::byte* base_ = nullptr;
  std::uint64_t slabs_;
};

void ask_for(const SlabHeap& heap, unsigned size_class, std::uint32_t cells) {
  check(cudaMemcpy(&heap.view().state->of[size_class].demand, &cells, 4, cudaMemcpyHostToDevice), "asking for cells");
}

/// Reserves what was asked for, and returns where the cells of a class begin.
std::vector<std::uint64_t> reserve(SlabHeap& heap, const View& view, unsigned size_class) {
  count_slabs(heap.view(), nullptr);
  reserve_cells(heap.view(), view, false, nullptr);
  const ClassCells of = heap.state(nullptr).of[size_class];
  std::vector<std::uint64_t> begins(of.granted);
  check(cudaMemcpy(begins.data(), heap.view().list + of.first, 8 * begins.size(), cudaMemcpyDeviceToHost), "reading");
  return begins;
}

TEST(GpuHeap, SmallReservationsEnterSlabsAndReturnWhatNobodyTook) {
  HOLDFAST_NEEDS_GPU();
  constexpr unsigned kClass = 20;
  const PinnedHeap memory(64);
  SlabHeap heap;
  heap.cover(memory.view(), nullptr);
  heap.begin(0, nullptr);
  heap.list_at_least(10'000);
  EXPECT_EQ(heap.use(nullptr).slabs, 63u) << "the first is a directory";
  const std::uint32_t wanted = cells_of_slab(kClass) + 5;
  ask_for(heap, kClass, wanted);
  const std::vector<std::uint64_t> begins = reserve(heap, memory.view(), kClass);
  ASSERT_EQ(begins.size(), wanted);
  EXPECT_EQ(std::set<std::uint64_t>(begins.begin(), begins.end()).size(), wanted) << "no cell twice";
  std::set<std::uint64_t> slabs;
  for (const std::uint64_t begin : begins) {
    slabs.insert(memory.view().slab_of(begin));
    EXPECT_EQ(begin % kSlabBytes % class_bytes(kClass), 0u);
    EXPECT_EQ(*memory.view().entry(memory.view().slab_of(begin)), kClass + 1) << "it is in the directory, durably";
  }
  EXPECT_EQ(slabs, (std::set<std::uint64_t>{1, 2})) << "the lowest first";
  EXPECT_EQ(heap.use(nullptr).used_cells, wanted);
  release_cells(heap.view(), wanted, nullptr);
  EXPECT_EQ(heap.use(nullptr).used_cells, 0u);
}

TEST(GpuHeap, SmallHeapsThatMoveAndGrowKeepTheirCells) {
  HOLDFAST_NEEDS_GPU();
  constexpr unsigned kClass = 30;
  SlabHeap heap;
  PinnedHeap larger(128);
  std::vector<std::uint64_t> before;
  {
    const PinnedHeap memory(64);
    heap.cover(memory.view(), nullptr);
    heap.begin(0, nullptr);
    heap.list_at_least(100'000);
    ask_for(heap, kClass, 10);
    before = reserve(heap, memory.view(), kClass);
    ASSERT_EQ(before.size(), 10u);
    std::memcpy(larger.view().base, memory.view().base, 64 * kSlabBytes);
  }
  // As if a batch had taken all of them; the view of the heap is another one from here on.
  const std::uint32_t taken = 10;
  check(cudaMemcpy(&heap.view().state->of[kClass].next, &taken, 4, cudaMemcpyHostToDevice), "taking cells");
  release_cells(heap.view(), taken, nullptr);
  heap.extend(larger.view(), nullptr);
  EXPECT_EQ(heap.use(nullptr).slabs, 127u);
  EXPECT_EQ(heap.use(nullptr).used_cells, 10u);
  const std::uint32_t rest = 70 * cells_of_slab(kClass);
  ask_for(heap, kClass, rest);
  const std::vector<std::uint64_t> begins = reserve(heap, larger.view(), kClass);
  ASSERT_EQ(begins.size(), rest);
  for (const std::uint64_t begin : before) EXPECT_EQ(std::count(begins.begin(), begins.end(), begin), 0) << begin;
  EXPECT_GE(pool::QuietMemory::load(larger.view().entry(70)), 1u) << "slabs behind the old end are entered too";
}

TEST(GpuHeap, SmallRingsHaveTheCellsThatAreNotLive) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::uint64_t kCells = 1000;
  std::vector<std::uint32_t> live((kCells + 31) / 32, 0);
  for (std::uint64_t cell = 0; cell < kCells; cell += 3) live[cell / 32] |= 1u << (cell % 32);
  const gpu::DeviceBuffer<std::uint32_t> bits(live.size());
  check(cudaMemcpy(bits.data(), live.data(), 4 * live.size(), cudaMemcpyHostToDevice), "filling");
  const gpu::DeviceBuffer<std::uint64_t> cells(kCells), more(2 * kCells);
  const gpu::DeviceBuffer<RingState> state(1);
  const CellRing ring{cells.data(), kCells, 10}, larger{more.data(), 2 * kCells, 20};
  const std::size_t bytes = collect_scratch_bytes(kCells);
  const gpu::DeviceBuffer<std::byte> scratch(bytes);
  collect_free_cells(bits.data(), ring, state.data(), scratch.data(), bytes, nullptr);
  extend_ring(ring, larger, state.data(), nullptr);
  RingState now;
  check(cudaMemcpy(&now, state.data(), sizeof now, cudaMemcpyDeviceToHost), "reading");
  EXPECT_EQ(now.head, 0u);
  EXPECT_EQ(now.tail, kCells - 334 + kCells);
  EXPECT_EQ(now.retired_end, now.tail);
  std::vector<std::uint64_t> free(now.tail);
  check(cudaMemcpy(free.data(), more.data(), 8 * free.size(), cudaMemcpyDeviceToHost), "reading");
  std::uint64_t at = 0;
  for (std::uint64_t cell = 0; cell < 2 * kCells; ++cell) {
    if (cell < kCells && cell % 3 == 0) continue;
    ASSERT_EQ(free[at++], cell);
  }
  begin_empty_ring(state.data(), nullptr);
  check(cudaMemcpy(&now, state.data(), sizeof now, cudaMemcpyDeviceToHost), "reading");
  EXPECT_EQ(now.tail, 0u);
}

}  // namespace
}  // namespace holdfast::heap::cuda

// slabs.cu: free cells of slabs: counted, listed for a batch, and given back. Rules 5, 6, 7.
#include "heap/cuda/slabs.hpp"

#include <cub/block/block_scan.cuh>

#include "gpu/launch.cuh"
#include "heap/cuda/slabs.cuh"
#include "heap/slab.hpp"

namespace holdfast::heap::cuda {

using namespace gpu;

namespace {

constexpr unsigned kWide = 1024;  // threads of a block that walks all slabs
constexpr unsigned kSlabWords = kSlabCells / 32;

/// Those of the 32 cells of a word that a slab of such cells has.
__device__ std::uint32_t cells_in_word(unsigned word, std::uint32_t cells) {
  return word * 32 >= cells ? 0 : lanes(cells - word * 32 < 32 ? cells - word * 32 : 32);
}

__global__ void __launch_bounds__(kThreads)
    directory_kernel(const __grid_constant__ SlabView slabs, const __grid_constant__ View heap, std::uint64_t from) {
  const DirectoryMemory memory;
  for (std::uint64_t slab = from + first_of_thread(); slab < slabs.slabs; slab += all_threads()) {
    const std::uint64_t entry = is_directory(slab) ? 0 : memory.load(heap.entry(slab));
    // A class that there is not belongs to no slot: the slab is free, and its entry is written when it is taken.
    slabs.directory[slab] = entry <= kClasses ? entry : 0;
  }
}

/// A block a slab.
__global__ void __launch_bounds__(kThreads) begin_slabs_kernel(const __grid_constant__ SlabView slabs) {
  __shared__ std::uint32_t free;
  for (std::uint64_t slab = blockIdx.x; slab < slabs.slabs; slab += gridDim.x) {
    const auto entry = static_cast<std::uint32_t>(slabs.directory[slab]);
    const std::uint32_t cells = entry == 0 ? 0 : cells_of_slab(entry - 1);
    if (threadIdx.x == 0) free = 0;
    __syncthreads();
    std::uint32_t mine = 0;
    for (unsigned i = threadIdx.x; i < kSlabWords; i += kThreads)
      mine += count_bits(~slabs.used[slab * kSlabWords + i] & cells_in_word(i, cells));
    if (mine != 0) atomicAdd(&free, mine);
    __syncthreads();
    if (threadIdx.x == 0) {
      slabs.entry[slab] = entry;
      slabs.free[slab] = free;
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kThreads)
    rested_kernel(const __grid_constant__ SlabView slabs, const __grid_constant__ CellRing ring,
                  const RingState* state) {
  const std::uint64_t count = state->tail - state->head;
  for (std::uint64_t i = first_of_thread(); i < count; i += all_threads())
    free_cell(slabs, SlabView::bit_of(ring.cells[(state->head + i) % ring.capacity]));
}
__global__ void rested_end_kernel(RingState* state) { state->head = state->tail; }

__global__ void __launch_bounds__(kThreads) count_kernel(const __grid_constant__ SlabView slabs) {
  const auto add = [](std::uint64_t& word, std::uint64_t n) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&word), static_cast<unsigned long long>(n));
  };
  for (std::uint64_t slab = first_of_thread(); slab < slabs.slabs; slab += all_threads()) {
    if (is_directory(slab)) continue;
    add(slabs.state->usable, 1);
    const std::uint32_t entry = slabs.entry[slab];
    if (entry != 0 && slabs.free[slab] != cells_of_slab(entry - 1)) {
      add(slabs.state->of[entry - 1].cells, cells_of_slab(entry - 1));
      add(slabs.state->of[entry - 1].free, slabs.free[slab]);
    } else {
      slabs.entry[slab] = 0;
      slabs.free[slab] = 0;
      add(slabs.state->free_slabs, 1);
    }
  }
}

__global__ void zero_counts_kernel(SlabState* state) {
  const std::uint32_t demand = state->of[threadIdx.x].demand;
  state->of[threadIdx.x] = {};
  state->of[threadIdx.x].demand = demand;
  if (threadIdx.x != 0) return;
  state->usable = state->free_slabs = 0;
  state->grants = state->listed = 0;
}

__global__ void forget_kernel(SlabState* state) { state->of[threadIdx.x].demand = 0; }

/// The cells of a class that inserts leave to updates.
__device__ std::uint64_t reserve_of(std::uint64_t cells) { return cells / 64 == 0 ? 1 : cells / 64; }

/// Gives out `slabs` slabs; where they are too few, in proportion to what each class wants, and one at least if it can be: no size of
/// pairs is left without any because another came first. One thread.
__device__ void share_slabs(SlabState& state, std::uint64_t slabs) {
  std::uint64_t wanted = 0;
  for (const ClassCells& c : state.of) wanted += c.fresh;
  std::uint64_t left = slabs < wanted ? slabs : wanted;
  for (ClassCells& c : state.of) {
    const auto got = static_cast<std::uint32_t>(slabs < wanted ? c.fresh * slabs / wanted : c.fresh);
    c.missing = c.fresh - got;
    c.fresh = got;
    left -= got;
  }
  // What the divisions left over: less than one for each class that lacks some. First for those that would get none.
  for (unsigned least = 0; least < 2; ++least) {
    for (ClassCells& c : state.of) {
      if (left == 0 || c.missing == 0 || (c.fresh != 0 && least == 0)) continue;
      ++c.fresh;
      --c.missing;
      --left;
    }
  }
}

/// What each class gets: cells of its slabs, and fresh slabs while there are any. One thread for each class.
__global__ void plan_slabs_kernel(const __grid_constant__ SlabView slabs, bool updates) {
  SlabState& state = *slabs.state;
  ClassCells& of = state.of[threadIdx.x];
  const std::uint64_t each = cells_of_slab(threadIdx.x);
  const auto open_with = [&](std::uint64_t fresh) {
    const std::uint64_t free = of.free + fresh * each, reserve = reserve_of(of.cells + fresh * each);
    return free > reserve ? free - reserve : 0;
  };
  std::uint64_t wanted = 0;
  if (of.demand > open_with(0)) wanted = (of.demand - open_with(0) + each - 1) / each;
  while (of.demand != 0 && open_with(wanted) < of.demand) ++wanted;
  of.fresh = static_cast<std::uint32_t>(wanted);
  __syncthreads();
  if (threadIdx.x == 0) {
    const std::uint64_t kept = reserve_of(state.usable);
    share_slabs(state, state.free_slabs > kept ? state.free_slabs - kept : 0);
  }
  __syncthreads();
  const std::uint64_t open = open_with(of.fresh);
  of.open = static_cast<std::uint32_t>(of.demand < open ? of.demand : open);
  __syncthreads();
  // A slab of the reserve for each class whose updates would find no cell.
  if (threadIdx.x == 0 && updates) {
    std::uint64_t left = state.free_slabs;
    for (const ClassCells& c : state.of) left -= c.fresh;
    for (unsigned c = 0; c < kClasses; ++c) {
      ClassCells& one = state.of[c];
      if (left == 0 || one.missing == 0 || one.free + std::uint64_t{one.fresh} * cells_of_slab(c) >= one.demand)
        continue;
      ++one.fresh;
      --left;
    }
  }
  __syncthreads();
  const std::uint64_t all = of.free + of.fresh * each;
  const std::uint64_t may = updates ? all : of.open;
  of.granted = static_cast<std::uint32_t>(of.demand < may ? of.demand : may);
  of.existing = static_cast<std::uint32_t>(of.granted < of.free ? of.granted : of.free);
  __syncthreads();
  if (threadIdx.x != 0) return;
  std::uint32_t first = 0;
  for (ClassCells& c : state.of) {
    c.first = first;
    first += c.granted;
  }
  state.listed = first;
}

__device__ void grant(const SlabView& slabs, std::uint64_t slab, unsigned size_class, std::uint32_t before,
                      std::uint32_t cells, std::uint32_t most) {
  if (before >= most || cells == 0) return;
  const std::uint32_t count = cells < most - before ? cells : most - before;
  slabs.grants[atomicAdd(&slabs.state->grants, 1u)] = {static_cast<std::uint32_t>(slab), size_class,
                                                       slabs.state->of[size_class].first + before, count};
}

using WideScan = cub::BlockScan<std::uint64_t, kWide>;

/// A block a class walks its slabs, the lowest first.
__global__ void __launch_bounds__(kWide) choose_kernel(const __grid_constant__ SlabView slabs) {
  __shared__ typename WideScan::TempStorage storage;
  const unsigned size_class = blockIdx.x;
  const std::uint32_t most = slabs.state->of[size_class].existing;
  std::uint64_t before = 0;
  for (std::uint64_t base = 0; base < slabs.slabs && before < most; base += kWide) {
    const std::uint64_t slab = base + threadIdx.x;
    const std::uint64_t free = slab < slabs.slabs && slabs.entry[slab] == size_class + 1 ? slabs.free[slab] : 0;
    std::uint64_t mine = 0, all = 0;
    WideScan(storage).ExclusiveSum(free, mine, all);
    __syncthreads();
    if (before + mine < most)
      grant(slabs, slab, size_class, static_cast<std::uint32_t>(before + mine), static_cast<std::uint32_t>(free), most);
    before += all;
  }
}

/// One block gives free slabs their classes, the lowest first, and enters them in the directory (enter_slab).
__global__ void __launch_bounds__(kWide)
    enter_slabs_kernel(const __grid_constant__ SlabView slabs, const __grid_constant__ View heap) {
  __shared__ typename WideScan::TempStorage storage;
  const DirectoryMemory memory;
  std::uint64_t wanted = 0;
  for (const ClassCells& c : slabs.state->of) wanted += c.fresh;
  std::uint64_t before = 0;
  for (std::uint64_t base = 0; base < slabs.slabs && before < wanted; base += kWide) {
    const std::uint64_t slab = base + threadIdx.x;
    const bool is_free = slab < slabs.slabs && slabs.entry[slab] == 0 && !is_directory(slab);
    std::uint64_t number = 0, all = 0;
    WideScan(storage).ExclusiveSum(std::uint64_t{is_free}, number, all);
    __syncthreads();
    number += before;
    before += all;
    if (!is_free || number >= wanted) continue;
    unsigned size_class = 0;
    for (; number >= slabs.state->of[size_class].fresh; ++size_class) number -= slabs.state->of[size_class].fresh;
    const ClassCells& of = slabs.state->of[size_class];
    const std::uint32_t cells = cells_of_slab(size_class);
    enter_slab(memory, heap, slab, size_class);
    slabs.directory[slab] = slabs.entry[slab] = size_class + 1;
    slabs.free[slab] = cells;
    grant(slabs, slab, size_class, of.existing + static_cast<std::uint32_t>(number) * cells, cells, of.granted);
  }
  memory.fence();
}

/// Lists the first free cells of each slab that gives some, a block a slab.
__global__ void __launch_bounds__(kThreads) list_kernel(const __grid_constant__ SlabView slabs) {
  using Scan = cub::BlockScan<std::uint32_t, kThreads>;
  __shared__ typename Scan::TempStorage storage;
  for (unsigned g = blockIdx.x; g < slabs.state->grants; g += gridDim.x) {
    const SlabGrant grant = slabs.grants[g];
    const std::uint32_t cells = cells_of_slab(grant.size_class), size = class_bytes(grant.size_class);
    const std::uint64_t begin = std::uint64_t{grant.slab} << kSlabBits;
    std::uint32_t* const used = slabs.used + std::uint64_t{grant.slab} * kSlabWords;
    std::uint32_t before = 0;
    for (unsigned base = 0; base * 32 < cells && before < grant.count; base += kThreads) {
      const unsigned word = base + threadIdx.x;
      std::uint32_t free = word < kSlabWords ? ~used[word] & cells_in_word(word, cells) : 0;
      std::uint32_t at = 0, all = 0;
      Scan(storage).ExclusiveSum(count_bits(free), at, all);
      __syncthreads();
      std::uint32_t taken = 0;
      for (at += before; free != 0 && at < grant.count; free &= free - 1, ++at) {
        const unsigned bit = lowest_bit(free);
        taken |= 1u << bit;
        slabs.list[grant.first + at] = begin + std::uint64_t{word * 32 + bit} * size;
      }
      if (taken != 0) used[word] |= taken;
      before += all;
    }
    if (threadIdx.x == 0) slabs.free[grant.slab] -= grant.count;
  }
}

/// The part of the list that no thread took. `next` may be beyond the end.
__global__ void __launch_bounds__(kThreads) release_slabs_kernel(const __grid_constant__ SlabView slabs) {
  for (std::uint64_t i = first_of_thread(); i < slabs.state->listed; i += all_threads()) {
    unsigned size_class = 0;
    while (size_class + 1 < kClasses && slabs.state->of[size_class + 1].first <= i) ++size_class;
    const ClassCells& of = slabs.state->of[size_class];
    if (i - of.first >= of.next) free_cell(slabs, SlabView::bit_of(slabs.list[i], size_class));
  }
}
__global__ void released_kernel(const __grid_constant__ SlabView slabs) {
  ClassCells& of = slabs.state->of[threadIdx.x];
  of.granted = of.open = of.next = 0;
  if (threadIdx.x == 0) slabs.state->listed = slabs.state->grants = 0;
}

__global__ void __launch_bounds__(kThreads)
    compare_slabs_kernel(const __grid_constant__ SlabView slabs, const std::uint32_t* live, std::uint64_t* wrong) {
  for (std::uint64_t i = first_of_thread(); i < slabs.slabs * kSlabWords; i += all_threads()) {
    if (slabs.used[i] != live[i]) atomicAdd(reinterpret_cast<unsigned long long*>(wrong), 1ull);
  }
}

}  // namespace

void read_directory(const SlabView& slabs, const View& heap, std::uint64_t from, cudaStream_t stream) {
  directory_kernel<<<blocks_for(directory_kernel, slabs.slabs), kThreads, 0, stream>>>(slabs, heap, from);
  check_launch("reading the slab directory");
}

void forget_demand(const SlabView& slabs, cudaStream_t stream) {
  forget_kernel<<<1, kClasses, 0, stream>>>(slabs.state);
  check_launch("planning a change");
}

void begin_slabs(const SlabView& slabs, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(slabs.slabs, resident_blocks(begin_slabs_kernel)));
  begin_slabs_kernel<<<blocks, kThreads, 0, stream>>>(slabs);
  check_launch("counting free cells");
}

void free_rested(const SlabView& slabs, const CellRing& ring, RingState* state, cudaStream_t stream) {
  rested_kernel<<<blocks_for(rested_kernel, ring.capacity), kThreads, 0, stream>>>(slabs, ring, state);
  rested_end_kernel<<<1, 1, 0, stream>>>(state);
  check_launch("freeing cells");
}

void count_slabs(const SlabView& slabs, cudaStream_t stream) {
  zero_counts_kernel<<<1, kClasses, 0, stream>>>(slabs.state);
  count_kernel<<<blocks_for(count_kernel, slabs.slabs), kThreads, 0, stream>>>(slabs);
  check_launch("counting free cells");
}

void reserve_cells(const SlabView& slabs, const View& heap, bool updates, cudaStream_t stream) {
  plan_slabs_kernel<<<1, kClasses, 0, stream>>>(slabs, updates);
  choose_kernel<<<kClasses, kWide, 0, stream>>>(slabs);
  enter_slabs_kernel<<<1, kWide, 0, stream>>>(slabs, heap);
  const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(slabs.slabs, resident_blocks(list_kernel)));
  list_kernel<<<blocks, kThreads, 0, stream>>>(slabs);
  check_launch("reserving cells");
}

void release_cells(const SlabView& slabs, std::uint64_t most, cudaStream_t stream) {
  release_slabs_kernel<<<blocks_for(release_slabs_kernel, most), kThreads, 0, stream>>>(slabs);
  released_kernel<<<1, kClasses, 0, stream>>>(slabs);
  check_launch("freeing cells");
}

void compare_cells(const SlabView& slabs, const std::uint32_t* live, std::uint64_t* wrong, cudaStream_t stream) {
  compare_slabs_kernel<<<blocks_for(compare_slabs_kernel, slabs.slabs * kSlabWords), kThreads, 0, stream>>>(slabs, live,
                                                                                                            wrong);
  check_launch("comparing cells");
}

}  // namespace holdfast::heap::cuda

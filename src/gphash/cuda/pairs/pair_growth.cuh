// pair_growth.cuh: reads the slots of a table of variable-length pairs, when it is opened and checked. No pair is read.
#pragma once

#include "gphash/cuda/change/growth.cuh"
#include "gphash/cuda/pairs/pair_memory.cuh"

namespace holdfast::machine::cuda {

template <class Shape>
__global__ void __launch_bounds__(kThreads)
    scan_pairs_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache, unsigned rank,
                      bool repair, const __grid_constant__ SlabView slabs, std::uint32_t* live, ScanReport* report) {
  const ScanMemory memory(&cache, view.heap, slabs);
  const std::uint64_t slots = view.buckets(rank) * view.shape.slots();
  unsigned long long items = 0, left = 0;
  std::uint64_t word = 0;
  for (std::uint64_t number = first_of_thread(); number < slots; number += all_threads()) {
    if (!scan_slot(memory, view, rank, number, repair, live, report, word)) continue;
    ++items;
    left += index::PairWord{word}.left();
  }
  if (items == 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&report->items), items);
  atomicAdd(reinterpret_cast<unsigned long long*>(&report->left), left);
}

}  // namespace holdfast::machine::cuda

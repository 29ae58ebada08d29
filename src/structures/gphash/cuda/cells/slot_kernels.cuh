// slot_kernels.cuh: the kernels that work alone on a table: recovery, resizing, verification. GPHash §3.2.3.
#pragma once

#include "gpu/launch.cuh"
#include "heap/cuda/slab_view.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/memory.cuh"
#include "structures/gphash/cuda/scan_report.hpp"
#include "structures/gphash/cuda/state.hpp"
#include "structures/gphash/cuda/tile.cuh"
#include "structures/gphash/protocol/recover.hpp"
#include "structures/gphash/protocol/rehash.hpp"

namespace holdfast::gphash::cuda {

__device__ inline std::uint64_t bump(std::uint64_t& word) {
  return atomicAdd(reinterpret_cast<unsigned long long*>(&word), 1ull);
}

__device__ inline void report_damage(ScanReport* report, const Damage& damage) {
  const std::uint64_t at = bump(report->damages);
  if (at < kDamages) report->damage[at] = damage;
}

/// Marks a cell live. False, and noted, if it was already.
__device__ inline void mark_live(std::uint32_t* live, std::uint64_t cell, ScanReport* report) {
  const std::uint32_t bit = 1u << (cell % 32);
  if ((atomicOr(&live[cell / 32], bit) & bit) == 0) return;
  const std::uint64_t at = bump(report->shared);
  if (at < kDamages) report->shared_cell[at] = cell;
}

/// The bit that stands for the cell which a slot's word names.
__device__ inline std::uint64_t bit_of_cell(const SlabView&, std::uint64_t word) { return SlabView::bit_of(word); }
__device__ inline std::uint64_t bit_of_cell(const JobRing&, std::uint64_t word) { return word - 1; }

/// One slot of rank `rank`, by one thread: its tag, its cell. The word of the item that it holds, if any.
template <gphash::SlotMemory Memory, class Shape, class Cells>
__device__ bool scan_slot(const Memory& memory, const View<Shape>& view, const Cells& cells, unsigned rank,
                          std::uint64_t number, bool repair, std::uint32_t* live, ScanReport* report,
                          std::uint64_t& word) {
  const std::uint64_t bucket = number / view.shape.slots();
  const auto in_bucket = static_cast<unsigned>(number % view.shape.slots());
  Slot* const slot = view.slot(rank, bucket, in_bucket);
  std::uint64_t key = 0;
  std::uint8_t tag = 0;
  const gphash::SlotState state = gphash::inspect_slot(memory, view, rank, bucket, slot, key, word, tag);
  switch (state) {
    case gphash::SlotState::empty: return false;
    case gphash::SlotState::torn:
      bump(report->torn);
      if (repair) gphash::clear_torn(memory, slot);
      return false;
    case gphash::SlotState::misplaced:
    case gphash::SlotState::no_cell:
      report_damage(report, {state, view.top_level - rank, in_bucket, bucket, key, word});
      return false;
    case gphash::SlotState::occupied: break;
  }
  // Slots of a word are read by several threads; each writes its own byte.
  reinterpret_cast<std::uint8_t*>(view.tags + view.tag_index(rank, bucket))[in_bucket] = tag;
  if (!view.in_slot()) mark_live(live, bit_of_cell(cells, word), report);
  return true;
}

/// The policy of a scan of slots whose cells have numbers.
template <class Shape>
__device__ CudaMemory scanning_memory(const CacheView& cache, const View<Shape>&, const JobRing&) {
  return {nullptr, &cache};
}

/// No pair is read.
template <class Shape, class Cells>
__global__ void __launch_bounds__(kThreads)
    scan_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                const __grid_constant__ Cells cells, unsigned rank, bool repair, std::uint32_t* live,
                ScanReport* report) {
  const auto memory = scanning_memory(cache, view, cells);
  const std::uint64_t slots = view.buckets(rank) * view.shape.slots();
  unsigned long long items = 0, left = 0;
  std::uint64_t word = 0;
  for (std::uint64_t number = first_of_thread(); number < slots; number += all_threads()) {
    if (!scan_slot(memory, view, cells, rank, number, repair, live, report, word)) continue;
    ++items;
    left += gphash::ItemKindOf<Shape>::left(word);
  }
  if (items != 0) atomicAdd(reinterpret_cast<unsigned long long*>(&report->items), items);
  if (left != 0) atomicAdd(reinterpret_cast<unsigned long long*>(&report->left), left);
}

/// The reserved slot, by one thread.
template <class Shape>
__global__ void reserved_slot_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                                     bool repair, std::uint32_t* live, ScanReport* report) {
  const CudaMemory memory(nullptr, &cache);
  std::uint64_t word = 0;
  std::uint64_t tag = 0;
  switch (gphash::inspect_reserved(memory, view, word)) {
    case gphash::SlotState::occupied:
      tag = gphash::tag_of(hash_key(0, view.seed));
      bump(report->items);
      if (!view.in_slot()) {
        const std::uint64_t before = report->shared;
        mark_live(live, word - 1, report);
        report->reserved_shared = report->shared != before;
      }
      break;
    case gphash::SlotState::torn:
      bump(report->torn);
      if (repair) gphash::clear_torn(memory, view.reserved_slot);
      break;
    case gphash::SlotState::empty: break;
    case gphash::SlotState::misplaced:
    case gphash::SlotState::no_cell: report->reserved_damaged = 1;
  }
  view.tags[view.reserved_index() + 1] = tag;
}

/// A thread takes a slot, and looks for an earlier copy of its item.
template <class Shape>
__global__ void __launch_bounds__(kThreads)
    copies_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache, unsigned rank,
                  bool repair, ScanReport* report) {
  const CudaMemory memory(nullptr, &cache);
  const std::uint64_t slots = view.buckets(rank) * view.shape.slots();
  for (std::uint64_t number = first_of_thread(); number < slots; number += all_threads()) {
    const gphash::SlotPlace place{rank, number / view.shape.slots(),
                                  static_cast<unsigned>(number % view.shape.slots())};
    const Slot* const slot = view.after(view.level[rank], number);
    const std::uint64_t key = memory.load(&slot->key);
    const std::uint64_t word = memory.load(&slot->word);
    if (key == 0 || (!view.key_decides() && word == 0)) continue;
    const Candidates<Shape> candidates(view, gphash::slot_key(view, slot, key, word));
    const unsigned j = gphash::location_of(view, candidates, place);
    const LaneMask hits = gphash::match_lanes(memory, view, candidates, gphash::lanes_before(view, place, j));
    if (!gphash::holds_copy(memory, view, candidates, hits)) continue;
    bump(report->second_copies);
    if (repair) gphash::drop_second_copy(memory, view, candidates, place, j);
  }
}

/// False, and reported, if a slot of a drained level holds what cannot be.
template <class Shape>
__device__ bool belongs(const CudaMemory& memory, const View<Shape>& view, unsigned level, std::uint64_t number,
                        const Slot* slot, ScanReport* report) {
  const std::uint64_t key = memory.load(&slot->key), word = memory.load(&slot->word);
  if (!view.key_decides() && (key == 0 || word == 0)) return true;  // torn: it is not copied
  const std::uint64_t bucket = number / view.shape.slots();
  const Candidates<Shape> candidates(view, gphash::slot_key(view, slot, key, word));
  bool here = false;
  for (unsigned j = 0; j < view.shape.hashes(); ++j) here |= top_bits(candidates.location(j), level) == bucket;
  here = here && (!view.wide() || gphash::has_own_hash(memory, view, slot, key));
  if (here && (view.in_slot() || gphash::ItemKindOf<Shape>::has_cell(memory, view, word))) return true;
  report_damage(report, {here ? gphash::SlotState::no_cell : gphash::SlotState::misplaced, level,
                         static_cast<std::uint32_t>(number % view.shape.slots()), bucket, key, word});
  return false;
}

template <class Shape>
__global__ void __launch_bounds__(kThreads)
    drain_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache, Slot* slots,
                 unsigned level, bool recovering, DeviceState* state, ScanReport* report) {
  const WarpTile tile;
  const CudaMemory memory(state, &cache);
  const std::uint64_t size = (std::uint64_t{1} << level) * view.shape.slots();
  const gphash::Drain drain{slots, level};
  std::uint32_t copies = 0, above = 0;
  bool stop = false;
  gphash::Copied copied;  // of this lane's slot
  // The first lane has made the stores of all.
  const auto settle = [&] {
    if (tile.ballot(copied.from != nullptr) == 0) return;
    tile.once([&] { return gphash::fence_copies(memory), 0; });
    if (copied.from != nullptr) gphash::publish_copy(memory, view, copied);
    copied = {};
    __syncwarp();
  };
  for (std::uint64_t base = first_of_warp() * kWarp; base < size && !stop; base += all_warps() * kWarp) {
    const std::uint64_t mine = base + tile.lane();
    bool waits = false;
    if (mine < size) {
      const Slot* const slot = view.after(slots, mine);
      waits = memory.load(&slot->key) != 0 || (!view.key_decides() && memory.load(&slot->word) != 0);
      if (waits && recovering) waits = belongs(memory, view, level, mine, slot, report);
    }
    unsigned turn = 0;
    for (unsigned waiting; !stop && (waiting = tile.ballot(waits)) != 0;) {
      const unsigned active = next_in_line(waiting, turn);
      turn = active + 1;
      gphash::Copied one;
      const gphash::Rehashed result = gphash::copy_up(tile, memory, view, drain, base + active, one);
      // Copies that are not published cannot move out of the way.
      const bool unsettled = tile.ballot(copied.from != nullptr) != 0;
      if (result == gphash::Rehashed::busy || (result == gphash::Rehashed::needs_level && unsettled)) {
        settle();
        continue;
      }
      stop = result == gphash::Rehashed::needs_level;
      copies += result == gphash::Rehashed::copied;
      above += result == gphash::Rehashed::above;
      if (tile.lane() != active) continue;
      waits = false;
      if (result == gphash::Rehashed::copied) copied = one;
      if (stop) report->needs_level = 1;
    }
    settle();
  }
  if (tile.lane() != 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&report->copied), static_cast<unsigned long long>(copies));
  atomicAdd(reinterpret_cast<unsigned long long*>(&report->above), static_cast<unsigned long long>(above));
  memory.flush_counts();
}

template <class Shape>
__global__ void __launch_bounds__(kThreads)
    carry_kernel(const __grid_constant__ View<Shape> from, const __grid_constant__ View<Shape> to, unsigned level) {
  const CudaMemory memory(nullptr, nullptr);
  for (std::uint64_t bucket = first_of_thread(); bucket < (std::uint64_t{1} << level); bucket += all_threads()) {
    gphash::carry_tags(memory, from, to, level, bucket);
  }
}

/// Tags must be equal, and no version lock held; the counters above the claims may have any value.
template <class Shape>
__global__ void __launch_bounds__(kThreads)
    compare_kernel(const __grid_constant__ View<Shape> view, const std::uint64_t* believed, ScanReport* report) {
  const std::uint64_t group = std::uint64_t{view.words_per_bucket()} << view.shape.levels();
  for (std::uint64_t at = first_of_thread(); at < view.tag_words(); at += all_threads()) {
    const bool reserved = at >= view.reserved_index();
    const bool node_zero = reserved ? at == view.reserved_index() : at % group < view.words_per_bucket();
    if (node_zero) {
      if (believed[at] & 1) bump(report->held_version_locks);
    } else if (believed[at] != view.tags[at]) {
      bump(report->wrong_tags);
    }
  }
}

}  // namespace holdfast::gphash::cuda

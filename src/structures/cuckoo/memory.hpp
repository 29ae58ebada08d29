// memory.hpp: what the protocol needs of memory (`IndexMemory`) and of the threads that look at a bucket together (`Tile`). The CPU, the GPU
// and the model each have their own. Nothing here is durable: the store rebuilds the index from the headers of its items.
#pragma once

#include <concepts>
#include <cstdint>

#include "core/bits.hpp"
#include "core/both.hpp"
#include "structures/cuckoo/entry.hpp"
#include "structures/cuckoo/geometry.hpp"
#include "structures/cuckoo/group.hpp"
#include "structures/cuckoo/step.hpp"

// On a GPU, loops over a bucket's cells must be unrolled, so that the cells stay in registers.
#if defined(__CUDA_ARCH__)
#define HOLDFAST_UNROLL _Pragma("unroll")
#else
#define HOLDFAST_UNROLL
#endif

namespace holdfast::cuckoo {

/// Cells of a bucket, where one thread holds them all.
template <unsigned kCells>
struct BucketCells {
  std::uint64_t entries[kCells];
};

template <class M>
concept IndexMemory = requires(const M& memory, BucketNumber bucket, unsigned cell, std::uint64_t entry, Group group) {
  /// Cells of a bucket: 8, of 64 bytes together; the model has fewer.
  { M::kCells } -> std::convertible_to<unsigned>;
  /// Whether searches run beside changes. Where they do not, they read no versions.
  { M::kSearchBesideChanges } -> std::convertible_to<bool>;
  /// Whether moves run beside replacing and erasing. Where they do not, these take no lock.
  { M::kChangeBesideMoves } -> std::convertible_to<bool>;

  /// All cells of a bucket, each read at once; no later access of the caller happens before.
  { memory.load_bucket(bucket) } -> std::same_as<BucketCells<M::kCells>>;
  /// One cell of it, likewise.
  { memory.load_cell(bucket, cell) } -> std::same_as<std::uint64_t>;
  /// Puts `entry` into the cell if that is empty. No earlier access of the caller happens after.
  { memory.fill(bucket, cell, entry) } -> std::same_as<bool>;
  /// Writes a cell that no other caller changes: it is not empty, and its entry is locked. No earlier access happens after.
  {memory.store(bucket, cell, entry)};
  /// The control word of the bucket's group, and its replacement if it is still `group`; ordered like load_cell and fill together.
  { memory.load_group(bucket) } -> std::same_as<Group>;
  { memory.swap_group(bucket, group, group) } -> std::same_as<bool>;
  /// Called before the caller looks again at a lock of this bucket that another caller holds.
  {memory.wait(bucket)};
  /// The bucket will be read soon.
  {memory.prefetch(bucket)};
  /// False in the model where it leaves a step out.
  { memory.keeps(Step::count) } -> std::convertible_to<bool>;
};

/// A bucket as the lanes of a tile hold it.
template <class T, class M>
using CellsOf = typename T::template Cells<M::kCells>;

/// Lanes that execute the protocol together: all call with equal arguments and get equal results.
template <class T, class M>
concept Tile = requires(const T& tile, const M& memory, CellsOf<T, M> cells, bool (*act)()) {
  /// What `load` returns; each lane may hold a part of the bucket.
  { tile.load(memory, BucketNumber{}) } -> std::same_as<CellsOf<T, M>>;
  /// One bit per cell: those with this signature; those that are empty.
  { tile.matches(cells, std::uint32_t{}) } -> std::same_as<LaneMask>;
  { tile.empty_cells(cells) } -> std::same_as<LaneMask>;
  { tile.entry(cells, 0u) } -> std::same_as<std::uint64_t>;
  /// Executes a function that returns at most 8 bytes in one lane.
  { tile.once(act) } -> std::same_as<bool>;
};

/// One thread per key.
struct OneThread {
  template <unsigned kCells>
  using Cells = BucketCells<kCells>;

  template <class Memory>
  HOLDFAST_BOTH Cells<Memory::kCells> load(const Memory& memory, BucketNumber bucket) const {
    return memory.load_bucket(bucket);
  }
  template <unsigned kCells>
  HOLDFAST_BOTH LaneMask matches(const BucketCells<kCells>& cells, std::uint32_t signature) const {
    LaneMask mask = 0;
    HOLDFAST_UNROLL
    for (unsigned i = 0; i < kCells; ++i) mask |= LaneMask{signature_of(cells.entries[i]) == signature} << i;
    return mask;
  }
  template <unsigned kCells>
  HOLDFAST_BOTH LaneMask empty_cells(const BucketCells<kCells>& cells) const {
    LaneMask mask = 0;
    HOLDFAST_UNROLL
    for (unsigned i = 0; i < kCells; ++i) mask |= LaneMask{cells.entries[i] == kEmpty} << i;
    return mask;
  }
  /// A bucket that was indexed by a variable would have to lie in memory, which costs a GPU dearly.
  template <unsigned kCells>
  HOLDFAST_BOTH std::uint64_t entry(const BucketCells<kCells>& cells, unsigned cell) const {
    HOLDFAST_ASSERT(cell < kCells);
#if defined(__CUDA_ARCH__)
    std::uint64_t entry = 0;
    HOLDFAST_UNROLL
    for (unsigned i = 0; i < kCells; ++i) entry = i == cell ? cells.entries[i] : entry;
    return entry;
#else
    return cells.entries[cell];
#endif
  }
  template <class F>
  HOLDFAST_BOTH auto once(F&& act) const {
    return act();
  }
};

/// The control word of a bucket's group, the same one for all lanes.
template <class T, class Memory>
HOLDFAST_BOTH Group load_group(const T& tile, const Memory& memory, BucketNumber bucket) {
  return {tile.once([&] { return memory.load_group(bucket).word; })};
}

}  // namespace holdfast::cuckoo

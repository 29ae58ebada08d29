// memory.hpp: what the protocol needs of memory (`IndexMemory`) and of the threads that look at buckets together (`Tile`). The CPU, the GPU
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
  /// Whether `prefetch` does anything.
  { M::kPrefetches } -> std::convertible_to<bool>;

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

/// The first location with the signature in a bucket, or kNone.
template <unsigned kCells>
HOLDFAST_BOTH Location location_in(const BucketCells<kCells>& cells, std::uint32_t signature) {
  Location found = kNone;
  HOLDFAST_UNROLL
  for (unsigned i = kCells; i-- > 0;) {
    if (signature_of(cells.entries[i]) == signature) found = location_of(cells.entries[i]);
  }
  return found;
}
/// One bit per cell: those that hold `entry`; kEmpty: the empty ones.
template <unsigned kCells>
HOLDFAST_BOTH LaneMask cells_in(const BucketCells<kCells>& cells, std::uint64_t entry) {
  LaneMask mask = 0;
  HOLDFAST_UNROLL
  for (unsigned i = 0; i < kCells; ++i) mask |= LaneMask{cells.entries[i] == entry} << i;
  return mask;
}

/// Threads that execute the protocol together and look at buckets together. Either each has a key, or they all have the same one. Where each has
/// a key, all of them call each member together, and each says whether its key needs the answer.
template <class T, class M>
concept Tile = requires(const T& tile, const M& memory, BucketNumber bucket, std::uint32_t signature,
                        std::uint64_t entry, bool wanted, bool (*act)()) {
  /// A location with this signature in the bucket, or kNone.
  { tile.location(memory, bucket, signature, wanted) } -> std::same_as<Location>;
  /// One bit per cell of the bucket: those that hold `entry`; kEmpty: the empty ones.
  { tile.cells_with(memory, bucket, entry, wanted) } -> std::same_as<LaneMask>;
  /// Whether it holds for a thread of the tile.
  { tile.any(wanted) } -> std::same_as<bool>;
  /// Executes a function that returns at most 8 bytes once per key. Where each thread has a key, it calls this separately.
  { tile.once(act) } -> std::same_as<bool>;
};

/// One thread with a key.
struct OneThread {
  template <class Memory>
  HOLDFAST_BOTH Location location(const Memory& memory, BucketNumber bucket, std::uint32_t signature,
                                  bool wanted) const {
    return wanted ? location_in(memory.load_bucket(bucket), signature) : kNone;
  }
  template <class Memory>
  HOLDFAST_BOTH LaneMask cells_with(const Memory& memory, BucketNumber bucket, std::uint64_t entry, bool wanted) const {
    return wanted ? cells_in(memory.load_bucket(bucket), entry) : 0;
  }
  HOLDFAST_BOTH bool any(bool holds) const { return holds; }
  template <class F>
  HOLDFAST_BOTH auto once(F&& act) const {
    return act();
  }
};

/// The control word of a bucket's group, the same one for all threads with one key.
template <class T, class Memory>
HOLDFAST_BOTH Group load_group(const T& tile, const Memory& memory, BucketNumber bucket) {
  return {tile.once([&] { return memory.load_group(bucket).word; })};
}

}  // namespace holdfast::cuckoo

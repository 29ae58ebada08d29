// plain_memory.hpp: the protocol's memory policy for a thread that alone uses the buckets which it changes: plain words.
#pragma once

#include <cstdint>

#include "structures/cuckoo/cpu/cpu_memory.hpp"

namespace holdfast::cuckoo::cpu {

/// A compare-and-swap costs as much as the rest of an insert, and the lines of later rows wait for it.
struct PlainMemory {
  static constexpr unsigned kCells = CpuMemory::kCells;
  static constexpr bool kSearchBesideChanges = false, kChangeBesideMoves = false, kPrefetches = true;

  CpuMemory shared;  ///< the same words

  static constexpr bool keeps(Step) { return true; }

  std::uint64_t load_cell(BucketNumber bucket, unsigned cell) const { return word(bucket, cell); }
  const std::uint64_t* line(BucketNumber bucket) const { return shared.line(bucket); }
  BucketCells<kCells> load_bucket(BucketNumber bucket) const {
    BucketCells<kCells> loaded;
    for (unsigned i = 0; i < kCells; ++i) loaded.entries[i] = word(bucket, i);
    return loaded;
  }
  bool fill(BucketNumber bucket, unsigned cell, std::uint64_t entry) const {
    if (word(bucket, cell) != kEmpty) return false;
    word(bucket, cell) = entry;
    return true;
  }
  void store(BucketNumber bucket, unsigned cell, std::uint64_t entry) const { word(bucket, cell) = entry; }
  Group load_group(BucketNumber bucket) const { return {shared.groups[group_of(bucket)]}; }
  bool swap_group(BucketNumber bucket, Group seen, Group next) const {
    std::uint64_t& group = shared.groups[group_of(bucket)];
    if (group != seen.word) return false;
    group = next.word;
    return true;
  }
  static void wait(BucketNumber) {}
  void prefetch(BucketNumber bucket) const { shared.prefetch(bucket); }

 private:
  std::uint64_t& word(BucketNumber bucket, unsigned cell) const {
    return shared.cells[std::uint64_t{bucket} * kCells + cell];
  }
};
static_assert(IndexMemory<PlainMemory>);
static_assert(Tile<OneThread, PlainMemory>);

}  // namespace holdfast::cuckoo::cpu

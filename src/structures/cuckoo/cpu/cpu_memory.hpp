// cpu_memory.hpp: the protocol's memory policy for CPU threads: atomic words in host memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "structures/cuckoo/memory.hpp"

namespace holdfast::cuckoo::cpu {

struct CpuMemory {
  static constexpr unsigned kCells = 8;
  static constexpr bool kSearchBesideChanges = true, kChangeBesideMoves = true, kPrefetches = true;
  using Word = std::atomic_ref<std::uint64_t>;

  std::uint64_t* cells;   ///< kCells per bucket, one line
  std::uint64_t* groups;  ///< one for eight buckets

  static constexpr bool keeps(Step) { return true; }

  std::uint64_t load_cell(BucketNumber bucket, unsigned cell) const {
    return Word(cells[std::uint64_t{bucket} * kCells + cell]).load(std::memory_order_acquire);
  }
  const std::uint64_t* line(BucketNumber bucket) const { return cells + std::uint64_t{bucket} * kCells; }
  BucketCells<kCells> load_bucket(BucketNumber bucket) const {
    BucketCells<kCells> loaded;
    for (unsigned i = 0; i < kCells; ++i) loaded.entries[i] = load_cell(bucket, i);
    return loaded;
  }
  bool fill(BucketNumber bucket, unsigned cell, std::uint64_t entry) const {
    std::uint64_t empty = kEmpty;
    return Word(cells[std::uint64_t{bucket} * kCells + cell])
        .compare_exchange_strong(empty, entry, std::memory_order_acq_rel, std::memory_order_relaxed);
  }
  void store(BucketNumber bucket, unsigned cell, std::uint64_t entry) const {
    Word(cells[std::uint64_t{bucket} * kCells + cell]).store(entry, std::memory_order_release);
  }
  Group load_group(BucketNumber bucket) const {
    return {Word(groups[group_of(bucket)]).load(std::memory_order_acquire)};
  }
  bool swap_group(BucketNumber bucket, Group seen, Group next) const {
    return Word(groups[group_of(bucket)])
        .compare_exchange_strong(seen.word, next.word, std::memory_order_acq_rel, std::memory_order_relaxed);
  }
  static void wait(BucketNumber) { std::this_thread::yield(); }
  void prefetch(BucketNumber bucket) const { prefetch_line(line(bucket)); }
  void prefetch_group(BucketNumber bucket) const { prefetch_line(groups + group_of(bucket)); }

 private:
  /// GCC 12 takes a function that only prefetches for one without effect, and removes its calls; an asm statement keeps them.
  static void prefetch_line(const std::uint64_t* line) {
    __builtin_prefetch(line);
    asm volatile("" : : "r"(line));
  }
};
static_assert(IndexMemory<CpuMemory>);
static_assert(Tile<OneThread, CpuMemory>);

}  // namespace holdfast::cuckoo::cpu

// cpu_index.hpp: the index in host memory, used by CPU threads. docs/internals/cuckoo.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "structures/cuckoo/cpu/cpu_memory.hpp"
#include "structures/cuckoo/fresh_rows.hpp"
#include "structures/cuckoo/index.hpp"
#include "structures/dramhit/pages.hpp"
#include "threads/thread_team.hpp"
#include "threads/use_gates.hpp"

namespace holdfast::cuckoo::cpu {

/// How an index is made.
struct CpuOptions {
  std::uint64_t capacity = 0;    ///< entries that it takes without growing
  unsigned threads = 1;          ///< of growth and `build`; a batch runs on its caller's thread
  unsigned signature_bits = 32;  ///< fewer in tests, so that signatures collide
  bool huge_pages = true;
};

/// An `Index`. Every member but the constructor may be called by several threads at once.
class CpuIndex {
 public:
  /// Throws InvalidArgument, NoSpace.
  explicit CpuIndex(const CpuOptions& options);

  void search(std::span<const Hash> hashes, std::span<Location> locations) const;
  void candidates(std::span<const Hash> hashes, std::span<Candidates> lists) const;
  void exchange(std::span<const Hash> hashes, std::span<const Location> old, std::span<const Location> locations,
                std::span<Outcome> outcomes);
  void erase(std::span<const Hash> hashes, std::span<const Location> locations, std::span<Outcome> outcomes);
  void reserve(std::uint64_t entries);
  std::uint64_t size() const { return size_.load(std::memory_order_relaxed); }
  std::uint64_t cells() const;

  /// Inserts many entries that the index does not have: partition by partition, so that each thread's accesses stay in one huge page (Mega-KV
  /// §4.3.2). Needs 16 bytes of workspace per row, for up to 4 Mi rows. Returns how many rows found no cell because memory for growth was
  /// lacking; these are not in the index.
  std::uint64_t build(std::span<const Hash> hashes, std::span<const Location> locations);
  /// The same, faster, where the index is empty, with rows that threads have collected, each in a FreshRows of as many parts. The index first grows for
  /// them. Returns the rows that were not inserted: those of a signature that an inserted one in their buckets has, as their keys may repeat, and
  /// those that found no cell. Throws NoSpace.
  std::vector<Row> fill(std::span<const FreshRows> found);
  /// log2 of the parts that FreshRows for so many rows have: as many as the index has partitions then.
  unsigned part_bits(std::uint64_t rows) const;

  /// Entries that inserts have moved.
  std::uint64_t moves() const { return moves_.load(std::memory_order_relaxed); }
  unsigned growths() const { return growths_.load(std::memory_order_relaxed); }

 private:
  struct Rows;

  CpuMemory memory() const;
  bool grow(unsigned bits, std::uint64_t least);
  void copy_grown(const CpuMemory& from, const CpuMemory& to) const;
  std::size_t exchange_until_full(const Rows& rows, std::size_t from, std::span<Outcome> outcomes, unsigned& bits);
  struct Workspace;
  void build_block(std::span<const Hash> hashes, std::span<const Location> locations, Workspace& workspace);
  void make(unsigned bits);
  std::uint64_t fill_unit(const std::vector<std::span<const Row>>& spans, std::vector<Row>& again) const;

  Geometry geometry_;  // changes under `layout_` alone, as cells_ and groups_ do
  dramhit::Pages cells_, groups_;
  const bool huge_pages_;
  mutable threads::UseGates layout_;  ///< entered by each call, alone by growth
  mutable threads::ThreadTeam team_;
  std::atomic<std::uint64_t> size_ = 0, moves_ = 0;
  std::atomic<unsigned> growths_ = 0;
};
static_assert(Index<CpuIndex>);

}  // namespace holdfast::cuckoo::cpu

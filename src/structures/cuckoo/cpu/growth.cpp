// growth.cpp: an index of twice as many buckets, and the insertion of many entries partition by partition.
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "holdfast/error.hpp"
#include "structures/cuckoo/arrays.hpp"
#include "structures/cuckoo/change.hpp"
#include "structures/cuckoo/cpu/cpu_index.hpp"
#include "structures/cuckoo/cpu/steps.hpp"

namespace holdfast::cuckoo::cpu {

namespace {

constexpr std::size_t kBuildBlock = std::size_t{4} << 20;  // rows

}  // namespace

/// Doubles the index, unless it has no longer the 2^bits buckets that the caller saw. False: memory is lacking, or fewer than one in `least`
/// cells are in use (0: any number), or there cannot be more buckets.
bool CpuIndex::grow(unsigned bits, std::uint64_t least) {
  const std::unique_lock alone(layout_.use);
  if (geometry_.bits != bits) return true;  // another thread was first
  if (bits >= kMostBits || (least != 0 && size() < geometry_.buckets() * CpuMemory::kCells / least)) return false;
  const Geometry next = geometry_.grown();
  const dramhit::MemoryChoice choice{.huge_pages = huge_pages_};
  dramhit::Pages cells, groups;
  try {
    cells = dramhit::Pages(next.buckets() * CpuMemory::kCells * sizeof(std::uint64_t), choice);
    groups = dramhit::Pages(groups_of(next.bits) * sizeof(std::uint64_t), choice);
  } catch (const NoSpace&) {
    return false;
  }
  copy_grown(memory(),
             {reinterpret_cast<std::uint64_t*>(cells.data()), reinterpret_cast<std::uint64_t*>(groups.data())});
  geometry_ = next;
  cells_ = std::move(cells);
  groups_ = std::move(groups);
  growths_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

/// Each entry keeps its cell, in its bucket or in the counterpart of the new half. A partition is one thread's, and so are its counts.
void CpuIndex::copy_grown(const CpuMemory& from, const CpuMemory& to) const {
  const Geometry old = geometry_, next = old.grown();
  const std::uint64_t partitions = old.partitions(), buckets = old.buckets() / partitions;
  team_.run(static_cast<unsigned>(std::min<std::uint64_t>(partitions, team_.threads())),
            [&](unsigned part, unsigned parts) {
              for (std::uint64_t bucket = partitions * part / parts * buckets;
                   bucket < partitions * (part + 1) / parts * buckets; ++bucket) {
                for (unsigned cell = 0; cell < CpuMemory::kCells; ++cell) {
                  const std::uint64_t entry = from.load_cell(static_cast<BucketNumber>(bucket), cell);
                  if (entry == kEmpty) continue;
                  const std::uint32_t signature = signature_of(entry);
                  const BucketNumber there = old.grown_bucket(static_cast<BucketNumber>(bucket), signature);
                  HOLDFAST_ASSERT((there & low_bits(old.bits)) == bucket);
                  to.store(there, cell, entry);
                  if (next.is_primary(there, signature)) continue;
                  const BucketNumber home = next.other(there, signature);
                  update_group(kTile, to, home, [=](Group group) { return group.one_more(home); });
                }
              }
            });
}

void CpuIndex::reserve(std::uint64_t entries) {
  require_capacity(entries);
  for (;;) {  // ends: each repetition doubles the index
    unsigned bits = 0;
    {
      const threads::Inside inside(layout_, threads::Inside::Kind::search);
      bits = geometry_.bits;
      if (entries_of(bits) >= entries) return;
    }
    if (bits >= kMostBits) return;  // as large as it gets
    if (!grow(bits, 0)) break;
  }
  throw NoSpace("index: no memory for more entries: free some, or reserve fewer");
}

/// Memory of `build`.
struct CpuIndex::Workspace {
  std::vector<std::size_t> ends;  ///< per partition, in `rows`
  std::vector<Row> rows;
  std::vector<Row> left;  ///< without a cell
  std::mutex mutex;       ///< of `left`
};

/// Sorts the rows by partition and gives each partition to one thread.
void CpuIndex::build_block(std::span<const Hash> hashes, std::span<const Location> locations, Workspace& workspace) {
  const threads::Inside inside(layout_, threads::Inside::Kind::search);
  const CpuMemory memory = this->memory();
  const Geometry geometry = geometry_;
  const auto partition_of = [&](Hash hash) { return geometry.primary(hash) >> kPartitionBits; };
  std::vector<std::size_t>& ends = workspace.ends;
  ends.assign(geometry.partitions() + 1, 0);
  for (const Hash hash : hashes) ++ends[partition_of(hash) + 1];
  for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
  workspace.rows.resize(hashes.size());
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    workspace.rows[ends[partition_of(hashes[i])]++] = {hashes[i], locations[i]};
  }
  std::atomic<std::size_t> next = 0;
  team_.run(team_.threads(), [&](unsigned, unsigned) {
    std::vector<Row> left;
    std::uint64_t moves = 0;
    for (std::size_t part; (part = next.fetch_add(1)) < geometry.partitions();) {
      in_steps(
          part == 0 ? 0 : ends[part - 1], ends[part],
          [&](std::size_t i) { memory.prefetch(geometry.primary(workspace.rows[i].hash)); },
          [&](std::size_t i) { look_ahead(memory, Target(geometry, workspace.rows[i].hash), true); },
          [&](std::size_t i) {
            const Row& row = workspace.rows[i];
            const Inserted inserted = insert(kTile, memory, geometry, Target(geometry, row.hash), row.location);
            moves += inserted.moves;
            if (!inserted.done) left.push_back(row);
            return true;
          });
    }
    const std::lock_guard lock(workspace.mutex);
    workspace.left.insert(workspace.left.end(), left.begin(), left.end());
    moves_.fetch_add(moves, std::memory_order_relaxed);
  });
  size_.fetch_add(hashes.size() - workspace.left.size(), std::memory_order_relaxed);
}

std::uint64_t CpuIndex::build(std::span<const Hash> hashes, std::span<const Location> locations) {
  require_equal(hashes.size(), locations.size(), "locations");
  require_locations(locations);
  std::uint64_t failed = 0;
  Workspace workspace;
  for (std::size_t from = 0; from < hashes.size(); from += kBuildBlock) {
    const std::size_t size = std::min(kBuildBlock, hashes.size() - from);
    workspace.left.clear();
    build_block(hashes.subspan(from, size), locations.subspan(from, size), workspace);
    for (const Row& row : workspace.left) {  // with growth
      const Location none = kNone;
      Outcome outcome{};
      exchange({&row.hash, 1}, {&none, 1}, {&row.location, 1}, {&outcome, 1});
      failed += outcome == Outcome::no_cell ? 1 : 0;
    }
  }
  return failed;
}

}  // namespace holdfast::cuckoo::cpu

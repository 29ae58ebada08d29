// cpu_index.cpp: batches on the CPU. The line of a row's primary bucket is prefetched first; its control word and the line of its other bucket
// only if the primary bucket does not do.
#include "structures/cuckoo/cpu/cpu_index.hpp"

#include <algorithm>
#include <utility>

#include "structures/cuckoo/arrays.hpp"
#include "structures/cuckoo/change.hpp"
#include "structures/cuckoo/cpu/steps.hpp"

namespace holdfast::cuckoo::cpu {

/// The arrays of a changing batch.
struct CpuIndex::Rows {
  std::span<const Hash> hashes;
  std::span<const Location> old, locations;
};

CpuIndex::CpuIndex(const CpuOptions& options) : huge_pages_(options.huge_pages), team_(options.threads) {
  require_capacity(options.capacity);
  require_signature_bits(options.signature_bits);
  geometry_.signature_mask = low_bits(options.signature_bits);
  make(bits_for(options.capacity));
}

/// An empty index of 2^bits buckets, in place of another.
void CpuIndex::make(unsigned bits) {
  const dramhit::MemoryChoice choice{.huge_pages = huge_pages_};
  dramhit::Pages cells(sizeof(std::uint64_t) * CpuMemory::kCells << bits, choice);
  groups_ = dramhit::Pages(groups_of(bits) * sizeof(std::uint64_t), choice);
  cells_ = std::move(cells);
  geometry_ = {bits, bits, geometry_.signature_mask};
}

CpuMemory CpuIndex::memory() const {
  return {reinterpret_cast<std::uint64_t*>(cells_.data()), reinterpret_cast<std::uint64_t*>(groups_.data())};
}

std::uint64_t CpuIndex::cells() const {
  const threads::Inside inside(layout_, threads::Inside::Kind::search);
  return geometry_.buckets() * CpuMemory::kCells;
}

void CpuIndex::search(std::span<const Hash> hashes, std::span<Location> locations) const {
  require_equal(hashes.size(), locations.size(), "locations");
  const threads::Inside inside(layout_, threads::Inside::Kind::search);
  const CpuMemory memory = this->memory();
  const Geometry geometry = geometry_;
  if (hashes.size() == 1) {  // of which `in_steps` makes the last step alone
    locations[0] = cuckoo::search(kTile, memory, Target(geometry, hashes[0]));
    return;
  }
  constexpr std::size_t kPart = 32;  // rows whose lines are asked for together
  struct Missed {
    std::size_t rows[kPart];
    std::size_t size = 0;
  } missed[2];  // of this part and of the one before
  const auto ask = [&](std::size_t from) {
    const std::size_t to = std::min(from + kPart, hashes.size());
    for (std::size_t i = from; i < to; ++i) memory.prefetch(geometry.primary(hashes[i]));
  };
  const auto finish = [&](const Missed& part) {
    for (const std::size_t i : std::span(part.rows, part.size)) {
      locations[i] = search_after_miss(kTile, memory, Target(geometry, hashes[i]), true);
    }
  };
  ask(0);
  unsigned now = 0;
  for (std::size_t from = 0; from < hashes.size(); from += kPart, now ^= 1) {
    ask(from + kPart);
    Missed& part = missed[now];
    part.size = 0;
    for (std::size_t i = from; i < std::min(from + kPart, hashes.size()); ++i) {
      const Hash hash = hashes[i];
      locations[i] = kTile.location(memory, geometry.primary(hash), geometry.signature(hash), true);
      part.rows[part.size] = i;
      part.size +=
          locations[i] == kNone ? 1 : 0;  // no branch: most rows are found here, and which ones cannot be predicted
    }
    for (const std::size_t i : std::span(part.rows, part.size)) {
      const Target target(geometry, hashes[i]);
      memory.prefetch_group(target.primary);
      memory.prefetch(target.other);
    }
    finish(missed[now ^ 1]);
  }
  finish(missed[now ^ 1]);
}

void CpuIndex::candidates(std::span<const Hash> hashes, std::span<Candidates> lists) const {
  require_equal(hashes.size(), lists.size(), "lists");
  const threads::Inside inside(layout_, threads::Inside::Kind::search);
  const CpuMemory memory = this->memory();
  const Geometry geometry = geometry_;
  in_steps(
      0, hashes.size(), [&](std::size_t i) { memory.prefetch(geometry.primary(hashes[i])); },
      [&](std::size_t i) { look_ahead(memory, Target(geometry, hashes[i]), false); },
      [&](std::size_t i) {
        lists[i].size = cuckoo::candidates(memory, Target(geometry, hashes[i]), lists[i].locations);
        return true;
      });
}

/// Executes rows from `from` on. Returns the row that found no cell, or the number of rows; and how large the index was.
std::size_t CpuIndex::exchange_until_full(const Rows& rows, std::size_t from, std::span<Outcome> outcomes,
                                          unsigned& bits) {
  const threads::Inside inside(layout_, threads::Inside::Kind::search);
  const CpuMemory memory = this->memory();
  const Geometry geometry = geometry_;
  bits = geometry.bits;
  std::uint64_t inserted = 0, moves = 0;
  std::size_t stopped = rows.hashes.size();
  in_steps(
      from, rows.hashes.size(), [&](std::size_t i) { memory.prefetch(geometry.primary(rows.hashes[i])); },
      [&](std::size_t i) { look_ahead(memory, Target(geometry, rows.hashes[i]), rows.old[i] == kNone); },
      [&](std::size_t i) {
        const Target target(geometry, rows.hashes[i]);
        if (rows.old[i] != kNone) {
          const bool done = replace(kTile, memory, target, rows.old[i], rows.locations[i]);
          outcomes[i] = done ? Outcome::replaced : Outcome::absent;
          return true;
        }
        const Inserted row = insert(kTile, memory, geometry, target, rows.locations[i]);
        moves += row.moves;
        inserted += row.done ? 1 : 0;
        outcomes[i] = row.done ? Outcome::inserted : Outcome::no_cell;
        if (!row.done) stopped = i;
        return row.done;
      });
  if (inserted != 0) size_.fetch_add(inserted, std::memory_order_relaxed);
  if (moves != 0) moves_.fetch_add(moves, std::memory_order_relaxed);
  return stopped;
}

void CpuIndex::exchange(std::span<const Hash> hashes, std::span<const Location> old,
                        std::span<const Location> locations, std::span<Outcome> outcomes) {
  require_equal(hashes.size(), old.size(), "old locations");
  require_equal(hashes.size(), locations.size(), "locations");
  require_equal(hashes.size(), outcomes.size(), "outcomes");
  require_locations(locations);
  bool grows = true;
  unsigned bits = 0;
  for (std::size_t i = 0; i < hashes.size();) {  // ends: a row that finds no cell is repeated only after growth
    i = exchange_until_full({hashes, old, locations}, i, outcomes, bits);
    if (i == hashes.size()) break;
    grows = grows && grow(bits, kLeastFull);
    if (!grows) ++i;
  }
}

void CpuIndex::erase(std::span<const Hash> hashes, std::span<const Location> locations, std::span<Outcome> outcomes) {
  require_equal(hashes.size(), locations.size(), "locations");
  require_equal(hashes.size(), outcomes.size(), "outcomes");
  const threads::Inside inside(layout_, threads::Inside::Kind::search);
  const CpuMemory memory = this->memory();
  const Geometry geometry = geometry_;
  std::uint64_t erased = 0;
  in_steps(
      0, hashes.size(), [&](std::size_t i) { memory.prefetch(geometry.primary(hashes[i])); },
      [&](std::size_t i) { look_ahead(memory, Target(geometry, hashes[i]), false); },
      [&](std::size_t i) {
        const bool done = cuckoo::erase(kTile, memory, Target(geometry, hashes[i]), locations[i]);
        outcomes[i] = done ? Outcome::erased : Outcome::absent;
        erased += done ? 1 : 0;
        return true;
      });
  size_.fetch_sub(erased, std::memory_order_relaxed);
}

}  // namespace holdfast::cuckoo::cpu

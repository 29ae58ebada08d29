// fresh.cpp: fills an index that is empty. Each partition is one thread's, so an insert needs no atomic operation.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "structures/cuckoo/arrays.hpp"
#include "structures/cuckoo/change.hpp"
#include "structures/cuckoo/cpu/cpu_index.hpp"
#include "structures/cuckoo/cpu/plain_memory.hpp"
#include "structures/cuckoo/cpu/steps.hpp"

namespace holdfast::cuckoo::cpu {

namespace {

constexpr std::size_t kFreshAhead = 24;  ///< rows whose lines are asked for; they come from the caches

}  // namespace

/// Inserts the rows of one unit, except those that `again` gets. Returns the entries that it moved.
std::uint64_t CpuIndex::fill_unit(const std::vector<std::span<const Row>>& spans, std::vector<Row>& again) const {
  const PlainMemory memory{this->memory()};
  const Geometry geometry = geometry_;
  std::uint64_t moves = 0;
  RowCursor ahead{spans}, here{spans};
  for (std::size_t i = 0; i < kFreshAhead && !ahead.ends(); ++i, ahead.advance()) {
    memory.prefetch(geometry.primary(ahead.row().hash));
  }
  for (; !here.ends(); here.advance()) {
    if (!ahead.ends()) {
      memory.prefetch(geometry.primary(ahead.row().hash));
      ahead.advance();
    }
    const Row& row = here.row();
    const Target target(geometry, row.hash);
    if (cuckoo::search(kTile, memory, target) != kNone) {
      again.push_back(row);
      continue;
    }
    const Inserted inserted = insert(kTile, memory, geometry, target, row.location);
    moves += inserted.moves;
    if (!inserted.done) again.push_back(row);
  }
  return moves;
}

unsigned CpuIndex::part_bits(std::uint64_t rows) const {
  const unsigned bits = std::max(geometry_.bits, bits_for(rows));
  return std::min(bits > kPartitionBits ? bits - kPartitionBits : 0, FreshRows::kMostPartBits);
}

std::vector<Row> CpuIndex::fill(std::span<const FreshRows> found) {
  const std::unique_lock alone(layout_.use);
  HOLDFAST_ASSERT(size() == 0);
  std::uint64_t rows = 0;
  for (const FreshRows& its : found) rows += its.size();
  require_capacity(rows);
  const unsigned bits = std::max(bits_for(rows), geometry_.bits);
  if (bits > geometry_.created_bits) make(bits);
  // A unit is what has a partition, or several, to itself.
  const std::size_t parts = found.empty() ? 1 : found.front().parts();
  const std::size_t units = std::min<std::size_t>(parts, geometry_.partitions());
  std::vector<Row> again;
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  const auto wanted = static_cast<unsigned>(std::min<std::size_t>(units, team_.threads()));
  team_.run(wanted, [&](unsigned, unsigned) {
    std::vector<Row> its;
    std::vector<std::span<const Row>> spans;
    std::uint64_t moves = 0;
    for (std::size_t unit; (unit = next.fetch_add(1)) < units;) {
      spans.clear();
      for (std::size_t part = unit; part < parts; part += units) {
        for (const FreshRows& thread : found) thread.list(part, spans);
      }
      moves += fill_unit(spans, its);
    }
    moves_.fetch_add(moves, std::memory_order_relaxed);
    const std::lock_guard lock(mutex);
    again.insert(again.end(), its.begin(), its.end());
  });
  size_.store(rows - again.size(), std::memory_order_relaxed);
  return again;
}

}  // namespace holdfast::cuckoo::cpu

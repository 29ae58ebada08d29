// build.cpp: the insertion of many entries, as when a store is opened.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "holdfast/error.hpp"
#include "structures/cuckoo/arrays.hpp"
#include "structures/cuckoo/cuda/cuda_index.hpp"
#include "threads/thread_team.hpp"

namespace holdfast::cuckoo::cuda {

/// What finds a cell is inserted in any case.
void CudaIndex::reserve_if_possible(std::uint64_t entries) {
  try {
    reserve(entries);
  } catch (const NoSpace&) {
  }
}

std::uint64_t CudaIndex::build(std::span<const Hash> hashes, std::span<const Location> locations) {
  require_equal(hashes.size(), locations.size(), "locations");
  require_locations(locations);
  if (hashes.empty()) return 0;
  reserve_if_possible(size() + hashes.size());
  std::vector<Outcome> outcomes(hashes.size());
  const std::vector<std::size_t> left = exchange_once({hashes, {}, locations}, outcomes);
  if (left.empty()) return 0;
  std::vector<Hash> left_hashes;
  std::vector<Location> left_locations;
  for (const std::size_t row : left) {
    left_hashes.push_back(hashes[row]);
    left_locations.push_back(locations[row]);
  }
  const std::vector<Location> none(left.size(), kNone);
  outcomes.resize(left.size());
  exchange(left_hashes, none, left_locations, outcomes);  // with growth
  return static_cast<std::uint64_t>(std::count(outcomes.begin(), outcomes.end(), Outcome::no_cell));
}

/// Of one part of the rows. Each thread copies a piece while the GPU inserts the pieces before, which may be others'.
void CudaIndex::fill_some(const std::vector<std::span<const Row>>& spans, std::vector<Row>& again) {
  std::size_t size = 0;
  for (const std::span<const Row> rows : spans) size += rows.size();
  RowCursor next{spans};
  in_pieces(
      size, sizeof(Hash) + sizeof(Location) + sizeof(Outcome), "building the index",
      [&](LinkPiece& piece, cudaStream_t stream, std::size_t, std::size_t rows) {
        Outcome* const done = piece.take<Outcome>(rows);
        Hash* const hashes = piece.take<Hash>(rows);
        Location* const locations = piece.take<Location>(rows);
        for (std::size_t i = 0; i < rows; ++i, next.advance()) {
          hashes[i] = next.row().hash;
          locations[i] = next.row().location;
        }
        fill_on(stream, hashes, locations, done, rows);
      },
      [&](LinkPiece& piece, std::size_t, std::size_t rows) {
        const Outcome* const done = piece.take<Outcome>(rows);
        const Hash* const hashes = piece.take<Hash>(rows);
        const Location* const locations = piece.take<Location>(rows);
        for (std::size_t i = 0; i < rows; ++i) {
          if (done[i] != Outcome::inserted) again.push_back({hashes[i], locations[i]});
        }
      });
}

std::vector<Row> CudaIndex::fill(std::span<const FreshRows> found) {
  std::uint64_t rows = 0;
  for (const FreshRows& its : found) rows += its.size();
  if (rows == 0) return {};
  require_capacity(rows);
  reserve_if_possible(size() + rows);
  std::vector<Row> again;
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  const std::size_t parts = found.front().parts();
  threads::ThreadTeam(options_.threads).run(options_.threads, [&](unsigned, unsigned) {
    std::vector<Row> its;
    std::vector<std::span<const Row>> spans;
    for (std::size_t part; (part = next.fetch_add(1)) < parts;) {
      spans.clear();
      for (const FreshRows& thread : found) thread.list(part, spans);
      fill_some(spans, its);
    }
    const std::lock_guard lock(mutex);
    again.insert(again.end(), its.begin(), its.end());
  });
  std::vector<Hash> hashes;
  std::vector<Location> locations;
  for (const Row& row : again) {
    hashes.push_back(row.hash);
    locations.push_back(row.location);
  }
  std::vector<Outcome> outcomes(again.size());
  erase(hashes, locations, outcomes);  // those whose signature repeats are there
  return again;
}

}  // namespace holdfast::cuckoo::cuda

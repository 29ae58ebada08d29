// cuda_index.cpp: batches on the GPU: their order, their arrays, and growth.
#include "structures/cuckoo/cuda/cuda_index.hpp"

#include <shared_mutex>
#include <string>
#include <utility>

#include "holdfast/error.hpp"
#include "structures/cuckoo/arrays.hpp"

namespace holdfast::cuckoo::cuda {

namespace {

constexpr unsigned kCells = 8;

gpu::DeviceBuffer<std::uint64_t> zeroed(std::uint64_t words) {
  gpu::DeviceBuffer<std::uint64_t> buffer(words);
  gpu::check(cudaMemset(buffer.data(), 0, words * sizeof(std::uint64_t)), "emptying an index");
  return buffer;
}

}  // namespace

CudaIndex::CudaIndex(const CudaOptions& options) : options_(options), layout_(threads::Gate::Rank::layout, this, this) {
  require_capacity(options.capacity);
  require_signature_bits(options.signature_bits);
  const gpu::OnDevice on(options.device);
  const unsigned bits = bits_for(options.capacity);
  geometry_ = {bits, bits, low_bits(options.signature_bits)};
  changed_.emplace();
  cells_ = zeroed(geometry_.buckets() * kCells);
  groups_ = zeroed(groups_of(bits));
  counters_ = gpu::DeviceBuffer<Counters>(1);
  gpu::check(cudaMemset(counters_.data(), 0, sizeof(Counters)), "emptying an index");
  gpu::check(cudaDeviceSynchronize(), "emptying an index");  // streams that do not wait for the default one use it
}

/// Batches that were enqueued use its memory.
CudaIndex::~CudaIndex() {
  int before = 0;
  static_cast<void>(cudaGetDevice(&before));
  static_cast<void>(cudaSetDevice(options_.device));
  static_cast<void>(cudaDeviceSynchronize());
  static_cast<void>(cudaSetDevice(before));
}

std::uint64_t CudaIndex::cells() const {
  const std::shared_lock shared(layout_);
  return geometry_.buckets() * kCells;
}

Counters CudaIndex::counters() const {
  const gpu::OnDevice on(options_.device);
  Counters counters{};
  gpu::check(cudaDeviceSynchronize(), "counting entries");
  gpu::check(cudaMemcpy(&counters, counters_.data(), sizeof counters, cudaMemcpyDeviceToHost), "counting entries");
  return counters;
}

/// Without overlap a search begins after the latest change, and the next change after it.
template <class Enqueue>
void CudaIndex::enqueue_search(cudaStream_t stream, const Enqueue& enqueue) const {
  const gpu::OnDevice on(options_.device);
  gpu::require_stream(stream, options_.device);
  const std::shared_lock shared(layout_);
  if (options_.overlaps) return enqueue();
  const std::lock_guard lock(order_);
  changed_->hold(stream);
  enqueue();
  if (spare_.empty()) spare_.emplace_back();
  spare_.back().record(stream);
  searched_.push_back(std::move(spare_.back()));
  spare_.pop_back();
}

template <class Enqueue>
void CudaIndex::enqueue_change(cudaStream_t stream, const Enqueue& enqueue) {
  const gpu::OnDevice on(options_.device);
  gpu::require_stream(stream, options_.device);
  const std::shared_lock shared(layout_);
  const std::lock_guard lock(order_);
  changed_->hold(stream);
  for (gpu::Event& search : searched_) {
    search.hold(stream);
    spare_.push_back(std::move(search));
  }
  searched_.clear();
  enqueue();
  changed_->record(stream);
}

void CudaIndex::search_on(cudaStream_t stream, const Hash* hashes, Location* locations, std::uint64_t rows) const {
  enqueue_search(stream, [&] { cuda::enqueue_search(index(), options_.overlaps, hashes, locations, rows, stream); });
}

void CudaIndex::candidates_on(cudaStream_t stream, const Hash* hashes, Candidates* lists, std::uint64_t rows) const {
  enqueue_search(stream, [&] { enqueue_candidates(index(), hashes, lists, rows, stream); });
}

void CudaIndex::exchange_on(cudaStream_t stream, const Hash* hashes, const Location* old, const Location* locations,
                            Outcome* outcomes, std::uint64_t rows) {
  require_rows(rows);
  enqueue_change(stream, [&] {
    const Exchange batch{hashes, old, locations, outcomes, left_.at_least(rows), rows};
    enqueue_exchange(index(), options_.overlaps, batch, counters_.data(), stream);
  });
}

void CudaIndex::erase_on(cudaStream_t stream, const Hash* hashes, const Location* locations, Outcome* outcomes,
                         std::uint64_t rows) {
  enqueue_change(stream, [&] {
    enqueue_erase(index(), options_.overlaps, hashes, locations, outcomes, rows, counters_.data(), stream);
  });
}

void CudaIndex::search(std::span<const Hash> hashes, std::span<Location> locations) const {
  require_equal(hashes.size(), locations.size(), "locations");
  if (hashes.empty()) return;
  const gpu::OnDevice on(options_.device);
  const gpu::Stages::Lease lease = stages_.lend();
  gpu::Stage& stage = *lease;
  stage.begin(hashes.size_bytes() + locations.size_bytes(), 2);
  const Hash* const rows = stage.upload<Hash>(hashes.data(), hashes.size_bytes());
  Location* const found = stage.take<Location>(locations.size_bytes());
  search_on(stage.stream(), rows, found, hashes.size());
  stage.download(locations.data(), found, locations.size_bytes());
  stage.stream().wait("searching the index");
}

void CudaIndex::candidates(std::span<const Hash> hashes, std::span<Candidates> lists) const {
  require_equal(hashes.size(), lists.size(), "lists");
  if (hashes.empty()) return;
  const gpu::OnDevice on(options_.device);
  const gpu::Stages::Lease lease = stages_.lend();
  gpu::Stage& stage = *lease;
  stage.begin(hashes.size_bytes() + lists.size_bytes(), 2);
  const Hash* const rows = stage.upload<Hash>(hashes.data(), hashes.size_bytes());
  Candidates* const found = stage.take<Candidates>(lists.size_bytes());
  candidates_on(stage.stream(), rows, found, hashes.size());
  stage.download(lists.data(), found, lists.size_bytes());
  stage.stream().wait("searching the index");
}

void CudaIndex::exchange(std::span<const Hash> hashes, std::span<const Location> old,
                         std::span<const Location> locations, std::span<Outcome> outcomes) {
  require_equal(hashes.size(), old.size(), "old locations");
  require_equal(hashes.size(), locations.size(), "locations");
  require_equal(hashes.size(), outcomes.size(), "outcomes");
  require_locations(locations);
  if (hashes.empty()) return;
  const gpu::OnDevice on(options_.device);
  const gpu::Stages::Lease lease = stages_.lend();
  gpu::Stage& stage = *lease;
  std::vector<Hash> left_hashes;
  std::vector<Location> left_old, left_locations;
  std::vector<std::size_t> left;  // rows without a cell; at first all, which are not listed
  for (;;) {                      // ends: it is repeated only after growth
    const std::size_t rows = hashes.size();
    std::vector<Outcome> results(rows);
    unsigned bits = 0;
    {
      const std::shared_lock shared(layout_);
      bits = geometry_.bits;
    }
    stage.begin(hashes.size_bytes() + old.size_bytes() + locations.size_bytes() + rows, 4);
    const Hash* const at = stage.upload<Hash>(hashes.data(), hashes.size_bytes());
    const Location* const old_at = stage.upload<Location>(old.data(), old.size_bytes());
    const Location* const locations_at = stage.upload<Location>(locations.data(), locations.size_bytes());
    Outcome* const outcomes_at = stage.take<Outcome>(rows);
    exchange_on(stage.stream(), at, old_at, locations_at, outcomes_at, rows);
    stage.download(results.data(), outcomes_at, rows);
    stage.stream().wait("changing the index");

    std::vector<std::size_t> without;
    std::vector<Hash> next_hashes;
    std::vector<Location> next_locations;
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t row = left.empty() ? i : left[i];
      outcomes[row] = results[i];
      if (results[i] != Outcome::no_cell) continue;
      without.push_back(row);
      next_hashes.push_back(hashes[i]);
      next_locations.push_back(locations[i]);
    }
    if (without.empty() || !grow(bits, kLeastFull)) return;
    left = std::move(without);
    left_hashes = std::move(next_hashes);
    left_locations = std::move(next_locations);
    left_old.assign(left.size(), kNone);
    hashes = left_hashes;
    old = left_old;
    locations = left_locations;
  }
}

void CudaIndex::erase(std::span<const Hash> hashes, std::span<const Location> locations, std::span<Outcome> outcomes) {
  require_equal(hashes.size(), locations.size(), "locations");
  require_equal(hashes.size(), outcomes.size(), "outcomes");
  if (hashes.empty()) return;
  const gpu::OnDevice on(options_.device);
  const gpu::Stages::Lease lease = stages_.lend();
  gpu::Stage& stage = *lease;
  stage.begin(hashes.size_bytes() + locations.size_bytes() + outcomes.size_bytes(), 3);
  const Hash* const rows = stage.upload<Hash>(hashes.data(), hashes.size_bytes());
  const Location* const at = stage.upload<Location>(locations.data(), locations.size_bytes());
  Outcome* const done = stage.take<Outcome>(outcomes.size_bytes());
  erase_on(stage.stream(), rows, at, done, hashes.size());
  stage.download(outcomes.data(), done, outcomes.size_bytes());
  stage.stream().wait("changing the index");
}

void CudaIndex::reserve(std::uint64_t entries) {
  require_capacity(entries);
  for (;;) {  // ends: each repetition doubles the index
    unsigned bits = 0;
    {
      const std::shared_lock shared(layout_);
      bits = geometry_.bits;
    }
    if (entries_of(bits) >= entries || bits >= kMostBits) return;
    if (!grow(bits, 0)) throw NoSpace("index: no GPU memory for more entries: free some, or reserve fewer");
  }
}

/// Doubles the index, unless it has no longer the 2^bits buckets that the caller saw. False: GPU memory is lacking, or fewer than one in
/// `least` cells are in use (0: any number), or there cannot be more buckets.
bool CudaIndex::grow(unsigned bits, std::uint64_t least) {
  const gpu::OnDevice on(options_.device);
  const std::unique_lock alone(layout_);
  if (geometry_.bits != bits) return true;  // another thread was first
  gpu::check(cudaDeviceSynchronize(), "growing the index");
  if (bits >= kMostBits || (least != 0 && counters().entries < geometry_.buckets() * kCells / least)) return false;
  const Geometry next = geometry_.grown();
  gpu::DeviceBuffer<std::uint64_t> cells, groups;
  try {
    cells = zeroed(next.buckets() * kCells);
    groups = zeroed(groups_of(next.bits));
  } catch (const DeviceError&) {
    if (cudaPeekAtLastError() != cudaSuccess) throw;
    return false;
  }
  enqueue_growth(index(), {cells.data(), groups.data(), next}, nullptr);
  gpu::check(cudaDeviceSynchronize(), "growing the index");
  geometry_ = next;
  cells_ = std::move(cells);
  groups_ = std::move(groups);
  return true;
}

}  // namespace holdfast::cuckoo::cuda

// cuda_index.cpp: batches on the GPU: their order, their arrays, and growth.
#include "structures/cuckoo/cuda/cuda_index.hpp"

#include <algorithm>
#include <atomic>
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
  gpu::require_stream(stream, options_.device);
  enqueue_search(stream, [&] { cuda::enqueue_search(index(), options_.overlaps, hashes, locations, rows, stream); });
}

void CudaIndex::candidates_on(cudaStream_t stream, const Hash* hashes, Candidates* lists, std::uint64_t rows) const {
  gpu::require_stream(stream, options_.device);
  enqueue_search(stream, [&] { enqueue_candidates(index(), hashes, lists, rows, stream); });
}

void CudaIndex::exchange_on(cudaStream_t stream, const Hash* hashes, const Location* old, const Location* locations,
                            Outcome* outcomes, std::uint64_t rows, bool inserts) {
  require_rows(rows);
  enqueue_change(stream, [&] {
    const Exchange batch{
        hashes, old,    locations, outcomes, left_.at_least(std::max<std::uint64_t>(rows, LinkStage::kPieceRows)),
        rows,   inserts};
    enqueue_exchange(index(), options_.overlaps, batch, counters_.data(), stream);
  });
}

void CudaIndex::erase_on(cudaStream_t stream, const Hash* hashes, const Location* locations, Outcome* outcomes,
                         std::uint64_t rows) {
  enqueue_change(stream, [&] {
    enqueue_erase(index(), options_.overlaps, hashes, locations, outcomes, rows, counters_.data(), stream);
  });
}

/// The same of rows that insert, and what `fill` says of them.
void CudaIndex::fill_on(cudaStream_t stream, const Hash* hashes, const Location* locations, Outcome* outcomes,
                        std::uint64_t rows) {
  enqueue_change(stream, [&] {
    const Exchange batch{
        hashes, nullptr, locations, outcomes, left_.at_least(std::max<std::uint64_t>(rows, LinkStage::kPieceRows)),
        rows};
    enqueue_exchange(index(), false, batch, counters_.data(), stream);
    enqueue_repeats(index(), hashes, outcomes, rows, stream);
  });
}

void CudaIndex::search(std::span<const Hash> hashes, std::span<Location> locations) const {
  require_equal(hashes.size(), locations.size(), "locations");
  in_pieces(
      hashes.size(), sizeof(Hash) + sizeof(Location), "searching the index",
      [&](LinkPiece& piece, cudaStream_t stream, std::size_t from, std::size_t rows) {
        Location* const found = piece.take<Location>(rows);
        search_on(stream, piece.put(hashes.subspan(from, rows)), found, rows);
      },
      [&](LinkPiece& piece, std::size_t from, std::size_t rows) {
        std::copy_n(piece.take<Location>(rows), rows, locations.data() + from);
      });
}

/// Has a stage while a batch is under way. It may end after its index. Answers are seen as they come to pinned memory: with many callers, each call
/// of CUDA costs as much as the search of a hundred rows.
class CudaIndex::Search final : public Searching {
 public:
  explicit Search(const CudaIndex& index) : index_(index), device_(index.options_.device), stages_(index.stages_) {}
  void begin(std::span<const Hash> hashes) override {
    HOLDFAST_ASSERT(!lease_);
    if (hashes.empty()) return;
    const gpu::OnDevice on(device_);
    lease_.reset(new Lease(stages_->lend()));
    LinkStage& stage = **lease_;
    LinkPiece& piece = stage.piece();
    piece.begin(hashes.size() * (sizeof(Hash) + sizeof(Location)));
    Location* const found = piece.take<Location>(hashes.size());
    std::fill_n(found, hashes.size(), kUnanswered);
    const Hash* const copied = piece.put(hashes);
    stage.begin();
    index_.enqueue_search(stage.stream(), [&] {
      cuda::enqueue_search(index_.index(), index_.options_.overlaps, copied, found, hashes.size(), stage.stream());
    });
  }
  void finish(std::span<Location> locations) override {
    if (!lease_) return;
    const std::unique_ptr<Lease> lease = std::move(lease_);
    LinkStage& stage = **lease;
    LinkPiece& piece = stage.piece();
    piece.rewind();
    Location* const found = piece.take<Location>(locations.size());
    for (std::size_t row = 0; row < locations.size(); ++row) locations[row] = answer(stage, found[row]);
    stage.end();
  }

 private:
  using Lease = gpu::StagesOf<LinkStage>::Lease;
  static constexpr Location kUnanswered = kNone - 1;  ///< a location, too: then the kernel's end is waited for
  static constexpr unsigned kLooks = 1u << 16;        ///< at an answer, before CUDA is asked whether it comes

  Location answer(LinkStage& stage, Location& found) const {
    const std::atomic_ref<Location> its(found);
    for (unsigned looks = 0; looks < kLooks; ++looks) {
      const Location location = its.load(std::memory_order_acquire);
      if (location != kUnanswered) return location;
    }
    const gpu::OnDevice on(device_);
    stage.stream().wait("searching the index");
    return its.load(std::memory_order_acquire);
  }
  const CudaIndex& index_;
  const int device_;
  const std::shared_ptr<gpu::StagesOf<LinkStage>> stages_;
  std::unique_ptr<Lease> lease_;
};

std::unique_ptr<Searching> CudaIndex::searching() const { return std::make_unique<Search>(*this); }

void CudaIndex::candidates(std::span<const Hash> hashes, std::span<Candidates> lists) const {
  require_equal(hashes.size(), lists.size(), "lists");
  in_pieces(
      hashes.size(), sizeof(Hash) + sizeof(Candidates), "searching the index",
      [&](LinkPiece& piece, cudaStream_t stream, std::size_t from, std::size_t rows) {
        Candidates* const found = piece.take<Candidates>(rows);
        candidates_on(stream, piece.put(hashes.subspan(from, rows)), found, rows);
      },
      [&](LinkPiece& piece, std::size_t from, std::size_t rows) {
        const Candidates* const found = piece.take<Candidates>(rows);
        for (std::size_t i = 0; i < rows; ++i) {
          lists[from + i].size = found[i].size;
          std::copy_n(found[i].locations, found[i].size, lists[from + i].locations);
        }
      });
}

/// Without growth. Returns the rows without a cell.
std::vector<std::size_t> CudaIndex::exchange_once(const Rows& rows, std::span<Outcome> outcomes) {
  std::vector<std::size_t> without;
  in_pieces(
      rows.hashes.size(), sizeof(Hash) + 2 * sizeof(Location) + sizeof(Outcome), "changing the index",
      [&](LinkPiece& piece, cudaStream_t stream, std::size_t from, std::size_t size) {
        Outcome* const done = piece.take<Outcome>(size);
        const Hash* const hashes = piece.put(rows.hashes.subspan(from, size));
        const Location* const locations = piece.put(rows.locations.subspan(from, size));
        const auto its_old = rows.old.empty() ? rows.old : rows.old.subspan(from, size);
        const bool inserts = its_old.empty() || std::ranges::find(its_old, kNone) != its_old.end();
        const Location* const old = its_old.empty() ? nullptr : piece.put(its_old);
        exchange_on(stream, hashes, old, locations, done, size, inserts);
      },
      [&](LinkPiece& piece, std::size_t from, std::size_t size) {
        std::copy_n(piece.take<Outcome>(size), size, outcomes.data() + from);
        for (std::size_t i = from; i < from + size; ++i) {
          if (outcomes[i] == Outcome::no_cell) without.push_back(i);
        }
      });
  return without;
}

void CudaIndex::exchange(std::span<const Hash> hashes, std::span<const Location> old,
                         std::span<const Location> locations, std::span<Outcome> outcomes) {
  require_equal(hashes.size(), old.size(), "old locations");
  require_equal(hashes.size(), locations.size(), "locations");
  require_equal(hashes.size(), outcomes.size(), "outcomes");
  require_locations(locations);
  require_rows(hashes.size());
  unsigned bits = this->bits();
  std::vector<std::size_t> left = exchange_once({hashes, old, locations}, outcomes);
  while (!left.empty() && grow(bits, kLeastFull)) {  // ends: each repetition follows growth
    bits = this->bits();
    std::vector<Hash> left_hashes;
    std::vector<Location> left_locations;
    for (const std::size_t row : left) {
      left_hashes.push_back(hashes[row]);
      left_locations.push_back(locations[row]);
    }
    std::vector<Outcome> results(left.size());
    const std::vector<std::size_t> without = exchange_once({left_hashes, {}, left_locations}, results);
    for (std::size_t i = 0; i < left.size(); ++i) outcomes[left[i]] = results[i];
    std::vector<std::size_t> next;
    for (const std::size_t i : without) next.push_back(left[i]);
    left = std::move(next);
  }
}

void CudaIndex::erase(std::span<const Hash> hashes, std::span<const Location> locations, std::span<Outcome> outcomes) {
  require_equal(hashes.size(), locations.size(), "locations");
  require_equal(hashes.size(), outcomes.size(), "outcomes");
  in_pieces(
      hashes.size(), sizeof(Hash) + sizeof(Location) + sizeof(Outcome), "changing the index",
      [&](LinkPiece& piece, cudaStream_t stream, std::size_t from, std::size_t rows) {
        Outcome* const done = piece.take<Outcome>(rows);
        const Hash* const at = piece.put(hashes.subspan(from, rows));
        erase_on(stream, at, piece.put(locations.subspan(from, rows)), done, rows);
      },
      [&](LinkPiece& piece, std::size_t from, std::size_t rows) {
        std::copy_n(piece.take<Outcome>(rows), rows, outcomes.data() + from);
      });
}

unsigned CudaIndex::bits() const {
  const std::shared_lock shared(layout_);
  return geometry_.bits;
}

void CudaIndex::reserve(std::uint64_t entries) {
  require_capacity(entries);
  for (;;) {  // ends: each repetition doubles the index
    const unsigned bits = this->bits();
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

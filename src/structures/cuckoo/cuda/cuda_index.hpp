// cuda_index.hpp: the index in GPU memory. docs/internals/cuckoo.md.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "gpu/runtime.hpp"
#include "gpu/staging.hpp"
#include "structures/cuckoo/cuda/kernels.hpp"
#include "structures/cuckoo/cuda/link_stage.hpp"
#include "structures/cuckoo/fresh_rows.hpp"
#include "structures/cuckoo/index.hpp"
#include "structures/cuckoo/searching.hpp"
#include "structures/cuckoo/under_way.hpp"
#include "threads/gate.hpp"

namespace holdfast::cuckoo::cuda {

/// How an index is made.
struct CudaOptions {
  std::uint64_t capacity = 0;    ///< entries that it takes without growing
  int device = 0;                ///< number of the GPU
  bool overlaps = true;          ///< searches run beside changing batches; else they wait for each other
  unsigned signature_bits = 32;  ///< fewer in tests, so that signatures collide
  unsigned threads = 1;          ///< of `fill`
};

/// An `Index`, whose arrays are in host memory: they are copied to pinned memory and from it, which kernels use over the link (link_stage.hpp). Of a
/// search 8 bytes a row go to the GPU and 4 come back. The members named `…_on` take arrays in GPU memory instead and enqueue the batch on the
/// caller's stream: it is done when the stream has done it. Every member but the constructor may be called by several threads at once.
/// Changing batches run one after another, whatever their streams.
class CudaIndex {
 public:
  /// Throws InvalidArgument, DeviceError.
  explicit CudaIndex(const CudaOptions& options);
  ~CudaIndex();
  CudaIndex(const CudaIndex&) = delete;
  CudaIndex& operator=(const CudaIndex&) = delete;

  void search(std::span<const Hash> hashes, std::span<Location> locations) const;
  /// Enqueued at `begin`.
  std::unique_ptr<Searching> searching() const;
  void candidates(std::span<const Hash> hashes, std::span<Candidates> lists) const;
  void exchange(std::span<const Hash> hashes, std::span<const Location> old, std::span<const Location> locations,
                std::span<Outcome> outcomes);
  void erase(std::span<const Hash> hashes, std::span<const Location> locations, std::span<Outcome> outcomes);
  /// Begins a batch: one of at most LinkStage::kPieceRows rows is enqueued, a larger one is executed when it is finished.
  std::unique_ptr<UnderWay> begin(const AnyBatch& batch);
  void reserve(std::uint64_t entries);
  /// Inserts many entries that the index does not have: grows first. Returns how many rows found no cell because GPU memory for growth was lacking; these are not in the index.
  std::uint64_t build(std::span<const Hash> hashes, std::span<const Location> locations);
  /// Inserts rows that threads have collected, by several threads, while nothing else uses the index: grows first. Returns the rows that are not in
  /// it then: those of a signature that another row in their buckets has, as their keys may repeat, and those that found no cell.
  std::vector<Row> fill(std::span<const FreshRows> found);
  /// Waits for the batches that were enqueued.
  std::uint64_t size() const { return counters().entries; }
  std::uint64_t moves() const { return counters().moves; }
  std::uint64_t cells() const;

  void search_on(cudaStream_t stream, const Hash* hashes, Location* locations, std::uint64_t rows) const;
  void candidates_on(cudaStream_t stream, const Hash* hashes, Candidates* lists, std::uint64_t rows) const;
  /// `old` may be null: all rows insert. Does not grow: a row without a cell has the outcome `no_cell`. `reserve` goes before. `inserts`: some
  /// row may, false saves a launch.
  void exchange_on(cudaStream_t stream, const Hash* hashes, const Location* old, const Location* locations,
                   Outcome* outcomes, std::uint64_t rows, bool inserts = true);
  void erase_on(cudaStream_t stream, const Hash* hashes, const Location* locations, Outcome* outcomes,
                std::uint64_t rows);

 private:
  class Search;
  class Piece;
  DeviceIndex index() const { return {cells_.data(), groups_.data(), geometry_}; }
  Counters counters() const;
  unsigned bits() const;
  bool grow(unsigned bits, std::uint64_t least);
  template <class Enqueue>
  void enqueue_search(cudaStream_t stream, const Enqueue& enqueue) const;
  template <class Enqueue>
  void enqueue_change(cudaStream_t stream, const Enqueue& enqueue);
  /// `begin(piece, stream, from, rows)` and `end(piece, from, rows)` as of LinkStage.
  template <class Begin, class End>
  void in_pieces(std::size_t size, std::size_t row_bytes, const char* doing, const Begin& begin, const End& end) const {
    if (size == 0) return;
    const gpu::OnDevice on(options_.device);
    const auto stage = stages_->lend();
    const auto begin_piece = [&](LinkPiece& piece, std::size_t from, std::size_t rows) {
      begin(piece, (*stage).stream(), from, rows);
    };
    (*stage).in_pieces(size, row_bytes, doing, begin_piece, end);
  }
  void fill_on(cudaStream_t stream, const Hash* hashes, const Location* locations, Outcome* outcomes,
               std::uint64_t rows);
  struct Rows {
    std::span<const Hash> hashes;
    std::span<const Location> old, locations;  ///< no `old`: all rows insert
  };
  std::vector<std::size_t> exchange_once(const Rows& rows, std::span<Outcome> outcomes);
  void reserve_if_possible(std::uint64_t entries);
  void fill_some(const std::vector<std::span<const Row>>& spans, std::vector<Row>& again);

  const CudaOptions options_;
  Geometry geometry_;  // changes under `layout_` alone, as cells_ and groups_ do
  gpu::DeviceBuffer<std::uint64_t> cells_, groups_;
  gpu::DeviceBuffer<Counters> counters_;
  mutable threads::Gate layout_;
  const std::shared_ptr<gpu::StagesOf<LinkStage>> stages_ = std::make_shared<gpu::StagesOf<LinkStage>>();

  mutable std::mutex order_;  // of what follows: held while a batch is enqueued, after `layout_`
  gpu::DeviceBuffer<std::uint32_t> left_;
  std::optional<gpu::Event> changed_;         // the end of the latest changing batch
  mutable std::vector<gpu::Event> searched_;  // without overlap: the ends of searches since then
  mutable std::vector<gpu::Event> spare_;     // events to be used again
};
static_assert(Index<CudaIndex>);

}  // namespace holdfast::cuckoo::cuda

// under_way.cpp: batches on the GPU whose caller waits for them later.
#include <algorithm>
#include <vector>

#include "structures/cuckoo/cuda/cuda_index.hpp"

namespace holdfast::cuckoo::cuda {

/// A batch of one piece, on a stage that it has until it ends.
class CudaIndex::Piece final : public UnderWay {
 public:
  Piece(CudaIndex& index, const AnyBatch& batch) : index_(index), batch_(batch), lease_(index.stages_->lend()) {
    LinkPiece& piece = (*lease_).piece();
    const std::size_t others = batch_.kind == AnyBatch::Kind::candidates ? sizeof(Candidates) : 3 * sizeof(Location);
    piece.begin(batch_.hashes.size() * (sizeof(Hash) + others));
    (*lease_).begin();
    enqueue(piece, (*lease_).stream());
    piece.ended().record((*lease_).stream());
  }
  void finish() override {
    const gpu::OnDevice on(index_.options_.device);
    LinkPiece& piece = (*lease_).piece();
    piece.ended().wait(batch_.kind == AnyBatch::Kind::search || batch_.kind == AnyBatch::Kind::candidates
                           ? "searching the index"
                           : "changing the index");
    (*lease_).end();
    piece.rewind();
    take_answers(piece);
    if (batch_.kind == AnyBatch::Kind::exchange) grow_if_full();
  }

 private:
  void enqueue(LinkPiece& piece, cudaStream_t stream) {
    const std::size_t rows = batch_.hashes.size();
    using Kind = AnyBatch::Kind;
    if (batch_.kind == Kind::search) {
      Location* const found = piece.take<Location>(rows);
      index_.search_on(stream, piece.put(batch_.hashes), found, rows);
    } else if (batch_.kind == Kind::candidates) {
      Candidates* const lists = piece.take<Candidates>(rows);
      index_.candidates_on(stream, piece.put(batch_.hashes), lists, rows);
    } else {
      Outcome* const outcomes = piece.take<Outcome>(rows);
      const Hash* const hashes = piece.put(batch_.hashes);
      const Location* const locations = piece.put(batch_.locations);
      if (batch_.kind == Kind::erase) return index_.erase_on(stream, hashes, locations, outcomes, rows);
      const bool inserts = std::ranges::find(batch_.old, kNone) != batch_.old.end();
      index_.exchange_on(stream, hashes, piece.put(batch_.old), locations, outcomes, rows, inserts);
    }
  }
  void take_answers(LinkPiece& piece) const {
    const std::size_t rows = batch_.hashes.size();
    if (batch_.kind == AnyBatch::Kind::search) {
      std::copy_n(piece.take<Location>(rows), rows, batch_.found.data());
    } else if (batch_.kind == AnyBatch::Kind::candidates) {
      std::copy_n(piece.take<Candidates>(rows), rows, batch_.lists.data());
    } else {
      std::copy_n(piece.take<Outcome>(rows), rows, batch_.outcomes.data());
    }
  }
  /// Rows without a cell are inserted by a batch that waits, which grows the index.
  void grow_if_full() {
    std::vector<std::size_t> left;
    std::vector<Hash> hashes;
    std::vector<Location> locations;
    for (std::size_t row = 0; row < batch_.outcomes.size(); ++row) {
      if (batch_.outcomes[row] != Outcome::no_cell) continue;
      left.push_back(row);
      hashes.push_back(batch_.hashes[row]);
      locations.push_back(batch_.locations[row]);
    }
    if (left.empty()) return;
    const std::vector<Location> none(left.size(), kNone);
    std::vector<Outcome> outcomes(left.size());
    index_.exchange(hashes, none, locations, outcomes);
    for (std::size_t i = 0; i < left.size(); ++i) batch_.outcomes[left[i]] = outcomes[i];
  }

  CudaIndex& index_;
  const AnyBatch batch_;
  const gpu::StagesOf<LinkStage>::Lease lease_;
};

std::unique_ptr<UnderWay> CudaIndex::begin(const AnyBatch& batch) {
  require_batch(batch);
  const std::size_t rows = batch.hashes.size();
  if (rows == 0 || rows > LinkStage::kPieceRows) return std::make_unique<ExecutedLater<CudaIndex>>(*this, batch);
  const gpu::OnDevice on(options_.device);
  return std::make_unique<Piece>(*this, batch);
}

}  // namespace holdfast::cuckoo::cuda

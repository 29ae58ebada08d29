// build.cpp: the insertion of many entries from host memory.
#include <algorithm>
#include <vector>

#include "holdfast/error.hpp"
#include "structures/cuckoo/arrays.hpp"
#include "structures/cuckoo/cuda/cuda_index.hpp"

namespace holdfast::cuckoo::cuda {

namespace {

constexpr std::size_t kBuildBlock = std::size_t{16} << 20;  // rows

/// A block of rows on its way.
class Block {
 public:
  explicit Block(gpu::Stages& stages) : lease_(stages.lend()) {}

  void begin(CudaIndex& index, std::span<const Hash> hashes, std::span<const Location> locations) {
    gpu::Stage& stage = *lease_;
    hashes_ = hashes;
    locations_ = locations;
    outcomes_.resize(hashes.size());
    stage.begin(hashes.size_bytes() + locations.size_bytes() + outcomes_.size(), 3);
    const Hash* const rows = stage.upload<Hash>(hashes.data(), hashes.size_bytes());
    const Location* const at = stage.upload<Location>(locations.data(), locations.size_bytes());
    done_ = stage.take<Outcome>(outcomes_.size());
    index.exchange_on(stage.stream(), rows, nullptr, at, done_, hashes.size());
  }
  /// Waits, and adds the rows without a cell to the lists.
  void end(std::vector<Hash>& hashes, std::vector<Location>& locations) {
    if (outcomes_.empty()) return;
    gpu::Stage& stage = *lease_;
    stage.download(outcomes_.data(), done_, outcomes_.size());
    stage.stream().wait("building the index");
    for (auto at = outcomes_.begin(); (at = std::find(at, outcomes_.end(), Outcome::no_cell)) != outcomes_.end();
         ++at) {
      const auto row = static_cast<std::size_t>(at - outcomes_.begin());
      hashes.push_back(hashes_[row]);
      locations.push_back(locations_[row]);
    }
    outcomes_.clear();
  }

 private:
  const gpu::Stages::Lease lease_;
  std::span<const Hash> hashes_;
  std::span<const Location> locations_;
  std::vector<Outcome> outcomes_;
  Outcome* done_ = nullptr;
};

}  // namespace

std::uint64_t CudaIndex::build(std::span<const Hash> hashes, std::span<const Location> locations) {
  require_equal(hashes.size(), locations.size(), "locations");
  require_locations(locations);
  if (hashes.empty()) return 0;
  const gpu::OnDevice on(options_.device);
  try {
    reserve(size() + hashes.size());
  } catch (const NoSpace&) {  // what finds a cell is inserted
  }
  std::vector<Hash> left_hashes;
  std::vector<Location> left_locations;
  {
    Block blocks[2] = {Block(stages_), Block(stages_)};
    unsigned next = 0;
    for (std::size_t from = 0; from < hashes.size(); from += kBuildBlock, next = 1 - next) {
      const std::size_t rows = std::min(kBuildBlock, hashes.size() - from);
      blocks[next].end(left_hashes, left_locations);
      blocks[next].begin(*this, hashes.subspan(from, rows), locations.subspan(from, rows));
    }
    for (Block& block : blocks) block.end(left_hashes, left_locations);
  }
  if (left_hashes.empty()) return 0;
  const std::vector<Location> none(left_hashes.size(), kNone);
  std::vector<Outcome> outcomes(left_hashes.size());
  exchange(left_hashes, none, left_locations, outcomes);  // with growth
  return static_cast<std::uint64_t>(std::count(outcomes.begin(), outcomes.end(), Outcome::no_cell));
}

}  // namespace holdfast::cuckoo::cuda

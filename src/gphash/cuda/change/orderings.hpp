// orderings.hpp: where changing batches are put in order, one while the one before it, in the other room, changes the table.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gphash/cuda/cuda_table.hpp"

namespace holdfast::machine::cuda {

/// What a batch is ordered in; all in GPU memory.
struct Ordering {
  DeviceBuffer<std::uint32_t> prefixes, rows;
  DeviceBuffer<std::uint64_t> ordered{1};
  DeviceBuffer<index::Effect> effects;
  DeviceBuffer<index::Writes> writes;
  DeviceBuffer<std::byte> scratch;
  Event ended;  ///< the batch that was last ordered here
};

class Orderings {
 public:
  explicit Orderings(CudaTable& table) : table_(table) {}
  /// A room other than the one that the batch before is ordered in, unless they would be very large.
  Ordering& next(std::uint64_t rows);
  /// What asks nothing of the table, and so goes on beside the batch before: the order of the rows; what each run does (`folds`),
  /// and how often it writes (`counts`).
  void order(ChangeJob& job, Ordering& ordering, bool folds, bool counts, cudaStream_t stream);

 private:
  CudaTable& table_;
  Ordering rooms_[2];
  unsigned turn_ = 0;
};

}  // namespace holdfast::machine::cuda

// batches.hpp: the policy of a machine's batches, which its keys and values choose when it begins.
#pragma once

#include <cstddef>
#include <cstdint>

#include "structures/gphash/machine.hpp"

namespace holdfast::gphash::cuda {

class Batches {
 public:
  virtual ~Batches() = default;
  /// As Machine::run. The caller has made the table's GPU the current one, and the table works.
  virtual std::size_t run(const Batch& batch, OpSet ops, std::uint64_t score, std::size_t from,
                          BatchResult& result) = 0;
  /// What batches have done, and how the heap is used where the ring does not say. The caller holds `launching`.
  virtual void stats(Stats& stats) const = 0;
};

}  // namespace holdfast::gphash::cuda

// sessions.hpp: the part of a machine that runs users' kernels as one changing batch, and room for their changes. Rule 23.
#pragma once

#include <cstdint>

#include "structures/gphash/cuda/change/changes.hpp"
#include "structures/gphash/cuda/search/searches.hpp"
#include "structures/gphash/cuda/table/cuda_table.hpp"
#include "structures/gphash/cuda/upkeep/upkeep.hpp"
#include "structures/gphash/cuda/users/descriptor.hpp"

namespace holdfast::machine::cuda {

/// As gphash/machine.hpp has them.
class Sessions {
 public:
  Sessions(CudaTable& table, Searches& searches, Upkeep& upkeep, Changes& changes)
      : table_(table), searches_(searches), upkeep_(upkeep), changes_(changes) {}

  SessionHandle begin(std::uint64_t max_changes, std::uint64_t score, cudaStream_t stream);
  void commit(cudaStream_t stream);
  void end();

 private:
  void make_room(Need need);

  CudaTable& table_;
  Searches& searches_;
  Upkeep& upkeep_;
  Changes& changes_;
  DeviceBuffer<Descriptor> descriptor_;  ///< made for the first session
  std::uint64_t begun_ = 0;
};

}  // namespace holdfast::machine::cuda

// sessions.hpp: the part of a machine that runs users' kernels as one changing batch, and space for their changes. Rule 23.
#pragma once

#include <cstdint>

#include "structures/gphash/cuda/change/changes.hpp"
#include "structures/gphash/cuda/maintenance/maintenance.hpp"
#include "structures/gphash/cuda/search/searches.hpp"
#include "structures/gphash/cuda/table/cuda_table.hpp"
#include "structures/gphash/cuda/users/descriptor.hpp"

namespace holdfast::gphash::cuda {

/// As gphash/machine.hpp has them.
class Sessions {
 public:
  Sessions(CudaTable& table, Searches& searches, Maintenance& maintenance, Changes& changes)
      : table_(table), searches_(searches), maintenance_(maintenance), changes_(changes) {}

  SessionHandle begin(std::uint64_t max_changes, std::uint64_t score, cudaStream_t stream);
  void commit(cudaStream_t stream);
  void end();

 private:
  void make_space(Need need);

  CudaTable& table_;
  Searches& searches_;
  Maintenance& maintenance_;
  Changes& changes_;
  DeviceBuffer<Descriptor> descriptor_;  ///< made for the first session
  std::uint64_t begun_ = 0;
};

}  // namespace holdfast::gphash::cuda

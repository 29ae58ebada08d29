// plan_ahead.hpp: of a large change in phases, some rows are planned first, so that the link can begin with their values.
#pragma once

#include <cstdint>

#include "structures/gphash/cuda/table/cuda_table.hpp"

namespace holdfast::gphash::cuda {

/// Of one batch at a time.
class PlanAhead {
 public:
  explicit PlanAhead(CudaTable& table) : table_(table) {}

  bool pays(const ChangeJob& job) const;
  /// Plans all, and places the values of the first rows beside. Returns the plans whose values are left.
  PlanRange plan(const ChangeJob& job, const ChangeWorkspace& workspace, const SearchWorkspace& reading,
                 cudaStream_t stream);
  /// Until those values are placed.
  void wait(cudaStream_t stream) const { placed_.hold(stream); }

 private:
  CudaTable& table_;
  DeviceBuffer<std::uint32_t> changes_{1};  ///< of the first rows: planned
  Stream stream_{true};                     ///< for their values, between these moments
  Event planned_, placed_;
};

}  // namespace holdfast::gphash::cuda

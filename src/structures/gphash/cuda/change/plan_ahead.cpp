// plan_ahead.cpp: the first rows of a large change in phases.
#include "structures/gphash/cuda/change/plan_ahead.hpp"

#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::gphash::cuda {

/// Of batches with so many times the rows from which phases pay, one row of eight is planned first.
static constexpr std::uint64_t kAheadTimes = 16, kAheadPart = 8;

bool PlanAhead::pays(const ChangeJob& job) const { return job.size >= kAheadTimes * table_.rows_from_phases(); }

PlanRange PlanAhead::plan(const ChangeJob& job, const ChangeWorkspace& workspace, const SearchWorkspace& reading,
                          cudaStream_t stream) {
  const std::uint32_t& changes = job.report->changes;
  const std::uint64_t first = job.size / kAheadPart;
  table_.kernels->plan(job, workspace, reading, {0, first}, stream);
  cuda::check(cudaMemcpyAsync(changes_.data(), &changes, sizeof(changes), cudaMemcpyDeviceToDevice, stream),
              "planning a change");
  planned_.record(stream);
  planned_.hold(stream_);
  table_.kernels->place(job, workspace, {nullptr, changes_.data()}, true, stream_);
  placed_.record(stream_);
  table_.kernels->plan(job, workspace, reading, {first, job.size}, stream);
  return {changes_.data(), &changes};
}

}  // namespace holdfast::gphash::cuda

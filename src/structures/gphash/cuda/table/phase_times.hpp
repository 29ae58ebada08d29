// phase_times.hpp: how long the GPU spends in each phase of changing batches, if asked for at open.
#pragma once

#include <cuda_runtime_api.h>

#include <mutex>
#include <utility>
#include <vector>

#include "holdfast/table.hpp"

namespace holdfast::gphash::cuda {

/// Events between phases; nothing where it is off. The caller lets one thread in at a time, but for `totals`.
class PhaseTimes {
 public:
  explicit PhaseTimes(bool on) : on_(on) {}
  ~PhaseTimes();
  PhaseTimes(const PhaseTimes&) = delete;
  PhaseTimes& operator=(const PhaseTimes&) = delete;

  /// A batch begins on `stream`.
  void begin(cudaStream_t stream) { mark(nullptr, stream); }
  /// What it was given since the last mark was `phase`, which lives as long as the program.
  void end(const char* phase, cudaStream_t stream) { mark(phase, stream); }
  /// In the order in which the phases were first met. Waits for the batches that are enqueued.
  std::vector<PhaseTime> totals() const;

 private:
  struct Mark {
    const char* phase;  ///< that ends here; null: a batch begins
    cudaEvent_t event;
  };
  void mark(const char* phase, cudaStream_t stream);
  void add_up() const;

  const bool on_;
  mutable std::mutex mutex_;
  mutable std::vector<Mark> marks_;
  mutable std::vector<cudaEvent_t> spare_;
  mutable std::vector<PhaseTime> totals_;
};

}  // namespace holdfast::gphash::cuda

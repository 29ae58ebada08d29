// phase_times.cpp: marks the ends of phases by events, and adds up the times between them.
#include "structures/gphash/cuda/table/phase_times.hpp"

#include <algorithm>

#include "gpu/runtime.hpp"
#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::gphash::cuda {

namespace {
constexpr std::size_t kMostMarks = 4096;  // then they are added up, which waits for the GPU
}

PhaseTimes::~PhaseTimes() {
  for (const Mark& mark : marks_) cudaEventDestroy(mark.event);
  for (const cudaEvent_t event : spare_) cudaEventDestroy(event);
}

void PhaseTimes::mark(const char* phase, cudaStream_t stream) {
  if (!on_) return;
  const std::lock_guard lock(mutex_);
  if (marks_.size() >= kMostMarks && phase == nullptr) add_up();
  cudaEvent_t event = nullptr;
  if (spare_.empty()) {
    check(cudaEventCreate(&event), "timing a phase");
  } else {
    event = spare_.back();
    spare_.pop_back();
  }
  marks_.push_back({phase, event});
  check(cudaEventRecord(event, stream), "timing a phase");
}

void PhaseTimes::add_up() const {
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    const Mark& mark = marks_[i];
    if (mark.phase == nullptr) continue;
    float ms = 0;
    check(cudaEventSynchronize(mark.event), "timing a phase");
    check(cudaEventElapsedTime(&ms, marks_[i - 1].event, mark.event), "timing a phase");
    auto at =
        std::find_if(totals_.begin(), totals_.end(), [&](const PhaseTime& time) { return time.phase == mark.phase; });
    if (at == totals_.end()) at = totals_.insert(at, {mark.phase, 0, 0});
    at->ms += static_cast<double>(ms);
    ++at->batches;
  }
  for (const Mark& mark : marks_) spare_.push_back(mark.event);
  marks_.clear();
}

std::vector<PhaseTime> PhaseTimes::totals() const {
  const std::lock_guard lock(mutex_);
  add_up();
  return totals_;
}

}  // namespace holdfast::gphash::cuda

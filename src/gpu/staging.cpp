// staging.cpp: stages are lent to one batch at a time, and kept for the next.
#include "gpu/staging.hpp"

namespace holdfast::gpu {

Stages::Lease Stages::lend() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return {*this, std::make_unique<Stage>()};
  std::unique_ptr<Stage> stage = std::move(idle_.back());
  idle_.pop_back();
  return {*this, std::move(stage)};
}

Stages::Lease::~Lease() {
  // A batch that ended in an error may have left copies under way.
  static_cast<void>(cudaStreamSynchronize(stage_->stream()));
  static_cast<void>(cudaStreamSynchronize(stage_->copying()));
  const std::lock_guard lock(stages_.mutex_);
  stages_.idle_.push_back(std::move(stage_));
}

}  // namespace holdfast::gpu

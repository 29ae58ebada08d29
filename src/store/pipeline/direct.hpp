// direct.hpp: direct mode: the thread that submits requests executes them.
#pragma once

#include <mutex>
#include <vector>

#include "store/pipeline/execution.hpp"

namespace holdfast::store::pipeline {

/// What one caller has submitted. The caller's thread executes it; answers that are not released yet may also be released by another thread that waits.
class Direct : public Executor {
 public:
  Direct(Shared& shared, Queue& queue) : queue_(queue), execution_(shared) { items_.reserve(kRows); }
  void execute() override;

 private:
  static constexpr std::size_t kRows = 256;  ///< executed in one use of the store

  Queue& queue_;
  std::mutex mutex_;
  Execution execution_;
  std::vector<Item> items_;
};

}  // namespace holdfast::store::pipeline

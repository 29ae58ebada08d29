// worker.hpp: direct mode: one thread collects requests of its callers and executes them.
#pragma once

#include <cstddef>
#include <vector>

#include "store/pipeline/execution.hpp"
#include "store/pipeline/sources.hpp"
#include "store/pipeline/unit.hpp"

namespace holdfast::store::pipeline {

class Worker : public Unit {
 public:
  static constexpr unsigned kThreads = 1;

  /// Of the callers with the numbers `first`, `first + step`, and so on.
  Worker(Shared& shared, unsigned first, unsigned step);
  void run(unsigned thread) override;

 private:
  static constexpr std::size_t kRows = 256;    ///< executed in one use of the store
  static constexpr unsigned kIdleRounds = 64;  ///< before it sleeps

  Shared& shared_;
  Sources sources_;
  Execution execution_;
  std::vector<Item> items_;
};

}  // namespace holdfast::store::pipeline

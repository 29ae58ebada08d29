// unit.hpp: the threads that answer some callers of a pipeline.
#pragma once

#include <cstdint>

#include "store/pipeline/queue.hpp"

namespace holdfast::store::pipeline {

class Unit {
 public:
  virtual ~Unit() = default;
  /// Each is called by one thread, and ends when the pipeline closes and every batch is done.
  virtual void run(unsigned thread) = 0;
  virtual std::uint64_t cycles() const { return 0; }

  Bell& bell() { return bell_; }

 protected:
  Bell bell_;  ///< for the thread that collects requests
};

}  // namespace holdfast::store::pipeline

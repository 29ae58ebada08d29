// worker.cpp: the thread of direct mode.
#include "store/pipeline/worker.hpp"

#include <thread>

namespace holdfast::store::pipeline {

Worker::Worker(Shared& shared, unsigned first, unsigned step)
    : shared_(shared), sources_(shared, first, step), execution_(shared) {
  items_.reserve(kRows);
}

void Worker::run(unsigned) {
  const auto more = [&] { return items_.size() < kRows; };
  const auto take = [&](const Item& item, std::size_t) { items_.push_back(item); };
  unsigned idle = 0;
  while (!sources_.is_done() || execution_.holds_answers()) {  // ends: when the pipeline closes
    const bool works = sources_.collect(more, take);
    if (works) execution_.run(items_);
    execution_.release();
    if (works) {
      idle = 0;
    } else if (++idle < kIdleRounds) {
      std::this_thread::yield();
    } else if (execution_.holds_answers()) {
      std::this_thread::sleep_for(Execution::kLook);
    } else {
      bell_.wait([&] { return sources_.has_work() || shared_.closing.load(); });
    }
  }
}

}  // namespace holdfast::store::pipeline

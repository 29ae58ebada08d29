// callers.hpp: the threads of a history: each makes its calls, and they wait for each other, so that calls meet.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "recorder.hpp"

namespace holdfast::test::linear {

/// Where the callers of a history wait for each other, the i-th time before their i-th calls.
class Meeting {
 public:
  explicit Meeting(std::uint64_t callers) : callers_(callers) {}

  void before(std::uint64_t call) {
    unsigned spins = 0;
    for (arrived_.fetch_add(1); arrived_.load() < (call + 1) * callers_;) {
      if (++spins > 300) std::this_thread::yield();
    }
  }

 private:
  const std::uint64_t callers_;
  std::atomic<std::uint64_t> arrived_ = 0;
};

/// Runs `one(caller, meeting)` on a thread for each caller of `log`, whose stage says that they run.
template <class One>
void run_callers(HistoryLog& log, const One& one) {
  log.stage.store(1, std::memory_order_release);
  Meeting meeting(log.callers);
  std::vector<std::thread> callers;
  for (std::uint32_t caller = 0; caller < log.callers; ++caller) {
    callers.emplace_back([&, caller] { one(caller, meeting); });
  }
  for (std::thread& caller : callers) caller.join();
  log.stage.store(2, std::memory_order_release);
}

}  // namespace holdfast::test::linear

// drive.cpp: the callers of a workload in step, and the clock.
#include "drive.hpp"

#include <ctime>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "caller.hpp"
#include "holdfast/error.hpp"

namespace holdfast::bench {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double processor_time() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void check(const Spec& spec) {
  double sum = 0;
  for (const double share : spec.share) sum += share;
  if (std::abs(sum - 1) > 1e-9) throw InvalidArgument("the shares of a workload's operations must add up to 1");
  if (spec.batch == 0 || spec.callers == 0) throw InvalidArgument("batch and callers must be at least 1");
  const bool all_new =
      spec.share[static_cast<unsigned>(Kind::insert)] + spec.share[static_cast<unsigned>(Kind::absent_read)] > 1 - 1e-9;
  if (spec.items == 0 && !all_new) throw InvalidArgument("the workload needs items; load the table first");
  if (spec.shape == Shape::each && spec.operations > spec.items && !all_new) {
    throw InvalidArgument("distribution 'each' names every item at most once: operations must not exceed items");
  }
  if (spec.items + spec.operations >= kAbsentItem) throw InvalidArgument("too many items");
}

/// Runs `step` unless a caller has failed; keeps the first failure for later.
class Failures {
 public:
  template <class Step>
  void guard(Step&& step) {
    if (failed_.load()) return;
    try {
      step();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failed_.exchange(true)) first_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr first_;
};

}  // namespace

Outcome drive(Target& target, const Spec& spec) {
  check(spec);
  const Distribution distribution(spec.shape, spec.items, spec.theta);
  std::vector<std::unique_ptr<Caller>> callers;
  for (unsigned c = 0; c < spec.callers; ++c) {
    callers.push_back(std::make_unique<Caller>(target, spec, distribution, c));
  }
  std::uint64_t rounds = 0;
  for (const auto& caller : callers) rounds = std::max(rounds, caller->rounds());

  Outcome outcome;
  bool timing = false;
  double wall = 0, processor = 0;
  const auto turn = [&]() noexcept {  // at the start of a round's batches, and at their end
    const double sign = timing ? 1 : -1;
    wall += sign * now();
    processor += sign * processor_time();
    timing = !timing;
  };
  std::barrier start_or_end(spec.callers, turn);
  Failures failures;
  const auto work = [&](Caller& caller) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      failures.guard([&] { caller.prepare(); });
      start_or_end.arrive_and_wait();
      failures.guard([&] { caller.run(); });
      start_or_end.arrive_and_wait();
      failures.guard([&] { caller.verify(); });
    }
  };
  std::vector<std::thread> threads;
  for (unsigned c = 1; c < spec.callers; ++c) threads.emplace_back([&, c] { work(*callers[c]); });
  work(*callers[0]);
  for (auto& thread : threads) thread.join();
  failures.rethrow();

  outcome.seconds = wall;
  outcome.cpu_seconds = processor;
  for (const auto& caller : callers) caller->report(outcome);
  return outcome;
}

Filling fill(Table& table, std::uint64_t first, std::uint64_t last, std::size_t batch, std::size_t fine_batch,
             double fine_from, bool stop_at_resize, std::uint64_t key_seed) {
  if (batch == 0 || fine_batch == 0) throw InvalidArgument("batch must be at least 1");
  const std::size_t value_bytes = table.value_bytes();
  std::vector<std::uint64_t> keys(std::max(batch, fine_batch));
  std::vector<std::byte> values(keys.size() * value_bytes);
  Filling filling;
  const std::uint64_t resizes = table.stats().resizes;
  for (std::uint64_t item = first; item < last;) {
    const double load = static_cast<double>(item) / static_cast<double>(table.slots());
    const auto rows = std::min<std::uint64_t>(load < fine_from ? batch : fine_batch, last - item);
    for (std::uint64_t i = 0; i < rows; ++i) {
      keys[i] = key_of(item + i, key_seed);
      fill_value(values.data() + i * value_bytes, value_bytes, keys[i], 0);
    }
    const double start = now();
    const BatchResult result = table.insert(keys.data(), values.data(), rows);
    filling.seconds.push_back(now() - start);
    if (result.of(Status::inserted) != rows) throw Error("an insert of a new key did not report `inserted`");
    item += rows;
    const Stats stats = table.stats();
    filling.items.push_back(item);
    filling.slots.push_back(stats.slots);
    filling.resizes.push_back(stats.resizes);
    filling.moves.push_back(stats.moves);
    if (stop_at_resize && stats.resizes != resizes) break;
  }
  return filling;
}

}  // namespace holdfast::bench

// drive.cpp: the callers of a workload in step, and the clock.
#include "table/drive.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>

#include "frame/timing.hpp"
#include "holdfast/error.hpp"
#include "table/caller.hpp"

namespace holdfast::bench {
namespace {

void check(const Spec& spec) {
  double sum = 0;
  for (const double share : spec.share) sum += share;
  if (std::abs(sum - 1) > 1e-9) throw InvalidArgument("the shares of a workload's operations must add up to 1");
  if (spec.batch == 0 || spec.callers == 0) throw InvalidArgument("batch and callers must be at least 1");
  const bool all_new =
      spec.share[static_cast<unsigned>(Kind::insert)] + spec.share[static_cast<unsigned>(Kind::absent_read)] > 1 - 1e-9;
  if (spec.items == 0 && !all_new) throw InvalidArgument("the workload needs items; load the table first");
  if (spec.popularity == Popularity::each && spec.operations > spec.items && !all_new) {
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
  const Distribution distribution(spec.popularity, spec.items, spec.theta);
  std::vector<std::unique_ptr<Caller>> callers;
  for (unsigned c = 0; c < spec.callers; ++c) {
    callers.push_back(std::make_unique<Caller>(target, spec, distribution, c));
  }
  std::uint64_t rounds = 0;
  for (const auto& caller : callers) rounds = std::max(rounds, caller->rounds());

  Failures failures;
  const Timed timed = run_rounds(
      spec.callers, rounds, [&](unsigned c, std::uint64_t) { failures.guard([&] { callers[c]->prepare(); }); },
      [&](unsigned c, std::uint64_t) { failures.guard([&] { callers[c]->run(); }); },
      [&](unsigned c, std::uint64_t) { failures.guard([&] { callers[c]->verify(); }); });
  failures.rethrow();

  Outcome outcome;
  outcome.seconds = timed.wall;
  outcome.cpu_seconds = timed.processor;
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
  const std::uint64_t resizes = table.stats().growth.resizes;
  for (std::uint64_t item = first; item < last;) {
    const double load = static_cast<double>(item) / static_cast<double>(table.slots());
    const auto rows = std::min<std::uint64_t>(load < fine_from ? batch : fine_batch, last - item);
    for (std::uint64_t i = 0; i < rows; ++i) {
      keys[i] = key_of(item + i, key_seed);
      fill_value(values.data() + i * value_bytes, value_bytes, keys[i], 0);
    }
    const auto start = Clock::now();
    const BatchResult result = table.insert(keys.data(), values.data(), rows);
    filling.seconds.push_back(seconds_since(start));
    if (result.of(Status::inserted) != rows) throw Error("an insert of a new key did not report `inserted`");
    item += rows;
    const Stats stats = table.stats();
    filling.items.push_back(item);
    filling.slots.push_back(stats.space.slots);
    filling.resizes.push_back(stats.growth.resizes);
    filling.moves.push_back(stats.work.moves);
    if (stop_at_resize && stats.growth.resizes != resizes) break;
  }
  return filling;
}

}  // namespace holdfast::bench

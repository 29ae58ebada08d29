// snapshots.cpp: the study `snapshots`: how long snapshots keep changes waiting, while threads change a store as fast as they can.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "frame/json.hpp"
#include "frame/keys.hpp"
#include "store/setup.hpp"

namespace holdfast::bench::store {
namespace {

constexpr unsigned kSnapshots = 20;   ///< in a repetition
constexpr unsigned kChecked = 4'096;  ///< rows of the last copy

Json percentiles(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  const auto at = [&](double share) {
    return rounded(all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))]);
  };
  return {{"median", at(0.5)}, {"late", at(0.99)}, {"high", at(1)}, {"count", all.size()}};
}

/// What changing threads have seen.
struct Calls {
  std::vector<double> wait_ms;  ///< of every call
  std::uint64_t rows = 0;
};

/// Threads that set random items, in calls of `a_call` rows, as long as `during` runs.
template <class During>
Calls change_during(const Setup& setup, const DataSet& set, Store& store, std::size_t a_call, const During& during) {
  std::atomic<bool> ends = false;
  std::vector<Calls> calls(setup.threads);
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < setup.threads; ++thread) {
    threads.emplace_back([&, thread] {
      Random random(thread + 1);
      PackedRows rows(set, a_call);
      for (std::uint64_t version = 1; !ends.load(std::memory_order_relaxed); ++version) {
        rows.clear();
        for (std::size_t i = 0; i < a_call; ++i) rows.add(random.below(setup.items), version);
        const auto begin = Clock::now();
        store.set(rows.keys(), rows.values());
        calls[thread].wait_ms.push_back(1e3 * seconds_since(begin));
        calls[thread].rows += a_call;
      }
    });
  }
  during();
  ends = true;
  for (std::thread& thread : threads) thread.join();
  Calls all;
  for (const Calls& its : calls) {
    all.wait_ms.insert(all.wait_ms.end(), its.wait_ms.begin(), its.wait_ms.end());
    all.rows += its.rows;
  }
  return all;
}

void check_copy(const Setup& setup, const DataSet& set, const std::string& path) {
  Pool pool = Pool::open(path);
  Store copy = Store::open(pool, "store", {.expected_items = setup.items});
  require(copy.size() == setup.items, "the size of a copy");
  PackedRows rows(set, kChecked);
  StoreItems found;
  for (std::uint64_t i = 0; i < kChecked; ++i) rows.add(i * 997 % setup.items, 0);
  copy.get(rows.keys(), found);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    require(found.values.has(row) && is_value(set, rows.item(row), kVersionMask, found.values[row]), "in a copy");
  }
}

Json measure(const Setup& setup, const DataSet& set, std::size_t a_call) {
  const std::string path = setup.pool + ".copy";
  std::vector<double> held, waits, waits_without, rate, rate_without, gib;
  for (unsigned repetition = 0; repetition < setup.repetitions; ++repetition) {
    say(std::string("data set ") + set.name + ", calls of " + std::to_string(a_call) + ", " +
        std::to_string(repetition + 1) + " of " + std::to_string(setup.repetitions));
    const double warm_up = std::min(0.5, 1e-6 * static_cast<double>(setup.items)), without_s = 4 * warm_up;
    Bench bench(setup, setup.items);
    PackedRows rows(set, setup.batch);
    for (std::uint64_t item = 0; item < setup.items;) {
      rows.clear();
      for (; rows.size() < setup.batch && item < setup.items; ++item) rows.add(item, 0);
      require(bench->set(rows.keys(), rows.values()) == 0, "set");
    }
    const auto sleep = [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); };
    change_during(setup, set, *bench, a_call, [&] { sleep(warm_up); });  // the heap grows to what changes need
    double seconds = 0;
    const Calls with = change_during(setup, set, *bench, a_call, [&] {
      const auto begin = Clock::now();
      for (unsigned i = 0; i < kSnapshots; ++i) {
        const SnapshotResult result = bench.pool().snapshot(path, {.overwrite = true});
        held.push_back(result.held_ms);
        gib.push_back(static_cast<double>(result.bytes) / result.total_ms * 1e3 / (1 << 30));
      }
      seconds = seconds_since(begin);
    });
    const Calls without = change_during(setup, set, *bench, a_call, [&] { sleep(without_s); });
    waits.insert(waits.end(), with.wait_ms.begin(), with.wait_ms.end());
    waits_without.insert(waits_without.end(), without.wait_ms.begin(), without.wait_ms.end());
    rate.push_back(static_cast<double>(with.rows) / seconds / 1e6);
    rate_without.push_back(static_cast<double>(without.rows) / without_s / 1e6);
    check_copy(setup, set, path);
    std::remove(path.c_str());
  }
  return {{"set", set.name},
          {"rows_in_call", a_call},
          {"held_ms", percentiles(held)},
          {"call_ms", percentiles(waits)},
          {"call_ms_without", percentiles(waits_without)},
          {"million_per_second", spread(rate)},
          {"million_per_second_without", spread(rate_without)},
          {"gib_per_second", spread(gib)}};
}

Json snapshots(const Setup& setup) {
  Json rows = Json::array();
  double highest = 0;
  for (const std::size_t a_call : {std::size_t{1}, std::size_t{setup.batch}}) {
    for (const DataSet* set : {&kDataSets[0], &kDataSets[3]}) {
      rows.push_back(measure(setup, *set, a_call));
      highest = std::max(highest, rows.back()["held_ms"]["high"].get<double>());
    }
  }
  return {{"study", "snapshots"},       {"items", setup.items},
          {"threads", setup.threads},   {"snapshots", kSnapshots * setup.repetitions},
          {"highest_held_ms", highest}, {"rows", rows}};
}

const Study kSnapshotsStudy("snapshots", snapshots);

}  // namespace
}  // namespace holdfast::bench::store

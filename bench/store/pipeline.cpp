// pipeline.cpp: the study `pipeline`: Mega-KV's four data sets through a store's pipeline, direct and staged, with the index on the CPU or a GPU: how
// many requests a second, and how long one waits (§7.2 and §7.3, without a network). For a given time, callers keep some batches under way. Beside it,
// workers that own their keys (owner.hpp), to which the same requests come sorted.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

#include "frame/json.hpp"
#include "holdfast/store_pipeline.hpp"
#include "store/owner.hpp"
#include "store/requests.hpp"

namespace holdfast::bench::store {
namespace {

constexpr std::size_t kRows = 64;               ///< of a batch
constexpr std::uint64_t kRequests = 2'000'000;  ///< of all clients, at most, before they repeat

enum class Way : std::uint8_t { direct, staged, owners };

/// The same requests for every way to execute them.
struct Case {
  const DataSet& set;
  Popularity popularity;
  unsigned gets;                            ///< of a hundred
  std::vector<std::vector<Wanted>> wanted;  ///< by each client
  std::vector<std::vector<Wanted>> sorted;  ///< by owner
};

Case case_of(const Setup& setup, const DataSet& set, Popularity popularity, const Distribution& distribution,
             unsigned gets) {
  Case its{set, popularity, gets, std::vector<std::vector<Wanted>>(setup.threads), {}};
  const std::size_t each =
      std::max<std::uint64_t>(64, std::min(setup.items, kRequests) / setup.threads / kRows) * kRows;
  together(setup.threads,
           [&](unsigned thread) { its.wanted[thread] = drawn(distribution, thread + 1, setup.items, each, gets); });
  its.sorted = by_owner(set, its.wanted);
  return its;
}

/// Calls `run(requests)` with those of one batch after another, from the first again, until the time is over.
template <class Run>
void for_batches(const std::vector<Wanted>& wanted, Clock::time_point end, const Run& run) {
  std::size_t from = 0;
  while (Clock::now() < end) {
    const std::size_t rows = std::min(kRows, wanted.size() - from);
    run(std::span(wanted).subspan(from, rows));
    from = from + rows == wanted.size() ? 0 : from + rows;
  }
}

/// A client of a pipeline, with some batches under way.
class Client {
 public:
  Client(const Setup& setup, const DataSet& set) {
    for (unsigned i = 0; i < setup.under_way; ++i) flights_.push_back(std::make_unique<Flight>(set, kRows));
  }
  void run(StoreCaller& caller, const std::vector<Wanted>& wanted, Clock::time_point until) {
    std::size_t begun = 0;
    for_batches(wanted, until, [&](std::span<const Wanted> rows) {
      Flight& next = *flights_[begun % flights_.size()];
      if (begun++ >= flights_.size()) end(caller, next, until);
      next.put(rows);
      next.begun = Clock::now();
      caller.submit(next.batch);
    });
    for (std::size_t i = 0; i < std::min(begun, flights_.size()); ++i) end(caller, *flights_[i], until);
  }
  const std::vector<double>& waits_us() const { return waits_; }
  std::uint64_t requests() const { return requests_; }  ///< answered in the time
  std::uint64_t wrong() const { return wrong_; }

 private:
  void end(StoreCaller& caller, const Flight& flight, Clock::time_point until) {
    caller.wait(flight.batch);
    waits_.push_back(std::chrono::duration<double, std::micro>(flight.ended - flight.begun).count());
    if (flight.ended <= until) requests_ += flight.requests.size();
    wrong_ += flight.wrong();
  }

  std::vector<std::unique_ptr<Flight>> flights_;
  std::vector<double> waits_;
  std::uint64_t requests_ = 0, wrong_ = 0;
};

struct Figures {
  std::vector<double> rate, median_us, late_us, cycle_us;
};

/// When threads that are not yet there begin, and end.
struct TimeSpan {
  explicit TimeSpan(const Setup& setup)
      : end(begin + std::chrono::microseconds(static_cast<std::int64_t>(1000 * setup.milliseconds))) {}
  double seconds() const { return std::chrono::duration<double>(end - begin).count(); }

  const Clock::time_point begin = Clock::now() + std::chrono::milliseconds(2), end;
};

void measure(const Setup& setup, const Case& its, StoreMode mode, Store& store, Figures& figures) {
  std::vector<std::unique_ptr<Client>> clients;
  for (unsigned i = 0; i < setup.threads; ++i) clients.push_back(std::make_unique<Client>(setup, its.set));
  StorePipeline pipeline(
      store, {.mode = mode, .callers = setup.threads, .cycle_us = mode == StoreMode::staged ? setup.cycle_us : 0});
  const TimeSpan time(setup);
  together(setup.threads, [&](unsigned thread) {
    StoreCaller caller = pipeline.caller();
    std::this_thread::sleep_until(time.begin);
    clients[thread]->run(caller, its.wanted[thread], time.end);
  });
  std::vector<double> waits;
  std::uint64_t requests = 0;
  for (const auto& client : clients) {
    require(client->wrong() == 0, std::string("data set ") + its.set.name);
    waits.insert(waits.end(), client->waits_us().begin(), client->waits_us().end());
    requests += client->requests();
  }
  std::sort(waits.begin(), waits.end());
  figures.rate.push_back(static_cast<double>(requests) / time.seconds() / 1e6);
  figures.median_us.push_back(quantile(waits, 0.5));
  figures.late_us.push_back(quantile(waits, 0.99));
  if (mode == StoreMode::staged) figures.cycle_us.push_back(pipeline.stats().cycle_us);
}

/// Each owner executes the requests of its keys. The one with the most of them limits the others.
void measure(const Setup& setup, const Case& its, const std::vector<std::unique_ptr<Owner>>& owners, Figures& figures) {
  std::atomic<std::uint64_t> requests = 0, wrong = 0;
  const TimeSpan time(setup);
  together(setup.threads, [&](unsigned thread) {
    OwnedBatch batch(its.set, kRows);
    std::uint64_t its_requests = 0, its_wrong = 0;
    std::this_thread::sleep_until(time.begin);
    for_batches(its.sorted[thread], time.end, [&](std::span<const Wanted> rows) {
      batch.put(rows);
      owners[thread]->run(batch);
      its_requests += rows.size();
      its_wrong += batch.wrong();
    });
    requests += its_requests;
    wrong += its_wrong;
  });
  require(wrong == 0, "owners");
  std::size_t most = 0, all = 0;
  for (const std::vector<Wanted>& sorted : its.sorted) all += sorted.size(), most = std::max(most, sorted.size());
  const double balance = static_cast<double>(all) / static_cast<double>(most * owners.size());
  figures.rate.push_back(balance * static_cast<double>(requests.load()) / time.seconds() / 1e6);
}

Json row_of(const Case& its, Way way, const Figures& figures) {
  constexpr const char* kNames[] = {"direct", "staged", "owners"};
  Json row = {{"set", its.set.name},
              {"distribution", its.popularity == Popularity::uniform ? "uniform" : "zipfian"},
              {"gets", its.gets},
              {"mode", kNames[static_cast<unsigned>(way)]},
              {"million_per_second", spread(figures.rate)}};
  if (way == Way::owners) return row;
  row["wait_us"] = {{"median", spread(figures.median_us)}, {"late", spread(figures.late_us)}};
  if (way == Way::direct) return row;
  row["cycle_us"] = std::accumulate(figures.cycle_us.begin(), figures.cycle_us.end(), 0.0) /
                    static_cast<double>(figures.cycle_us.size());
  return row;
}

/// One, or for an index on several GPUs also one on the first of them.
std::vector<Setup> setups_of(const Setup& setup) {
  if (setup.devices.size() < 2) return {setup};
  Setup one = setup;
  one.devices.resize(1);
  one.pool += ".one";
  return {one, setup};
}

/// What has the items of one data set.
struct Subjects {
  std::vector<std::unique_ptr<Bench>> stores;
  std::vector<std::unique_ptr<Owner>> owners;
};

/// All ways in turn, again and again.
void measure_all(const Setup& setup, const std::vector<Setup>& setups, const Case& its, const Subjects& subjects,
                 Json& rows) {
  std::map<Way, std::vector<Figures>> figures;
  for (unsigned i = 0; i < setup.repetitions; ++i) {
    for (const StoreMode mode : setup.modes) {
      const Way way = mode == StoreMode::direct ? Way::direct : Way::staged;
      figures[way].resize(subjects.stores.size());
      for (std::size_t at = 0; at < subjects.stores.size(); ++at) {
        measure(setup, its, mode, **subjects.stores[at], figures[way][at]);
      }
    }
    if (subjects.owners.empty()) continue;
    figures[Way::owners].resize(1);
    measure(setup, its, subjects.owners, figures[Way::owners][0]);
  }
  for (const auto& [way, all] : figures) {
    for (std::size_t at = 0; at < all.size(); ++at) {
      const std::string failure = (*subjects.stores[at])->stats().index_failure;
      if (!failure.empty()) throw std::runtime_error("the index is no longer on a GPU: " + failure);
      rows.push_back(row_of(its, way, all[at]));
      if (setups.size() == 1) continue;
      rows.back()["gpus"] = setups[at].devices.size();
      rows.back()["over_one"] = spread(ratio_of(all[at].rate, all[0].rate));
    }
  }
}

Json pipeline(const Setup& setup) {
  const std::vector<Setup> setups = setups_of(setup);
  Json rows = Json::array();
  for (const DataSet& set : kDataSets) {
    if (setup.sets.find(set.name) == std::string::npos) continue;
    Subjects subjects;
    for (const Setup& its : setups) subjects.stores.push_back(loaded(its, set));
    if (setup.index == "cpu" && setups.size() == 1) subjects.owners = owners_of(setup, set);
    for (const Popularity popularity : {Popularity::uniform, Popularity::zipfian}) {
      const Distribution distribution(popularity, setup.items, 0.99);
      for (const unsigned gets : setup.gets) {
        say(std::string("pipeline: data set ") + set.name + ", " + std::to_string(gets) + "% GET");
        measure_all(setup, setups, case_of(setup, set, popularity, distribution, gets), subjects, rows);
      }
    }
  }
  return {{"study", setups.size() > 1      ? "pipeline-gpus"
                    : setup.index == "gpu" ? "pipeline-gpu-index"
                                           : "pipeline"},
          {"items", setup.items},
          {"threads", setup.threads},
          {"batch", std::uint64_t{kRows}},
          {"under_way", setup.under_way},
          {"milliseconds", setup.milliseconds},
          {"rows", rows}};
}

const Study kPipeline("pipeline", pipeline);

}  // namespace
}  // namespace holdfast::bench::store

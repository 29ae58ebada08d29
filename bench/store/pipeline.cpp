// pipeline.cpp: the study `pipeline`: Mega-KV's four data sets through a store's pipeline, direct and staged, with the index on the CPU or a GPU: how
// many requests a second, and how long one waits (§7.2 and §7.3, without a network). Callers keep some batches under way all the time.
#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

#include "frame/distribution.hpp"
#include "frame/json.hpp"
#include "holdfast/store_pipeline.hpp"
#include "store/setup.hpp"

namespace holdfast::bench::store {
namespace {

constexpr std::size_t kRows = 64;     ///< of a batch
constexpr std::size_t kBatches = 64;  ///< that a caller has

/// A batch that is submitted again and again.
struct Flight {
  explicit Flight(const DataSet& set) : rows(set, kRows) {}

  PackedRows rows;
  StoreBatch batch;
  Clock::time_point begun, ended;
};

struct Case {
  const DataSet& set;
  Popularity popularity;
  unsigned gets;  ///< of a hundred
  StoreMode mode;
};

class Client {
 public:
  Client(const Setup& setup, const Case& its, const Distribution& distribution, unsigned number)
      : its_(its), under_way_(setup.under_way) {
    Random random(number);
    for (std::size_t i = 0; i < kBatches; ++i) {
      auto flight = std::make_unique<Flight>(its.set);
      Flight& added = *flight;
      added.batch.on_done([&added](const StoreBatch&) { added.ended = Clock::now(); });
      for (std::size_t row = 0; row < kRows; ++row) added.rows.add(distribution.draw(random, setup.items, row), 1);
      const char* const keys = static_cast<const char*>(added.rows.keys().bytes);
      const char* const values = static_cast<const char*>(added.rows.values().bytes);
      for (std::size_t row = 0; row < kRows; ++row) {
        StoreRequest request{.key = {keys + row * its.set.key_bytes, its.set.key_bytes}};
        if (random.below(100) >= its.gets) {
          request.op = StoreOp::set;
          request.value = {values + row * its.set.value_bytes, its.set.value_bytes};
        }
        is_get_.push_back(request.op == StoreOp::get);
        added.batch.add(request);
      }
      flights_.push_back(std::move(flight));
    }
  }

  /// So many batches, and checks each answer's status and length, and one value of each batch.
  void run(StoreCaller& caller, std::uint64_t batches) {
    waits_.reserve(batches);
    for (std::uint64_t i = 0; i < batches + under_way_; ++i) {
      if (i >= under_way_) end(caller, (i - under_way_) % kBatches);
      if (i >= batches) continue;
      Flight& next = *flights_[i % kBatches];
      next.begun = Clock::now();
      caller.submit(next.batch);
    }
  }
  const std::vector<double>& waits_us() const { return waits_; }
  std::uint64_t wrong() const { return wrong_; }

 private:
  void end(StoreCaller& caller, std::size_t number) {
    Flight& flight = *flights_[number];
    caller.wait(flight.batch);
    waits_.push_back(std::chrono::duration<double, std::micro>(flight.ended - flight.begun).count());
    bool looked = false;
    for (std::size_t row = 0; row < kRows; ++row) {
      const StoreAnswer answer = flight.batch.answer(row);
      if (!is_get_[number * kRows + row]) {
        wrong_ += answer.status != StoreStatus::updated;
        continue;
      }
      wrong_ += answer.status != StoreStatus::found || answer.value.size() != its_.set.value_bytes;
      if (!looked) wrong_ += !is_value(its_.set, flight.rows.item(row), 1, answer.value);
      looked = true;
    }
  }

  const Case its_;
  const std::uint64_t under_way_;
  std::vector<std::unique_ptr<Flight>> flights_;
  std::vector<bool> is_get_;
  std::vector<double> waits_;
  std::uint64_t wrong_ = 0;
};

struct Figures {
  std::vector<double> rate, median_us, late_us, cycle_us;
};

double at(std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

void measure(const Setup& setup, const Case& its, const Distribution& distribution, Store& store, Figures& figures) {
  std::vector<std::unique_ptr<Client>> clients;
  for (unsigned i = 0; i < setup.threads; ++i) {
    clients.push_back(std::make_unique<Client>(setup, its, distribution, i + 1));
  }
  StorePipeline pipeline(store, {.mode = its.mode, .callers = setup.threads});
  const std::uint64_t batches = std::max<std::uint64_t>(4 * kBatches, setup.items / setup.threads / kRows);
  const double seconds = together(setup.threads, [&](unsigned thread) {
    StoreCaller caller = pipeline.caller();
    clients[thread]->run(caller, batches);
  });
  std::vector<double> waits;
  for (const auto& client : clients) {
    require(client->wrong() == 0, std::string("data set ") + its.set.name);
    waits.insert(waits.end(), client->waits_us().begin(), client->waits_us().end());
  }
  std::sort(waits.begin(), waits.end());
  figures.rate.push_back(static_cast<double>(batches * kRows * setup.threads) / seconds / 1e6);
  figures.median_us.push_back(at(waits, 0.5));
  figures.late_us.push_back(at(waits, 0.99));
  if (its.mode == StoreMode::direct) return;
  figures.cycle_us.push_back(pipeline.stats().cycle_us);
}

Json row_of(const Case& its, const Figures& figures) {
  Json row = {{"set", its.set.name},
              {"distribution", its.popularity == Popularity::uniform ? "uniform" : "zipfian"},
              {"gets", its.gets},
              {"mode", its.mode == StoreMode::direct ? "direct" : "staged"},
              {"million_per_second", spread(figures.rate)},
              {"wait_us", {{"median", spread(figures.median_us)}, {"late", spread(figures.late_us)}}}};
  if (its.mode == StoreMode::direct) return row;
  row["cycle_us"] = std::accumulate(figures.cycle_us.begin(), figures.cycle_us.end(), 0.0) /
                    static_cast<double>(figures.cycle_us.size());
  return row;
}

/// A store with the items of a data set.
std::unique_ptr<Bench> loaded(const Setup& setup, const DataSet& set) {
  auto bench = std::make_unique<Bench>(setup, setup.items);
  PackedRows all(set, setup.batch);
  for (std::uint64_t item = 0; item < setup.items;) {
    all.clear();
    for (; item < setup.items && all.size() < setup.batch; ++item) all.add(item, 1);
    require((*bench)->set(all.keys(), all.values()) == 0, "loading");
  }
  return bench;
}

/// One, or for an index on several GPUs also one on the first of them.
std::vector<Setup> setups_of(const Setup& setup) {
  if (setup.devices.size() < 2) return {setup};
  Setup one = setup;
  one.devices.resize(1);
  one.pool += ".one";
  return {one, setup};
}

Json pipeline(const Setup& setup) {
  const std::vector<Setup> setups = setups_of(setup);
  Json rows = Json::array();
  for (const DataSet& set : kDataSets) {
    if (setup.sets.find(set.name) == std::string::npos) continue;
    std::vector<std::unique_ptr<Bench>> stores;
    for (const Setup& its : setups) stores.push_back(loaded(its, set));
    for (const Popularity popularity : {Popularity::uniform, Popularity::zipfian}) {
      const Distribution distribution(popularity, setup.items, 0.99);
      for (const unsigned gets : setup.gets) {
        for (const StoreMode mode : {StoreMode::direct, StoreMode::staged}) {
          const Case its{set, popularity, gets, mode};
          say(std::string("pipeline: data set ") + set.name + ", " + std::to_string(gets) + "% GET");
          std::vector<Figures> figures(stores.size());
          for (unsigned i = 0; i < setup.repetitions; ++i) {
            for (std::size_t at = 0; at < stores.size(); ++at) {
              measure(setup, its, distribution, **stores[at], figures[at]);
            }
          }
          for (std::size_t at = 0; at < stores.size(); ++at) {
            const std::string failure = (*stores[at])->stats().index_failure;
            if (!failure.empty()) throw std::runtime_error("the index is no longer on a GPU: " + failure);
            rows.push_back(row_of(its, figures[at]));
            if (stores.size() == 1) continue;
            rows.back()["gpus"] = setups[at].devices.size();
            std::vector<double> over;
            for (unsigned i = 0; i < setup.repetitions; ++i) over.push_back(figures[at].rate[i] / figures[0].rate[i]);
            rows.back()["over_one"] = spread(over);
          }
        }
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
          {"rows", rows}};
}

const Study kPipeline("pipeline", pipeline);

}  // namespace
}  // namespace holdfast::bench::store

// latency.cpp: the study `latency`: how long a request waits for its answer at a given rate and batch interval C (Mega-KV §7.3, figures 13 and 16): requests
// arrive evenly (open loop), whether or not those before them are answered. A caller submits what arrived in an interval; in staged mode, whose cycle C
// is, four times as often. The smallest C whose 99% are answered within 3 C is what §5.1 promises.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "frame/json.hpp"
#include "store/requests.hpp"

namespace holdfast::bench::store {
namespace {

constexpr std::size_t kLooked = 8;          ///< requests of a batch whose wait is noted
constexpr std::size_t kDistinct = 1 << 16;  ///< requests of a caller, before they repeat
constexpr unsigned kPartsOfCycle = 4;

struct Pace {
  StoreMode mode;
  double million_per_second;  ///< of all callers
  double interval_us;

  /// Batches of a caller that are under way at most; later ones wait, and that counts. Few, so that they stay in the core's cache.
  std::size_t flights() const { return mode == StoreMode::staged ? 8 * kPartsOfCycle : 1; }
  std::size_t rows(unsigned callers) const {
    const double in_interval = million_per_second / callers * interval_us;
    return static_cast<std::size_t>(
        std::max(1.0, std::round(mode == StoreMode::staged ? in_interval / kPartsOfCycle : in_interval)));
  }
};

/// Requests of one caller, in batches, each submitted when its last one has arrived.
class OpenLoop {
 public:
  OpenLoop(const DataSet& set, const std::vector<Wanted>& wanted, std::size_t rows, double row_us, std::size_t flights)
      : wanted_(wanted), rows_(rows), row_us_(row_us) {
    for (std::size_t i = 0; i < flights; ++i) flights_.push_back(std::make_unique<Flight>(set, rows));
  }

  void run(StoreCaller& caller, Clock::time_point start, std::uint64_t batches) {
    const std::size_t slices = wanted_.size() / rows_;
    waits_us_.reserve(batches * kLooked);
    for (std::uint64_t i = 0; i < batches; ++i) {
      Flight& next = *flights_[i % flights_.size()];
      if (i >= flights_.size()) end(caller, next);
      next.put(std::span(wanted_).subspan(i % slices * rows_, rows_));
      next.begun = start + to_clock(static_cast<double>((i + 1) * rows_) * row_us_);
      while (Clock::now() < next.begun) caller.poll();
      caller.submit(next.batch);
    }
    for (std::uint64_t i = batches - std::min<std::uint64_t>(batches, flights_.size()); i < batches; ++i) {
      end(caller, *flights_[i % flights_.size()]);
    }
  }
  const std::vector<double>& waits_us() const { return waits_us_; }
  Clock::time_point last() const { return last_; }
  std::uint64_t wrong() const { return wrong_; }

 private:
  static Clock::duration to_clock(double us) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::micro>(us));
  }
  void end(StoreCaller& caller, const Flight& flight) {
    caller.wait(flight.batch);
    const double wait = std::chrono::duration<double, std::micro>(flight.ended - flight.begun).count();
    for (std::size_t i = 0; i < kLooked; ++i) {  // those that came first waited for the last one, too
      waits_us_.push_back(wait + row_us_ * static_cast<double>(rows_ - 1) * static_cast<double>(i) / (kLooked - 1));
    }
    last_ = std::max(last_, flight.ended);
    wrong_ += flight.wrong();
  }

  const std::vector<Wanted>& wanted_;
  const std::size_t rows_;
  const double row_us_;
  std::vector<std::unique_ptr<Flight>> flights_;
  std::vector<double> waits_us_;
  Clock::time_point last_;
  std::uint64_t wrong_ = 0;
};

struct Waits {
  std::vector<double> half, late, latest, reached;
};

void measure(const Setup& setup, const DataSet& set, const Pace& pace, const std::vector<std::vector<Wanted>>& wanted,
             Store& store, Waits& into) {
  const std::size_t rows = pace.rows(setup.threads);
  const double row_us = setup.threads / pace.million_per_second;
  const auto batches = static_cast<std::uint64_t>(std::ceil(1000 * setup.milliseconds / (row_us * rows)));
  StorePipeline pipeline(
      store,
      {.mode = pace.mode, .callers = setup.threads, .cycle_us = pace.mode == StoreMode::staged ? pace.interval_us : 0});
  std::vector<std::unique_ptr<OpenLoop>> loops;
  for (unsigned i = 0; i < setup.threads; ++i) {
    loops.push_back(std::make_unique<OpenLoop>(set, wanted[i], rows, row_us, pace.flights()));
  }
  const Clock::time_point start = Clock::now() + std::chrono::milliseconds(2);
  together(setup.threads, [&](unsigned thread) {
    StoreCaller caller = pipeline.caller();
    const auto shift = std::chrono::duration<double, std::micro>(row_us * rows * thread / setup.threads);
    loops[thread]->run(caller, start + std::chrono::duration_cast<Clock::duration>(shift), batches);
  });
  std::vector<double> waits;
  Clock::time_point last = start;
  for (const auto& loop : loops) {
    require(loop->wrong() == 0, "latency");
    waits.insert(waits.end(), loop->waits_us().begin(), loop->waits_us().end());
    last = std::max(last, loop->last());
  }
  std::sort(waits.begin(), waits.end());
  into.half.push_back(quantile(waits, 0.5));
  into.late.push_back(quantile(waits, 0.99));
  into.latest.push_back(quantile(waits, 0.999));
  const double requests = static_cast<double>(batches * rows * setup.threads);
  into.reached.push_back(requests / std::chrono::duration<double, std::micro>(last - start).count());
}

/// A row a mode and rate: how long requests wait for each interval, and the smallest interval that keeps its promise.
Json row_of(const Setup& setup, const DataSet& set, StoreMode mode, double rate, unsigned gets,
            const std::vector<std::vector<Wanted>>& wanted, Store& store) {
  const auto median = [](const std::vector<double>& all) { return std::round(10 * spread_of(all).median) / 10; };
  Json row = {{"mode", name_of(mode)},
              {"gets", gets},
              {"rate", rate},
              {"smallest_us", nullptr},
              {"rows", Json::array()},
              {"reached", Json::array()},
              {"p50_us", Json::array()},
              {"p99_us", Json::array()},
              {"p999_us", Json::array()}};
  for (const double interval : setup.intervals) {
    const Pace pace{mode, rate, interval};
    Waits waits;
    for (unsigned i = 0; i < setup.repetitions; ++i) measure(setup, set, pace, wanted, store, waits);
    row["rows"].push_back(pace.rows(setup.threads));
    row["reached"].push_back(median(waits.reached));
    row["p50_us"].push_back(median(waits.half));
    row["p99_us"].push_back(median(waits.late));
    row["p999_us"].push_back(median(waits.latest));
    if (row["smallest_us"].is_null() && spread_of(waits.late).median <= 3 * interval) row["smallest_us"] = interval;
  }
  return row;
}

Json latency(const Setup& setup) {
  const DataSet& set = kDataSets[0];
  const std::unique_ptr<Bench> bench = loaded(setup, set);
  const Distribution distribution(Popularity::uniform, setup.items, 0.99);
  Json rows = Json::array();
  for (const unsigned gets : setup.gets) {
    std::vector<std::vector<Wanted>> wanted;
    for (unsigned i = 0; i < setup.threads; ++i) {
      wanted.push_back(drawn(distribution, i + 1, setup.items, kDistinct, gets));
    }
    for (const StoreMode mode : setup.modes) {
      for (const double rate : setup.rates) {
        say("latency: " + std::to_string(gets) + "% GET, " + std::to_string(rate) + " M/s");
        rows.push_back(row_of(setup, set, mode, rate, gets, wanted, **bench));
      }
    }
  }
  const std::string failure = (*bench)->stats().index_failure;
  require(failure.empty(), "the index is no longer on a GPU: " + failure);
  return {{"study", setup.index == "gpu" ? "latency-gpu-index" : "latency"},
          {"items", setup.items},
          {"threads", setup.threads},
          {"set", set.name},
          {"repetitions", setup.repetitions},
          {"milliseconds", setup.milliseconds},
          {"intervals_us", setup.intervals},
          {"rows", rows}};
}

const Study kLatency("latency", latency);

}  // namespace
}  // namespace holdfast::bench::store

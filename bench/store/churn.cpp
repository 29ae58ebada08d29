// churn.cpp: the study `churn`: a store whose index has load 0.9 and stays there, while ten times as many items as it has come and go: batches that erase items
// and set new ones. What the rate is in each tenth; at the end, of the beginning.
#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>

#include "frame/distribution.hpp"
#include "frame/json.hpp"
#include "frame/keys.hpp"
#include "store/setup.hpp"

namespace holdfast::bench::store {
namespace {

constexpr std::uint64_t kTurns = 10;  ///< in each of which every item goes once

/// Place p has item p + turn * places. In each turn the places are changed in another order.
class Churn {
 public:
  Churn(const Setup& setup, Store& store, std::uint64_t places)
      : setup_(setup), store_(store), places_(places), order_(places) {
    for (unsigned i = 0; i < setup.threads; ++i) {
      old_.push_back(std::make_unique<PackedRows>(kSet, setup.batch));
      fresh_.push_back(std::make_unique<PackedRows>(kSet, setup.batch));
    }
  }

  /// Items of `turn` take the place of those before, of which there are none before turn 0. Millions of items a second.
  double turn(std::uint64_t turn) {
    const std::uint64_t places = places_, a_round = setup_.threads * setup_.batch;
    std::atomic<std::uint64_t> wrong = 0;
    const auto prepare = [&](unsigned thread, std::uint64_t round) {
      PackedRows &old = *old_[thread], &fresh = *fresh_[thread];
      old.clear();
      fresh.clear();
      for (std::uint64_t i = 0; i < setup_.batch; ++i) {
        const std::uint64_t at = round * a_round + thread * setup_.batch + i;
        if (at >= places) break;
        const std::uint64_t place = order_((order_(at) + turn * 7919) % places);
        if (turn != 0) old.add(place + (turn - 1) * places, 0);
        fresh.add(place + turn * places, 0);
      }
    };
    const auto run = [&](unsigned thread, std::uint64_t) {
      const PackedRows &old = *old_[thread], &fresh = *fresh_[thread];
      if (old.size() != 0) wrong += store_.erase(old.keys()) != old.size();
      if (fresh.size() != 0) wrong += store_.set(fresh.keys(), fresh.values());
    };
    const Timed times =
        run_rounds(setup_.threads, (places + a_round - 1) / a_round, prepare, run, [](unsigned, std::uint64_t) {});
    require(wrong == 0 && store_.size() == places, "churn");
    return static_cast<double>(places) / times.wall / 1e6;
  }
  /// Every item of `turn` is there, and none of the turn before.
  void verify(std::uint64_t turn) {
    const std::uint64_t places = places_;
    StoreItems found;
    PackedRows& rows = *fresh_[0];
    for (const bool there : {true, false}) {
      for (std::uint64_t place = 0; place < places;) {
        rows.clear();
        for (; rows.size() < setup_.batch && place < places; ++place) rows.add(place + (turn - !there) * places, 0);
        store_.get(rows.keys(), found);
        for (std::size_t row = 0; row < rows.size(); ++row) {
          require(found.values.has(row) == there, "an item of the churn");
          require(!there || is_value(kSet, rows.item(row), 0, found.values[row]), "a value of the churn");
        }
      }
    }
  }

 private:
  static constexpr const DataSet& kSet = kDataSets[0];
  const Setup& setup_;
  Store& store_;
  const std::uint64_t places_;
  const Permutation order_;
  std::vector<std::unique_ptr<PackedRows>> old_, fresh_;
};

Json churn(const Setup& setup) {
  const std::uint64_t cells = std::bit_floor(setup.items * 10 / 9), places = cells * 9 / 10;
  std::vector<std::vector<double>> turns(kTurns);
  std::vector<double> load;
  for (unsigned repetition = 0; repetition < setup.repetitions; ++repetition) {
    say("churn, " + std::to_string(repetition + 1) + " of " + std::to_string(setup.repetitions));
    Bench bench(setup, places);
    Churn its(setup, *bench, places);
    load.push_back(its.turn(0));
    for (std::uint64_t turn = 1; turn <= kTurns; ++turn) turns[turn - 1].push_back(its.turn(turn));
    its.verify(kTurns);
  }
  Json rows = Json::array();
  for (const std::vector<double>& turn : turns) rows.push_back(spread(turn));
  return {{"study", "churn"},
          {"items", places},
          {"cells", cells},
          {"index", setup.index},
          {"threads", setup.threads},
          {"batch", setup.batch},
          {"load_million_per_second", spread(load)},
          {"turn_million_per_second", rows},
          {"end_of_beginning", spread(ratio_of(turns.back(), turns.front()))}};
}

const Study kChurn("churn", churn);

}  // namespace
}  // namespace holdfast::bench::store

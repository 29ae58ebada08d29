// sets.cpp: the study `sets`: Mega-KV's four data sets on CPU threads, in batches and one by one (§6: figures 10 and 11 without a network).
#include <atomic>
#include <memory>

#include "frame/distribution.hpp"
#include "frame/json.hpp"
#include "store/setup.hpp"

namespace holdfast::bench::store {
namespace {

/// Callers that work in batches: keys are made and answers are checked outside of the time that counts.
class Callers {
 public:
  Callers(const Setup& setup, const DataSet& set, Store& store) : setup_(setup), set_(set), store_(store) {}

  /// Sets all items once, in version `version`. Millions a second.
  double load(std::uint64_t version) {
    const std::uint64_t rounds = rounds_of(setup_.items);
    return timed(
        rounds,
        [&](PackedRows& rows, unsigned thread, std::uint64_t round) {
          for (std::uint64_t i = 0; i < setup_.batch; ++i) {
            const std::uint64_t at = (round * setup_.threads + thread) * setup_.batch + i;
            if (at < setup_.items) rows.add(permutation_(at), version);
          }
        },
        0);
  }
  /// As many operations as items; `sets` of a hundred rows are changes.
  double run(const Distribution& distribution, unsigned sets, std::uint64_t version) {
    version_ = version;
    return timed(
        rounds_of(setup_.items),
        [&](PackedRows& rows, unsigned thread, std::uint64_t round) {
          Random random(round * 1000 + thread);
          for (std::uint64_t i = 0; i < setup_.batch; ++i)
            rows.add(distribution.draw(random, setup_.items, i), version);
        },
        100 - sets);
  }
  /// The same, one key a call.
  double run_single(bool sets, std::uint64_t version) {
    const std::uint64_t rounds = std::max<std::uint64_t>(1, rounds_of(setup_.items) / 4);
    std::atomic<std::uint64_t> wrong = 0;
    std::vector<std::unique_ptr<PackedRows>> rows = all_rows();
    const auto prepare = [&](unsigned thread, std::uint64_t round) {
      Random random(round * 1000 + thread);
      rows[thread]->clear();
      for (std::uint64_t i = 0; i < setup_.batch; ++i) rows[thread]->add(random.below(setup_.items), version);
    };
    const auto work = [&](unsigned thread, std::uint64_t) {
      const PackedRows& its = *rows[thread];
      const char* const keys = static_cast<const char*>(its.keys().bytes);
      const char* const values = static_cast<const char*>(its.values().bytes);
      for (std::size_t i = 0; i < its.size(); ++i) {
        const std::string_view key(keys + i * set_.key_bytes, set_.key_bytes);
        if (sets) {
          wrong += store_.set(key, {values + i * set_.value_bytes, set_.value_bytes}) != StoreStatus::updated;
        } else {
          const auto item = store_.get(key);
          wrong += !item || item->value.size() != set_.value_bytes;
        }
      }
    };
    const Timed times = run_rounds(setup_.threads, rounds, prepare, work, [](unsigned, std::uint64_t) {});
    require(wrong == 0, "single operations");
    return static_cast<double>(rounds * setup_.threads * setup_.batch) / times.wall / 1e6;
  }

 private:
  std::uint64_t rounds_of(std::uint64_t items) const {
    const std::uint64_t a_round = setup_.threads * setup_.batch;
    return (items + a_round - 1) / a_round;
  }
  std::vector<std::unique_ptr<PackedRows>> all_rows() const {
    std::vector<std::unique_ptr<PackedRows>> rows;
    for (unsigned i = 0; i < setup_.threads; ++i) rows.push_back(std::make_unique<PackedRows>(set_, setup_.batch));
    return rows;
  }
  /// `fill(rows, thread, round)` makes a batch, of which the first `gets` percent are searches.
  template <class Fill>
  double timed(std::uint64_t rounds, const Fill& fill, unsigned gets) {
    std::vector<std::unique_ptr<PackedRows>> rows = all_rows();
    std::vector<StoreItems> found(setup_.threads);
    std::atomic<std::uint64_t> wrong = 0, done = 0;
    const auto head = [&](const StoreRows& all, std::size_t count) { return StoreRows{all.bytes, all.offsets, count}; };
    const auto tail = [&](const StoreRows& all, std::size_t from) {
      return StoreRows{all.bytes, all.offsets + from, all.size - from};
    };
    const auto gets_of = [&](const PackedRows& its) { return its.size() * gets / 100; };
    const auto prepare = [&](unsigned thread, std::uint64_t round) {
      rows[thread]->clear();
      fill(*rows[thread], thread, round);
      done += rows[thread]->size();
    };
    const auto work = [&](unsigned thread, std::uint64_t) {
      const PackedRows& its = *rows[thread];
      const std::size_t reads = gets_of(its);
      if (reads != 0) store_.get(head(its.keys(), reads), found[thread]);
      if (reads < its.size()) wrong += store_.set(tail(its.keys(), reads), tail(its.values(), reads));
    };
    const auto check = [&](unsigned thread, std::uint64_t) {
      const PackedRows& its = *rows[thread];
      for (std::size_t row = 0; row < gets_of(its); ++row) {
        wrong += !found[thread].values.has(row) || !is_value(set_, its.item(row), version_, found[thread].values[row]);
      }
    };
    const Timed times = run_rounds(setup_.threads, rounds, prepare, work, check);
    require(wrong == 0, "batches");
    return static_cast<double>(done) / times.wall / 1e6;
  }

  const Setup& setup_;
  const DataSet& set_;
  Store& store_;
  const Permutation permutation_{setup_.items};
  std::uint64_t version_ = 0;
};

Json sets(const Setup& setup) {
  const Distribution uniform(Popularity::uniform, setup.items, 0.99), zipfian(Popularity::zipfian, setup.items, 0.99);
  Json rows = Json::array();
  for (const DataSet& set : kDataSets) {
    std::vector<double> load, again, get, get_zipfian, mixed, one_get, one_set;
    for (unsigned repetition = 0; repetition < setup.repetitions; ++repetition) {
      say(std::string("data set ") + set.name + ", " + std::to_string(repetition + 1) + " of " +
          std::to_string(setup.repetitions));
      Bench bench(setup, setup.items);
      Callers callers(setup, set, *bench);
      load.push_back(callers.load(0));
      again.push_back(callers.load(1));
      require(bench->size() == setup.items, "size " + std::to_string(bench->size()));
      get.push_back(callers.run(uniform, 0, 1));
      get_zipfian.push_back(callers.run(zipfian, 0, 1));
      mixed.push_back(callers.run(zipfian, 5, 2));
      one_get.push_back(callers.run_single(false, 2));
      one_set.push_back(callers.run_single(true, 3));
    }
    rows.push_back({{"set", set.name},
                    {"key_bytes", set.key_bytes},
                    {"value_bytes", set.value_bytes},
                    {"million_per_second",
                     {{"set_new", spread(load)},
                      {"set_again", spread(again)},
                      {"get_uniform", spread(get)},
                      {"get_zipfian", spread(get_zipfian)},
                      {"get_95_zipfian", spread(mixed)},
                      {"get_one_a_call", spread(one_get)},
                      {"set_one_a_call", spread(one_set)}}}});
  }
  return {
      {"study", "sets"}, {"items", setup.items}, {"threads", setup.threads}, {"batch", setup.batch}, {"rows", rows}};
}

const Study kSets("sets", sets);

}  // namespace
}  // namespace holdfast::bench::store

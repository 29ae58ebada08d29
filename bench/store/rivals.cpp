// rivals.cpp: the study `rivals`: durable sets and gets of data set a beside RocksDB's write batches and LMDB's transactions, without sync:
// what each wrote survives a kill.
#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>

#include "frame/distribution.hpp"
#include "frame/json.hpp"
#include "frame/keys.hpp"
#include "peers/stores.hpp"
#include "store/setup.hpp"

namespace holdfast::bench::store {
namespace {

struct Rates {
  std::vector<double> set_new, set_again, get;
};

/// `set(thread, keys, values, rows)` and `get(thread, keys, out, rows)` for batches of 8-byte keys and values. The answers of `get` are checked.
template <class Set, class Get>
void measure(const Setup& setup, const Set& set, const Get& get, Rates& rates) {
  const std::uint64_t rounds = std::max<std::uint64_t>(1, setup.items / setup.batch / setup.threads);
  const std::uint64_t items = rounds * setup.batch * setup.threads;
  const Permutation permutation(items);
  std::vector<std::vector<std::uint64_t>> keys(setup.threads, std::vector<std::uint64_t>(setup.batch));
  auto values = keys, out = keys;
  std::atomic<std::uint64_t> wrong = 0;
  const auto item_at = [&](unsigned thread, std::uint64_t round, std::uint64_t i) {
    return permutation((round * setup.threads + thread) * setup.batch + i);
  };
  const auto run = [&](std::uint64_t version, bool reads, std::vector<double>& into) {
    const auto prepare = [&](unsigned thread, std::uint64_t round) {
      for (std::uint64_t i = 0; i < setup.batch; ++i) {
        keys[thread][i] = key_of(item_at(thread, round, i), 1);
        values[thread][i] = first_value_word(keys[thread][i], version);
      }
    };
    const auto work = [&](unsigned thread, std::uint64_t) {
      if (reads) {
        get(thread, keys[thread], out[thread]);
      } else {
        set(thread, keys[thread], values[thread]);
      }
    };
    const auto check = [&](unsigned thread, std::uint64_t) {
      for (std::uint64_t i = 0; reads && i < setup.batch; ++i) wrong += out[thread][i] != values[thread][i];
    };
    const Timed times = run_rounds(setup.threads, rounds, prepare, work, check);
    into.push_back(static_cast<double>(items) / times.wall / 1e6);
  };
  run(0, false, rates.set_new);
  run(1, false, rates.set_again);
  run(1, true, rates.get);
  require(wrong == 0, "rivals");
}

void measure_store(const Setup& setup, Rates& rates) {
  Bench bench(setup, setup.items);
  std::vector<std::uint64_t> offsets(setup.batch + 1);
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = 8 * i;
  std::vector<StoreItems> found(setup.threads);
  const auto rows = [&](const std::vector<std::uint64_t>& words) {
    return StoreRows{words.data(), offsets.data(), words.size()};
  };
  measure(
      setup,
      [&](unsigned, const auto& keys, const auto& values) {
        require(bench->set(rows(keys), rows(values)) == 0, "set");
      },
      [&](unsigned thread, const auto& keys, auto& out) {
        bench->get(rows(keys), found[thread]);
        for (std::size_t i = 0; i < out.size(); ++i) {
          out[i] = 0;
          if (found[thread].values.has(i)) std::memcpy(&out[i], found[thread].values[i].data(), 8);
        }
      },
      rates);
}

void measure_rival(const Setup& setup, const std::string& name, Rates& rates) {
  const std::string folder = setup.pool + "." + name;
  std::filesystem::remove_all(folder);
  {
    const auto make = name == "lmdb" ? lmdb_target : rocksdb_target;
    const std::unique_ptr<Target> target = make(folder, setup.items, 8);
    std::vector<std::vector<Status>> statuses(setup.threads, std::vector<Status>(setup.batch));
    measure(
        setup,
        [&](unsigned thread, const auto& keys, const auto& values) {
          target->run({.size = keys.size(),
                       .op = Op::insert_or_assign,
                       .keys = keys.data(),
                       .values = reinterpret_cast<const std::byte*>(values.data()),
                       .statuses = statuses[thread].data()});
        },
        [&](unsigned thread, const auto& keys, auto& out) {
          target->run({.size = keys.size(),
                       .op = Op::find,
                       .keys = keys.data(),
                       .out = reinterpret_cast<std::byte*>(out.data()),
                       .statuses = statuses[thread].data()});
        },
        rates);
  }
  std::filesystem::remove_all(folder);
}

Json rivals(const Setup& setup) {
  std::vector<std::string> names = stores();
  names.insert(names.begin(), "holdfast");
  std::vector<Rates> rates(names.size());
  for (unsigned repetition = 0; repetition < setup.repetitions; ++repetition) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      say(names[i] + ", " + std::to_string(repetition + 1) + " of " + std::to_string(setup.repetitions));
      if (i == 0) {
        measure_store(setup, rates[i]);
      } else {
        measure_rival(setup, names[i], rates[i]);
      }
    }
  }
  Json rows = Json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    rows.push_back({{"store", names[i]},
                    {"million_per_second",
                     {{"set_new", spread(rates[i].set_new)},
                      {"set_again", spread(rates[i].set_again)},
                      {"get", spread(rates[i].get)}}},
                    {"holdfast_over_it",
                     {{"set_new", spread(ratio_of(rates[0].set_new, rates[i].set_new))},
                      {"set_again", spread(ratio_of(rates[0].set_again, rates[i].set_again))},
                      {"get", spread(ratio_of(rates[0].get, rates[i].get))}}}});
  }
  return {
      {"study", "rivals"}, {"items", setup.items}, {"threads", setup.threads}, {"batch", setup.batch}, {"rows", rows}};
}

const Study kRivals("rivals", rivals);

}  // namespace
}  // namespace holdfast::bench::store

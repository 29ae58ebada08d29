// recovery.cpp: the study `recovery`: a process that changes a store is killed; how long opening it takes until every key is answered, with the index on the CPU
// or a GPU. This process has the GPU ready.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>

#include "frame/json.hpp"
#include "frame/keys.hpp"
#include "store/setup.hpp"

namespace holdfast::bench::store {
namespace {

/// Makes a store of all items and changes some until it is killed.
[[noreturn]] void change_until_killed(const Setup& setup, const DataSet& set, int ready) {
  Pool pool = Pool::create(setup.pool, true);
  Store store = Store::create(pool, "store", {.expected_items = setup.items});
  PackedRows rows(set, setup.batch);
  for (std::uint64_t item = 0; item < setup.items;) {
    rows.clear();
    for (; rows.size() < setup.batch && item < setup.items; ++item) rows.add(item, 0);
    require(store.set(rows.keys(), rows.values()) == 0, "set");
  }
  static_cast<void>(!write(ready, "r", 1));
  for (std::uint64_t version = 1;; ++version) {  // ends by a kill
    rows.clear();
    for (std::size_t i = 0; i < setup.batch; ++i) rows.add((version * 7919 + i * 104'729) % setup.items, version);
    store.set(rows.keys(), rows.values());
  }
}

Json recovery(const Setup& setup) {
  const DataSet& set = kDataSets[0];
  if (index_of(setup) == StoreIndex::gpu) {  // a child forked from a process that uses CUDA has none: it needs none
    Bench first(setup, 1000);
  }
  std::vector<double> open_ms, map_and_open_ms;
  std::uint64_t killed = 0;
  for (unsigned repetition = 0; repetition < setup.repetitions; ++repetition) {
    say("kill " + std::to_string(repetition + 1) + " of " + std::to_string(setup.repetitions));
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t child = fork();
    if (child == 0) change_until_killed(setup, set, ends[1]);
    char ready = 0;
    close(ends[1]);
    require(read(ends[0], &ready, 1) == 1, "the child");
    close(ends[0]);
    usleep(20'000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto begin = Clock::now();
    Pool pool = Pool::open(setup.pool);
    Store store = Store::open(pool, "store", options_of(setup, setup.items));
    map_and_open_ms.push_back(seconds_since(begin) * 1e3);
    open_ms.push_back(store.stats().open_ms);
    killed += store.stats().killed_at_open;
    require(store.size() == setup.items, "size after a kill");
    PackedRows rows(set, setup.batch);
    StoreItems found;
    for (std::uint64_t i = 0; i < setup.batch; ++i) rows.add(i * 31 % setup.items, 0);
    store.get(rows.keys(), found);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      require(found.values.has(row) && is_value(set, rows.item(row), kVersionMask, found.values[row]), "after a kill");
    }
    store.close();
    pool.close();
    std::remove(setup.pool.c_str());
  }
  return {{"study", "recovery"},
          {"items", setup.items},
          {"index", setup.index},
          {"threads", setup.threads},
          {"after_mapping_ms", spread(open_ms)},
          {"with_mapping_ms", spread(map_and_open_ms)},
          {"replaced_items_killed", killed}};
}

const Study kRecovery("recovery", recovery);

}  // namespace
}  // namespace holdfast::bench::store

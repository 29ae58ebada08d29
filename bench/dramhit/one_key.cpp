// one_key.cpp: one key a call: the durable table through an epoch and through its own methods, and the table in memory.
#include <unistd.h>

#include <string>
#include <vector>

#include "dramhit/rounds.hpp"
#include "dramhit/worker.hpp"
#include "holdfast/epoch.hpp"

namespace holdfast::bench::dramhit {
namespace {

constexpr std::uint64_t kInCache = 16384;  ///< items of a table whose lines all fit into a cache

/// Calls with one row. Each round of a thread is one stay, of some thousand calls.
class OneKeyCaller final : public Caller {
 public:
  OneKeyCaller(Table& table, bool stays) : table_(table), stays_(stays) {}
  void run(Round& round) override {
    if (stays_) {
      Epoch epoch(table_);
      for (std::size_t i = 0; i < round.size; ++i) call(epoch, round, i);
    } else {
      for (std::size_t i = 0; i < round.size; ++i) call(table_, round, i);
    }
  }

 private:
  template <class Runs>
  static void call(Runs& runs, Round& round, std::size_t i) {
    if constexpr (std::is_same_v<Runs, Epoch>) {
      if (round.op == Op::find) {
        round.statuses[i] = runs.find(&round.keys[i], &round.out[i]) ? Status::found : Status::not_found;
        return;
      }
    }
    Batch batch;
    batch.size = 1;
    batch.op = round.op;
    batch.keys = &round.keys[i];
    batch.values = &round.values[i];
    batch.out = &round.out[i];
    batch.statuses = &round.statuses[i];
    runs.run(batch);
  }

  Table& table_;
  const bool stays_;
};

/// In a pool file that is removed with it.
class OneKeySubject final : public Subject {
 public:
  OneKeySubject(std::string path, std::uint64_t capacity, bool stays)
      : path_(std::move(path)), table_(Table::create(path_, options(capacity))), stays_(stays) {}
  ~OneKeySubject() override {
    table_.close();
    unlink(path_.c_str());
  }
  std::unique_ptr<Caller> caller(bool) override { return std::make_unique<OneKeyCaller>(table_, stays_); }

 private:
  static CreateOptions options(std::uint64_t capacity) {
    CreateOptions options;
    options.shape.capacity = capacity;
    options.runtime.device = "cpu";
    options.overwrite = true;
    return options;
  }
  const std::string path_;
  Table table_;
  const bool stays_;
};

struct Rates {
  std::vector<double> put_new, get, absent, put, erase;
  Json json() const {
    return {{"put_new_mops", spread(put_new)},
            {"get_mops", spread(get)},
            {"absent_mops", spread(absent)},
            {"put_mops", spread(put)},
            {"erase_mops", spread(erase)}};
  }
};

/// One repetition: a new table is filled, and asked.
void add_rates(Rates& rates, Subject& subject, std::uint64_t items, std::uint64_t operations, unsigned threads) {
  const auto rate = [&](Ask kind, std::uint64_t count) {
    Asked asked;
    asked.ask = kind;
    asked.items = items;
    asked.batch = 1;
    return ask(subject, asked, count, threads).mops;
  };
  rates.put_new.push_back(rate(Ask::put_new, items));
  rates.get.push_back(rate(Ask::get, operations));
  rates.absent.push_back(rate(Ask::absent, operations));
  rates.put.push_back(rate(Ask::put, operations));
  rates.erase.push_back(rate(Ask::erase, items));
}

/// One key a call, in cache with one caller, and beyond it with one and with all.
Json study_one_key(const Setup& setup) {
  const std::uint64_t round = std::uint64_t{16384} * setup.threads;
  const std::uint64_t items = std::max(setup.peer_items / round, std::uint64_t{1}) * round;  // in whole rounds
  Json result = {{"items", items}, {"in_cache_items", kInCache}, {"threads", setup.threads}, {"file", setup.file}};
  struct Case {
    const char* name;
    std::uint64_t items;
    unsigned threads;
  };
  for (const Case& one :
       {Case{"in_cache", kInCache, 1}, Case{"one_caller", items, 1}, Case{"all_callers", items, setup.threads}}) {
    Rates epoch, table, memory;
    for (unsigned i = 0; i < setup.repetitions; ++i) {
      progress(std::string("one-key: ") + one.name + ", repetition " + std::to_string(i + 1));
      const auto measure = [&](Rates& rates, Subject& subject) {
        add_rates(rates, subject, one.items, setup.operations, one.threads);
      };
      measure(epoch, *std::make_unique<OneKeySubject>(setup.file, one.items, true));
      measure(table, *std::make_unique<OneKeySubject>(setup.file, one.items, false));
      measure(memory, *subject("dramhit", one.items, setup));
    }
    result[one.name] = {{"epoch", epoch.json()}, {"table", table.json()}, {"memory_batches_of_1", memory.json()}};
    if (one.threads == setup.threads && one.threads != 1) {
      result["all_over_one_caller"] = {
          {"get", result["all_callers"]["epoch"]["get_mops"]["median"].get<double>() /
                      result["one_caller"]["epoch"]["get_mops"]["median"].get<double>()},
          {"put_new", result["all_callers"]["epoch"]["put_new_mops"]["median"].get<double>() /
                          result["one_caller"]["epoch"]["put_new_mops"]["median"].get<double>()}};
    }
  }
  return result;
}
const Study kOneKey("one-key", study_one_key);

}  // namespace
}  // namespace holdfast::bench::dramhit

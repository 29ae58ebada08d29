// durable_peers.cpp: the study `durable-peers`: several threads on our Table, one key a call and in batches, and on the published code
// of other persistent tables (originals/original.hpp), one key a call. Each in both domains; new tables in each run, in turn.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <map>
#include <optional>

#include "frame/json.hpp"
#include "frame/keys.hpp"
#include "frame/timing.hpp"
#include "holdfast/epoch.hpp"
#include "holdfast/error.hpp"
#include "pool/medium/persist.hpp"
#include "structures/originals/library.hpp"
#include "structures/setup.hpp"

namespace holdfast::bench::structures {
namespace {

constexpr std::uint64_t kPeersSeed = 23, kFewCells = 4096, kBatch = 65536, kStay = 4096;

enum class Ask { insert, find, absent, erase };

std::uint64_t peer_key(std::uint64_t item) { return key_of(item, kPeersSeed); }
std::uint64_t peer_value(std::uint64_t key) { return mix(key + kOdd); }
/// The key of request `i` of a table with the items [0, items): each once, and as many that it has not.
std::uint64_t asked_key(Ask ask, std::uint64_t i, std::uint64_t items) {
  return peer_key(ask == Ask::absent ? kAbsentItem + i : ask == Ask::find ? mix(i) % items : i);
}

/// A table of one of the contestants.
class Contestant {
 public:
  virtual ~Contestant() = default;
  /// The requests [first, last), from one of several threads. Returns how many answers are wrong.
  virtual std::uint64_t run(Ask ask, std::uint64_t first, std::uint64_t last, std::uint64_t items) = 0;
};

class OwnTable : public Contestant {
 public:
  OwnTable(const std::string& path, std::uint64_t capacity, bool flushes) : path_(path) {
    CreateOptions options;
    options.shape.key_bytes = options.shape.value_bytes = 8;
    options.shape.capacity = capacity;
    options.runtime.device = "cpu";
    options.runtime.threads = 1;
    options.tuning.flush = flushes;
    options.overwrite = true;
    table_.emplace(Table::create(path_, options));
  }
  ~OwnTable() override {
    table_->close();
    unlink(path_.c_str());
  }

 protected:
  const std::string path_;
  std::optional<Table> table_;
};

class OneKeyCalls final : public OwnTable {
 public:
  using OwnTable::OwnTable;
  std::uint64_t run(Ask ask, std::uint64_t first, std::uint64_t last, std::uint64_t items) override {
    std::uint64_t wrong = 0;
    for (std::uint64_t from = first; from < last; from += kStay) {
      Epoch epoch(*table_);
      for (std::uint64_t i = from; i < std::min(from + kStay, last); ++i) {
        const std::uint64_t key = asked_key(ask, i, items);
        std::uint64_t value = peer_value(key);
        bool is_right = false;
        switch (ask) {
          case Ask::insert: is_right = epoch.insert(&key, &value) == Status::inserted; break;
          case Ask::find: is_right = epoch.find(&key, &value) && value == peer_value(key); break;
          case Ask::absent: is_right = !epoch.find(&key, &value); break;
          case Ask::erase: is_right = epoch.erase(&key) == Status::erased; break;
        }
        wrong += is_right ? 0 : 1;
      }
    }
    return wrong;
  }
};

class Batches final : public OwnTable {
 public:
  using OwnTable::OwnTable;
  std::uint64_t run(Ask ask, std::uint64_t first, std::uint64_t last, std::uint64_t items) override {
    std::uint64_t wrong = 0;
    std::vector<std::uint64_t> keys(kBatch), values(kBatch);
    std::vector<Status> statuses(kBatch);
    for (std::uint64_t from = first; from < last; from += kBatch) {
      Batch batch;
      batch.size = std::min(kBatch, last - from);
      for (std::uint64_t i = 0; i < batch.size; ++i) {
        keys[i] = asked_key(ask, from + i, items);
        values[i] = peer_value(keys[i]);
      }
      const bool searches = ask == Ask::find || ask == Ask::absent;
      batch.op = searches ? Op::find : ask == Ask::insert ? Op::insert : Op::erase;
      batch.keys = keys.data();
      if (searches) batch.out = values.data();
      if (ask == Ask::insert) batch.values = values.data();
      batch.statuses = statuses.data();
      table_->run(batch);
      constexpr std::array kRight = {Status::inserted, Status::found, Status::not_found, Status::erased};
      for (std::uint64_t i = 0; i < batch.size; ++i) {
        const bool is_right =
            statuses[i] == kRight[static_cast<unsigned>(ask)] && (ask != Ask::find || values[i] == peer_value(keys[i]));
        wrong += is_right ? 0 : 1;
      }
    }
    return wrong;
  }
};

class Peer final : public Contestant {
 public:
  Peer(const HoldfastOriginal& original, std::uint64_t cells, bool flushes)
      : original_(original),
        persist_{pool::best_flush()},
        persistence_{this,
                     [](void* self, const void* address, std::size_t bytes) {
                       static_cast<Peer*>(self)->persist_.flush(address, bytes);
                     },
                     [](void* self) { static_cast<Peer*>(self)->persist_.fence(); }},
        table_(original.create(cells, flushes ? &persistence_ : nullptr)) {
    if (table_ == nullptr) throw Error(std::string(original.name) + " made no table: measure smaller ones with --bits");
  }
  ~Peer() override { original_.destroy(table_); }
  std::uint64_t run(Ask ask, std::uint64_t first, std::uint64_t last, std::uint64_t items) override {
    std::uint64_t wrong = 0;
    for (std::uint64_t i = first; i < last; ++i) {
      const std::uint64_t key = asked_key(ask, i, items);
      std::uint64_t value = 0;
      bool is_right = false;
      switch (ask) {
        case Ask::insert: is_right = original_.insert(table_, key, peer_value(key)) == 1; break;
        case Ask::find: is_right = original_.find(table_, key, &value) == 1 && value == peer_value(key); break;
        case Ask::absent: is_right = original_.find(table_, key, &value) == 0; break;
        case Ask::erase: is_right = original_.erase(table_, key) == 1; break;
      }
      wrong += is_right ? 0 : 1;
    }
    return wrong;
  }

 private:
  const HoldfastOriginal& original_;
  const pool::Persist persist_;
  const HoldfastPersistence persistence_;
  void* const table_;
};

using Rates = std::map<std::string, std::vector<double>>;  // millions a second, by operation

/// One run: a table that grows, then one with space from the start, which is asked for the rest too.
template <class Make>
void add_rates(Rates& rates, const std::string& name, const Make& make, std::uint64_t items, unsigned threads) {
  const auto ask = [&](Contestant& table, const char* as, Ask what) {
    std::atomic<std::uint64_t> wrong = 0;
    const double seconds = together(threads, [&](unsigned thread) {
      wrong += table.run(what, items * thread / threads, items * (thread + 1) / threads, items);
    });
    if (wrong != 0) throw Error(name + ": " + std::to_string(wrong) + " answers of " + as + " are wrong");
    rates[as].push_back(static_cast<double>(items) / seconds / 1e6);
  };
  ask(*make(kFewCells), "insert_growing", Ask::insert);
  const auto table = make(items / 3 * 4);
  ask(*table, "insert", Ask::insert);
  ask(*table, "find", Ask::find);
  ask(*table, "absent", Ask::absent);
  ask(*table, "erase", Ask::erase);
}

Json spreads(const Rates& rates, double digits) {
  Json result = Json::object();
  for (const auto& [operation, values] : rates) {
    const Spread one = spread_of(values);
    const auto rounded_to = [&](double value) { return std::round(value * digits) / digits; };
    result[operation] = {
        {"median", rounded_to(one.median)}, {"low", rounded_to(one.low)}, {"high", rounded_to(one.high)}};
  }
  return result;
}

/// Our rates over a peer's, run by run.
Json over(const Rates& own, const Rates& peer) {
  Rates ratios;
  for (const auto& [operation, values] : own) ratios[operation] = ratio_of(values, peer.at(operation));
  return spreads(ratios, 1000);
}

Json study_durable_peers(const Setup& setup) {
  if (setup.originals.empty())
    throw InvalidArgument("the study durable-peers needs tables: name libraries with --originals");
  const std::uint64_t items = std::uint64_t{1} << (setup.bits == 0 ? 24 : setup.bits);
  Json peers = Json::array();
  std::map<std::string, std::map<std::string, Rates>> rates;  // by domain and contestant
  const std::vector<const HoldfastOriginal*> originals = load_originals(setup, peers);
  for (unsigned run = 0; run < setup.runs; ++run) {
    for (const bool flushes : {false, true}) {
      const char* const domain = flushes ? "power" : "process";
      const auto measure = [&](const std::string& name, const auto& make) {
        progress(std::string(domain) + ", " + name + ": run " + std::to_string(run + 1));
        add_rates(rates[domain][name], name, make, items, setup.threads);
      };
      // A table that grows is asked for few items, as a peer for few cells.
      measure("one_key",
              [&](std::uint64_t n) { return std::make_unique<OneKeyCalls>(setup.pool, n / 4 * 3, flushes); });
      measure("batches", [&](std::uint64_t n) { return std::make_unique<Batches>(setup.pool, n / 4 * 3, flushes); });
      for (const HoldfastOriginal* const original : originals) {
        measure(original->name, [&](std::uint64_t n) { return std::make_unique<Peer>(*original, n, flushes); });
      }
    }
  }
  Json mops = Json::object(), ratios = Json::object();
  for (const auto& [domain, tables] : rates) {
    for (const auto& [name, figures] : tables) mops[domain][name] = spreads(figures, 100);
    for (const char* const own : {"one_key", "batches"}) {
      for (const HoldfastOriginal* const original : originals) {
        ratios[domain][own][original->name] = over(tables.at(own), tables.at(original->name));
      }
    }
  }
  return {{"items", items},
          {"threads", setup.threads},
          {"batch", kBatch},
          {"runs", setup.runs},
          {"flush", pool::name(pool::best_flush())},
          {"peers", peers},
          {"mops", mops},
          {"over_peer", ratios}};
}
const Study kDurablePeers("durable-peers", study_durable_peers, false);  // not listed: it needs libraries

}  // namespace
}  // namespace holdfast::bench::structures

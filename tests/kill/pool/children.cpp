// children.cpp: the writer and the recovering child of the subject pool. They use the public API only.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kill/pool/shared.hpp"
#include "proof/kill/registry.hpp"
#include "proof/runs/random.hpp"
#include "support/numbers.hpp"

namespace holdfast::proof::kill {

using namespace test;

namespace {

constexpr std::uint64_t kMostSlots = 4096;  ///< of a table that is made to grow

CreateOptions create_options(const Shared& shared, const TableSizes& shape) {
  const PoolRound& round = shared.part<PoolShared>().round;
  CreateOptions options;
  options.shape.key_bytes = shape.key_bytes;
  options.shape.value_bytes = shape.value_bytes;
  options.shape.capacity = shape.capacity;
  options.runtime.device = shared.device;
  options.runtime.threads = round.table_threads;
  options.tuning.flush = round.flush;
  options.shape.seed = hash_seed(round);
  return options;
}

NumberedTable open_table(const Shared& shared, Pool& pool, const std::string& name, const char* device) {
  const PoolRound& round = shared.part<PoolShared>().round;
  OpenOptions options;
  options.runtime.device = device;
  options.runtime.threads = round.table_threads;
  options.tuning.flush = round.flush;
  options.tuning.calibrate = false;
  Table table = pool.table(name, options);
  const std::uint32_t width = value_width(table.value_bytes());
  return {std::move(table), hash_seed(round), width};
}

/// One calling thread: the names that are its own, and the tables that it has open.
class Caller {
 public:
  Caller(Shared& shared, Pool& pool, unsigned thread)
      : shared_(shared),
        ours_(shared.part<PoolShared>()),
        pool_(pool),
        thread_(thread),
        journal_(ours_.journal[thread]) {
    for (const ObjectInfo& object : pool.objects()) {
      for (std::uint32_t name = thread; name < ours_.round.names; name += ours_.round.threads) {
        if (object_name(name) == object.name) tables_.try_emplace(name);
      }
    }
  }

  void call_until_full() {
    for (std::uint32_t number = 0; number < kPoolEntries; ++number) {
      PoolEntry& entry = journal_.entries[number];
      entry = choose(number);
      journal_.begun.store(number + 1, std::memory_order_release);
      const bool stops = entry.call == ours_.often && ours_.stop_at != 0;
      if (stops) arm(ours_.stop_at);
      journal_.inside.store(1, std::memory_order_release);
      call(entry);
      journal_.inside.store(0, std::memory_order_release);
      std::atomic_ref(entry.acknowledged).store(1, std::memory_order_release);
      if (stops) arm(0);
      if (entry.call != PoolCall::sync) note_peak();  // a change may grow a table too
    }
    journal_.full.store(1, std::memory_order_release);
  }

 private:
  void arm(std::uint32_t at) { std::atomic_ref(shared_.failpoints.armed).store(at, std::memory_order_release); }

  std::uint32_t any_name(Random& random) const {
    const PoolRound& round = ours_.round;
    const std::uint32_t own = (round.names - thread_ + round.threads - 1) / round.threads;
    return thread_ + round.threads * static_cast<std::uint32_t>(random.below(own));
  }

  /// Nine times of ten that of an object, if there is one.
  std::uint32_t name_of_object(Random& random) const {
    if (tables_.empty() || random.chance(10)) return any_name(random);
    return std::next(tables_.begin(), static_cast<std::ptrdiff_t>(random.below(tables_.size())))->first;
  }

  std::uint32_t free_name(Random& random) const {
    std::uint32_t name = any_name(random);
    for (unsigned i = 0; i < 8 && tables_.contains(name); ++i) name = any_name(random);
    return name;
  }

  PoolEntry choose(std::uint32_t number) const {
    constexpr std::array<unsigned, kPoolCalls> kPercent{0, 20, 10, 14, 12, 12, 24, 8, 0};
    Random random(mix(mix(ours_.round.seed, shared_.life), mix(thread_, number)));
    PoolCall call = ours_.often;
    if (call < PoolCall::create || call > PoolCall::sync || number < ours_.often_from || number % 2 == 0) {
      std::uint64_t at = random.below(100);
      unsigned which = 0;
      while (at >= kPercent[which]) at -= kPercent[which++];
      call = static_cast<PoolCall>(which);
    }
    if (tables_.empty() && call != PoolCall::create && random.chance(80)) call = PoolCall::create;
    const bool makes = call == PoolCall::create;
    PoolEntry entry{};
    entry.call = call;
    entry.name = makes ? free_name(random) : name_of_object(random);
    entry.to = random.chance(85) ? free_name(random) : any_name(random);
    entry.seed = random.next();
    return entry;
  }

  NumberedTable& table(std::uint32_t name) {
    const auto at = tables_.find(name);
    if (at != tables_.end() && at->second) return *at->second;
    NumberedTable opened = open_table(shared_, pool_, object_name(name), shared_.device);
    if (at == tables_.end()) throw std::logic_error("the pool opened " + object_name(name) + ", which is not there");
    return at->second.emplace(std::move(opened));
  }

  void close(std::uint32_t name) {
    if (const auto at = tables_.find(name); at != tables_.end()) at->second.reset();
  }

  void create(PoolEntry& entry) {
    const TableSizes shape = shape_of(entry.seed);
    CreateOptions options = create_options(shared_, shape);
    options.overwrite = entry.call == PoolCall::replace;
    if (options.overwrite) close(entry.name);
    Table made = pool_.create_table(object_name(entry.name), options);
    entry.said = made.stats().place.object;
    auto& kept = tables_[entry.name];
    kept.reset();
    const std::uint32_t width = value_width(shape.value_bytes);
    if (entry.seed % 2 == 0) kept.emplace(NumberedTable(std::move(made), hash_seed(ours_.round), width));
  }

  void rename(const PoolEntry& entry) {
    pool_.rename(object_name(entry.name), object_name(entry.to));
    if (entry.to == entry.name) return;
    tables_[entry.to] = std::move(tables_.at(entry.name));  // an open table stays open
    tables_.erase(entry.name);
  }

  void drop(const PoolEntry& entry) {
    close(entry.name);
    pool_.drop(object_name(entry.name));
    tables_.erase(entry.name);
  }

  void change(const PoolEntry& entry) {
    NumberedTable& to = table(entry.name);
    std::vector<std::uint64_t> keys;
    std::string values;
    const std::vector<ItemChange> changes = changes_of(entry.seed);
    for (const ItemChange& item : changes) {
      keys.push_back(item.index);
      values += item_value(item.version, to.value_bytes());
    }
    values.push_back('\0');  // of a set, too, there are some
    if (changes.front().erases) {
      to.erase(keys.data(), keys.size());
    } else {
      to.insert_or_assign(keys.data(), values.data(), keys.size());
    }
  }

  void call(PoolEntry& entry) try {
    switch (entry.call) {
      case PoolCall::create:
      case PoolCall::replace: return create(entry);
      case PoolCall::rename: return rename(entry);
      case PoolCall::drop: return drop(entry);
      case PoolCall::grow: {
        NumberedTable& grown = table(entry.name);
        if (grown.slots() < kMostSlots) grown.reserve(grown.slots());
        entry.said = grown.slots();
        return;
      }
      case PoolCall::sync: return table(entry.name).sync();
      default: return change(entry);
    }
  } catch (const ObjectNotFound&) {
    entry.refused = 1;
  } catch (const ObjectExists&) {
    entry.refused = 1;
  }

  void note_peak() {
    const std::vector<ObjectInfo> objects = pool_.objects();
    const std::uint64_t now =
        std::accumulate(objects.begin(), objects.end(), std::uint64_t{0},
                        [](std::uint64_t sum, const ObjectInfo& object) { return sum + object.bytes; });
    std::uint64_t most = ours_.peak.load();
    while (now > most && !ours_.peak.compare_exchange_weak(most, now)) {
    }
  }

  Shared& shared_;
  PoolShared& ours_;
  Pool& pool_;
  unsigned thread_;
  PoolJournal& journal_;
  std::map<std::uint32_t, std::optional<NumberedTable>> tables_;  ///< by the number of the name; none: it is closed
};

class PoolWriter : public Writer {
 public:
  explicit PoolWriter(Shared& shared) : shared_(shared) {}
  void open() override {
    pool_.emplace(shared_.create != 0 ? Pool::create(shared_.path) : Pool::open(shared_.path));
    for (unsigned thread = 0; thread < threads(); ++thread) callers_.emplace_back(shared_, *pool_, thread);
  }
  unsigned threads() const override { return shared_.part<PoolShared>().round.threads; }
  void call(unsigned thread) override { callers_[thread].call_until_full(); }

 private:
  Shared& shared_;
  std::optional<Pool> pool_;
  std::vector<Caller> callers_;
};

/// Reads everything the table has, by find and by export.
void look_at(NumberedTable& table, FoundTable& found) {
  const std::uint32_t width = table.value_bytes();
  std::vector<std::uint64_t> keys(kItems);
  std::iota(keys.begin(), keys.end(), 0);
  std::vector<char> values(std::size_t{kItems} * width + 1);
  bool there[kItems] = {};
  table.find(keys.data(), values.data(), keys.size(), there);
  for (unsigned i = 0; i < kItems; ++i) found.values[i] = there[i] ? digest(values.data() + i * width, width) : 0;
  found.size = table.size();
  found.slots = table.slots();
  for (std::uint64_t cursor = 0; cursor != ~std::uint64_t{0};) {
    const std::size_t got = table.export_batch(cursor, keys.data(), values.data(), kItems);
    for (std::size_t i = 0; i < got; ++i, ++found.exported) {
      const bool is_ours = keys[i] < kItems;
      found.foreign += is_ours ? 0 : 1;
      if (is_ours) found.exported_values[keys[i]] = digest(values.data() + i * width, width);
    }
  }
}

class PoolReader : public Reader {
 public:
  explicit PoolReader(Shared& shared) : shared_(shared) {}

  void open() override {
    tables_.clear();
    pool_.emplace(Pool::open(shared_.path));
    if (shared_.part<PoolShared>().check_first != 0) check();
    for (const ObjectInfo& object : pool_->objects()) {
      if (!object.damage.empty()) continue;
      tables_.emplace(object.name, open_table(shared_, *pool_, object.name, shared_.recovery_device));
    }
    if (shared_.part<PoolShared>().check_first == 0) check();
  }

  void look() override {
    PoolFound& found = shared_.part<PoolShared>().found;
    look(found);
    if (shared_.again_ms != 0) {
      usleep(shared_.again_ms * 1000);
      const auto again = std::make_unique<PoolFound>();
      std::memset(static_cast<void*>(again.get()), 0, sizeof(PoolFound));
      look(*again);
      found.again_differs = std::memcmp(again->tables, found.tables, sizeof found.tables) != 0 ? 1 : 0;
    }
    // The next change of the directory gives back what a growth that never ended had taken: here is one that changes nothing.
    if (!tables_.empty()) pool_->rename(tables_.begin()->first, tables_.begin()->first);
  }

  void close() override { pool_->close(); }

 private:
  void check() {
    const CheckReport report = pool_->check();
    shared_.part<PoolShared>().found.check_items = report.items;
    shared_.recovered.repaired = report.repaired_slots;
    shared_.recovered.moved = report.finished_moves;
    shared_.recovered.rehashed = report.rehashed;
    std::string errors;
    for (const std::string& error : report.errors) errors += error + "; ";
    copy_text(shared_.recovered.check_errors, errors);
  }

  void look(PoolFound& found) {
    for (const ObjectInfo& object : pool_->objects()) {
      if (found.objects++ >= kMostFound) continue;
      FoundTable& table = found.tables[found.objects - 1];
      copy_text(table.name, object.name);
      copy_text(table.damage, object.type == "table" ? object.damage : "it is no table: " + object.type);
      table.number = object.number;
      table.key_bytes = object.table.key_bytes;
      table.value_bytes = object.table.value_bytes;
      if (const auto at = tables_.find(object.name); at != tables_.end()) look_at(at->second, table);
    }
  }

  Shared& shared_;
  std::optional<Pool> pool_;
  std::map<std::string, NumberedTable> tables_;
};

const RegisterChildren<PoolWriter, PoolReader> pool_children{"pool"};

}  // namespace

}  // namespace holdfast::proof::kill

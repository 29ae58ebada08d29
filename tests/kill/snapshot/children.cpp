// children.cpp: the writer and the recovering child of the subject snapshot. They use the public API only.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "holdfast/log.hpp"
#include "holdfast/region.hpp"
#include "holdfast/store.hpp"
#include "holdfast/strings.hpp"
#include "holdfast/table.hpp"
#include "kill/snapshot/shared.hpp"
#include "proof/kill/registry.hpp"

namespace holdfast::proof::kill {
namespace {

/// A pool, and those of its objects that are there.
struct WholePool {
  std::optional<Pool> pool;
  std::optional<Table> table;
  std::optional<Log> log;
  std::optional<Region> region;
  std::optional<Checkpoint> checkpoint;
  std::optional<Store> store;

  void open(const std::string& path, const char* device, bool flush) {
    pool.emplace(Pool::open(path));
    for (const ObjectInfo& object : pool->objects()) {
      if (object.name == "items") {
        OpenOptions how;
        how.runtime.device = device;
        how.tuning.flush = flush;
        table.emplace(pool->table("items", how));
      }
      if (object.name == "notes") log.emplace(Log::open(*pool, "notes", {.flush = flush}));
      if (object.name == "cells") region.emplace(Region::open(*pool, "cells", {.flush = flush}));
      if (object.name == "pairs") store.emplace(Store::open(*pool, "pairs", {.flush = flush}));
      if (object.name == "state") checkpoint.emplace(Checkpoint::open(*pool, "state", flush));
    }
  }
};

class WholeWriter : public Writer {
 public:
  explicit WholeWriter(Shared& shared) : shared_(shared) {}

  /// Creates what is not there, in order, and then makes the first step of each.
  void open() override {
    if (shared_.create != 0) static_cast<void>(Pool::create(shared_.path));
    const bool flush = ours_.round.flush;
    its_.open(shared_.path, shared_.device, flush);
    if (!its_.table) {
      CreateOptions how;
      how.shape.key_bytes = 8;
      how.shape.value_bytes = sizeof(WholeValue);
      how.shape.capacity = (flush ? 2 : 16) * kWholeKeys;  // of the larger one a snapshot holds a compact copy
      how.runtime.device = shared_.device;
      how.tuning.flush = flush;
      its_.table.emplace(its_.pool->create_table("items", how));
    }
    ours_.made = 1;
    const LogOptions notes{
        .entry_bytes = sizeof(WholeEntry), .capacity = kWholeEntries, .partitions = 1, .flush = flush};
    if (!its_.log) its_.log.emplace(Log::create(*its_.pool, "notes", notes));
    ours_.made = 2;
    if (!its_.region) its_.region.emplace(Region::create(*its_.pool, "cells", kWholeWords * 8, {.flush = flush}));
    ours_.made = 3;
    if (!its_.checkpoint) its_.checkpoint.emplace(Checkpoint::create(*its_.pool, "state", {.flush = flush}));
    ours_.made = 4;
    if (!its_.store) its_.store.emplace(Store::create(*its_.pool, "pairs", {.flush = flush}));
    ours_.made = 5;
    step_ = (std::uint64_t{shared_.life} << 32) + 1;
    ours_.cuts[0] = ours_.cuts[1] = {};
    change_table_and_checkpoint(step_);
    change_region_and_log(step_);
    change_store(step_);
  }
  unsigned threads() const override { return 3; }
  void call(unsigned thread) override {
    for (std::uint64_t step = step_ + 1;; ++step) {  // ends: it is killed
      if (thread == 0) {
        change_table_and_checkpoint(step);
      } else if (thread == 2) {
        change_store(step);
      } else {
        change_region_and_log(step);
        if (step % 2 == 0) take_snapshot(step);
      }
    }
  }

 private:
  template <class Call>
  void run(WholeCall kind, Steps& steps, std::uint64_t step, const Call& call) {
    ours_.calls.begun.fetch_add(1);
    steps.begun = step;
    ours_.calls.run(shared_, static_cast<std::uint32_t>(kind), [&] {
      call();
      steps.done = step;
    });
  }

  void change_table_and_checkpoint(std::uint64_t step) {
    std::vector<std::uint64_t> keys(kWholeKeys);
    std::vector<WholeValue> values(kWholeKeys);
    std::vector<std::uint8_t> ops(kWholeKeys);
    for (std::uint64_t key = 0; key < kWholeKeys; ++key) {
      keys[key] = key;
      values[key] = words_of<WholeValue>(step, key);
      ops[key] = static_cast<std::uint8_t>(is_erased(step, key) ? Op::erase : Op::insert_or_assign);
    }
    Batch batch;
    batch.size = kWholeKeys;
    batch.keys = keys.data();
    batch.values = values.data();
    batch.ops = ops.data();
    run(WholeCall::batch, ours_.batch, step, [&] { its_.table->run(batch); });
    const StateOf state(ours_.round, step);
    run(WholeCall::save, ours_.save, step, [&] { its_.checkpoint->save(step, state.tensors(), state.text()).wait(); });
  }

  void change_region_and_log(std::uint64_t step) {
    run(WholeCall::write, ours_.write, step, [&] {
      Section section = its_.region->section();
      const std::span<std::uint64_t> words = section.as<std::uint64_t>();
      for (std::uint64_t k = 0; k < words.size(); ++k) words[k] = mix(step, k);
      section.persist();
    });
    const auto entry = words_of<WholeEntry>(step, 0);
    run(WholeCall::insert, ours_.insert, step, [&] {
      if (ours_.first_entry == 0 || its_.log->count(0) == kWholeEntries) {
        ours_.first_before = ours_.first_entry.load();
        ours_.clearing = step;
        its_.log->clear();
        ours_.first_entry = step;
      }
      its_.log->insert(0, entry);
    });
  }

  void change_store(std::uint64_t step) {
    holdfast::Strings keys, values;
    for (std::uint64_t key = 0; key < kWholeKeys; ++key) {
      const WholeValue value = stored_at(step, key);
      keys.add(std::to_string(key));
      values.add({reinterpret_cast<const char*>(value.data()), sizeof value});
    }
    const auto rows = [](const holdfast::Strings& strings) {
      return StoreRows{strings.bytes(), strings.offsets(), strings.size()};
    };
    run(WholeCall::store, ours_.store, step, [&] { its_.store->set(rows(keys), rows(values)); });
  }

  void take_snapshot(std::uint64_t step) {
    const std::uint64_t number = ours_.cutting;
    Cut& cut = ours_.cuts[number % 2];
    cut = {step, ours_.first_entry, ours_.batch.done, 0, ours_.save.done, 0, ours_.store.done, 0};
    ours_.cutting = number + 1;
    ours_.calls.begun.fetch_add(1);
    ours_.calls.run(shared_, static_cast<std::uint32_t>(WholeCall::snapshot), [&] {
      its_.pool->snapshot(snapshot_of(shared_.path), {.overwrite = true, .writers_idle = true});
      cut.batch_to = ours_.batch.begun;
      cut.save_to = ours_.save.begun;
      cut.store_to = ours_.store.begun;
      ours_.cut = number + 1;
    });
  }

  Shared& shared_;
  WholeShared& ours_ = shared_.part<WholeShared>();
  WholePool its_;
  std::uint64_t step_ = 0;
};

class WholeReader : public Reader {
 public:
  explicit WholeReader(Shared& shared) : shared_(shared) {}

  void open() override {
    its_.emplace();
    its_->open(shared_.path, shared_.recovery_device, ours_.round.flush);
  }
  void look() override {
    look(*its_, ours_.pool);
    const CheckReport report = its_->pool->check();
    shared_.recovered.repaired = report.repaired_slots;
    shared_.recovered.moved = report.finished_moves;
    shared_.recovered.rehashed = report.rehashed;
    look_at_snapshot();
  }
  void close() override { its_->pool->close(); }

 private:
  /// Restores the snapshot on another medium, where there is one, and looks at what that has.
  void look_at_snapshot() try {
    const std::filesystem::path snapshot = snapshot_of(shared_.path);
    if (!std::filesystem::exists(snapshot)) return;
    const bool in_memory = snapshot.parent_path() == "/dev/shm";
    const std::filesystem::path elsewhere =
        (in_memory ? std::filesystem::temp_directory_path() : std::filesystem::path("/dev/shm")) /
        (snapshot.filename().string() + "-restored");
    std::filesystem::copy_file(snapshot, elsewhere, std::filesystem::copy_options::overwrite_existing);
    {
      WholePool restored;
      restored.open(elsewhere, shared_.recovery_device, ours_.round.flush);
      look(restored, ours_.restored);
    }
    std::filesystem::remove(elsewhere);
  } catch (const Error& error) {
    ours_.restored.opens = 1;
    copy_text(ours_.restored.errors, error.what());
  }

  void look(WholePool& whole, FoundWhole& found) const {
    std::string errors;
    for (const ObjectInfo& object : whole.pool->objects()) found.damaged += object.damage.empty() ? 0 : 1;
    found.objects = static_cast<std::uint32_t>(whole.pool->objects().size());
    if (whole.table) look(*whole.table, found);
    if (whole.log) look(*whole.log, found);
    if (whole.store) look(*whole.store, found);
    if (whole.region) {
      const std::span<const std::uint64_t> words = whole.region->as<std::uint64_t>();
      std::copy_n(words.begin(), std::min<std::size_t>(words.size(), kWholeWords), found.words);
    }
    if (whole.checkpoint && !whole.checkpoint->list().empty()) {
      const SavedState state = whole.checkpoint->restore();
      found.saved = state.step;
      copy_text(found.saved_flaw, StateOf(ours_.round, state.step).flaw_in(state));
      for (const std::string& what : state.damage) errors += what + "; ";
    }
    for (const std::string& error : whole.pool->check().errors) errors += error + "; ";
    copy_text(found.errors, errors);
    found.opens = 1;
  }
  static void look(Table& table, FoundWhole& found) {
    std::vector<std::uint64_t> keys(kWholeKeys);
    for (std::uint64_t key = 0; key < kWholeKeys; ++key) keys[key] = key;
    std::vector<WholeValue> values(kWholeKeys);
    bool there[kWholeKeys] = {};
    table.find(keys.data(), values.data(), kWholeKeys, there);
    for (std::uint64_t key = 0; key < kWholeKeys; ++key) {
      found.items[key] = there[key] ? digest(values[key].data(), sizeof(WholeValue)) : 0;
    }
    found.size = table.size();
  }
  static void look(const Store& store, FoundWhole& found) {
    for (std::uint64_t key = 0; key < kWholeKeys; ++key) {
      const auto item = store.get(std::to_string(key));
      found.stored[key] = item ? digest(item->value.data(), item->value.size()) : 0;
    }
  }
  static void look(const Log& log, FoundWhole& found) {
    found.entries = log.count(0);
    for (std::uint32_t i = 0; i < std::min(found.entries, kWholeEntries); ++i) {
      WholeEntry words{};
      if (log.read(0, words.data(), sizeof words, found.entries - 1 - i) == LogStatus::ok) {
        found.entry[i] = digest(words.data(), sizeof words);
      }
    }
  }

  Shared& shared_;
  WholeShared& ours_ = shared_.part<WholeShared>();
  std::optional<WholePool> its_;
};

const RegisterChildren<WholeWriter, WholeReader> whole_children{"snapshot"};

}  // namespace
}  // namespace holdfast::proof::kill

// children.cpp: the writer of the subject store: three threads that change their own keys, and count together.
#include <charconv>
#include <cstring>
#include <optional>
#include <thread>

#include "access.hpp"
#include "holdfast/store.hpp"
#include "holdfast/table.hpp"
#include "proof/kill/registry.hpp"
#include "reader.hpp"
#include "store/stand_in_index.hpp"

namespace holdfast::proof::kill {
namespace {

std::string store_value(Random& random, std::uint64_t large_bytes) {
  std::string value(random.below(random.chance(25) ? large_bytes : 100), '\0');
  std::uint64_t word = random.next();
  for (std::size_t at = 0; at < value.size(); at += 8) {
    word = word * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(value.data() + at, &word, std::min<std::size_t>(8, value.size() - at));
  }
  return value;
}

bool holds_number(std::uint64_t key) { return key % 5 == 0; }

class StoreWriter : public Writer {
 public:
  explicit StoreWriter(Shared& shared) : shared_(shared) {}
  void open() override {
    pool_.emplace(shared_.create != 0 ? Pool::create(shared_.path) : Pool::open(shared_.path));
    const StoreOptions options = store_options(ours_.round, ours_.round.index);
    store_.emplace(pool_->objects().empty() ? Store::create(*pool_, "s", options) : Store::open(*pool_, "s", options));
    store::StandIn::calls_left = ours_.round.index_calls;
    const StoreAccessBy by = ours_.round.access;
    if (by != StoreAccessBy::calls) pipeline_.emplace(*store_, pipeline_options(by));
    for (auto& access : access_) access.emplace(*store_, pipeline_ ? &*pipeline_ : nullptr);
  }
  unsigned threads() const override { return kStoreThreads; }
  void call(unsigned thread) override {
    Random random(mix(mix(ours_.round.seed, shared_.life), thread));
    for (;;) call_once(thread, random);  // ends: it is killed
  }

 private:
  /// What may be of a key that a call is about, looked at before it begins.
  struct Sight {
    bool must_be_gone;
    std::uint64_t tick;
  };

  void call_once(unsigned thread, Random& random) {
    const bool stops = ours_.calls.stops();
    auto kind = static_cast<std::uint32_t>(1 + random.below(kStoreBetween - 1));
    if (stops && random.chance(60)) kind = ours_.calls.stop_in;
    switch (kind) {
      case kStoreSet: return set(thread, random);
      case kStoreChange: return random.chance(20) ? count(thread, random) : change(thread, random);
      case kStoreBatch: return random.chance(70) ? set_batch(thread, random) : erase_batch(thread, random);
      case kStoreErase: return erase(thread, random);
      case kStoreTouch: return touch(thread, random);
      case kStoreFlush: return thread == 0 && random.chance(stops ? 100 : 5) ? flush(random) : look(thread, random);
      case kStoreReclaim: return random.chance(stops ? 100 : 20) ? reclaim() : look(thread, random);
      default: return look(thread, random);
    }
  }

  static std::uint64_t own_key(unsigned thread, Random& random) {
    return random.below(kStoreKeys / kStoreThreads) * kStoreThreads + thread;
  }
  std::uint64_t some_expiry(Random& random) {
    const auto how = random.below(10);
    return how < 7 ? 0 : store_->now() + (how < 9 ? 1 + random.below(30) : 1'000'000);
  }
  std::uint64_t now_for(const StoreState& state) { return state.expiry != 0 ? store_->now() : 0; }
  Sight sight(const StoreState& state) {
    const std::uint64_t flush = ours_.flush_begun.load();
    return {StoreShared::must_be_gone(state, now_for(state), flush), ours_.clock.fetch_add(1) + 1};
  }
  /// Throws if what a call saw of a key cannot be.
  void require(std::uint64_t key, const StoreState& before, const Sight& sight, bool was_there, const char* what) {
    if (was_there ? !sight.must_be_gone : ours_.may_be_gone(before, now_for(before))) return;
    throw Error(std::string(what) + " says that key " + std::to_string(key) +
                (was_there ? " is there, and it must be gone" : " is absent, and nothing removed it"));
  }
  StoreAccess& access_of(std::uint64_t key) { return *access_[key % kStoreThreads]; }
  StoreStatus call(std::uint64_t key, const StoreRequest& request) { return access_of(key).call(request); }
  void require(bool holds, std::uint64_t key, const char* what) {
    if (!holds) throw Error("key " + std::to_string(key) + ": " + what);
  }

  /// Makes the call of rows that `plan_row` has added.
  template <class Act>
  void run(unsigned thread, StoreCall call, const Act& act) {
    StorePending& pending = ours_.pending[thread];
    pending.call = call;
    pending.stage.store(1, std::memory_order_release);
    ours_.calls.begun.fetch_add(1);
    ours_.calls.run(shared_, call, [&] {
      act();
      const std::uint64_t tick = ours_.clock.fetch_add(1) + 1;
      for (std::uint32_t i = 0; i < pending.rows; ++i) {
        if (pending.row[i].result.ended == kNoTick) pending.row[i].result.ended = tick;
      }
      pending.stage.store(2, std::memory_order_release);
    });
    for (std::uint32_t i = 0; i < pending.rows; ++i) ours_.known[pending.row[i].key] = pending.row[i].result;
    pending.stage.store(0, std::memory_order_release);
    pending.rows = 0;
  }
  StoreRow& plan_row(unsigned thread, std::uint64_t key, const StoreState& after, std::uint32_t when) {
    StorePending& pending = ours_.pending[thread];
    StoreRow& row = pending.row[pending.rows];
    row = {key, ours_.known[key], after, {}, when};
    row.after.begun = ours_.clock.fetch_add(1) + 1;
    row.after.ended = kNoTick;
    row.result = row.before;
    ++pending.rows;
    return row;
  }
  StoreState absent(std::uint64_t tick) const {
    StoreState none = {};
    none.begun = none.ended = tick;
    return none;
  }
  /// What a call that changes one key was answered.
  void resolve(StoreRow& row, const StoreState& before, const Sight& sight, StoreStatus status, const char* what) {
    switch (status) {
      case StoreStatus::inserted:
        require(row.key, before, sight, false, what);
        require(row.when != 2, row.key, "an item was inserted by a call that replaces");
        row.result = row.after;
        return;
      case StoreStatus::updated:
        require(row.key, before, sight, true, what);
        require(row.when != 1, row.key, "an item was replaced by a call that adds");
        row.result = row.after;
        return;
      case StoreStatus::erased:
        require(row.key, before, sight, true, what);
        row.result = absent(sight.tick);
        return;
      case StoreStatus::exists:
      case StoreStatus::mismatch:
        require(row.key, before, sight, true, what);
        row.result = before;
        return;
      case StoreStatus::not_found:
        require(row.key, before, sight, false, what);
        row.result = absent(sight.tick);
        return;
      case StoreStatus::no_space:
        require(ours_.round.use == StoreUseOf::evicts, row.key, "there is no space");
        row.result = before;
        return;
      default: throw Error(std::string(what) + " answers " + name(status));
    }
  }
  template <class Call>
  void change_one(unsigned thread, StoreCall call, std::uint64_t key, const StoreState& after, std::uint32_t when,
                  const char* what, const Call& operation) {
    const StoreState before = ours_.known[key];
    const Sight seen = sight(before);
    StoreRow& row = plan_row(thread, key, after, when);
    run(thread, call, [&] { resolve(row, before, seen, operation(), what); });
  }

  void set(unsigned thread, Random& random) {
    const std::uint64_t key = own_key(thread, random);
    const std::string name = store_key(key);
    const std::string value =
        holds_number(key) ? std::to_string(random.below(1000)) : store_value(random, ours_.round.large_bytes);
    const std::uint64_t cas = random.chance(15) ? kClientCas | random.next() >> 3 : 0;
    const ItemOptions item{
        .flags = static_cast<std::uint32_t>(random.next()), .expiry = some_expiry(random), .cas = cas};
    const StoreState after = state_of(value, item.flags, item.expiry, cas);
    if (random.chance(30)) {
      return change_one(thread, kStoreSet, key, after, 1, "add", [&] {
        return call(key, {StoreOp::add, name, value, item});
      });
    }
    change_one(thread, kStoreSet, key, after, 0, "set", [&] { return call(key, {StoreOp::set, name, value, item}); });
  }
  void erase(unsigned thread, Random& random) {
    const std::uint64_t key = own_key(thread, random);
    change_one(thread, kStoreErase, key, {}, 2, "erase", [&] { return call(key, {StoreOp::erase, store_key(key)}); });
  }
  void touch(unsigned thread, Random& random) {
    const std::uint64_t key = own_key(thread, random);
    StoreState after = ours_.known[key];
    if (after.digest == 0) return look(thread, random);
    after.expiry = some_expiry(random);
    const std::string name = store_key(key);
    const bool stale = random.chance(20);
    if (stale) {
      after.stale = 1;
      if (after.expiry == 0) after.expiry = ours_.known[key].expiry;
    }
    change_one(thread, kStoreTouch, key, after, 2, "touch", [&] {
      return call(key, {stale ? StoreOp::mark_stale : StoreOp::touch, name, {}, {.expiry = after.expiry}});
    });
  }

  /// Reads a key and compares it with what is known of it.
  std::optional<StoreItem> read(std::uint64_t key) {
    StoreState& known = ours_.known[key];
    const Sight seen = sight(known);
    std::optional<StoreItem> item = access_of(key).get(store_key(key));
    compare(key, known, seen, item ? std::optional(state_of(*item)) : std::nullopt);
    return item;
  }
  void compare(std::uint64_t key, StoreState& known, const Sight& seen, const std::optional<StoreState>& found) {
    require(key, known, seen, found.has_value(), "get");
    if (!found) {
      known.digest = 0;  // a read has said so: it stays absent
      return;
    }
    require(is_item_of(*found, known, ours_.highest[key]), key, "a read finds another item");
    if (known.cas != 0) return;
    require(known.number != 0 || found->number > ours_.floor, key, "a number was drawn again");
    ours_.highest[key] = known.number = found->number;
  }
  void look(unsigned thread, Random& random) {
    if (random.chance(50)) {
      read(own_key(thread, random));
      return;
    }
    holdfast::Strings names;
    std::uint64_t keys[kStoreRows];
    std::optional<Sight> sights[kStoreRows];
    for (std::uint64_t& key : keys) {
      key = own_key(thread, random);
      names.add(store_key(key));
    }
    for (unsigned i = 0; i < kStoreRows; ++i) sights[i] = sight(ours_.known[keys[i]]);
    StoreItems items;
    store_->get(rows_of(names), items);
    for (unsigned i = 0; i < kStoreRows; ++i) {
      std::optional<StoreState> found;
      if (items.values.has(i)) {
        found = state_of(items.values[i], items.flags[i], items.expiry[i], 0);
        found->stale = ours_.known[keys[i]].stale;  // a batch does not say
        found->number = items.cas[i];
      }
      compare(keys[i], ours_.known[keys[i]], *sights[i], found);
    }
  }

  /// A change that depends on what the key has.
  void change(unsigned thread, Random& random) {
    const std::uint64_t key = own_key(thread, random);
    const std::string its = store_key(key);
    const std::optional<StoreItem> item = read(key);
    if (!item) return set(thread, random);
    const auto how = random.below(3);
    if (holds_number(key)) {
      std::uint64_t number = 0, result = 0;
      std::from_chars(item->value.data(), item->value.data() + item->value.size(), number);
      const std::uint64_t by = random.below(1000);
      const bool less = how == 0;
      const std::string after = std::to_string(!less ? number + by : number < by ? 0 : number - by);
      return change_one(thread, kStoreChange, key, state_of(after, item->flags, item->expiry, 0), 2, "increment", [&] {
        const StoreOp op = less ? StoreOp::decrement : StoreOp::increment;
        const StoreStatus status = access_of(key).call({.op = op, .key = its, .number = by}, result);
        require(status != StoreStatus::updated || std::to_string(result) == after, key, "a count is wrong");
        return status;
      });
    }
    const std::string value = store_value(random, ours_.round.large_bytes);
    if (how == 0) {
      const bool fits = random.chance(70);
      change_one(thread, kStoreChange, key, state_of(value, 5, 0, 0), 2, "cas", [&] {
        const StoreStatus status = call(key, {StoreOp::cas, its, value, {.flags = 5}, item->cas + (fits ? 0 : 1)});
        require(status != (fits ? StoreStatus::mismatch : StoreStatus::updated), key, "a CAS id was compared wrongly");
        return status;
      });
      return;
    }
    const std::string added = value.substr(0, 200);
    const bool before = how == 1;
    if (item->value.size() + added.size() > 100'000) return;
    const std::string all = before ? added + item->value : item->value + added;
    change_one(thread, kStoreChange, key, state_of(all, item->flags, item->expiry, 0), 2, "append", [&] {
      return call(key, {before ? StoreOp::prepend : StoreOp::append, its, added});
    });
  }
  /// Increments a counter that other threads increment too.
  void count(unsigned thread, Random& random) {
    if (ours_.round.use != StoreUseOf::all_stays) return change(thread, random);
    const auto counter = static_cast<unsigned>(random.below(kStoreCounters));
    StoreCount& count = ours_.counts[thread][counter];
    const std::uint64_t by = 1 + random.below(9);
    count.ended = 0;
    count.to = count.sum + by;
    run(thread, kStoreChange, [&] {
      std::uint64_t result = 0;
      const std::string its = counter_key(counter);
      StoreAccess& access = *access_[thread];
      const StoreRequest increment{.op = StoreOp::increment, .key = its, .number = by};
      if (access.call(increment, result) == StoreStatus::not_found) {
        access.call({StoreOp::add, its, "0"});
        if (access.call(increment, result) != StoreStatus::updated) throw Error("a counter was not incremented");
      }
      if (result < ours_.base[counter] + count.sum + by) throw Error("a counter has lost an increment");
      count.ended = 1;
    });
    count.sum = count.to;
    count.to = 0;
  }

  void set_batch(unsigned thread, Random& random) {
    holdfast::Strings names, values;
    std::vector<ItemOptions> items;
    std::vector<Sight> sights;
    const auto rows = 1 + random.below(kStoreRows);
    StorePending& pending = ours_.pending[thread];
    for (std::uint64_t i = 0; i < rows; ++i) {
      const std::uint64_t key = own_key(thread, random);
      const std::string value = holds_number(key)
                                    ? std::to_string(i)
                                    : store_value(random, random.chance(10) ? ours_.round.large_bytes : 100);
      names.add(store_key(key));
      values.add(value);
      items.push_back({.flags = static_cast<std::uint32_t>(random.next()), .expiry = some_expiry(random)});
      sights.push_back(sight(ours_.known[key]));
      plan_row(thread, key, state_of(value, items.back().flags, items.back().expiry, 0), 0);
    }
    std::vector<StoreStatus> statuses(rows);
    run(thread, kStoreBatch, [&] {
      access_[thread]->set(names, values, items, statuses);
      resolve_rows(pending, sights, statuses, "a batch of sets");
    });
  }
  void erase_batch(unsigned thread, Random& random) {
    holdfast::Strings names;
    std::vector<Sight> sights;
    const auto rows = 1 + random.below(8);
    for (std::uint64_t i = 0; i < rows; ++i) {
      const std::uint64_t key = own_key(thread, random);
      names.add(store_key(key));
      sights.push_back(sight(ours_.known[key]));
      plan_row(thread, key, {}, 2);
    }
    std::vector<StoreStatus> statuses(rows);
    run(thread, kStoreBatch, [&] {
      access_[thread]->erase(names, statuses);
      resolve_rows(ours_.pending[thread], sights, statuses, "a batch of erases");
    });
  }
  /// In their order: a key may have several.
  void resolve_rows(StorePending& pending, const std::vector<Sight>& sights, const std::vector<StoreStatus>& statuses,
                    const char* what) {
    for (std::uint32_t i = 0; i < pending.rows; ++i) {
      StoreRow& row = pending.row[i];
      StoreState before = row.before;
      Sight seen = sights[i];
      for (std::uint32_t other = 0; other < i; ++other) {
        if (pending.row[other].key != row.key) continue;
        before = pending.row[other].result;
        seen.must_be_gone = before.digest == 0;  // else time and flushes are too near to tell
      }
      resolve(row, before, seen, statuses[i], what);
    }
  }

  void flush(Random& random) {
    if (ours_.round.use != StoreUseOf::flushes) return;
    const std::uint64_t begun = ours_.clock.fetch_add(1) + 1;
    const bool planned = random.chance(40);
    ours_.flush_runs = begun;
    run(0, kStoreFlush, [&] {
      if (!planned) return store_->flush_all();
      const std::uint64_t time = store_->now() + 1 + random.below(4);
      ours_.planned = time;
      store_->flush_all_at(time);
      while (store_->now() < time) std::this_thread::yield();
    });
    ours_.flush_ended = ours_.clock.fetch_add(1) + 1;
    ours_.flush_begun = begun;
    ours_.flush_runs = 0;
  }
  void reclaim() {
    ours_.calls.begun.fetch_add(1);
    ours_.calls.run(shared_, kStoreReclaim, [&] { store_->reclaim(); });
  }

  Shared& shared_;
  StoreShared& ours_ = shared_.part<StoreShared>();
  std::optional<Pool> pool_;
  std::optional<Store> store_;
  std::optional<StorePipeline> pipeline_;
  std::optional<StoreAccess> access_[kStoreThreads];
};

const RegisterChildren<StoreWriter, StoreReader> store_children{"store"};

}  // namespace
}  // namespace holdfast::proof::kill

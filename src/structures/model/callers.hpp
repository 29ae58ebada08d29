// callers.hpp: callers of a modelled table in every order of their accesses, crashed at each, and again in recovery: each time the table
// has what some order of their operations leaves. Rule 24.
//
// A Model is what a scheme adds, all of it static:
//
//   Form, Step            of the scheme
//   Scenario              derives from Script
//   kLines                which stores a crash keeps in order
//   shape(scenario, i)    of the first table and, i = 1, of the larger one
//   zero_key()            the key whose words are all zero; kKeys: none
//   is_at(shape, key, hash)   whether a hash belongs where the key of that number is to be
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/both.hpp"
#include "proof/explorer.hpp"
#include "structures/item.hpp"
#include "structures/model/script.hpp"
#include "structures/persistent_table.hpp"

namespace holdfast::structures::model {

constexpr std::uint64_t kSeed = 0x5eed;

/// A key or a value that stands for a number: the words of one that is torn differ. 0: all of them are zero.
template <class Words>
Words words_of(std::uint64_t number) {
  Words words = {};
  if (number == 0) return words;
  for (unsigned i = 0; i < Words::kCount; ++i) words.word[i] = number + (std::uint64_t{i} << 32);
  return words;
}
template <class Words>
bool is_whole(const Words& words) {
  return words == words_of<Words>(words.word[0]);
}

using Visit = std::function<void(const proof::Words&, std::uint64_t)>;

/// Visits what a crash before each access leaves.
class CrashedRecovery : public proof::Watcher {
 public:
  CrashedRecovery(const proof::Arena& arena, Visit visit) : arena_(arena), visit_(std::move(visit)) {}
  void before() override { arena_.images(visit_); }

 private:
  const proof::Arena& arena_;
  const Visit visit_;
};

template <class Model, class Item>
class TableCallers : public proof::Callers, public proof::Watcher {
 public:
  using Key = typename Item::Key;
  using Value = typename Item::Value;
  using Form = typename Model::Form;
  using Scenario = typename Model::Scenario;
  using View = typename Form::View;
  using Memory = ModelMemory<View, typename Model::Step>;
  using Table = typename Form::template Table<Item, Memory>;
  static_assert(PersistentMemory<Memory, typename Model::Step> && PersistentTable<Table>);

  TableCallers(const Scenario& scenario, Flavour flavour)
      : scenario_(scenario),
        world_(flavour, Model::kLines, Model::shape(scenario, 0), Model::shape(scenario, 1), kSeed),
        left_(flavour, Model::kLines, Model::shape(scenario, 0), Model::shape(scenario, 1), kSeed) {
    choose_keys();
    events_.reserve(kMostEvents);
    world_.load(proof::Words(world_.durable().size(), 0));
    for (const Operation& operation : scenario.before) do_one(operation, first_);
    world_.durable().settle();
    empty_ = world_.durable().settled();
    world_.set_watcher(this);
  }

  unsigned count() const override { return static_cast<unsigned>(scenario_.callers.size()); }
  void restart() override {
    world_.load(empty_);
    events_.clear();
    std::fill(std::begin(running_), std::end(running_), -1);
    std::fill(std::begin(at_), std::end(at_), 0u);
  }
  void run(unsigned caller) override {
    for (const Operation& operation : scenario_.callers[caller]) {
      std::uint8_t read = 0;
      const Status status = run_one(operation, read);
      Event& event = events_[static_cast<unsigned>(running_[caller])];
      event.has_ended = true;
      event.status = status;
      event.value = read;
      running_[caller] = -1;
      ++at_[caller];
    }
  }
  void before() override { access(); }
  void resume(unsigned caller) override { world_.set_caller(caller); }
  /// Its first access: what had ended until now comes before it.
  void begin(unsigned caller) override {
    if (running_[caller] >= 0 || at_[caller] == scenario_.callers[caller].size()) return;
    Event event{scenario_.callers[caller][at_[caller]]};
    for (unsigned i = 0; i < events_.size(); ++i) event.after |= events_[i].has_ended ? 1u << i : 0;
    running_[caller] = static_cast<int>(events_.size());
    events_.push_back(event);
  }
  bool is_blocked(unsigned caller) const override { return world_.is_blocked(caller); }
  std::uint64_t hash() const override { return mix(world_.hash() + oracle_hash()); }
  std::string crash() override {
    const std::set<State> states = allowed(events_, first_);
    if (states.empty()) return "no order of the operations explains what they answered";
    std::string wrong;
    world_.durable().images([&](const proof::Words& image, std::uint64_t hash) {
      if (wrong.empty()) wrong = recover_all(image, mix(hash + oracle_hash()), states);
    });
    return wrong;
  }
  std::string end() override {
    if (!world_.durable().all_settled()) return "at the end writes are not durable";
    return crash();
  }

  Persists persists_of(const Operation& operation) {
    restart();
    const Persists before{world_.flushes, world_.fences};
    State unused = first_;
    do_one(operation, unused);
    return {world_.flushes - before.flushes, world_.fences - before.fences};
  }

  /// What crashes at each access of an insert of key 0, and recoveries from them, leave.
  InsertLosses insert_losses() {
    restart();
    InsertLosses losses;
    const auto items = static_cast<std::uint64_t>(
        std::count_if(first_.begin(), first_.end(), [](std::uint8_t value) { return value != 0; }));
    CrashedRecovery crashes(world_.durable(), [&](const proof::Words& image, std::uint64_t) {
      left_.load(image);
      Memory memory(left_);
      Table table(memory, left_.view());
      table.recover();
      ++losses.images;
      Value value = {};
      const bool is_there = table.find(words_of<Key>(keys_[0]), value) == Status::found;
      bool is_torn = is_there && value != words_of<Value>(kInserted);
      table.for_each([&](const Key& key, const Value&) {
        is_torn |= !is_whole(key);
        return true;
      });
      const bool is_counted = table.size() == items + 1;
      losses.torn_item += is_torn ? 1 : 0;
      losses.item_without_count += is_there && !is_torn && !is_counted ? 1 : 0;
      losses.count_without_item += !is_there && !is_torn && is_counted ? 1 : 0;
    });
    world_.set_watcher(&crashes);
    std::uint8_t read = 0;
    run_one(operation(Do::insert, 0, kInserted), read);
    crashes.before();
    world_.set_watcher(this);
    return losses;
  }

  proof::CrashCounts counts;

 private:
  static constexpr std::uint8_t kInserted = 9;

  void choose_keys() {
    const auto shape = Model::shape(scenario_, 0);
    std::uint64_t next = 1;
    for (unsigned key = 0; key < kKeys; ++key) {
      if (key == Model::zero_key()) continue;
      while (!Model::is_at(shape, key, hash_of(words_of<Key>(next), kSeed))) ++next;  // ends: one key in a few is there
      keys_[key] = next++;
    }
  }

  Status run_one(const Operation& operation, std::uint8_t& read) {
    Memory memory(world_);
    Table table(memory, world_.view());
    const Key key = words_of<Key>(keys_[operation.key]);
    const Value value = words_of<Value>(operation.value);
    Value found = {};
    switch (operation.what) {
      case Do::insert: return table.insert(key, value);
      case Do::insert_new: return table.insert_new(key, value);
      case Do::assign: return table.assign(key, value);
      case Do::erase: return table.erase(key);
      case Do::grow: return grow(memory);
      case Do::clear: Form::template clear<Item>(memory, world_.view()); return Status::erased;
      case Do::find: break;
    }
    const Status status = table.find(key, found);
    if (status == Status::found) read = is_whole(found) ? static_cast<std::uint8_t>(found.word[0]) : 255;
    return status;
  }
  /// As the pool does: the larger table is durable, then one durable word names it.
  Status grow(Memory& memory) {
    if (!Form::template fill<Item>(memory, world_.view(), world_.larger())) return Status::no_space;
    memory.store(world_.root(), 1);
    memory.flush(world_.root(), 8);
    memory.fence();
    return Status::updated;
  }
  void do_one(const Operation& operation, State& state) {
    std::uint8_t read = 0;
    const Status status = run_one(operation, read);
    HOLDFAST_ASSERT(status != Status::no_space);
    if (status == Status::inserted || status == Status::updated) state[operation.key] = operation.value;
    if (status == Status::erased) state[operation.key] = 0;
  }
  std::uint64_t oracle_hash() const {
    std::uint64_t hash = 0;
    for (const Event& event : events_) {
      hash = mix(hash + event.after + (std::uint64_t{event.value} << 32) + (event.has_ended ? 1u << 31 : 0));
      hash =
          mix(hash + static_cast<std::uint64_t>(event.status) + (std::uint64_t{event.operation.key} << 16) +
              (static_cast<std::uint64_t>(event.operation.what) << 8) + (std::uint64_t{event.operation.value} << 24));
    }
    for (unsigned caller = 0; caller < count(); ++caller)
      hash = mix(hash + at_[caller] * 8 + static_cast<unsigned>(running_[caller] + 1));
    return hash;
  }

  /// Recovers an image, and every image that crashes of recoveries of it leave.
  std::string recover_all(const proof::Words& image, std::uint64_t hash, const std::set<State>& states) {
    std::vector<proof::Words> waiting;
    const auto add = [&](const proof::Words& next, std::uint64_t its) {
      if (tried_.insert(its).second) waiting.push_back(next);
    };
    add(image, hash);
    counts.images += waiting.size();
    while (!waiting.empty()) {
      const proof::Words next = waiting.back();
      waiting.pop_back();
      const std::size_t before = waiting.size();
      left_.load(next);
      CrashedRecovery crashes(
          left_.durable(), [&](const proof::Words& words, std::uint64_t its) { add(words, mix(its + oracle_hash())); });
      left_.set_watcher(&crashes);
      const std::string wrong = recovered(states);
      left_.set_watcher(nullptr);
      if (!wrong.empty()) return "after a crash, " + wrong;
      counts.crashed_in_recovery += waiting.size() - before;
    }
    return {};
  }

  std::string recovered(const std::set<State>& states) {
    Memory memory(left_);
    Table table(memory, left_.view());
    ++counts.recoveries;
    if (const std::string what = Form::flaw(memory, left_.view()); !what.empty()) return what;
    const Recovered what = table.recover();
    left_.set_watcher(nullptr);
    if (!left_.durable().all_settled()) return "recovery leaves writes that are not durable";
    State state = {};
    std::uint64_t items = 0;
    for (unsigned key = 0; key < kKeys; ++key) {
      Value value = {};
      if (table.find(words_of<Key>(keys_[key]), value) != Status::found) continue;
      if (!is_whole(value) || value.word[0] == 0) return "a value is torn";
      state[key] = static_cast<std::uint8_t>(value.word[0]);
      ++items;
    }
    if (!states.contains(state)) return "an operation that was acknowledged is lost, or one is there in part";
    if (what.items != items || table.size() != items) return "the count of items is wrong";
    return visited(table, state, items);
  }
  /// Each item is visited once; and the remaining table is usable.
  std::string visited(Table& table, const State& state, std::uint64_t items) {
    bool is_right = true;
    table.for_each([&](const Key& key, const Value& value) {
      --items;
      const auto number = std::find(std::begin(keys_), std::end(keys_), key.word[0]) - std::begin(keys_);
      is_right &= is_whole(key) && number < kKeys && state[static_cast<unsigned>(number)] == value.word[0];
      return true;
    });
    if (!is_right || items != 0) return "an item is visited twice, or one that is not there";
    for (unsigned key = 0; key < kKeys; ++key) {
      const Key words = words_of<Key>(keys_[key]);
      if (state[key] != 0 && table.erase(words) != Status::erased) return "an item cannot be erased";
      Value value = {};
      if (table.find(words, value) != Status::not_found) return "an item is there twice";
    }
    const Value value = words_of<Value>(77);
    for (unsigned key = 0; key < 3; ++key) {
      if (table.insert(words_of<Key>(keys_[key]), value) != Status::inserted) return "a cell is lost";
    }
    return {};
  }

  const Scenario& scenario_;
  World<View> world_, left_;
  proof::Words empty_;
  std::uint64_t keys_[kKeys] = {};
  State first_ = {};
  std::vector<Event> events_;
  int running_[proof::World::kMostCallers] = {-1, -1, -1,
                                              -1};  ///< the event that each caller is at; -1: none has begun
  unsigned at_[proof::World::kMostCallers] = {};
  std::unordered_set<std::uint64_t> tried_;
};

template <class Callers>
proof::Verdict judge_table(const typename Callers::Scenario& scenario, Flavour flavour) {
  Callers callers(scenario, flavour);
  return proof::judge(callers);
}

template <class Model>
proof::Verdict explore_table(const typename Model::Scenario& scenario, Flavour flavour) {
  return scenario.wide ? judge_table<TableCallers<Model, Item32>>(scenario, flavour)
                       : judge_table<TableCallers<Model, Item16>>(scenario, flavour);
}

/// Of an operation on a table in which `before` was done, alone.
template <class Model>
Persists persists_in(const typename Model::Scenario& scenario, const Operation& operation) {
  if (scenario.wide) return TableCallers<Model, Item32>(scenario, Flavour::power).persists_of(operation);
  return TableCallers<Model, Item16>(scenario, Flavour::power).persists_of(operation);
}

/// Of an insert of key 0 into a table in which `before` was done.
template <class Model>
InsertLosses insert_losses_in(const typename Model::Scenario& scenario) {
  if (scenario.wide) return TableCallers<Model, Item32>(scenario, Flavour::power).insert_losses();
  return TableCallers<Model, Item16>(scenario, Flavour::power).insert_losses();
}

}  // namespace holdfast::structures::model

// explore.cpp: after a crash and its recovery, which is crashed too, a table has what some order of its callers' operations leaves.
#include "structures/group/model/explore.hpp"

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>


namespace holdfast::group::model {

namespace {

constexpr std::uint64_t kSeed = 0x5eed;

Shape shape_of(const Scenario& scenario, std::uint64_t groups) {
  return {groups, scenario.group_size, scenario.wide ? 4u : 2u};
}

/// A key or a value that stands for a number: the words of one that is torn differ.
template <class Words>
Words words_of(std::uint64_t number) {
  Words words;
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

template <class Item>
class TableCallers : public proof::Callers, public proof::Watcher {
 public:
  using Key = typename Item::Key;
  using Value = typename Item::Value;

  TableCallers(const Scenario& scenario, Flavour flavour)
      : scenario_(scenario),
        world_(flavour, shape_of(scenario, scenario.groups), shape_of(scenario, 2 * scenario.groups), kSeed),
        left_(flavour, shape_of(scenario, scenario.groups), shape_of(scenario, 2 * scenario.groups), kSeed) {
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

  proof::CrashCounts counts;

 private:
  /// Keys of the places that explore.hpp says.
  void choose_keys() {
    const Shape shape = shape_of(scenario_, scenario_.groups);
    std::uint64_t next = 1;
    const auto choose = [&](unsigned key, std::uint64_t group, std::uint32_t position) {
      for (;; ++next) {  // ends: one key in a few is at a place
        const std::uint64_t hash = structures::hash_of(words_of<Key>(next), kSeed);
        if (shape.group_of(hash) == group && shape.position_of(hash) == position) break;
      }
      keys_[key] = next++;
    };
    for (unsigned key = 0; key < 4; ++key) choose(key, 0, 0);
    choose(4, 0, 1);
    choose(5, shape.groups - 1, 0);
  }

  Status run_one(const Operation& operation, std::uint8_t& read) {
    ModelMemory memory(world_);
    Table<Item, ModelMemory> table(memory, world_.view());
    const Key key = words_of<Key>(keys_[operation.key]);
    const Value value = words_of<Value>(operation.value);
    Value found = {};
    switch (operation.what) {
      case Do::insert: return table.insert(key, value);
      case Do::insert_new: return table.insert_new(key, value);
      case Do::assign: return table.assign(key, value);
      case Do::erase: return table.erase(key);
      case Do::grow: return grow(memory);
      case Do::find: break;
    }
    const Status status = table.find(key, found);
    if (status == Status::found) read = is_whole(found) ? static_cast<std::uint8_t>(found.word[0]) : 255;
    return status;
  }
  /// As the pool does: the larger table is durable, then one durable word names it.
  Status grow(ModelMemory& memory) {
    if (!fill<Item>(memory, world_.view(), world_.larger())) return Status::no_space;
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
    ModelMemory memory(left_);
    Table<Item, ModelMemory> table(memory, left_.view());
    ++counts.recoveries;
    const structures::Recovered what = table.recover();
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
  std::string visited(Table<Item, ModelMemory>& table, const State& state, std::uint64_t items) {
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
  World world_, left_;
  proof::Words empty_;
  std::uint64_t keys_[kKeys] = {};
  State first_ = {};
  std::vector<Event> events_;
  int running_[World::kMostCallers] = {-1, -1, -1, -1};  ///< the event that each caller is at; -1: none has begun
  unsigned at_[World::kMostCallers] = {};
  std::unordered_set<std::uint64_t> tried_;
};

template <class Item>
proof::Verdict explore_items(const Scenario& scenario, Flavour flavour) {
  TableCallers<Item> callers(scenario, flavour);
  return proof::judge(callers);
}

}  // namespace

proof::Verdict explore(const Scenario& scenario, Flavour flavour) {
  return scenario.wide ? explore_items<structures::Item32>(scenario, flavour)
                       : explore_items<structures::Item16>(scenario, flavour);
}

Persists persists_of(const Scenario& scenario, const Operation& operation) {
  if (scenario.wide) return TableCallers<structures::Item32>(scenario, Flavour::power).persists_of(operation);
  return TableCallers<structures::Item16>(scenario, Flavour::power).persists_of(operation);
}

}  // namespace holdfast::group::model

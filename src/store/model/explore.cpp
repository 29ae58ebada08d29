// explore.cpp: what a store answers and what a crash leaves of it, against every order in which its changes can have happened.
#include "store/model/explore.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_set>
#include <utility>

#include "store/model/runner.hpp"

namespace holdfast::store::model {

namespace {

// Operations of the store that the table has not, in `Operation::column`. Scenarios with them have one key.
constexpr unsigned kFlush = 100, kPassTime = 101, kEvict = 102, kPlan = 103, kGetAndTouch = 104;

oracle::Operation as_asked(const Operation& operation, unsigned caller, const Shape& shape) {
  oracle::Operation asked;
  asked.op = holdfast::Op::erase;
  asked.step = shape.flush_at;
  asked.key = operation.key;
  asked.caller = caller;
  asked.value = operation.number;
  const bool has_expiry = operation.expiry != 0;
  if (has_expiry) asked.value = state_of(operation.number, operation.expiry);
  switch (operation.op) {
    case Op::set_large:
    case Op::set: asked.op = holdfast::Op::insert_or_assign; break;
    case Op::add: asked.op = holdfast::Op::insert; break;
    case Op::replace: asked.op = holdfast::Op::assign; break;
    case Op::increase: asked.op = holdfast::Op::accumulate; break;
    case Op::erase: asked.op = holdfast::Op::erase; break;
    case Op::find: asked.op = holdfast::Op::find; break;
    case Op::touch:
      asked.op = holdfast::Op::assign;
      asked.column = 2;
      break;
    case Op::get_and_touch: asked.column = kGetAndTouch; break;
    case Op::evict: asked.column = kEvict; break;
    case Op::flush_all: asked.column = kFlush; break;
    case Op::plan_flush: asked.column = kPlan; break;
    case Op::pass_time: asked.column = kPassTime; break;
  }
  return asked;
}

Status apply_in_store(const oracle::Operation& operation, oracle::State& state) {
  const bool there = state != kAbsent;
  switch (operation.column) {
    case kPlan: return Status::not_run;
    case kFlush: state = kAbsent; return Status::not_run;
    case kPassTime:
      if (there && state >> 32 != 0 && state >> 32 <= operation.value) state = kAbsent;
      if (operation.step != 0 && operation.step <= operation.value) state = kAbsent;  // a flush was planned
      return Status::not_run;
    case kEvict:
      if (operation.answered && operation.status == Status::not_found) return Status::not_found;  // it may always fail
      state = kAbsent;
      return there ? Status::erased : Status::not_found;
    case kGetAndTouch:
      if (!there) return Status::not_found;
      state = state_of(state & 0xffffffff, operation.value);
      return operation.answered && operation.read != state ? Status::not_run : Status::updated;
    default: return oracle::apply(operation, state);
  }
}

Status status_of(Op op, Change change) {
  if (op == Op::flush_all || op == Op::plan_flush || op == Op::pass_time) return Status::not_run;
  switch (change) {
    case Change::inserted: return Status::inserted;
    case Change::replaced: return Status::updated;
    case Change::exists: return Status::exists;
    case Change::erased: return Status::erased;
    case Change::touched: return op == Op::find ? Status::found : Status::updated;
    case Change::no_space: return Status::no_space;
    case Change::damaged:
    case Change::larger:
    case Change::mismatch:
    case Change::not_found: break;
  }
  return Status::not_found;
}

/// Crashes a recovery at each of its accesses.
class RecoveryWatcher : public proof::Watcher {
 public:
  RecoveryWatcher(World& world, std::vector<proof::Words>& images) : world_(world), images_(images) {}
  void before() override {
    world_.durable().images([&](const proof::Words& image, std::uint64_t hash) {
      if (seen_.insert(hash).second) images_.push_back(image);
    });
  }

 private:
  World& world_;
  std::vector<proof::Words>& images_;
  std::unordered_set<std::uint64_t> seen_;
};

class StoreCallers : public proof::Callers, public proof::Watcher {
 public:
  StoreCallers(const Scenario& scenario, Flavour flavour)
      : scenario_(scenario), world_(flavour, scenario.shape), left_(flavour, with_memory(scenario.shape)) {
    set_up();
    world_.set_watcher(this);
  }

  unsigned count() const override { return static_cast<unsigned>(scenario_.callers.size()); }
  void restart() override {
    world_.load(start_);
    world_.set_volatile_part(start_volatile_);
    history_ = begin_;
    std::fill(std::begin(at_), std::end(at_), 0u);
  }
  void run(unsigned caller) override {
    Runner runner(world_);
    const std::vector<Operation>& operations = scenario_.callers[caller];
    while (at_[caller] < operations.size()) {
      const unsigned at = at_[caller];
      const Operation& operation = operations[at];
      if (operation.is_looked_up && (at == 0 || !operations[at - 1].is_looked_up)) {
        runner.look_up(std::span(operations).subspan(at));
      }
      oracle::State read = kAbsent;
      oracle::Operation& asked = history_.operations[first_[caller] + at];
      asked.status = status_of(operation.op, runner.run(operation, read));
      asked.read = read;
      asked.answered = true;
      ++at_[caller];
      world_.forget_seen(caller);
    }
  }
  void begin(unsigned caller) override {
    if (at_[caller] == scenario_.callers[caller].size()) return;
    oracle::Operation& asked = history_.operations[first_[caller] + at_[caller]];
    if (asked.invoked) return;
    asked.invoked = true;
    for (std::size_t j = 0; j < history_.operations.size(); ++j) {
      if (history_.operations[j].answered) asked.earlier |= 1u << j;
    }
  }
  void before() override { access(); }
  void resume(unsigned caller) override { world_.set_caller(caller); }
  bool is_blocked(unsigned caller) const override { return world_.is_blocked(caller); }
  std::uint64_t hash() const override { return mix(world_.hash() + mix(history_.hash())); }
  std::string crash() override {
    std::string wrong;
    const std::uint64_t answers = history_.hash();
    world_.durable().images([&](const proof::Words& image, std::uint64_t hash) {
      if (!wrong.empty() || !tried_.insert(mix(hash + answers)).second) return;
      ++counts.images;
      wrong = check(image, true);
    });
    return wrong.empty() ? wrong : "after a crash, " + wrong;
  }
  std::string end() override {
    std::string wrong = check_answers();
    if (wrong.empty()) wrong = crash();
    return wrong;
  }

  proof::CrashCounts counts;

 private:
  void set_up() {
    World& world = world_;
    for (unsigned k = 0; k < scenario_.shape.keys; ++k) begin_.keys.push_back(k);
    begin_.before.assign(begin_.keys.size(), kAbsent);
    begin_.may_be_full = scenario_.may_be_full;
    begin_.apply = apply_in_store;
    Runner runner(world);
    for (const Operation& operation : scenario_.setup) {
      oracle::State read = kAbsent;
      runner.run(operation, read);
      apply_in_store(as_asked(operation, 0, scenario_.shape), begin_.before[operation.key]);
    }
    if (scenario_.shape.flush_at != 0) runner.flush_all_at(scenario_.shape.flush_at);
    world.durable().settle();
    start_ = world.durable().settled();
    if (scenario_.is_reopened) {
      world.load(start_);
      runner.recover();
      world.durable().settle();
      start_ = world.durable().settled();
    }
    start_volatile_ = world.volatile_part();
    if (scenario_.damaged >= 0) damage(static_cast<unsigned>(scenario_.damaged));
    for (unsigned caller = 0; caller < count(); ++caller) {
      first_[caller] = static_cast<unsigned>(begin_.operations.size());
      for (const Operation& operation : scenario_.callers[caller]) {
        begin_.operations.push_back(as_asked(operation, caller, scenario_.shape));
      }
    }
  }

  /// As an opening finds it: the key has nothing, and the cell is neither free nor an item's.
  void damage(unsigned key) {
    const int line = std::exchange(start_volatile_.index.at(key), -1);
    const auto offset = world_.line(static_cast<unsigned>(line)) - world_.durable().words();
    start_.at(static_cast<std::size_t>(offset) + kHeaderWords + 1) ^= 1;  // of the value
    start_volatile_.damaged.at(static_cast<unsigned>(line)) = true;
    begin_.before[key] = kAbsent;
  }

  /// Items that may be damaged after a crash: none that was when its key has been set or erased.
  std::uint64_t damaged_now() const {
    const auto ends_it = [&](const oracle::Operation& operation) {
      const bool sets = operation.status == Status::inserted || operation.status == Status::updated;
      return operation.answered && static_cast<int>(operation.key) == scenario_.damaged &&
             (sets || operation.op == holdfast::Op::erase);
    };
    return scenario_.damaged < 0 || std::ranges::any_of(history_.operations, ends_it) ? 0 : 1;
  }

  /// Whether the answers agree with each other.
  std::string check_answers() {
    for (unsigned k = 0; k < begin_.keys.size(); ++k) {
      if (history_.allowed(k).empty()) return "the answers contradict each other: " + oracle::describe(history_);
    }
    return {};
  }

  /// Opens an image, also at each access of the opening, and continues with it.
  std::string check(const proof::Words& image, bool crash_recovery) {
    left_.load(image);
    std::vector<proof::Words> images;
    RecoveryWatcher watcher(left_, images);
    if (crash_recovery) left_.set_watcher(&watcher);
    Runner runner(left_);
    ++counts.recoveries;
    const Recovered recovered = runner.recover();
    left_.set_watcher(nullptr);
    if (recovered.damaged > damaged_now()) return "an item is damaged";
    if (recovered.newest > left_.volatile_part().newest) return "a number is drawn twice";
    left_.set_caller(1);  // whose fences wait for nothing that recovery has flushed
    std::vector<oracle::State> states;
    for (unsigned k = 0; k < begin_.keys.size(); ++k) {
      states.push_back(runner.find(k));
      const std::vector<oracle::State> allowed = history_.allowed(k);
      if (std::find(allowed.begin(), allowed.end(), states.back()) == allowed.end()) {
        return "key " + std::to_string(k) + " is " + oracle::describe(states.back()) + ", with " +
               oracle::describe(history_);
      }
    }
    for (const oracle::Operation& operation : history_.operations) {
      if (operation.column != kPlan || !operation.answered) continue;
      runner.pass_time(static_cast<unsigned>(operation.value));
      for (unsigned k = 0; k < states.size(); ++k) {
        if (runner.find(k) != kAbsent) return "a planned flush is forgotten";
        states[k] = kAbsent;
      }
    }
    if (const std::string wrong = go_on(runner, states); !wrong.empty()) return wrong;
    for (const proof::Words& within : images) {
      ++counts.crashed_in_recovery;
      if (const std::string wrong = check(within, false); !wrong.empty()) return "in recovery, " + wrong;
    }
    return {};
  }

  /// Erases every key; nothing may come back with another crash. Then as many items fit as there are cells.
  std::string go_on(Runner& runner, const std::vector<oracle::State>& states) {
    oracle::State read = kAbsent;
    for (unsigned k = 0; k < states.size(); ++k) {
      const Change change = runner.run({Op::erase, k, 0}, read);
      if ((change == Change::erased) != (states[k] != kAbsent)) return "an erase answers otherwise than a search";
    }
    std::string wrong;
    left_.durable().images([&](const proof::Words& image, std::uint64_t) {
      if (!wrong.empty()) return;
      World again(left_.flushes() ? Flavour::power : Flavour::process, left_.shape());
      again.load(image);
      Runner other(again);
      other.recover();
      for (unsigned k = 0; k < states.size(); ++k) {
        if (other.find(k) != kAbsent) wrong = "an erased item of key " + std::to_string(k) + " is back";
      }
      if (wrong.empty() && !all_free(again)) wrong = "a cell is neither free nor an item's";
    });
    return wrong;
  }

  /// A store whose index has no memory does not open: after a crash it has.
  static Shape with_memory(Shape shape) {
    shape.entries = kMostKeys;
    return shape;
  }

  static bool all_free(const World& world) {
    const World::Volatile& part = world.volatile_part();
    for (unsigned piece = 0; piece < world.shape().pieces; ++piece) {
      if (part.classes.at(piece) < 0) continue;
      const unsigned step = class_bytes(static_cast<unsigned>(part.classes.at(piece))) / kLineBytes;
      for (unsigned at = 0; at < kPieceLines; at += step) {
        if (!part.free.at(piece * kPieceLines + at)) return false;
      }
    }
    return true;
  }

  const Scenario& scenario_;
  World world_, left_;
  proof::Words start_;
  World::Volatile start_volatile_;
  oracle::History begin_, history_;
  unsigned at_[World::kMostCallers] = {};     ///< the operation that each caller is at
  unsigned first_[World::kMostCallers] = {};  ///< of each caller, in the history
  std::unordered_set<std::uint64_t> tried_;
};

}  // namespace

proof::Verdict explore(const Scenario& scenario, Flavour flavour) {
  StoreCallers callers(scenario, flavour);
  return proof::judge(callers);
}

}  // namespace holdfast::store::model

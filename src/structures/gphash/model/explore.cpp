// explore.cpp: a scenario as callers whose orders are explored; the answers say what a crash may leave.
#include "structures/gphash/model/explore.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "core/both.hpp"
#include "holdfast/error.hpp"
#include "proof/explorer.hpp"
#include "structures/gphash/cpu/level_maintenance.hpp"
#include "structures/gphash/model/driver.hpp"
#include "structures/gphash/model/pool.hpp"
#include "structures/gphash/model/runner.hpp"

namespace holdfast::gphash::model {

namespace {

constexpr unsigned kFreshKeys = 4;
constexpr std::size_t kTraceShown = 120;

class TableCallers : public proof::Callers, public Watcher {
 public:
  TableCallers(const Scenario& scenario, Recovery& recovery)
      : scenario_(scenario),
        recovery_(recovery),
        world_(scenario.flavour, scenario.shape),
        driver_(make_model_driver(scenario.flavour, {scenario.shape.levels, scenario.shape.hashes, scenario.shape.slots,
                                                     scenario.shape.key_words, scenario.shape.variable})),
        callers_(static_cast<unsigned>(scenario.callers.size())) {
    HOLDFAST_ASSERT(callers_ <= kMaxCallers && (!scenario.grows || callers_ == 1));
  }

  Verdict explore(const Bounds& bounds);

  unsigned count() const override { return callers_; }
  void restart() override;
  void run(unsigned caller) override;
  void resume(unsigned caller) override { world_.set_caller(caller); }
  void begin(unsigned caller) override;
  bool is_blocked(unsigned caller) const override { return world_.is_blocked(caller); }
  std::uint64_t hash() const override { return world_.hash() + mix(history_.hash()); }
  std::string crash() override;
  std::string end() override;
  std::string explain(const std::string& what) override;

  void before() override { access(); }

 private:
  struct Allowed {
    std::vector<std::vector<State>> states;  // by key
    std::uint64_t hash = 0;

    /// What of `found` the answers do not allow.
    std::string contradicts(const Recovered& found, const std::vector<std::uint64_t>& keys) const {
      for (std::size_t k = 0; k < keys.size(); ++k) {
        if (std::find(states[k].begin(), states[k].end(), found.states[k]) != states[k].end()) continue;
        return "key " + std::to_string(keys[k]) + " is " + describe(found.states[k]);
      }
      return {};
    }
  };

  std::string set_up();
  const Allowed& allowed();

  const Scenario& scenario_;
  Recovery& recovery_;
  World world_;
  std::unique_ptr<cpu::Driver> driver_;
  const unsigned callers_;
  gphash::Layout layout_;
  const gphash::Layout* table_ = &layout_;  // as it is now
  reclaim::Epochs epochs_;
  const std::unique_ptr<heap::CellSet> cells_ = heap::make_cells(scenario_.shape.variable, epochs_);
  threads::ThreadTeam workers_{1};
  std::unique_ptr<ModelPool> pool_;  // where the table grows
  std::unique_ptr<cpu::LevelMaintenance<ModelPool>> levels_;
  std::function<void()> grow_;
  World::Snapshot start_;
  History begin_, history_;
  unsigned position_[kMaxCallers] = {};  // of each caller's running submission in the history
  unsigned size_[kMaxCallers] = {};
  std::unordered_set<std::uint64_t> crashed_, checked_;
  std::unordered_map<std::uint64_t, Allowed> allowed_;
  ExploreCounts counts_;
};

/// What the setup did wrong.
std::string TableCallers::set_up() {
  ModelPool::create(world_);
  layout_ = world_.layout(scenario_.shape.top_level);
  driver_->set_layout(layout_);
  if (!scenario_.shape.variable) world_.set_free_cells(layout_.heap_view().count, [](std::uint64_t) { return true; });
  begin_.keys = recovery_.keys();
  begin_.before.assign(begin_.keys.size(), kAbsent);
  begin_.may_be_full = scenario_.may_be_full;
  Runner runner(world_, *driver_, 0, false);
  for (Operation operation : scenario_.setup) {
    runner.run(&operation, 1, false, layout_);
    State& state = begin_.before[static_cast<std::size_t>(
        std::find(begin_.keys.begin(), begin_.keys.end(), operation.key) - begin_.keys.begin())];
    const Status expected = apply(operation, state);
    if (operation.status != expected) return explain("the setup did not succeed");
  }
  start_ = world_.settle();
  for (unsigned caller = 0; caller < callers_; ++caller) {
    for (const Submission& submission : scenario_.callers[caller]) {
      for (Operation operation : submission.operations) {
        operation.caller = caller;
        begin_.operations.push_back(operation);
      }
    }
  }
  HOLDFAST_ASSERT(begin_.operations.size() <= 32);
  return {};
}

Verdict TableCallers::explore(const Bounds& bounds) {
  const Recovery::Counts recovered = recovery_.counts();
  const InWorld in(world_);
  proof::Explored explored{.failure = set_up()};
  world_.set_tracing(true);
  world_.set_watcher(this);
  if (explored.failure.empty()) explored = proof::explore(*this, bounds.states);
  ++counts_.scenarios;
  counts_.executions = explored.executions;
  counts_.states = explored.states;
  const Recovery::Counts& now = recovery_.counts();
  counts_.recovery = {now.recoveries - recovered.recoveries, now.crashed - recovered.crashed,
                      now.second_rounds - recovered.second_rounds, now.second_crashes - recovered.second_crashes};
  return {explored.failure, explored.complete, counts_};
}

void TableCallers::restart() {
  world_.load(start_);
  history_ = begin_;
  std::fill(std::begin(size_), std::end(size_), 0u);
  if (!scenario_.grows) return;
  // Growth needs the CPU's recovery, and separate tags: those that recovery builds.
  pool_ = std::make_unique<ModelPool>(world_);
  levels_ = std::make_unique<cpu::LevelMaintenance<ModelPool>>(*pool_, cpu::TableOptions{0, scenario_.shape.may_move},
                                                               *driver_, *cells_, workers_);
  levels_->recover();
  table_ = &levels_->layout();
  grow_ = [this] { levels_->grow(); };
}

void TableCallers::run(unsigned caller) {
  unsigned position = 0;
  for (unsigned i = 0; i < caller; ++i) {
    for (const Submission& submission : scenario_.callers[i])
      position += static_cast<unsigned>(submission.operations.size());
  }
  const bool single = !is_gpu(scenario_.flavour) && (scenario_.single >> caller & 1) != 0;
  Runner runner(world_, *driver_, caller, single, scenario_.grows ? &grow_ : nullptr);
  for (const Submission& submission : scenario_.callers[caller]) {
    const auto size = static_cast<unsigned>(submission.operations.size());
    position_[caller] = position;
    size_[caller] = size;
    runner.run(&history_.operations[position], size, submission.as_run, *table_, submission.in_phases);
    size_[caller] = 0;
    world_.forget_seen(caller);
    position += size;
  }
}

void TableCallers::begin(unsigned me) {
  // An operation begins as late as it can: with its first access.
  world_.enter(me);
  for (unsigned i = position_[me]; i < position_[me] + size_[me]; ++i) {
    Operation& operation = history_.operations[i];
    if (operation.invoked) break;
    operation.invoked = true;
    for (std::size_t j = 0; j < history_.operations.size(); ++j) {
      if (history_.operations[j].answered) operation.earlier |= 1u << j;
    }
  }
}

const TableCallers::Allowed& TableCallers::allowed() {
  const std::uint64_t answers = history_.hash();
  const auto known = allowed_.find(answers);
  if (known != allowed_.end()) return known->second;
  Allowed made;
  for (unsigned k = 0; k < history_.keys.size(); ++k) {
    made.states.push_back(history_.allowed(k));
    made.hash = mix(made.hash + made.states.back().size());
    for (const State state : made.states.back()) made.hash = mix(made.hash + state);
  }
  return allowed_.emplace(answers, std::move(made)).first->second;
}

/// Everything that may be left is recovered, and must be one of the states that the answers allow.
std::string TableCallers::crash() {
  const Allowed& oracle = allowed();
  for (std::size_t k = 0; k < oracle.states.size(); ++k) {
    if (oracle.states[k].empty())
      return "no order of the operations on key " + std::to_string(history_.keys[k]) + " gives these answers";
  }
  if (!crashed_.insert(mix(world_.durable().hash() + oracle.hash)).second) return {};
  std::string wrong;
  const bool complete = world_.durable().images([&](const Image& image, std::uint64_t hash) {
    ++counts_.images;
    if (!wrong.empty() || !checked_.insert(mix(hash + oracle.hash)).second) return;
    for (const Recovered& result : recovery_.outcomes(image, hash)) {
      if (wrong = result.error.empty() ? oracle.contradicts(result, history_.keys) : result.error; !wrong.empty())
        return;
    }
  });
  counts_.sampled += !complete;
  return wrong.empty() ? wrong : "after a crash: " + wrong;
}

/// The table must be whole, and hold what the answers say.
std::string TableCallers::end() {
  const Allowed& oracle = allowed();
  const Recovered result = inspect(world_, *driver_, *table_, history_.keys);
  if (!result.error.empty()) return "at the end: " + result.error;
  if (!world_.copies_agree()) return "at the end a copy of a slot differs from the pool";
  const std::string wrong = oracle.contradicts(result, history_.keys);
  return wrong.empty() ? wrong : "at the end: " + wrong;
}

std::string TableCallers::explain(const std::string& what) {
  std::string text = scenario_.name + " (" + name(scenario_.flavour) + "): " + what + "\n" + describe(history_);
  const auto& trace = world_.trace();
  const std::size_t skip = trace.size() > kTraceShown ? trace.size() - kTraceShown : 0;
  for (std::size_t i = skip; i < trace.size(); ++i) text += "  " + world_.describe(trace[i]) + "\n";
  return text;
}

}  // namespace

ExploreCounts& ExploreCounts::operator+=(const ExploreCounts& other) {
  scenarios += other.scenarios;
  executions += other.executions;
  states += other.states;
  images += other.images;
  sampled += other.sampled;
  recovery.recoveries += other.recovery.recoveries;
  recovery.crashed += other.recovery.crashed;
  recovery.second_rounds += other.recovery.second_rounds;
  recovery.second_crashes += other.recovery.second_crashes;
  return *this;
}

std::vector<std::uint64_t> keys_of(const Scenario& scenario, unsigned fresh) {
  std::vector<std::uint64_t> keys;
  const auto add = [&](const Operation& operation) {
    if (std::find(keys.begin(), keys.end(), operation.key) == keys.end()) keys.push_back(operation.key);
  };
  for (const Operation& operation : scenario.setup) add(operation);
  for (const auto& caller : scenario.callers) {
    for (const Submission& submission : caller) {
      for (const Operation& operation : submission.operations) add(operation);
    }
  }
  for (std::uint64_t key = 1u << 20; fresh > 0; ++key, --fresh) keys.push_back(key);
  return keys;
}

Verdict explore(const Scenario& scenario, const Bounds& bounds) {
  Recovery recovery(scenario.flavour, scenario.shape, keys_of(scenario, kFreshKeys), bounds.thorough);
  return TableCallers(scenario, recovery).explore(bounds);
}

}  // namespace holdfast::gphash::model

// explore.cpp: depth-first over schedules, by running again from the start. States that were seen before are not entered again.
#include "machine/model/explore.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "core/both.hpp"
#include "holdfast/error.hpp"
#include "machine/cpu/keeper.hpp"
#include "machine/model/driver.hpp"
#include "machine/model/fiber.hpp"
#include "machine/model/pool.hpp"
#include "machine/model/runner.hpp"

namespace holdfast::machine::model {

namespace {

constexpr unsigned kDone = ~0u;
constexpr unsigned kAbort = ~0u - 1;
constexpr unsigned kFreshKeys = 4;
constexpr std::size_t kTraceShown = 120;

class Explorer : public Watcher {
 public:
  Explorer(const Scenario& scenario, const Bounds& bounds, Recovery& recovery)
      : scenario_(scenario),
        bounds_(bounds),
        recovery_(recovery),
        world_(scenario.flavour, scenario.shape),
        driver_(make_model_driver(
            scenario.flavour,
            {scenario.shape.levels, scenario.shape.hashes, scenario.shape.slots, scenario.shape.key_words},
            scenario.shape.variable)),
        callers_(static_cast<unsigned>(scenario.callers.size())),
        fibers_(callers_) {
    HOLDFAST_ASSERT(callers_ <= kMaxCallers && (!scenario.grows || callers_ == 1));
    set_up();
  }

  Verdict run();
  void before() override;

 private:
  struct Allowed {
    std::vector<std::vector<State>> states;  // by key
    std::uint64_t hash = 0;
  };

  void set_up();
  void restart();
  void body(unsigned caller);
  unsigned choose();
  unsigned enabled() const;
  void go(unsigned next);
  void check_crash();
  void check_end();
  const Allowed& allowed();
  bool backtrack();
  void fail(const std::string& what);

  const Scenario& scenario_;
  const Bounds& bounds_;
  Recovery& recovery_;
  World world_;
  std::unique_ptr<cpu::Driver> driver_;
  const unsigned callers_;
  Fibers fibers_;
  machine::Layout layout_;
  const machine::Layout* table_ = &layout_;  // as it is now
  cpu::Epochs epochs_;
  cpu::Cells cells_{epochs_};
  cpu::PairCells pair_cells_{epochs_};
  cpu::Workers workers_{1};
  std::unique_ptr<ModelPool> pool_;  // where the table grows
  std::unique_ptr<cpu::Keeper<ModelPool>> keeper_;
  std::function<void()> grow_;
  World::Snapshot start_;
  History begin_, history_;
  std::vector<std::uint8_t> taken_, rest_;  // the schedule, and what else could have been chosen
  std::size_t depth_ = 0;
  unsigned current_ = 0, started_ = 0, finished_ = 0;
  unsigned position_[kMaxCallers] = {};  // of each caller's running submission in the history
  unsigned size_[kMaxCallers] = {};
  bool over_ = false;
  std::unordered_set<std::uint64_t> visited_, crashed_, checked_;
  std::unordered_map<std::uint64_t, Allowed> allowed_;
  Verdict verdict_;
};

void Explorer::set_up() {
  const InWorld in(world_);
  ModelPool::create(world_);
  layout_ = world_.layout(scenario_.shape.top_level);
  driver_->set_layout(layout_);
  std::vector<std::uint64_t> cells;
  for (std::uint64_t cell = layout_.in_slot() ? 0 : layout_.cells; cell-- > 0;) cells.push_back(cell);
  if (!scenario_.shape.variable) world_.set_free_cells(cells);
  begin_.keys = recovery_.keys();
  begin_.before.assign(begin_.keys.size(), kAbsent);
  begin_.may_be_full = scenario_.may_be_full;
  Runner runner(world_, *driver_, 0);
  for (Operation operation : scenario_.setup) {
    runner.run(&operation, 1, false, layout_);
    State& state = begin_.before[static_cast<std::size_t>(
        std::find(begin_.keys.begin(), begin_.keys.end(), operation.key) - begin_.keys.begin())];
    const Status expected = apply(operation, state);
    if (operation.status != expected) fail("the setup did not succeed");
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
}

Verdict Explorer::run() {
  const std::function<void(unsigned)> body = [this](unsigned caller) { this->body(caller); };
  const Recovery::Counts recovered = recovery_.counts();
  const InWorld in(world_);
  world_.set_tracing(true);
  ++verdict_.counts.scenarios;
  while (verdict_.failure.empty()) {
    ++verdict_.counts.executions;
    restart();
    for (unsigned i = 0; i < callers_; ++i) fibers_.start(i, &body);
    world_.set_watcher(this);
    const unsigned first = choose();
    if (first < callers_) {
      current_ = first;
      world_.set_caller(first);
      fibers_.enter(first);
    }
    world_.set_watcher(nullptr);
    if (over_ && verdict_.failure.empty()) check_end();
    if (verdict_.counts.states >= bounds_.states) verdict_.complete = false;
    if (!verdict_.complete || !backtrack()) break;
  }
  const Recovery::Counts& now = recovery_.counts();
  verdict_.counts.recovery = {now.recoveries - recovered.recoveries, now.crashed - recovered.crashed,
                              now.second_rounds - recovered.second_rounds,
                              now.second_crashes - recovered.second_crashes};
  return verdict_;
}

void Explorer::restart() {
  world_.load(start_);
  history_ = begin_;
  depth_ = 0;
  current_ = started_ = finished_ = 0;
  over_ = false;
  std::fill(std::begin(size_), std::end(size_), 0u);
  if (!scenario_.grows) return;
  // Growth needs a keeper, and tags of its own: those that recovery builds.
  pool_ = std::make_unique<ModelPool>(world_);
  keeper_ = std::make_unique<cpu::Keeper<ModelPool>>(
      *pool_, cpu::TableOptions{0, scenario_.shape.may_move}, *driver_,
      scenario_.shape.variable ? static_cast<cpu::CellSet&>(pair_cells_) : cells_, workers_);
  keeper_->recover();
  table_ = &keeper_->layout();
  grow_ = [this] { keeper_->grow(); };
}

/// What a caller does, on its own stack. Holds no heap memory: it is left wherever the schedule ends.
void Explorer::body(unsigned caller) {
  unsigned position = 0;
  for (unsigned i = 0; i < caller; ++i) {
    for (const Submission& submission : scenario_.callers[i])
      position += static_cast<unsigned>(submission.operations.size());
  }
  Runner runner(world_, *driver_, caller, scenario_.grows ? &grow_ : nullptr);
  try {
    for (const Submission& submission : scenario_.callers[caller]) {
      const auto size = static_cast<unsigned>(submission.operations.size());
      position_[caller] = position;
      size_[caller] = size;
      runner.run(&history_.operations[position], size, submission.as_run, *table_, submission.in_phases);
      size_[caller] = 0;
      world_.forget_locals(caller);
      position += size;
    }
  } catch (const Error& error) {
    fail(error.what());
    return go(kAbort);
  }
  finished_ |= 1u << caller;
  go(choose());
}

/// Goes on with `next`, from a fiber.
void Explorer::go(unsigned next) {
  if (next >= callers_) {
    over_ = next == kDone;
    return fibers_.to_main();
  }
  current_ = next;
  world_.set_caller(next);
  fibers_.switch_to(next);
}

void Explorer::before() {
  const unsigned me = current_;
  if (started_ >> me & 1) {
    const unsigned next = choose();
    if (next != me) go(next);
  }
  started_ |= 1u << me;
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

unsigned Explorer::enabled() const {
  unsigned mask = 0;
  for (unsigned i = 0; i < callers_; ++i) {
    if (!(finished_ >> i & 1) && !world_.is_blocked(i)) mask |= 1u << i;
  }
  return mask;
}

/// Who makes the next access. Beyond the schedule that is being repeated, checks the state that was reached.
unsigned Explorer::choose() {
  if (depth_ < taken_.size()) return taken_[depth_++];
  const std::uint64_t state = mix(world_.hash() + mix(history_.hash() + finished_));
  if (!visited_.insert(state).second) return kAbort;
  ++verdict_.counts.states;
  check_crash();
  if (!verdict_.failure.empty()) return kAbort;
  const unsigned can = enabled();
  if (can == 0) {
    if (finished_ == (1u << callers_) - 1) return kDone;
    fail("the callers wait for each other");
    return kAbort;
  }
  const unsigned pick = can >> current_ & 1 ? current_ : static_cast<unsigned>(__builtin_ctz(can));
  taken_.push_back(static_cast<std::uint8_t>(pick));
  rest_.push_back(static_cast<std::uint8_t>(can & ~(1u << pick)));
  ++depth_;
  return pick;
}

bool Explorer::backtrack() {
  while (!taken_.empty()) {
    if (rest_.back() != 0) {
      taken_.back() = static_cast<std::uint8_t>(__builtin_ctz(rest_.back()));
      rest_.back() &= static_cast<std::uint8_t>(rest_.back() - 1);
      return true;
    }
    taken_.pop_back();
    rest_.pop_back();
  }
  return false;
}

const Explorer::Allowed& Explorer::allowed() {
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

/// Crashes here: everything that may be left is recovered, and must be one of the states that the answers allow.
void Explorer::check_crash() {
  const Allowed& oracle = allowed();
  for (std::size_t k = 0; k < oracle.states.size(); ++k) {
    if (oracle.states[k].empty())
      return fail("no order of the operations on key " + std::to_string(history_.keys[k]) + " gives these answers");
  }
  if (!crashed_.insert(mix(world_.durable().hash() + oracle.hash)).second) return;
  const bool complete = world_.durable().images([&](const Image& image, std::uint64_t hash) {
    ++verdict_.counts.images;
    if (!verdict_.failure.empty() || !checked_.insert(mix(hash + oracle.hash)).second) return;
    for (const Recovered& result : recovery_.outcomes(image, hash)) {
      if (!result.error.empty()) return fail("after a crash: " + result.error);
      for (std::size_t k = 0; k < result.states.size(); ++k) {
        const auto& states = oracle.states[k];
        if (std::find(states.begin(), states.end(), result.states[k]) != states.end()) continue;
        return fail("after a crash key " + std::to_string(history_.keys[k]) + " is " + describe(result.states[k]));
      }
    }
  });
  verdict_.counts.sampled += !complete;
}

/// All callers have ended: the table must be whole, and hold what the answers say.
void Explorer::check_end() {
  const Allowed& oracle = allowed();
  const Recovered result = inspect(world_, *driver_, *table_, history_.keys);
  if (!result.error.empty()) return fail("at the end: " + result.error);
  if (!world_.copies_agree()) return fail("at the end a copy of a slot differs from the pool");
  for (std::size_t k = 0; k < result.states.size(); ++k) {
    const auto& states = oracle.states[k];
    if (std::find(states.begin(), states.end(), result.states[k]) == states.end()) {
      return fail("at the end key " + std::to_string(history_.keys[k]) + " is " + describe(result.states[k]));
    }
  }
}

void Explorer::fail(const std::string& what) {
  if (!verdict_.failure.empty()) return;
  std::string text = scenario_.name + " (" + name(scenario_.flavour) + "): " + what + "\n" + describe(history_);
  const auto& trace = world_.trace();
  const std::size_t skip = trace.size() > kTraceShown ? trace.size() - kTraceShown : 0;
  for (std::size_t i = skip; i < trace.size(); ++i) text += "  " + world_.describe(trace[i]) + "\n";
  verdict_.failure = text;
}

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
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
  return Explorer(scenario, bounds, recovery).run();
}

}  // namespace holdfast::machine::model

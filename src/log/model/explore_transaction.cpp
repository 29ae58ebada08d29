// explore_transaction.cpp: batches of updates. After a crash and its recovery, which is crashed too, each is there or not at all.
#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>

#include "log/model/explore.hpp"

namespace holdfast::log::model {

namespace {

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

class TransactionCallers : public proof::Callers, public proof::Watcher {
 public:
  TransactionCallers(const TransactionScenario& scenario, Flavour flavour)
      : scenario_(scenario),
        threads_(static_cast<unsigned>(scenario.batches[0].size())),
        world_(flavour, scenario.shape, scenario.data_words),
        left_(flavour, scenario.shape, scenario.data_words),
        empty_(world_.durable().size(), 0) {
    world_.set_watcher(this);
    states_.emplace_back(scenario.data_words, 0u);
    for (unsigned batch = 0; batch < scenario.batches.size(); ++batch) {
      std::vector<std::uint32_t> next = states_.back();
      for (unsigned thread = 0; thread < threads_; ++thread) {
        const auto& updates = scenario.batches[batch][thread];
        for (unsigned i = 0; i < updates.size(); ++i) {
          for (unsigned k = 0; k < updates[i].words; ++k) next[updates[i].offset + k] = value(batch, thread, i, k);
        }
      }
      states_.push_back(next);
    }
  }

  /// Caller 0 begins and ends the batches; the others are the threads of its kernels.
  unsigned count() const override { return threads_ + 1; }
  void restart() override {
    world_.load(empty_);
    done_ = {};
    begun_ = ended_ = 0;
    ending_ = false;
  }
  void run(unsigned caller) override {
    ModelMemory memory(world_);
    const View<ModelMemory> view = world_.view();
    for (unsigned batch = 0; batch < scenario_.batches.size(); ++batch) {
      if (caller == 0) {
        log::begin(memory, view);
        ++begun_;
        ending_ = true;  // it waits for the threads
        log::end(memory, view);
        ending_ = false;
        ++ended_;
        continue;
      }
      const auto& updates = scenario_.batches[batch][caller - 1];
      for (unsigned i = 0; i < updates.size(); ++i) {
        std::uint32_t values[kMostWords], scratch[kMostWords];
        for (unsigned k = 0; k < updates[i].words; ++k) values[k] = value(batch, caller - 1, i, k);
        update(memory, view, caller - 1, world_.data(), updates[i].offset, values, updates[i].words, scratch);
      }
      ++done_[caller];
    }
  }
  void before() override { access(); }
  void resume(unsigned caller) override { world_.set_caller(caller); }
  bool is_blocked(unsigned caller) const override {
    if (caller == 0) return ending_ && !all_done();
    return done_[caller] >= begun_;
  }
  std::uint64_t hash() const override { return mix(world_.hash() + oracle_hash()); }
  std::string crash() override {
    std::string wrong;
    world_.durable().images([&](const proof::Words& image, std::uint64_t hash) {
      if (wrong.empty()) wrong = recover_all(image, hash);
    });
    return wrong;
  }
  std::string end() override {
    if (!world_.durable().all_settled()) return "at the end writes are not durable";
    return crash();
  }

  proof::CrashCounts counts;

 private:
  static std::uint32_t value(unsigned batch, unsigned thread, unsigned update, unsigned word) {
    return (batch + 1) * 1000 + (thread + 1) * 100 + (update + 1) * 10 + word;
  }
  bool all_done() const {
    return std::all_of(done_.begin() + 1, done_.begin() + 1 + threads_, [&](unsigned done) { return done == begun_; });
  }
  bool may_have_ended() const { return ending_ && all_done(); }
  std::uint64_t oracle_hash() const {
    std::uint64_t hash = mix(begun_ * 8 + ended_ * 2 + (ending_ ? 1 : 0));
    for (const unsigned done : done_) hash = mix(hash + done);
    return hash;
  }

  /// Recovers an image, and every image that crashes of recoveries of it leave.
  std::string recover_all(const proof::Words& image, std::uint64_t hash) {
    const std::uint64_t allowed = mix(ended_ * 2 + (may_have_ended() ? 1 : 0));
    std::vector<proof::Words> waiting;
    const auto add = [&](const proof::Words& next, std::uint64_t its) {
      if (tried_.insert(mix(its + allowed)).second) waiting.push_back(next);
    };
    add(image, hash);
    counts.images += waiting.size();
    while (!waiting.empty()) {
      const proof::Words next = waiting.back();
      waiting.pop_back();
      left_.load(next);
      const std::size_t before = waiting.size();
      CrashedRecovery crashes(left_.durable(), add);
      left_.set_watcher(&crashes);
      const std::string wrong = recovered();
      left_.set_watcher(nullptr);
      if (!wrong.empty()) return wrong;
      counts.crashed_in_recovery += waiting.size() - before;
    }
    return {};
  }

  std::string recovered() {
    ModelMemory memory(left_);
    const View<ModelMemory> view = left_.view();
    std::uint32_t scratch[kMostWords];
    ++counts.recoveries;
    if (load_tails(memory, view) != LogShape::none()) return "after a crash a tail is damaged";
    if (memory.load(view.flag) != 0 && find_false_undo(memory, view, scenario_.data_words) != LogShape::none()) {
      return "after a crash the log has an entry that no update made";
    }
    recover(memory, view, left_.data(), scratch);
    if (*view.flag != 0 || log::count(memory, view, 0) != 0) return "recovery leaves a transaction";
    const auto is = [&](const std::vector<std::uint32_t>& state) {
      return std::equal(state.begin(), state.end(), left_.data());
    };
    if (is(states_[ended_]) || (may_have_ended() && is(states_[ended_ + 1]))) return {};
    return "after a crash a batch is there in part, or is lost";
  }

  const TransactionScenario& scenario_;
  const unsigned threads_;
  World world_, left_;
  const proof::Words empty_;
  std::vector<std::vector<std::uint32_t>> states_;       ///< before the first batch, and after each
  std::array<unsigned, World::kMostCallers> done_ = {};  ///< batches, of each thread
  unsigned begun_ = 0, ended_ = 0;
  bool ending_ = false;
  std::unordered_set<std::uint64_t> tried_;
};

}  // namespace

proof::Verdict explore(const TransactionScenario& scenario, Flavour flavour) {
  TransactionCallers callers(scenario, flavour);
  return proof::judge(callers);
}

}  // namespace holdfast::log::model

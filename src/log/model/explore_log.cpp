// explore_log.cpp: inserts, removes and clears. After a crash each place has what was acknowledged, and at most one change more.
#include <algorithm>
#include <unordered_set>

#include "log/model/explore.hpp"

namespace holdfast::log::model {

namespace {

using List = std::vector<std::uint32_t>;

class LogCallers : public proof::Callers, public proof::Watcher {
 public:
  LogCallers(const LogScenario& scenario, Flavour flavour)
      : scenario_(scenario),
        world_(flavour, scenario.shape, 0),
        left_(flavour, scenario.shape, 0),
        empty_(world_.durable().size(), 0) {
    world_.set_watcher(this);
  }

  unsigned count() const override { return static_cast<unsigned>(scenario_.callers.size()); }
  void restart() override {
    world_.load(empty_);
    acknowledged_.assign(scenario_.shape.places(), {});
    std::fill(std::begin(at_), std::end(at_), 0u);
  }
  void run(unsigned caller) override {
    ModelMemory memory(world_);
    const View<ModelMemory> view = world_.view();
    for (const Operation& operation : scenario_.callers[caller]) {
      std::uint32_t entry[kMostWords];
      for (unsigned k = 0; k < scenario_.shape.entry_words; ++k) entry[k] = value_of(caller) * 16 + k;
      if (operation.op == Op::insert) insert(memory, view, operation.place, entry, scenario_.shape.entry_words);
      if (operation.op == Op::remove) remove(memory, view, operation.place);
      if (operation.op == Op::clear) clear(memory, view, operation.place);
      apply(caller, acknowledged_[operation.place]);
      ++at_[caller];
    }
  }
  void before() override { access(); }
  void resume(unsigned caller) override { world_.set_caller(caller); }
  bool is_blocked(unsigned caller) const override { return world_.is_blocked(caller); }
  std::uint64_t hash() const override {
    std::uint64_t hash = world_.hash();
    for (const unsigned at : at_) hash = mix(hash + at);
    return mix(hash + oracle_hash());
  }
  std::string crash() override {
    std::string wrong;
    world_.durable().images([&](const proof::Words& image, std::uint64_t hash) {
      if (!wrong.empty() || !tried_.insert(mix(hash + oracle_hash())).second) return;
      ++counts.images;
      wrong = check(image);
    });
    return wrong.empty() ? wrong : "after a crash, " + wrong;
  }
  std::string end() override {
    const std::string wrong =
        world_.durable().all_settled() ? check(world_.durable().settled()) : "writes are not durable";
    return wrong.empty() ? wrong : "at the end, " + wrong;
  }

  proof::CrashCounts counts;

 private:
  std::uint32_t value_of(unsigned caller) const { return caller * 8 + at_[caller] + 1; }
  /// What the caller's operation does to a list.
  void apply(unsigned caller, List& list) const {
    const Op op = scenario_.callers[caller][at_[caller]].op;
    if (op == Op::insert && list.size() < scenario_.shape.capacity) list.push_back(value_of(caller));
    if (op == Op::remove && !list.empty()) list.pop_back();
    if (op == Op::clear) list.clear();
  }
  std::uint64_t oracle_hash() const {
    std::uint64_t hash = 0;
    for (const List& list : acknowledged_) {
      hash = mix(hash + list.size());
      for (const std::uint32_t value : list) hash = mix(hash + value);
    }
    for (const unsigned at : at_) hash = mix(hash + at);
    return hash;
  }

  std::string check(const proof::Words& image) {
    left_.load(image);
    ModelMemory memory(left_);
    const View<ModelMemory> view = left_.view();
    ++counts.recoveries;
    if (load_tails(memory, view) != LogShape::none()) return "a tail is damaged";
    List list;
    for (std::uint64_t place = 0; place < scenario_.shape.places(); ++place) {
      if (!left_.list(place, scenario_.shape.entry_words, list)) return "an entry is torn";
      if (!is_allowed(place, list))
        return "place " + std::to_string(place) + " has " + std::to_string(list.size()) +
               " entries, not those that it should";
      if (list.size() == scenario_.shape.capacity) continue;
      std::uint32_t entry[kMostWords];  // and the remaining log is usable
      for (unsigned k = 0; k < scenario_.shape.entry_words; ++k) entry[k] = 1000 * 16 + k;
      const std::size_t before = list.size();
      insert(memory, view, place, entry, scenario_.shape.entry_words);
      if (!left_.list(place, scenario_.shape.entry_words, list) || list.size() != before + 1)
        return "an insert is lost";
    }
    return {};
  }
  bool is_allowed(std::uint64_t place, const List& list) const {
    if (list == acknowledged_[place]) return true;
    for (unsigned caller = 0; caller < count(); ++caller) {
      const auto& operations = scenario_.callers[caller];
      if (at_[caller] == operations.size() || operations[at_[caller]].place != place) continue;
      List changed = acknowledged_[place];
      apply(caller, changed);
      if (changed == list) return true;
    }
    return false;
  }

  const LogScenario& scenario_;
  World world_, left_;
  const proof::Words empty_;
  std::vector<List> acknowledged_;
  unsigned at_[World::kMostCallers] = {};  ///< the operation that each caller is at
  std::unordered_set<std::uint64_t> tried_;
};

}  // namespace

proof::Verdict explore(const LogScenario& scenario, Flavour flavour) {
  LogCallers callers(scenario, flavour);
  return proof::judge(callers);
}

}  // namespace holdfast::log::model

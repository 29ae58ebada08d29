// table_subject.cpp: runs the steps, and says what a crash or a fault may leave of them.
#include "table_subject.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <utility>

#include "proof/verdicts.hpp"

namespace holdfast::proof {

namespace {

constexpr std::uint64_t kProbe = 9'000'000;  // a key that no step uses
constexpr std::uint64_t kNew = 8'000'000;
constexpr unsigned kNewItems = 20;

/// Says what is wrong unless the table is described as before or after, and goes on with the step of one of them, or of a score.
std::string compare_facts(Table& table, const PoolState* before, const PoolState* after) {
  const auto is = [&](const auto& fact) { return (before && fact(*before)) || (after && fact(*after)); };
  const std::string text = table.description();
  if (!is([&](const PoolState& state) { return state.description == text; })) return "it is described as " + text;
  if (table.score() != Score::step) return {};
  const std::uint64_t step = table.step();
  if (!is([&](const PoolState& state) { return state.step == step; })) return "its step is " + std::to_string(step);
  if (step == ~std::uint64_t{0} || table.size_if({.least_score = step + 1}) == 0) return {};
  return "a score is larger than its step";
}

}  // namespace

TableSubject::TableSubject(Tables tables, std::vector<Step> before, std::vector<Step> steps)
    : tables_(tables), before_(std::move(before)), steps_(std::move(steps)) {}

void TableSubject::prepare(const std::string& folder) {
  Scene scene{.folder = folder};
  first_.clear();
  for (const Step& step : before_) first_ = step.act(scene, first_);
}

void TableSubject::run(const std::string& folder, const std::function<void()>& said) {
  Scene scene{.folder = folder};
  worlds_ = {first_};
  intended_.clear();
  names_.clear();
  for (const Step& step : steps_) {
    intended_.push_back(step.intended(worlds_.back()));
    for (const auto& pool : intended_.back()) names_.insert(pool.first);
    try {
      worlds_.push_back(step.act(scene, worlds_.back()));
    } catch (const Error& error) {
      const bool is_made = std::string(error.what()).find("has its name") != std::string::npos;
      if (step.makes_file && !is_made) intended_.back() = worlds_.back();
      probe(scene, step);
      throw;
    }
    said();
  }
  intended_.push_back(worlds_.back());
}

/// After a step that failed, the table works, or every use of it says that it does not; and what failed may be tried again.
void TableSubject::probe(Scene& scene, const Step& failed) {
  if (!scene.table || !scene.table->is_open()) return;
  Table& table = *scene.table;
  World &world = worlds_.back(), &next = intended_.back();
  const auto both = [&](const std::function<void(PoolState&)>& change) {
    for (World* each : {&world, &next}) change(each->at(scene.name));
  };
  std::string wrong;
  tried([&] { wrong += compare(items_of(table, wrong), &world.at(scene.name), &next.at(scene.name)); });
  if (!wrong.empty()) throw std::logic_error("after an error the table is wrong: " + wrong);
  tried([&] {
    Items done;
    both([](PoolState& state) { state.synced = false; });
    put_items(table, kProbe, kProbe + 1, 1, done);
    both([&](PoolState& state) { state.items.insert(done.begin(), done.end()); });
  });
  if (!failed.makes_file) tried([&] { world = next = failed.act(scene, world); });
  tried([&] {
    scene.table->sync();
    const Items items = items_of(*scene.table, wrong);
    both([&](PoolState& state) {
      state.items = items;
      state.synced = true;
    });
  });
}

std::string TableSubject::check(const std::string& folder, unsigned steps, Crash crash) {
  const World &before = worlds_[steps], &after = intended_[std::min<std::size_t>(steps, intended_.size() - 1)];
  const auto state = [](const World& world, const std::string& name) {
    const auto at = world.find(name);
    return at == world.end() ? nullptr : &at->second;
  };
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (names_.count(name.substr(0, name.find(".tmp-"))) == 0) return "there is a file " + name;
  }
  for (const std::string& name : names_) {
    std::string wrong = check_pool(folder + "/" + name, state(before, name), state(after, name), crash);
    if (!wrong.empty()) return name + ": " + wrong;
  }
  return {};
}

std::string TableSubject::check_pool(const std::string& path, const PoolState* before, const PoolState* after,
                                     Crash crash) {
  if (!std::filesystem::exists(path)) return before == nullptr ? "" : "it is gone";
  if (before == nullptr && after == nullptr) return "it is there, though nobody made it";
  const auto synced = [](const PoolState* state) { return state == nullptr || state->synced; };
  const auto look = [&] {
    Table table = Table::open(path, open_options());
    std::string wrong;
    const Items items = items_of(table, wrong);
    for (const std::string& error : table.check().errors) wrong += error + "; ";
    wrong += compare(items, before, after) + compare_facts(table, before, after);
    table.close();
    return wrong;
  };
  return verdict(crash, synced(before) && synced(after), look, [&] {
    OpenOptions options = open_options();
    options.read_only = options.salvage = true;
    Table table = Table::open(path, options);
    static_cast<void>(table.check());
  });
}

std::string TableSubject::go_on(const std::string& folder) {
  for (const std::string& name : names_) {
    const std::string path = folder + "/" + name;
    const std::string wrong = used_further([&] {
      if (!std::filesystem::exists(path)) Table::create(path, create_options(tables_, false));
      std::string what;
      Items expected;
      {
        Table table = Table::open(path, open_options());
        expected = items_of(table, what);
        put_items(table, kNew, kNew + kNewItems, 7, expected);
        erase_items(table, kNew, kNew + 1, expected);
      }
      Table table = Table::open(path, open_options());
      if (items_of(table, what) != expected) what += "what was added is not there";
      return what;
    });
    if (!wrong.empty()) return name + ", " + wrong;
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (names_.count(name) == 0) return "nobody removes " + name;
  }
  return {};
}

}  // namespace holdfast::proof

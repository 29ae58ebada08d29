// data_subject.cpp: runs the steps, and says what a crash or a fault may leave of them.
#include "data_subject.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <stdexcept>

#include "overlap.hpp"
#include "proof/verdicts.hpp"
#include "used_space.hpp"

namespace holdfast::proof {

namespace {

constexpr const char* kPoolFile = "/a.hold";
using Names = std::set<std::string>;

Names names_of(const DataWorld& world) {
  Names names;
  for (const auto& object : world) names.insert(object.first);
  return names;
}

Names names_in(const Pool& pool) {
  Names names;
  for (const ObjectInfo& object : pool.objects()) names.insert(object.name);
  return names;
}

const DataState* find(const DataWorld& world, const std::string& name) {
  const auto found = world.find(name);
  return found == world.end() ? nullptr : &found->second;
}

std::string bytes_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Begins a transaction, and returns the file as it is then.
std::string in_a_transaction(DataScene& scene, const std::string& path) {
  Transaction batch(scene.log(kDataUndo), scene.region(kDataRegion));
  batch.update(0, 0, std::uint64_t{77});
  batch.update(31, 8, std::uint64_t{78});
  batch.update(0, 0, std::uint64_t{79});
  return bytes_of(path);
}

}  // namespace

/// The same bytes each time: making them takes longer than a run.
void DataSubject::prepare(const std::string& folder) {
  const std::string path = folder + kPoolFile;
  if (bytes_.empty()) make(folder);
  ::unlink(path.c_str());
  std::ofstream(path, std::ios::binary) << bytes_;
}

void DataSubject::make(const std::string& folder) {
  DataScene scene;
  scene.pool = Pool::create(folder + kPoolFile);
  first_.clear();
  if (used_) {
    leave_used_space(*scene.pool);
    first_["rkept"] = {content_of(scene, "rkept"), true};
  }
  std::vector<DataStep> steps;
  for (const char* const name : {kDataRegion, kDataUndo, "lh", "lp", "c"}) steps.push_back(make_object(name));
  for (const DataStep& step : {write_word(kDataRegion, 0, 5), write_word(kDataRegion, 2, 6), insert_entry("lh", 0, 1),
                               insert_entry("lh", 0, 2), insert_entry("lh", 1, 3), insert_entry("lp", 1, 4),
                               save_state("c", 1), save_state("c", 2)}) {
    steps.push_back(step);
  }
  for (const char* const name : {kDataRegion, kDataUndo, "lh", "lp"}) steps.push_back(close_object(name));
  if (!killed_) steps.push_back(close_pool());
  for (const DataStep& step : steps) {
    step.act(scene);
    first_ = step.intended(first_);
  }
  if (killed_) {
    bytes_ = in_a_transaction(scene, folder + kPoolFile);
    first_.at(kDataRegion).synced = first_.at(kDataUndo).synced = false;
  } else {
    bytes_ = bytes_of(folder + kPoolFile);
  }
}

void DataSubject::run(const std::string& folder, const std::function<void()>& said) {
  worlds_ = {first_};
  intended_ = {first_};
  std::optional<NothingPunched> nothing;  // what the run drops is left as it was, too
  if (used_) nothing.emplace();
  DataScene scene;
  scene.pool = Pool::open(folder + kPoolFile);
  for (const DataStep& step : steps_) {
    intended_.back() = step.intended(worlds_.back());
    try {
      step.act(scene);
    } catch (const Error&) {
      probe(scene, step);
      throw;
    }
    worlds_.push_back(intended_.back());
    intended_.push_back(worlds_.back());
    said();
  }
}

/// What a transaction left is undone, unless an error says that it cannot be.
bool DataSubject::undo(DataScene& scene) {
  try {
    Transaction::recover(scene.log(kDataUndo), scene.region(kDataRegion));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// After a step that failed each object is as before or as intended, and says so, or that it cannot be used; and what failed may be
/// tried again.
void DataSubject::probe(DataScene& scene, const DataStep& failed) {
  if (!scene.pool->is_open()) return;
  const DataWorld &before = worlds_.back(), &after = intended_.back();
  const bool undone = undo(scene);
  for (const auto& [name, state] : before) {
    tried([&] {
      if (!undone && (name == kDataUndo || name == kDataRegion)) return;
      const std::string text = content_of(scene, name);
      const DataState* const next = find(after, name);
      if (!is_between(name, text, state.text, next == nullptr ? state.text : next->text)) {
        throw std::logic_error("after an error " + name + " holds " + text);
      }
    });
  }
  try {
    failed.act(scene);
  } catch (const Error&) {
    // It says so.
  }
}

std::string DataSubject::check(const std::string& folder, unsigned steps, Crash crash) {
  const DataWorld &before = worlds_[steps], &after = intended_[steps];
  const std::string path = folder + kPoolFile;
  DataScene scene;
  try {
    scene.pool = Pool::open(path);
    const Names names = names_in(*scene.pool);
    if (names != names_of(before) && names != names_of(after)) return "neither the old directory nor the new";
    Names lost;
    for (const std::string& name : names) {
      try {
        if (name[0] == 'r') scene.region(name);
        if (name[0] == 'l') scene.log(name);
        if (name[0] == 'c') scene.checkpoint(name);
      } catch (const PowerLost& error) {
        const DataState *const old = find(before, name), *const next = find(after, name);
        const bool unsynced = (old != nullptr && !old->synced) || (next != nullptr && !next->synced);
        if (crash != Crash::power || !unsynced) return name + ": refused, and nothing can be lost: " + error.what();
        lost.insert(name);
      }
    }
    const bool has_both = names.count(kDataUndo) + names.count(kDataRegion) == 2;
    const bool one_is_lost =
        lost.count(kDataUndo) + lost.count(kDataRegion) != 0;  // and with it what a transaction began
    if (has_both && !one_is_lost && !undo(scene)) return "its transaction cannot be undone";
    for (const std::string& name : names) {
      if (lost.count(name) != 0 || (one_is_lost && (name == kDataUndo || name == kDataRegion))) continue;
      const std::string text = content_of(scene, name);
      const DataState *const old = find(before, name), *const next = find(after, name);
      if (!is_between(name, text, (old == nullptr ? next : old)->text, (next == nullptr ? old : next)->text)) {
        return name + " holds \"" + text + "\", and not what it held before or what was written";
      }
    }
    for (const std::string& error : scene.pool->check().errors) {
      const auto is_of = [&](const std::string& name) {
        return error.starts_with(path + ":" + name + " was open when");
      };
      if (std::none_of(lost.begin(), lost.end(), is_of)) return "check: " + error;
    }
    scene.pool->close();
    for (const std::string& name : lost) {
      if (const std::string what = check_lost(path, name); !what.empty()) return name + ": " + what;
    }
  } catch (const Error& error) {
    return std::string("does not open: ") + error.what();
  }
  return {};
}

/// What a power cut has taken is there to be salvaged, without a change of the file.
std::string DataSubject::check_lost(const std::string& path, const std::string& name) {
  try {
    Pool pool = Pool::open(path, {.read_only = true, .salvage = true});
    name[0] == 'r' ? Region::open(pool, name).close() : Log::open(pool, name).close();
  } catch (const PoolCorrupt&) {  // some pages of the log are older than others
  } catch (const Error& error) {
    return std::string("cannot be salvaged: ") + error.what();
  }
  return {};
}

/// Each object is used further, and holds then what was put into it.
std::string DataSubject::go_on(const std::string& folder) {
  const std::vector<DataStep> more = {
      write_word(kDataRegion, 1, 91), transact({{0, 92}, {2, 93}}), clear_log("lh"),     insert_entry("lh", 31, 93),
      clear_place("lp", 0),           insert_entry("lp", 0, 94),    save_state("c", 95), save_state("c", 96, 3000)};
  try {
    DataWorld world;
    std::set<std::uint64_t> saved = {95, 96};
    for (const bool again : {false, true}) {
      DataScene scene;
      scene.pool = Pool::open(folder + kPoolFile);
      for (const std::string& name : names_in(*scene.pool)) {
        const std::string text = content_of(scene, name);
        if (again && text != world.at(name).text) return name + ", used further, holds \"" + text + '"';
        world[name].text = text;
        if (name != "c") continue;
        for (const SavedCopy& copy : scene.checkpoint(name).list()) {
          if (again && saved.count(copy.step) == 0) return "a state that never counted is given later";
          saved.insert(copy.step);
        }
      }
      for (const DataStep& step : more) {
        if (again) continue;
        DataWorld next;
        try {
          next = step.intended(world);
        } catch (const std::out_of_range&) {  // the run has dropped it
          continue;
        }
        step.act(scene);
        world = next;
      }
      scene.pool->close();
    }
  } catch (const PowerLost&) {
    return {};  // `check` has seen that it may be
  } catch (const Error& error) {
    return std::string("used further: ") + error.what();
  }
  return {};
}

}  // namespace holdfast::proof

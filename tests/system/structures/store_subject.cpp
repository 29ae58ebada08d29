// store_subject.cpp: runs the steps of a store, and says what a crash or a fault may leave of it.
#include "store_subject.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "pool/medium/persist.hpp"
#include "proof/verdicts.hpp"
#include "store_contents.hpp"

namespace holdfast::proof {

namespace {

constexpr std::uint64_t kStoreProbe = 9'000'000, kStoreNew = 8'000'000, kStoreSeed = 42;
constexpr unsigned kStoreNewItems = 20;
constexpr StoreOptions kAnyValue = {.max_value_bytes = 4u << 20};

StoreScene open_scene(const std::string& folder, const StoreOptions& options) {
  StoreScene scene{.folder = folder};
  scene.pool = Pool::open(folder + kStoreFile);
  scene.store = Store::open(*scene.pool, kStoreName, options);
  return scene;
}

std::string check_store(const std::string& path, const StoreState* before, const StoreState* after, Crash crash) {
  const auto synced = [](const StoreState* state) { return state == nullptr || state->synced; };
  if (!std::filesystem::exists(path)) return before == nullptr ? "" : path + " is gone";
  if (before == nullptr && after == nullptr) return path + " is there, and no step made it";
  const auto look = [&] {
    Pool pool = Pool::open(path);
    Store store = Store::open(pool, kStoreName, kAnyValue);
    std::string wrong;
    const Items items = store_items(store, wrong);
    for (const std::string& error : store.check().errors) wrong += error + "; ";
    wrong += compare_store(items, before, after);
    store.close();
    pool.close();
    return wrong;
  };
  return verdict(crash, synced(before) && synced(after), look, [&] {
    Pool pool = Pool::open(path, {.read_only = true, .salvage = true});
    static_cast<void>(Store::open(pool, kStoreName, kAnyValue).check());
  });
}

}  // namespace

bool StoreSubject::copies() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const StoreStep& step) { return step.makes_file; });
}

void StoreSubject::prepare(const std::string& folder) {
  if (!left_.empty()) return write_left(folder + kStoreFile);
  first_ = {};
  StoreScene scene{.folder = folder};
  scene.pool = Pool::create(folder + kStoreFile);
  StoreOptions options = options_;
  options.seed = kStoreSeed;
  scene.store = Store::create(*scene.pool, kStoreName, options);
  set_items(0, keys_, 1).act(scene, first_);
  close_store().act(scene, first_);
  if (killed_) die_replacing(folder);
}

/// Leaves the file as a kill does between the commit of a new item of key 0 and the end of the old one.
void StoreSubject::die_replacing(const std::string& folder) {
  const std::string path = folder + kStoreFile;
  AtEachFence watch(path);
  {
    StoreOptions options = options_;
    options.flush = true;
    StoreScene scene = open_scene(folder, options);
    erase_item(keys_ - 1).act(scene, first_);  // the clean mark is cleared
    set_item(1, 2).act(scene, first_);         // numbers are reserved
    watch.kept.clear();
    set_item(0, 2).act(scene, first_);
  }
  if (watch.kept.size() < 3) throw std::logic_error("a replacement has fewer than three fences");
  left_ = watch.kept[1];  // the content, and the number; not the end of the other
  ::unlink(path.c_str());
  write_left(path);
}

void StoreSubject::write_left(const std::string& path) const { std::ofstream(path, std::ios::binary) << left_; }

void StoreSubject::run(const std::string& folder, const std::function<void()>& said) {
  worlds_ = {first_};
  intended_ = {first_};
  StoreScene scene = open_scene(folder, options_);
  for (const StoreStep& step : steps_) {
    StoreWorld world = worlds_.back();
    step.intended(intended_.back());
    try {
      step.act(scene, world);
    } catch (const Error& error) {
      const bool is_made = std::string(error.what()).find("has its name") != std::string::npos;
      if (step.makes_file && !is_made) intended_.back() = worlds_.back();
      worlds_.back().store.synced = world.store.synced;
      probe(scene, step);
      throw;
    }
    worlds_.push_back(world);
    intended_.push_back(world);
    said();
  }
}

/// After a step that failed, the store works, or every use of it says that it does not; and what failed may be tried again.
void StoreSubject::probe(StoreScene& scene, const StoreStep& failed) {
  if (!scene.store->is_open()) return;
  StoreState &state = worlds_.back().store, &next = intended_.back().store;
  std::string wrong;
  tried([&] {
    const Items items = store_items(*scene.store, wrong);
    wrong += compare_store(items, &state, &next);
  });
  if (!wrong.empty()) throw std::logic_error("after an error the store is wrong: " + wrong);
  state.made = next.made;
  tried([&] {
    StoreWorld done;
    state.synced = next.synced = false;
    next.items[kStoreProbe] = 1;  // it may be there even if the call failed
    set_item(kStoreProbe, 1).act(scene, done);
    if (done.store.items.contains(kStoreProbe)) state.items[kStoreProbe] = 1;
  });
  scene.again = true;
  if (!failed.makes_file) {
    tried([&] {
      failed.act(scene, worlds_.back());
      next = state;
    });
  }
  if (!scene.store->is_open()) return;
  tried([&] {
    scene.store->sync();
    const Items items = store_items(*scene.store, wrong);
    if (!wrong.empty()) throw std::logic_error("after an error the store is wrong: " + wrong);
    state.items = next.items = items;
    state.synced = next.synced = true;
  });
}

std::string StoreSubject::check(const std::string& folder, unsigned steps, Crash crash) {
  const StoreWorld &before = worlds_[steps], &after = intended_[steps];
  const auto copy = [](const StoreWorld& world) { return world.copy ? &*world.copy : nullptr; };
  std::string wrong = check_store(folder + kStoreFile, &before.store, &after.store, crash);
  if (wrong.empty() && copies()) wrong = check_store(folder + kCopyFile, copy(before), copy(after), crash);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = "/" + entry.path().filename().string();
    const std::string whole = name.substr(0, name.find(".tmp-"));
    if (whole != kStoreFile && !(copies() && whole == kCopyFile)) wrong += "there is a file " + name;
  }
  return wrong;
}

/// It takes other items, and has all of them when it is opened again; what a copy that was not finished left is removed.
std::string StoreSubject::go_on(const std::string& folder) {
  const auto use = [&] {
    std::string wrong;
    StoreWorld expected;
    for (const bool again : {false, true}) {
      StoreScene scene = open_scene(folder, kAnyValue);
      const Items items = store_items(*scene.store, wrong);
      if (again && items != expected.store.items) wrong += "what was added is not there";
      if (!wrong.empty()) return wrong;
      if (again) continue;
      expected.store.items = items;
      set_items(kStoreNew, kStoreNew + kStoreNewItems, 7).act(scene, expected);
      erase_item(kStoreNew).act(scene, expected);
    }
    if (copies()) static_cast<void>(Pool::create(folder + kCopyFile, true));
    return wrong;
  };
  if (std::string wrong = used_further(use); !wrong.empty()) return wrong;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().string().find(".tmp-") != std::string::npos) return "no one removes " + entry.path().string();
  }
  return {};
}

}  // namespace holdfast::proof

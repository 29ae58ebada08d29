// pool_subject.cpp: the steps, and what a crash or a fault may leave of the directory.
#include "pool_subject.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <utility>

namespace holdfast::proof {

namespace {

constexpr const char* kFile = "/a.hold";
constexpr Tables kTables = {.value_bytes = 16, .capacity = 8};

std::set<std::string> names_of(const Objects& objects) {
  std::set<std::string> names;
  for (const auto& object : objects) names.insert(object.first);
  return names;
}

std::set<std::string> names_in(const Pool& pool) {
  std::set<std::string> names;
  for (const ObjectInfo& object : pool.objects()) names.insert(object.name);
  return names;
}

const PoolState* find(const Objects& objects, const std::string& name) {
  const auto found = objects.find(name);
  return found == objects.end() ? nullptr : &found->second;
}

PoolStep on_one(const std::string& name, std::function<void(PoolState&)> change, std::function<void(Table&)> act) {
  return {[=](Objects objects) {
            change(objects.at(name));
            return objects;
          },
          [=](PoolScene& scene) { act(scene.table(name)); }};
}

void mark_synced(PoolState& state) { state.synced = true; }

}  // namespace

Table& PoolScene::table(const std::string& name) {
  const auto found = tables.find(name);
  return found != tables.end() ? found->second : tables.emplace(name, pool->table(name, open_options())).first->second;
}

PoolStep add(const std::string& name, bool overwrite) {
  return {[=](Objects objects) {
            PoolState& state = objects[name];
            state = {.items = {}, .made = state.made + 1};
            return objects;
          },
          [=](PoolScene& scene) { scene.pool->create_table(name, create_options(kTables, overwrite)); }};
}

PoolStep put_in(const std::string& name, std::uint64_t first, std::uint64_t last, std::uint64_t version) {
  const auto change = [=](PoolState& state) {
    state.synced = false;
    for (std::uint64_t key = first; key < last; ++key) state.items[key] = version;
  };
  return on_one(name, change, [=](Table& table) {
    Items done;
    put_items(table, first, last, version, done);
    if (done.size() != last - first) throw NoSpace(table.path() + ": some rows found no space");
  });
}

PoolStep sync_one(const std::string& name) {
  return on_one(name, mark_synced, [](Table& table) { table.sync(); });
}

PoolStep close_one(const std::string& name) {
  PoolStep step = on_one(name, mark_synced, {});
  step.act = [name](PoolScene& scene) {
    scene.table(name).close();
    scene.tables.erase(name);
  };
  return step;
}

PoolStep rename(const std::string& name, const std::string& to, bool overwrite) {
  return {[=](Objects objects) {
            if (overwrite) objects.erase(to);
            auto node = objects.extract(name);
            node.key() = to;
            objects.insert(std::move(node));
            return objects;
          },
          [=](PoolScene& scene) {
            scene.pool->rename(name, to, overwrite);
            auto node = scene.tables.extract(name);
            if (node.empty()) return;
            node.key() = to;
            scene.tables.insert(std::move(node));
          }};
}

PoolStep drop(const std::string& name) {
  return {[=](Objects objects) {
            objects.erase(name);
            return objects;
          },
          [=](PoolScene& scene) { scene.pool->drop(name); }};
}

PoolStep close_all() {
  return {[](Objects objects) {
            for (auto& object : objects) mark_synced(object.second);
            return objects;
          },
          [](PoolScene& scene) {
            scene.pool->close();
            scene.tables.clear();
          }};
}

void PoolSubject::prepare(const std::string& folder) {
  PoolScene scene;
  scene.pool = Pool::create(folder + kFile);
  first_.clear();
  for (const PoolStep& step : {add("one"), put_in("one", 0, 10, 1), add("two"), put_in("two", 0, 3, 1), close_all()}) {
    step.act(scene);
    first_ = step.intended(first_);
  }
}

void PoolSubject::run(const std::string& folder, const std::function<void()>& said) {
  objects_ = {first_};
  intended_ = {first_};
  PoolScene scene;
  scene.pool = Pool::open(folder + kFile);
  for (const PoolStep& step : steps_) {
    intended_.back() = step.intended(objects_.back());
    try {
      step.act(scene);
    } catch (const Error&) {
      probe(scene);
      throw;
    }
    objects_.push_back(intended_.back());
    intended_.push_back(objects_.back());
    said();
  }
}

/// After a step that failed the pool takes no more changes, or the directory is as it was.
void PoolSubject::probe(PoolScene& scene) {
  if (!scene.pool->is_open()) return;
  const std::set<std::string> names = names_in(*scene.pool);
  if (names != names_of(objects_.back())) throw std::logic_error("an error has changed the directory");
  try {
    scene.pool->rename(*names.begin(), *names.begin());  // changes nothing, but is refused by a pool that is broken
  } catch (const Error&) {
    return;
  }
  for (const std::string& name : names) {  // rows of a batch that failed may be there
    PoolState& state = intended_.back()[name];
    if (find(objects_.back(), name)->made != state.made) state = *find(objects_.back(), name);
  }
  std::erase_if(intended_.back(), [&](const auto& object) { return names.count(object.first) == 0; });
}

std::string PoolSubject::check(const std::string& folder, unsigned steps, Crash crash) {
  const Objects &before = objects_[steps], &after = intended_[steps];
  try {
    Pool pool = Pool::open(folder + kFile);
    const std::set<std::string> names = names_in(pool);
    if (names != names_of(before) && names != names_of(after)) return "neither the old directory nor the new";
    for (const std::string& name : names) {
      const std::string wrong = check_table(pool, name, before, after, crash);
      if (!wrong.empty()) return name + ": " + wrong;
    }
    pool.close();
  } catch (const Error& error) {
    return std::string("does not open: ") + error.what();
  }
  return {};
}

std::string PoolSubject::check_table(Pool& pool, const std::string& name, const Objects& before, const Objects& after,
                                     Crash crash) {
  const PoolState *const old = find(before, name), *const next = find(after, name);
  const auto unsynced = [](const PoolState* state) { return state != nullptr && !state->synced; };
  std::string wrong;
  try {
    Table table = pool.table(name, open_options());
    const Items items = items_of(table, wrong);
    for (const std::string& error : table.check().errors) wrong += error + "; ";
    wrong += compare(items, old, next);
    table.close();
  } catch (const PowerLost& error) {
    if (crash != Crash::power || (!unsynced(old) && !unsynced(next))) {
      return std::string("refused, and nothing can be lost: ") + error.what();
    }
  }
  return wrong;
}

/// Another table is made in the pool, and dropped; what was there stays.
std::string PoolSubject::go_on(const std::string& folder) {
  try {
    Pool pool = Pool::open(folder + kFile);
    const std::set<std::string> names = names_in(pool);
    Items items;
    put_items(*std::make_unique<Table>(pool.create_table("new", create_options(kTables, false))), 0, 20, 1, items);
    pool.drop("new");
    if (names_in(pool) != names) return "used further, it has other tables";
  } catch (const Error& error) {
    return std::string("used further: ") + error.what();
  }
  return {};
}

}  // namespace holdfast::proof

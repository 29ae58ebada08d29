// steps.cpp: what each step does, and what it makes of the pools in a folder.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "system/calls.hpp"
#include "table_subject.hpp"

namespace holdfast::proof {

namespace {

World with(World world, const std::string& name, const std::function<void(PoolState&)>& change) {
  change(world[name]);
  return world;
}

constexpr std::uint64_t kMostBeforeGrowth = 1000;  // keys

std::string only_name(const World& world) { return world.empty() ? "" : world.begin()->first; }

std::string read_bytes(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The table's file is as it was when the process was killed.
void die_with(Scene& scene, const std::string& bytes) {
  const std::string path = scene.path(scene.name);
  scene.table.reset();
  ::unlink(path.c_str());
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Keeps the bytes of a file as they are whenever memory is given back: once when a growth has added its level, and goes on with the
/// tags for it.
class AtEachUnmap : public system::Observer {
 public:
  explicit AtEachUnmap(std::string path) : path_(std::move(path)), before_(system::observe(this)) {}
  ~AtEachUnmap() override { system::observe(before_); }
  int before(const system::Event& event) noexcept override {
    if (event.call == system::Call::munmap) kept_.push_back(read_bytes(path_));
    return before_ == nullptr ? 0 : before_->before(event);
  }
  void after(system::Event& event) noexcept override {
    if (before_ != nullptr) before_->after(event);
  }
  /// Those since it was last asked.
  std::vector<std::string> take() { return std::exchange(kept_, {}); }

 private:
  const std::string path_;
  std::vector<std::string> kept_;
  system::Observer* const before_;
};

/// Whether a pool of these bytes has a table whose levels grow.
bool is_resizing(const std::string& bytes, const std::string& scratch) {
  std::ofstream(scratch, std::ios::binary) << bytes;
  const bool is = inspect(scratch).objects.at(0).table.resizing;
  ::unlink(scratch.c_str());
  return is;
}

/// A step on the open table, which intends `change` to its state.
template <class Act>
Step on_table(std::string name, std::function<void(PoolState&)> change, Act act) {
  const auto intended = [change](const World& world) { return with(world, only_name(world), change); };
  const auto done = [act](Scene& scene, const World& world) {
    return with(world, scene.name, [&](PoolState& state) { act(*scene.table, state); });
  };
  return {std::move(name), intended, done};
}

}  // namespace

Step create(const std::string& name, const Tables& tables, bool overwrite) {
  const auto intended = [name](const World& world) {
    return with(world, name, [](PoolState& state) { state = {.items = {}, .made = state.made + 1}; });
  };
  return {"create", intended,
          [=](Scene& scene, const World& world) {
            scene.table.reset();
            scene.table = Table::create(scene.path(name), create_options(tables, overwrite));
            scene.name = name;
            return intended(world);
          },
          true};
}

Step open(const std::string& name) {
  return {"open", [](const World& world) { return world; },
          [name](Scene& scene, const World& world) {
            scene.table = Table::open(scene.path(name), open_options());
            scene.name = name;
            return world;
          }};
}

Step put(std::uint64_t first, std::uint64_t last, std::uint64_t version) {
  const auto change = [=](PoolState& state) {
    state.synced = false;
    for (std::uint64_t key = first; key < last; ++key) state.items[key] = version;
  };
  return on_table("put", change, [=](Table& table, PoolState& state) {
    state.synced = false;
    put_items(table, first, last, version, state.items);
  });
}

Step put_at(std::uint64_t first, std::uint64_t last, std::uint64_t step) {
  const auto change = [=](PoolState& state) {
    state.synced = false;
    state.step = std::max(state.step, step);
    for (std::uint64_t key = first; key < last; ++key) state.items[key] = step;
  };
  return on_table("put_at", change, [=](Table& table, PoolState& state) {
    state.synced = false;
    state.step = std::max(state.step, step);
    table.set_step(step);
    put_items(table, first, last, step, state.items);
  });
}

Step describe(const std::string& text) {
  const auto change = [text](PoolState& state) { state.description = text; };
  return on_table("describe", change, [=](Table& table, PoolState& state) {
    table.describe(text);
    change(state);
  });
}

Step erase(std::uint64_t first, std::uint64_t last) {
  const auto change = [=](PoolState& state) {
    state.synced = false;
    for (std::uint64_t key = first; key < last; ++key) state.items.erase(key);
  };
  return on_table("erase", change, [=](Table& table, PoolState& state) {
    state.synced = false;
    erase_items(table, first, last, state.items);
  });
}

Step clear() {
  const auto change = [](PoolState& state) {
    state.items.clear();
    state.synced = false;
  };
  return on_table("clear", change, [=](Table& table, PoolState& state) {
    table.clear();
    change(state);
  });
}

Step reserve(std::uint64_t items) {
  const auto change = [](PoolState& state) { state.synced = false; };
  return on_table("reserve", change, [=](Table& table, PoolState& state) {
    table.reserve(items);
    change(state);
  });
}

Step sync() {
  const auto change = [](PoolState& state) { state.synced = true; };
  return on_table("sync", change, [=](Table& table, PoolState& state) {
    table.sync();
    change(state);
  });
}

Step close() {
  const auto change = [](PoolState& state) { state.synced = true; };
  return on_table("close", change, [=](Table& table, PoolState& state) {
    table.close();
    change(state);
  });
}

Step snapshot(const std::string& target, bool overwrite) {
  const auto copied = [target](const World& world, const std::string& source) {
    const PoolState from = world.at(source);
    return with(world, target, [&](PoolState& state) {
      const unsigned made = state.made + 1;
      state = from;
      state.synced = true;
      state.made = made;
    });
  };
  return {"snapshot", [=](const World& world) { return copied(world, only_name(world)); },
          [=](Scene& scene, const World& world) {
            SnapshotOptions options;
            options.overwrite = overwrite;
            options.threads = 1;
            scene.table->snapshot(scene.path(target), options);
            return copied(world, scene.name);
          },
          true};
}

Step verify() {
  return on_table(
      "verify", [](PoolState&) {}, [](Table& table, PoolState&) { must_be_in_order(table.check()); });
}

Step verify_file(const std::string& name) {
  return {"verify_file", [](const World& world) { return world; },
          [name](Scene& scene, const World& world) {
            must_be_in_order(check(scene.path(name)));
            return world;
          }};
}

Step die() {
  const auto change = [](PoolState& state) { state.synced = false; };
  return {"die", {}, [change](Scene& scene, const World& world) {
            die_with(scene, read_bytes(scene.path(scene.name)));
            return with(world, scene.name, change);
          }};
}

Step die_growing(std::uint64_t first) {
  return {"die_growing", {}, [first](Scene& scene, const World& world) {
            PoolState state = world.at(scene.name), next = state;
            std::string bytes;
            for (std::uint64_t key = first; bytes.empty(); ++key) {
              if (key == first + kMostBeforeGrowth) throw std::logic_error("no resize was interrupted");
              state = next;
              std::vector<std::string> kept;
              {
                AtEachUnmap watch(scene.path(scene.name));
                put_items(*scene.table, key, key + 1, 1, next.items);
                kept = watch.take();
              }
              for (const std::string& each : kept) {
                if (bytes.empty() && is_resizing(each, scene.path("scratch"))) bytes = each;
              }
            }
            die_with(scene, bytes);
            state.synced = false;
            return with(world, scene.name, [&](PoolState& now) { now = state; });
          }};
}

}  // namespace holdfast::proof

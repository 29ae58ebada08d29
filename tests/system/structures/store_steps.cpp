// store_steps.cpp: what a store does under crashes and faults, step by step.
#include <cstring>
#include <span>
#include <stdexcept>

#include "holdfast/store_memory.hpp"
#include "holdfast/strings.hpp"
#include "store_contents.hpp"
#include "store_subject.hpp"

namespace holdfast::proof {

namespace {

void must_be(bool right, StoreStatus status) {
  if (!right) throw std::logic_error(std::string("a change returns ") + name(status));
}

/// A step that changes the store. `operation` returns false where there was no space.
StoreStep changing(std::function<void(StoreWorld&)> change, std::function<bool(StoreScene&)> operation) {
  return {[=](StoreWorld& world) {
            world.store.synced = false;
            change(world);
          },
          [=](StoreScene& scene, StoreWorld& world) {
            world.store.synced = false;
            if (operation(scene)) change(world);
          }};
}

/// A change of one key.
StoreStep on_key(std::function<void(StoreState&)> change, std::function<StoreStatus(Store&)> operation) {
  return changing([=](StoreWorld& world) { change(world.store); },
                  [=](StoreScene& scene) {
                    const StoreStatus status = operation(*scene.store);
                    const bool was_done = scene.again && status == StoreStatus::not_found;
                    must_be(status <= StoreStatus::erased || was_done || status == StoreStatus::no_space, status);
                    return status != StoreStatus::no_space;
                  });
}

StoreRows rows(const Strings& strings) { return {strings.bytes(), strings.offsets(), strings.size()}; }

void mark_store_synced(StoreWorld& world) { world.store.synced = true; }

}  // namespace

StoreStep set_item(std::uint64_t key, std::uint64_t version) {
  return on_key([=](StoreState& state) { state.items[key] = version; },
                [=](Store& store) { return store.set(key_text(key), value_text(key, version)); });
}

StoreStep set_evicting(std::uint64_t key, std::uint64_t version) {
  StoreStep step = set_item(key, version);
  const auto intended = step.intended;
  const auto act = step.act;
  step.intended = [=](StoreWorld& world) {
    intended(world);
    world.store.may_evict = true;
  };
  step.act = [=](StoreScene& scene, StoreWorld& world) {
    act(scene, world);
    if (!scene.store->contains(key_text(key))) throw std::logic_error("an item that was set is absent");
    std::erase_if(world.store.items,
                  [&](const auto& item) { return item.first != key && !scene.store->contains(key_text(item.first)); });
  };
  return step;
}

StoreStep set_items(std::uint64_t first, std::uint64_t last, std::uint64_t version) {
  return changing(
      [=](StoreWorld& world) {
        for (std::uint64_t key = first; key < last; ++key) world.store.items[key] = version;
      },
      [=](StoreScene& scene) {
        Strings keys, values;
        for (std::uint64_t key = first; key < last; ++key) {
          keys.add(key_text(key));
          values.add(value_text(key, version));
        }
        return scene.store->set(rows(keys), rows(values)) == 0;
      });
}

StoreStep fill_item(std::uint64_t key, std::uint64_t version) {
  return on_key([=](StoreState& state) { state.items[key] = version; },
                [=](Store& store) {
                  Strings keys;
                  keys.add(key_text(key));
                  const std::string value = value_text(key, version);
                  const std::uint64_t bytes = value.size();
                  StoreReservation reserved = store.reserve(rows(keys), std::span(&bytes, 1));
                  if (!reserved.has(0)) return StoreStatus::no_space;
                  std::size_t at = 0;
                  for (const std::span<std::byte> piece : reserved.pieces(0)) {
                    std::memcpy(piece.data(), value.data() + at, piece.size());
                    at += piece.size();
                  }
                  return reserved.commit(0);
                });
}

StoreStep append_nothing(std::uint64_t key) {
  return on_key([](StoreState&) {}, [=](Store& store) { return store.append(key_text(key), ""); });
}

StoreStep touch_item(std::uint64_t key) {
  return on_key([=](StoreState& state) { state.items[key] = state.items[key] % kTouched + kTouched; },
                [=](Store& store) { return store.touch(key_text(key), kLateExpiry); });
}

StoreStep erase_item(std::uint64_t key) {
  return on_key([=](StoreState& state) { state.items.erase(key); },
                [=](Store& store) { return store.erase(key_text(key)); });
}

StoreStep flush_items() {
  return changing(
      [](StoreWorld& world) {
        world.store.items.clear();
        ++world.store.made;  // all of them, or none
      },
      [](StoreScene& scene) {
        scene.store->flush_all();
        return true;
      });
}

StoreStep sync_store() {
  return {mark_store_synced, [](StoreScene& scene, StoreWorld& world) {
            scene.store->sync();
            mark_store_synced(world);
          }};
}

StoreStep copy_store() {
  const auto copied = [](StoreWorld& world) {
    world.copy = world.store;
    world.copy->synced = true;
  };
  return {copied,
          [=](StoreScene& scene, StoreWorld& world) {
            scene.pool->snapshot(scene.folder + kCopyFile, {.threads = 1});
            copied(world);
          },
          true};
}

StoreStep close_store() {
  return {mark_store_synced, [](StoreScene& scene, StoreWorld& world) {
            scene.store->close();
            scene.pool->close();
            mark_store_synced(world);
          }};
}

}  // namespace holdfast::proof

// store_marks_test.cpp: the calls of a store, and the clean mark where time passes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "holdfast/store_memory.hpp"
#include "holdfast/store_pipeline.hpp"
#include "holdfast/strings.hpp"
#include "mark_calls.hpp"
#include "support/folder.hpp"

namespace holdfast::proof {

namespace {

using Changed = std::function<void(Store& store)>;

MarkCall store_call(const char* name, const Changed& act) {
  return {name, [act](MarkScene& scene) { act(*scene.store); }};
}

StoreRows rows_of(const Strings& strings) { return {strings.bytes(), strings.offsets(), strings.size()}; }

const Strings& two_keys() {
  static const Strings keys{std::vector<std::string>{"k1", "k2"}};
  return keys;
}

void submit(Store& store, const StoreRequest& request) {
  StorePipeline pipeline(store);
  StoreCaller caller = pipeline.caller();
  StoreBatch batch;
  batch.add(request);
  if (!caller.try_submit(batch)) caller.submit(batch);
  caller.wait(batch);
  batch.answer(0);  // throws what kept it from being executed
}

}  // namespace

MarkKind store_kind() {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 47;
  MarkKind made = {.name = "store", .type = "Store", .objects = {"s"}};
  made.make = [](Pool& pool) {
    Store store = Store::create(pool, "s", {.seed = 42});
    for (int i = 0; i < 20; ++i) store.set("k" + std::to_string(i), std::to_string(i));
  };
  made.open = [](MarkScene& scene) { scene.store = Store::open(*scene.pool, "s"); };
  made.sync = [](MarkScene& scene) { scene.store->sync(); };
  made.changes = {store_call("set", [](Store& store) { store.set("new", "1"); }),
                  store_call("set a batch", [](Store& store) { store.set(rows_of(two_keys()), rows_of(two_keys())); }),
                  store_call("add", [](Store& store) { store.add("added", "1"); }),
                  store_call("replace", [](Store& store) { store.replace("k3", "x"); }),
                  store_call("cas", [](Store& store) { store.cas("k3", "y", store.get("k3")->cas); }),
                  store_call("append", [](Store& store) { store.append("k3", "z"); }),
                  store_call("prepend", [](Store& store) { store.prepend("k3", "w"); }),
                  store_call("increment",
                             [](Store& store) {
                               std::uint64_t result = 0;
                               store.increment("k4", 1, result);
                             }),
                  store_call("decrement",
                             [](Store& store) {
                               std::uint64_t result = 0;
                               store.decrement("k4", 2, result);
                             }),
                  store_call("touch", [](Store& store) { store.touch("k5", kFar); }),
                  store_call("get_and_touch", [](Store& store) { store.get_and_touch("k6", kFar); }),
                  store_call("mark_stale", [](Store& store) { store.mark_stale("k7"); }),
                  store_call("erase", [](Store& store) { store.erase("k8"); }),
                  store_call("erase a batch", [](Store& store) { store.erase(rows_of(two_keys())); }),
                  store_call("reserve",
                             [](Store& store) {
                               const std::uint64_t bytes[] = {10, 10};
                               StoreReservation rows = store.reserve(rows_of(two_keys()), bytes);
                               for (std::byte& byte : rows.pieces(0)[0]) byte = std::byte{7};
                             }),
                  store_call("StoreReservation::commit",
                             [](Store& store) {
                               const std::uint64_t bytes[] = {10, 10};
                               StoreReservation rows = store.reserve(rows_of(two_keys()), bytes);
                               for (std::byte& byte : rows.pieces(0)[0]) byte = std::byte{7};
                               rows.commit(0);
                             }),
                  store_call("StoreCaller::submit",
                             [](Store& store) {
                               submit(store, {.op = StoreOp::set, .key = "new", .value = "1"});
                               submit(store, {.op = StoreOp::erase, .key = "k9"});
                             }),
                  store_call("StoreReservation::copy_in",
                             [](Store& store) {
                               const std::uint64_t bytes[] = {10, 10};
                               StoreReservation rows = store.reserve(rows_of(two_keys()), bytes);
                               const StoreSource part[] = {{1, 2, "eight by", 8}};
                               rows.copy_in(part).wait();
                             }),
                  store_call("flush_all_at", [](Store& store) { store.flush_all_at(kFar); }),
                  store_call("flush_all", [](Store& store) { store.flush_all(); }),
                  store_call("reclaim", [](Store& store) {
                    for (int i = 0; i < 4; ++i) store.reclaim();
                  })};
  made.reads = {
      {"snapshot", [](MarkScene& scene) { scene.store->snapshot(scene.folder + "/b.hold", {.overwrite = true}); }},
      store_call("get", [](Store& store) { store.get("k1"); }),
      store_call("drop_damaged", [](Store& store) { store.drop_damaged(); }),  // nothing is
      store_call("get a batch",
                 [](Store& store) {
                   StoreItems items;
                   store.get(rows_of(two_keys()), items);
                 }),
      store_call("get into an array",
                 [](Store& store) {
                   char values[2][8];
                   store.get(rows_of(two_keys()), {values, 8});
                 }),
      store_call("getk",
                 [](Store& store) {
                   StoreCandidates candidates;
                   store.getk(rows_of(two_keys()), candidates);
                 }),
      store_call("contains", [](Store& store) { store.contains("k1"); }),
      store_call("for_each",
                 [](Store& store) { store.for_each([](std::string_view, const StoreItem&) { return true; }); }),
      store_call("visit_some",
                 [](Store& store) {
                   StoreScan scan;
                   store.visit_some(scan, [](std::string_view, const StoreItem&) { return true; });
                 }),
      store_call("lookup", [](Store& store) { store.lookup(rows_of(two_keys())); }),
      store_call("lease", [](Store& store) { store.lease(rows_of(two_keys())).pieces(0); }),
      store_call("StoreCaller::try_submit", [](Store& store) { submit(store, {.key = "k1"}); }),
      store_call("lease_present", [](Store& store) { store.lease_present(rows_of(two_keys())).bytes(0); }),
      store_call("StoreLease::copy_out",
                 [](Store& store) {
                   std::byte target[1];
                   const StoreTarget part[] = {{0, 0, target, 1}};
                   store.lease(rows_of(two_keys())).copy_out(part).wait();
                 }),
      store_call("size", [](Store& store) { store.size(); }),
      store_call("stats", [](Store& store) { store.stats(); }),
      store_call("set_limit", [](Store& store) { store.set_limit(64 << 20); }),
      store_call("check", [](Store& store) { store.check(); })};
  return made;
}

namespace {

/// A read that lets time pass writes it, and a store that has changed is not clean.
TEST(StoreMarks, TimeClearsThem) {
  const test::Folder folder;
  MarkScene scene{.folder = folder.path()};
  scene.pool = Pool::create(scene.path());
  const auto is_clean = [&] { return inspect(scene.path()).objects.at(0).clean; };
  {
    Store store = Store::create(*scene.pool, "s");
    const std::uint64_t soon = store.now() + 2;
    store.set("k", "v", {.expiry = soon});
    store.sync();
    EXPECT_TRUE(is_clean());
    while (store.contains("k")) continue;  // ends: its time comes
    EXPECT_FALSE(is_clean());
    store.sync();
    EXPECT_TRUE(is_clean());
    for (const std::uint64_t now = store.now(); store.now() == now;) continue;
    EXPECT_FALSE(is_clean());
  }
  EXPECT_TRUE(is_clean());
  scene.close();
}

}  // namespace
}  // namespace holdfast::proof

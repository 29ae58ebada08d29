// subjects.cpp: what users do with a pool, each as short as it can be.
#include "subjects.hpp"

#include <functional>
#include <map>

#include "pool_subject.hpp"
#include "structures/heap_subject.hpp"
#include "structures/store_subject.hpp"
#include "structures/structure_subject.hpp"
#include "table_subject.hpp"

namespace holdfast::proof {

namespace {

constexpr Tables kCells = {.value_bytes = 16, .capacity = 8};
constexpr Tables kLarge = {.value_bytes = 16, .capacity = 150'000};  // extents of huge pages
constexpr Tables kSpacious = {.value_bytes = 16, .capacity = 1000};  // a snapshot holds a compact copy
constexpr Tables kSteps = {.value_bytes = 16, .capacity = 8, .score = Score::step};
constexpr Tables kInSlots = {.value_bytes = 8, .capacity = 8};

using Steps = std::vector<Step>;

/// A pool of ten items, closed.
Steps closed(const Tables& tables) { return {create("a.hold", tables), put(0, 10, 1), close()}; }

/// The same, of a process that was killed when it had changed them; and one that was killed while the levels grew.
Steps killed(const Tables& tables) {
  return {create("a.hold", tables), put(0, 10, 1), sync(), put(5, 15, 2), erase(0, 3), die()};
}
Steps resizing() { return {create("a.hold", kInSlots), put(0, 10, 1), sync(), die_growing(10)}; }

struct Definition {
  Tables tables;
  Steps before, steps;
};

const std::map<std::string, Definition>& definitions() {
  static const std::map<std::string, Definition> all = {
      {"create", {kCells, {}, {create("a.hold", kCells), put(0, 3, 1), sync()}}},
      {"create_over", {kCells, closed(kCells), {create("a.hold", kCells, true), put(0, 3, 2), close()}}},
      {"change", {kCells, closed(kCells), {open("a.hold"), put(5, 15, 2), erase(0, 3), sync(), put(0, 2, 3), close()}}},
      {"change_in_slots", {kInSlots, closed(kInSlots), {open("a.hold"), put(5, 15, 2), erase(0, 3), sync(), close()}}},
      {"grow_levels", {kInSlots, closed(kInSlots), {open("a.hold"), put(100, 300, 2), close()}}},
      {"grow_heap", {kCells, closed(kCells), {open("a.hold"), put(100, 300, 2), sync(), put(300, 310, 3), close()}}},
      {"clear", {kCells, closed(kCells), {open("a.hold"), clear(), sync(), put(0, 3, 2), close()}}},
      {"reserve", {kCells, closed(kCells), {open("a.hold"), reserve(200), put(0, 3, 2), close()}}},
      {"create_large", {kLarge, {}, {create("a.hold", kLarge), put(0, 3, 1), close()}}},
      {"open_killed", {kCells, killed(kCells), {open("a.hold"), put(0, 3, 3), close()}}},
      {"open_resizing", {kInSlots, resizing(), {open("a.hold"), put(0, 3, 3), close()}}},
      {"described",
       {kCells,
        {create("a.hold", kCells), describe("as it was"), put(0, 10, 1), close()},
        {open("a.hold"), describe("a longer description of its keys and values"), put(5, 15, 2), describe("short"),
         sync(), describe("clean"), close()}}},
      {"stepped",
       {kSteps,
        {create("a.hold", kSteps), put_at(0, 10, 3), close()},
        {open("a.hold"), put_at(5, 8, 5), put_at(8, 15, 9), sync(), put_at(0, 2, 1 << 20), close()}}},
      {"check", {kCells, closed(kCells), {open("a.hold"), verify(), put(0, 3, 3), close(), verify_file("a.hold")}}},
      {"check_killed", {kCells, killed(kCells), {verify_file("a.hold"), open("a.hold")}}},
      {"snapshot", {kCells, closed(kCells), {open("a.hold"), snapshot("b.hold"), put(0, 3, 2), close()}}},
      {"snapshot_compact", {kSpacious, closed(kSpacious), {open("a.hold"), snapshot("b.hold"), put(0, 3, 2), close()}}},
      {"snapshot_over",
       {kCells,
        {create("a.hold", kCells), put(0, 10, 1), snapshot("b.hold"), put(0, 10, 2), close()},
        {open("a.hold"), put(3, 6, 3), snapshot("b.hold", true), close()}}},
  };
  return all;
}

const std::map<std::string, std::vector<PoolStep>>& pools() {
  static const std::map<std::string, std::vector<PoolStep>> all = {
      {"objects", {add("three"), rename("two", "third"), drop("one"), add("three", true), close_all()}},
      {"object_renamed_over", {add("three"), rename("one", "two", true), put_in("two", 5, 12, 2), close_all()}},
      {"object_replaced", {add("one", true), put_in("one", 0, 5, 2), close_all()}},
      {"objects_changed",
       {put_in("one", 5, 12, 2), put_in("two", 0, 2, 2), sync_one("two"), rename("one", "uno"), close_one("two"),
        close_all()}},
  };
  return all;
}

/// A table grows by an insert that finds no cell, and on demand.
template <Scheme kScheme, bool kWide = false>
std::unique_ptr<Subject> growing() {
  const std::uint64_t keys = keys_before_growth(kScheme, kWide);
  return std::make_unique<StructureSubject>(
      kScheme, kWide, keys - 1, false,
      std::vector<StructureStep>{erase_one(3), insert_one(3, 2), insert_one(keys - 1, 2), insert_one(keys, 2),
                                 assign_one(0, 3), sync_structure(), assign_one(1, 3), grow_once(),
                                 insert_one(keys + 1, 4), close_structure()});
}
/// A change was cut off when it is opened.
template <Scheme kScheme, bool kWide = false>
std::unique_ptr<Subject> killed_structure() {
  return std::make_unique<StructureSubject>(
      kScheme, kWide, 40, true, std::vector<StructureStep>{assign_one(0, 2), insert_one(50, 2), close_structure()});
}
/// A store is changed in every way; memory is lacking, so that large values evict others.
std::unique_ptr<Subject> changing_store() {
  return std::make_unique<StoreSubject>(
      10, false,
      std::vector<StoreStep>{set_item(20, 2), set_item(0, 2), touch_item(1), append_nothing(1), erase_item(2),
                             fill_item(3, 2), set_items(4, 8, 3), sync_store(), set_item(9, kLargeValue),
                             set_item(8, kLargeValue), set_item(7, kLargeValue), set_item(6, kLargeValue),
                             set_evicting(5, kLargeValue), flush_items(), set_item(0, 4), close_store()},
      StoreOptions{.limit_bytes = 8u << 20, .evict = true});
}
/// Its heap grows, and a value lies in chunks.
std::unique_ptr<Subject> growing_store() {
  return std::make_unique<StoreSubject>(
      10, false,
      std::vector<StoreStep>{set_item(1, kChunkedValue), fill_item(1, kChunkedValue + 1), erase_item(1), close_store()},
      StoreOptions{.max_value_bytes = 4u << 20});
}
/// A key has two items when it is opened.
std::unique_ptr<Subject> killed_store() {
  return std::make_unique<StoreSubject>(20, true, std::vector<StoreStep>{set_item(0, 3), close_store()});
}
/// A snapshot of its pool is made while it is open.
std::unique_ptr<Subject> copied_store() {
  return std::make_unique<StoreSubject>(
      10, false, std::vector<StoreStep>{set_item(0, 2), copy_store(), set_item(0, 3), close_store()});
}
/// A heap of no table grows and shrinks, in one piece of the file and in several.
std::unique_ptr<Subject> changing_heap() {
  return std::make_unique<HeapSubject>(
      std::vector<HeapStep>{write_heap(1, 2), grow_heap(2, 3), end_adjacency(), grow_heap(3, 4), sync_heap(),
                            shrink_heap(7), write_heap(6, 5), shrink_heap(3), grow_heap(1, 6), close_heap()});
}
using MakeSubject = std::unique_ptr<Subject> (*)();
const std::map<std::string, MakeSubject>& others() {
  static const std::map<std::string, MakeSubject> all = {
      {"heap_changes", changing_heap},
      {"group_grows", growing<Scheme::group>},
      {"group_grows_wide", growing<Scheme::group, true>},
      {"group_killed", killed_structure<Scheme::group, true>},
      {"linear_grows", growing<Scheme::linear>},
      {"linear_killed", killed_structure<Scheme::linear>},
      {"pfht_grows", growing<Scheme::pfht>},
      {"pfht_killed", killed_structure<Scheme::pfht>},
      {"path_grows", growing<Scheme::path>},
      {"path_killed", killed_structure<Scheme::path>},
  };
  return all;
}
const std::map<std::string, MakeSubject>& stores() {
  static const std::map<std::string, MakeSubject> all = {
      {"store_changes", changing_store},
      {"store_grows", growing_store},
      {"store_killed", killed_store},
      {"store_copied", copied_store},
  };
  return all;
}

}  // namespace

std::vector<std::string> subject_names(bool large) {
  std::vector<std::string> names;
  for (const auto& pool : pools()) names.push_back(pool.first);
  for (const auto& other : others()) names.push_back(other.first);
  for (const auto& [name, definition] : definitions()) {
    if (large || definition.tables.capacity < kLarge.capacity) names.push_back(name);
  }
  return names;
}

std::unique_ptr<Subject> make_subject(const std::string& name) {
  if (const auto store = stores().find(name); store != stores().end()) return store->second();
  if (const auto pool = pools().find(name); pool != pools().end()) return std::make_unique<PoolSubject>(pool->second);
  if (const auto other = others().find(name); other != others().end()) return other->second();
  const Definition& definition = definitions().at(name);
  return std::make_unique<TableSubject>(definition.tables, definition.before, definition.steps);
}

}  // namespace holdfast::proof

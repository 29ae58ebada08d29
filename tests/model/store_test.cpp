// store_test.cpp: the store's items, the code that ships, in every order of their callers, crashed at each access and again in recovery;
// and each of its steps left out. Rules 24, 25.
#include <gtest/gtest.h>

#include "crash_counts.hpp"
#include "store/model/explore.hpp"

namespace holdfast::store::model {
namespace {

constexpr proof::NamedFlavour<Flavour> kMemories[] = {{Flavour::process, "process"}, {Flavour::power, "power"}};

std::vector<Scenario> scenarios() {
  const Operation old0{Op::set, 0, 1}, old1{Op::set, 1, 2};
  const auto set = [](unsigned key, unsigned number) { return Operation{Op::set, key, number}; };
  const auto erase = [](unsigned key) { return Operation{Op::erase, key, 0}; };
  const auto find = [](unsigned key) { return Operation{Op::find, key, 0}; };
  const auto touch = [](unsigned key, unsigned expiry) { return Operation{Op::touch, key, expiry}; };
  const auto get_and_touch = [](unsigned expiry) { return Operation{Op::get_and_touch, 0, expiry}; };
  const auto wide = [](unsigned key, unsigned number) { return Operation{Op::set, key, number, 6}; };
  const auto forged = [](unsigned key) { return Operation{Op::set, key, kForger, kForgerWords}; };
  const Operation wide0 = wide(0, 1);
  const auto large = [](unsigned key, unsigned number, unsigned words = 8) {
    return Operation{Op::set_large, key, number, words};
  };
  const Operation large0 = large(0, 1), expiring_large{Op::set_large, 0, 1, 8, 5};
  const auto add = [](unsigned number) { return Operation{Op::add, 0, number}; };
  const auto replace = [](unsigned number) { return Operation{Op::replace, 0, number}; };
  const auto increase = [](unsigned by) { return Operation{Op::increase, 0, by}; };
  const auto expiring = [](unsigned number, unsigned time) { return Operation{Op::set, 0, number, 1, time}; };
  const auto pass_time = [](unsigned time) { return Operation{Op::pass_time, 0, time}; };
  const auto looked_up = [](Operation operation) {
    operation.is_looked_up = true;
    return operation;
  };
  const Operation evict{Op::evict}, flush{Op::flush_all};
  const Shape two{1, 2}, three{1, 3};
  const Shape planned{1, 2, false, kMostKeys, 0, 5}, planned_and_numbered{1, 2, false, kMostKeys, 4, 5};
  return {
      {"an item is set, replaced and erased", {1, 1}, {}, {{set(0, 3), set(0, 4), erase(0), set(0, 5)}}},
      {"items of two lines", {1, 2}, {}, {{wide(0, 3), wide(0, 4), erase(0), wide(0, 5)}}},
      {"a cell goes to another key", {2, 1}, {old0}, {{erase(0), set(1, 3), erase(1)}, {find(0)}}},
      {"a cell of two lines goes to another key", {2, 1}, {wide0}, {{erase(0), wide(1, 3)}, {find(0)}}},
      {"a piece gets larger cells, and smaller ones", {1, 1}, {old0}, {{erase(0), wide(0, 3), erase(0), set(0, 4)}}},
      {"a piece gets larger cells beside a search", {2, 1}, {old0}, {{erase(0), wide(1, 3)}, {find(0)}}},
      {"a piece gets smaller cells beside a search", {2, 1}, {wide0}, {{erase(0), set(1, 3)}, {find(0)}}},
      {"two pieces exchange their classes", {1, 2}, {old0}, {{wide(0, 3), set(0, 4), wide(0, 5)}}},
      {"bytes of a value look like an item", {1, 1}, {}, {{forged(0), erase(0), set(0, 4), set(0, 5)}}},
      {"a search beside two pieces that exchange their classes", {1, 2}, {old0}, {{wide(0, 3), wide(0, 5)}, {find(0)}}},
      {"two set one key", {1, 2}, {old0}, {{set(0, 3)}, {set(0, 4)}}},
      {"two set one new key, of two lines", {1, 3}, {}, {{wide(0, 3)}, {wide(0, 4)}}},
      {"a search beside two that set its key", {1, 2}, {old0}, {{set(0, 3)}, {set(0, 4)}, {find(0)}}},
      {"set beside erase", {1, 2}, {old0}, {{set(0, 3)}, {erase(0)}}},
      {"a search beside set and set", {1, 1}, {old0}, {{set(0, 3), set(0, 4)}, {find(0)}}},
      {"searches beside erase and set", {1, 1}, {old0}, {{erase(0), set(0, 3)}, {find(0), find(0)}}},
      {"touch, then erase", {1, 1}, {old0}, {{touch(0, 7), touch(0, 8), erase(0), touch(0, 9)}}},
      {"touch beside erase", {1, 1}, {old0}, {{touch(0, 7)}, {erase(0)}}},
      {"touch beside set", {1, 2}, {old0}, {{touch(0, 7)}, {set(0, 3)}}},
      {"searches beside touch", {1, 1}, {old0}, {{touch(0, 7)}, {find(0), find(0)}}},
      {"get and touch, then erase", {1, 1}, {old0}, {{get_and_touch(7), get_and_touch(8), erase(0), get_and_touch(9)}}},
      {"get and touch beside set", {1, 2}, {old0}, {{get_and_touch(7)}, {set(0, 3)}}},
      {"get and touch beside erase and set", {1, 2}, {old0}, {{get_and_touch(7)}, {erase(0), set(0, 3)}}},
      {"two keys", {2, 3}, {old0, old1}, {{set(0, 3)}, {set(1, 4)}}},
      {"two keys with one signature", {2, 3, true}, {old0, old1}, {{set(0, 3), erase(0)}, {set(1, 4)}}},
      {"a search beside keys with its signature",
       {3, 3, true},
       {old0, old1},
       {{erase(1), set(2, 3)}, {find(0), find(2)}}},
      {"a search whose key and its cell's next one have one signature",
       {2, 1, true},
       {old0},
       {{erase(0), set(1, 3)}, {find(0)}}},
      {"the index has no memory", {2, 2, false, 1}, {old0}, {{set(1, 3), set(0, 4), erase(0), set(1, 5)}}, true},
      {"numbers are reserved", {1, 1, false, kMostKeys, 2}, {}, {{set(0, 3), set(0, 4), set(0, 5)}}},
      {"two draw numbers", {2, 3, false, kMostKeys, 1}, {}, {{set(0, 3)}, {set(1, 4)}}},
      {"two add", two, {}, {{add(3)}, {add(4)}}},
      {"add beside erase", two, {old0}, {{add(3)}, {erase(0)}}},
      {"replace beside erase", two, {old0}, {{replace(3)}, {erase(0)}}},
      {"two increase", three, {old0}, {{increase(3)}, {increase(4)}}},
      {"an item is evicted", {2, 2}, {old0}, {{evict, set(1, 3), erase(1)}}},
      {"eviction beside set", two, {old0}, {{evict}, {set(0, 3)}}},
      {"eviction beside erase and set", two, {old0}, {{evict}, {erase(0), set(0, 3)}}},
      {"a search beside eviction", two, {old0}, {{evict}, {find(0)}}},
      {"an item expires", two, {expiring(1, 5)}, {{pass_time(5), find(0), add(3), erase(0)}}},
      {"searches beside the end of an item's time", {1, 1}, {expiring(1, 5)}, {{pass_time(5)}, {find(0), find(0)}}},
      {"touch beside the end of an item's time", {1, 1}, {expiring(1, 5)}, {{pass_time(5), find(0)}, {touch(0, 9)}}},
      {"add beside the end of an item's time", two, {expiring(1, 5)}, {{pass_time(5)}, {add(3)}}},
      {"everything is flushed", two, {old0}, {{flush, find(0), add(3), erase(0)}}},
      {"flush beside set and search", two, {old0}, {{flush}, {set(0, 3), find(0)}}},
      {"flush beside add", two, {old0}, {{flush}, {add(3), find(0)}}},
      {"flush beside a search", {1, 1}, {old0}, {{flush}, {find(0), find(0)}}},
      {"a planned flush", planned, {old0}, {{pass_time(5), find(0), set(0, 3), find(0)}}},
      {"searches beside a planned flush", planned, {old0}, {{pass_time(6)}, {find(0), find(0)}}},
      {"a flush is planned", two, {old0}, {{Operation{Op::plan_flush, 0, 5}, set(0, 3)}}},
      {"a set that knows that the time of a planned flush has come",
       planned,
       {expiring(1, 5)},
       {{pass_time(6)}, {find(0), set(0, 3)}}},
      {"a set behind a planned flush", planned_and_numbered, {old0}, {{pass_time(6), set(0, 3)}, {find(0)}}},
      {"a value in a chunk", {1, 3}, {}, {{large(0, 3), large(0, 4), erase(0), large(0, 5)}}},
      {"a value in two chunks", {1, 3}, {}, {{large(0, 3, 12), erase(0), set(0, 4)}}},
      {"a chunk goes to another key", {2, 3}, {large0}, {{erase(0), large(1, 3), erase(1)}}},
      {"a search beside the change of a chunk", {1, 3}, {large0}, {{large(0, 3)}, {find(0)}}},
      {"a search beside a chunk that goes to another item", {2, 2}, {large0}, {{erase(0), large(1, 3)}, {find(0)}}},
      {"a search beside a chunk that becomes an item", {2, 2}, {large0}, {{erase(0), wide(1, 3)}, {find(0)}}},
      {"a search whose item's chunk goes to another item, and its cell does not",
       {2, 2},
       {old1, large0, erase(1)},
       {{erase(0), large(1, 3)}, {find(0)}}},
      {"two set one key in chunks", {1, 4}, {}, {{large(0, 3)}, {large(0, 4)}}},
      {"no cell is left for a chunk", {1, 2}, {large0}, {{large(0, 3), erase(0), large(0, 4)}}, true},
      {"changes that were looked up before",
       {2, 3},
       {old1},
       {{looked_up(set(0, 3)), looked_up(erase(1)), looked_up(set(0, 4)), looked_up(set(1, 5)),
         looked_up(touch(1, 7))}}},
      {"items of two lines that were looked up before",
       {1, 3},
       {wide0},
       {{looked_up(wide(0, 3)), looked_up(wide(0, 4)), looked_up(erase(0)), looked_up(wide(0, 5))}}},
      {"changes that were looked up before, beside set", {1, 3}, {old0}, {{looked_up(set(0, 3))}, {set(0, 5)}}},
      {"changes that were looked up before, beside search and erase",
       {2, 3},
       {old0},
       {{looked_up(set(0, 3)), looked_up(touch(0, 7))}, {find(0), erase(0)}}},
      {"erase that was looked up before, and the cell goes to another key",
       {2, 1},
       {old0},
       {{looked_up(erase(0))}, {erase(0), set(1, 3)}}},
      {"a new key that was looked up before, beside set and erase",
       {1, 2},
       {},
       {{looked_up(add(3))}, {set(0, 4), erase(0)}}},
      {"two changes that were looked up before, of one key",
       {1, 3},
       {old0},
       {{looked_up(set(0, 3)), looked_up(erase(0))}, {looked_up(set(0, 4))}}},
      {"changes that were looked up before, beside others",
       {2, 4},
       {old0},
       {{looked_up(set(0, 3)), looked_up(set(1, 4))}, {looked_up(set(0, 5)), looked_up(erase(1))}}},
      {"changes that were looked up before, of one signature",
       {3, 3, true},
       {old0, old1},
       {{looked_up(set(0, 3)), looked_up(erase(1))}, {find(0)}}},
      {"no cell is left", {2, 1}, {old0, old1}, {{set(0, 3), erase(1), set(0, 4)}}, true},
      {"a damaged item is set anew", {2, 2}, {old0, old1}, {{set(0, 3), set(1, 4), erase(0)}}, false, 0},
      {"a damaged item is erased", {2, 1}, {old0, old1}, {{erase(0), set(0, 3), erase(1)}, {find(0)}}, false, 0},
      {"two set a damaged item anew", {1, 2}, {old0}, {{set(0, 3)}, {set(0, 4)}}, false, 0},
      {"damaged items of two lines", {2, 3}, {wide0, old1}, {{erase(0), wide(1, 3), wide(0, 4)}}, false, 0},
      {"changes that were looked up before meet a damaged item",
       {2, 3},
       {old0, old1},
       {{looked_up(erase(0)), looked_up(set(1, 3)), looked_up(set(0, 4)), looked_up(set(1, 5))}},
       false,
       0},
      {"the chunk of an item that was flushed before the opening",
       {2, 3, false, kMostKeys, 4},
       {large0, flush},
       {{large(1, 3), wide(0, 4)}},
       true,
       -1,
       true},
      {"the chunk of an item that expired before the opening goes to another class",
       {2, 3, false, kMostKeys, 4},
       {expiring_large, pass_time(5)},
       {{set(1, 3), set(1, 4), set(0, 5), wide(1, 6)}},
       true,
       -1,
       true},
      {"the lines of an item that was flushed before the opening",
       {2, 1, false, kMostKeys, 4},
       {wide0, flush},
       {{wide(1, 3), erase(1), set(1, 4)}},
       false,
       -1,
       true},
      {"damage, and the index has no memory",
       {2, 2, false, 1},
       {old0},
       {{set(1, 3), set(0, 4), erase(1), set(0, 5)}},
       true,
       0},
  };
}

TEST(StoreModel, EveryOrderAndEveryCrashIsRight) {
  proof::expect_counts(scenarios(), kMemories[0], {339544, 372960, 16428, 33835, 17407});
  proof::expect_counts(scenarios(), kMemories[1], {624694, 651003, 88401, 177809, 89408});
}

TEST(StoreModel, EveryStepIsNeeded) {
  proof::expect_steps_needed(left_out, [] { return proof::first_failure(scenarios(), kMemories); });
}

}  // namespace
}  // namespace holdfast::store::model

// group_schedules.cpp: scenarios of inserts that become durable together (structures/gphash/protocol/added_group.hpp).
#include "scenarios.hpp"

namespace holdfast::gphash::model {

namespace {

/// Keys of a table of two buckets of two slots, a version lock each.
std::vector<std::uint64_t> keys_at(const ModelShape& shape, unsigned count, std::uint64_t first, std::uint64_t second) {
  return keys_where(count, [&](const auto&, std::uint64_t key) {
    return bucket(shape, key, 0, 0) == first && bucket(shape, key, 0, 1) == second;
  });
}

Submission batch(std::vector<Operation> operations) { return {std::move(operations), false}; }

void add_groups_of(const Items& items, std::vector<Scenario>& to, Flavour flavour) {
  const ModelShape shape = one_level(items);
  const std::uint64_t a = keys_at(shape, 1, 0, 1)[0], b = keys_at(shape, 1, 1, 0)[0];
  const auto add = [&](const char* name, const std::vector<Operation>& setup, std::vector<Submission> changes,
                       std::vector<Submission> others) -> Scenario& {
    Scenario scenario = blank(name, flavour, shape);
    scenario.setup = setup;
    scenario.callers = {std::move(changes), std::move(others)};
    to.push_back(scenario);
    return to.back();
  };
  add("a group of two inserts under searches", {}, {batch({insert(a, 4), insert(b, 8)})}, {one(find(a)), one(find(b))});
  add("a group with the reserved key", {}, {batch({insert(a, 4), insert(kReserved, 8), insert(b, 16)})},
      {one(find(kReserved))});
  add("groups that want each other's keys", {}, {batch({insert(a, 4), insert(b, 8)})},
      {batch({insert_or_assign(b, 16), insert_or_assign(a, 32)})});
  add("a group, and a search for one of its keys", {}, {batch({insert(a, 4), insert(b, 8), find(a), find(b)})},
      {one(find(b))});
  add("a group, and changes of its keys", {}, {batch({insert(a, 4), insert(b, 8), assign(a, 16), erase(b)})},
      {one(find(a))});
  add("a group under a change of one of its keys", {}, {batch({insert(a, 4), insert(b, 8)})},
      {one(insert_or_assign(b, 16)), one(erase(b))});
  // An item of the group takes the slot that the last insert needs, and can move once it is there.
  const auto only0 = keys_at(shape, 3, 0, 0), only1 = keys_at(shape, 1, 1, 1);
  add("an item of a group moves",
      {insert(only0[0], 1), insert(only0[1], 2), insert(a, 4), insert(only1[0], 8), erase(only0[1])},
      {batch({insert(b, 16), erase(a), insert(only0[2], 32)})}, {one(find(b))});
  Scenario& few = add("a group that finds too few cells", {}, {batch({insert(a, 1), insert(b, 4)})}, {one(find(a))});
  few.shape.cells = 2;
  few.may_be_full = true;
}

}  // namespace

void add_groups(std::vector<Scenario>& to, Flavour flavour) {
  if (flavour != Flavour::power) return;  // others make each insert durable at once
  for (const Items& items : {Items{kInCells}, Items{kInSlots}, kPairs}) add_groups_of(items, to, flavour);
}

}  // namespace holdfast::gphash::model

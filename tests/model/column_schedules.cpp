// column_schedules.cpp: scenarios written by hand: columns of one value change, one by one and in phases.
#include "scenarios.hpp"

namespace holdfast::gphash::model {

/// A value's columns change alone: what is there is copied into a fresh cell, or read from the slot, under the key's claim.
void add_columns(std::vector<Scenario>& to, Flavour flavour, const Items& items) {
  if (items.key_words > 1) return;  // columns do not see keys
  ModelShape shape = two_levels(items);
  shape.columns = true;
  const std::uint64_t k = colliding_keys(shape, 1)[0];
  const auto of_column = [](unsigned column, Operation operation) {
    operation.column = column;
    return operation;
  };
  const auto first = [&](Operation operation) { return of_column(1, operation); };
  const auto second = [&](Operation operation) { return of_column(2, operation); };
  const Operation there = insert(k, both_columns(1, 2)), whole = assign(k, both_columns(16, 32));
  const auto add = [&](const char* name, const std::vector<Operation>& setup, std::vector<Submission> one_caller,
                       std::vector<Submission> other) {
    Scenario scenario = blank(name, flavour, shape);
    scenario.setup = setup;
    scenario.callers = {std::move(one_caller), std::move(other)};
    to.push_back(scenario);
  };
  add("columns: they change under searches", {there}, {one(first(assign(k, 4))), one(second(assign(k, 8)))},
      {one(find(k)), one(find(k))});
  add("columns: two of one value change", {there}, {one(first(assign(k, 4)))}, {one(second(assign(k, 8)))});
  add("columns: two make one key", {}, {one(first(insert_or_assign(k, 4)))}, {one(second(insert_or_assign(k, 8)))});
  add("columns: sums of two", {there}, {one(first(accumulate(k, 4))), one(find(k))}, {one(second(accumulate(k, 8)))});
  add("columns: one changes, and the whole value", {there}, {one(first(assign(k, 4)))}, {one(whole), one(find(k))});
  add("columns: an erased key comes back with one", {there}, {one(erase(k)), one(second(insert(k, 8)))},
      {one(find(k)), one(find(k))});
  add("columns: a run of changes of one", {there},
      {Submission{{second(accumulate(k, 4)), second(erase(k)), second(insert(k, 8)), second(accumulate(k, 16))}, true}},
      {one(find(k)), one(first(insert_or_assign(k, 32)))});
}

/// Columns change in phases: of each value that is there all is read before anything is written.
void add_column_phases(std::vector<Scenario>& to, Flavour flavour, const Items& items) {
  if (flavour != Flavour::resident || items.key_words > 1) return;
  ModelShape shape = two_levels(items);
  shape.columns = true;
  const auto k = colliding_keys(shape, 2);
  const auto phased = [](unsigned column, std::vector<Operation> operations) {
    for (Operation& operation : operations) operation.column = column;
    return Submission{std::move(operations), false, true};
  };
  const Operation there = insert(k[0], both_columns(1, 2));
  const auto add = [&](const char* name, const std::vector<Operation>& setup, std::vector<Submission> changes) {
    Scenario scenario = blank(std::string("phases of columns: ") + name, flavour, shape);
    scenario.setup = setup;
    scenario.callers = {std::move(changes), {one(find(k[0])), one(find(k[1]))}};
    to.push_back(scenario);
  };
  add("two of one value, one after the other", {there}, {phased(2, {assign(k[0], 8)}), phased(1, {assign(k[0], 4)})});
  add("a new key, and one that is there", {there}, {phased(1, {insert_or_assign(k[0], 4), insert(k[1], 8)})});
  add("sums, and the rest stays", {there, insert(k[1], both_columns(4, 8))},
      {phased(2, {accumulate(k[0], 16), accumulate(k[1], 32), accumulate(k[0], 64)})});
  add("a key is erased and comes back", {there},
      {phased(2, {accumulate(k[0], 4), erase(k[0]), insert(k[0], 8), accumulate(k[0], 16)})});
  add("a key comes and goes", {}, {phased(1, {insert(k[0], 4), erase(k[0])}), phased(2, {insert(k[0], 8)})});
  Operation second = assign(k[0], 8);
  second.column = 2;
  add("and one by one", {there}, {phased(1, {accumulate(k[0], 4)}), one(second)});
}

}  // namespace holdfast::gphash::model

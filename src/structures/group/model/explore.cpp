// explore.cpp: what the model knows of group hashing.
#include "structures/group/model/explore.hpp"

#include "structures/group/form.hpp"
#include "structures/model/callers.hpp"

namespace holdfast::group::model {

namespace {

struct GroupModel {
  using Form = group::Form;
  using Step = group::Step;
  using Scenario = model::Scenario;
  static constexpr auto kLines = structures::model::Lines::of_words;
  static Shape shape(const Scenario& scenario, unsigned larger) {
    return {scenario.groups << larger, scenario.group_size, scenario.wide ? 4u : 2u};
  }
  static constexpr unsigned zero_key() { return structures::model::kKeys; }
  static bool is_at(const Shape& shape, unsigned key, std::uint64_t hash) {
    return shape.group_of(hash) == (key == 5 ? shape.groups - 1 : 0) && shape.position_of(hash) == (key == 4 ? 1 : 0);
  }
};

}  // namespace

proof::Verdict explore(const Scenario& scenario, Flavour flavour) {
  return structures::model::explore_table<GroupModel>(scenario, flavour);
}
Persists persists_of(const Scenario& scenario, const Operation& operation) {
  return structures::model::persists_in<GroupModel>(scenario, operation);
}

}  // namespace holdfast::group::model

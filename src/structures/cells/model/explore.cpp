// explore.cpp: what the model knows of linear probing, PFHT and path hashing.
#include "structures/cells/model/explore.hpp"

#include "structures/linear/linear_form.hpp"
#include "structures/model/callers.hpp"
#include "structures/path/path_form.hpp"
#include "structures/pfht/pfht_form.hpp"

namespace holdfast::cells::model {

namespace {

/// `SchemePlaces`: a small table of a scheme, and where its keys belong.
template <class SchemePlaces, bool kIsLogged>
struct CellsModel {
  struct Traits {
    using Scheme = typename SchemePlaces::Scheme;
    static constexpr bool kLogged = kIsLogged;
  };
  using Form = cells::Form<Traits>;
  using Step = cells::Step;
  using Scenario = model::Scenario;
  static constexpr auto kLines = structures::model::Lines::real;
  static Shape shape(const Scenario& scenario, unsigned larger) {
    const std::uint32_t index = SchemePlaces::kIndex + larger;
    return {index, scenario.wide ? 4u : 2u, Traits::Scheme::cells(index)};
  }
  static constexpr unsigned zero_key() { return 5; }
  static bool is_at(const Shape& shape, unsigned key, std::uint64_t hash) {
    return SchemePlaces::is_at(key, shape.place_of(hash), shape.place_of(hash_location(hash, 1)));
  }
};

struct LinearPlace {
  using Scheme = linear::Scheme;
  static constexpr unsigned kIndex = 3;
  static bool is_at(unsigned key, std::uint64_t one, std::uint64_t) { return one == (key < 3 ? 7 : key - 3); }
};
struct PfhtPlace {
  using Scheme = pfht::SchemeOf<1, 50>;
  static constexpr unsigned kIndex = 2;
  static bool is_at(unsigned key, std::uint64_t one, std::uint64_t two) {
    return key == 1 ? one == 1 && two == 2 : one == 0 && two == 1;
  }
};
struct PathPlace {
  using Scheme = path::Scheme;
  static constexpr unsigned kIndex = 2;
  static bool is_at(unsigned key, std::uint64_t one, std::uint64_t two) {
    return key == 4 ? one == 3 && two == 2 : one == 0 && two == 1;
  }
};

/// Calls `act` with the Model of a scenario.
template <class Act>
auto with_model(const Scenario& scenario, const Act& act) {
  const auto choose = [&]<class SchemePlaces>(SchemePlaces) {
    return scenario.logged ? act(CellsModel<SchemePlaces, true>()) : act(CellsModel<SchemePlaces, false>());
  };
  switch (scenario.scheme) {
    case Scheme::linear: return choose(LinearPlace());
    case Scheme::pfht: return choose(PfhtPlace());
    case Scheme::path: break;
  }
  return choose(PathPlace());
}

}  // namespace

proof::Verdict explore(const Scenario& scenario, Flavour flavour) {
  return with_model(scenario,
                    [&]<class Model>(Model) { return structures::model::explore_table<Model>(scenario, flavour); });
}
Persists persists_of(const Scenario& scenario, const Operation& operation) {
  return with_model(scenario,
                    [&]<class Model>(Model) { return structures::model::persists_in<Model>(scenario, operation); });
}
InsertLosses insert_losses(const Scenario& scenario) {
  return with_model(scenario, [&]<class Model>(Model) { return structures::model::insert_losses_in<Model>(scenario); });
}

}  // namespace holdfast::cells::model

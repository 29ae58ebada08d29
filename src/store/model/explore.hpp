// explore.hpp: callers of a store in every order, crashed at each access, recovered, and crashed again in recovery. Rule 24.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proof/explorer.hpp"
#include "store/model/world.hpp"

namespace holdfast::store::model {

enum class Op : std::uint8_t {
  set,
  set_large,  ///< the value lies in chunks
  add,        ///< unless the key has an item
  replace,    ///< only if it has one
  increase,   ///< the number of its item, which is read under the claim
  erase,
  evict,  ///< what lies where the key's item was a moment ago
  touch,
  get_and_touch,  ///< reads the item that it touches
  find,
  flush_all,
  plan_flush,  ///< at the time `number`
  pass_time    ///< the clock says `number`
};

/// The number of an item whose value, in words 3 to 8, looks like a committed item of key 0.
inline constexpr unsigned kForger = 98, kForgerWords = 9;

struct Operation {
  Op op = Op::set;
  unsigned key = 0;
  unsigned number = 0;  ///< what its value is made of; of `touch` and `get_and_touch`, the expiry
  unsigned words = 1;   ///< of the value: up to 3 fit into one line
  unsigned expiry = 0;
  bool is_looked_up =
      false;  ///< what the index names for its key is looked up before the first of such operations in a row
};

/// `setup` is durable before the callers begin; each does its operations one after another.
struct Scenario {
  std::string name;
  Shape shape;
  std::vector<Operation> setup;
  std::vector<std::vector<Operation>> callers;
  bool may_be_full = false;  ///< `no_space` is an answer
  int damaged = -1;          ///< a bit of this key's item flips before the callers begin, and the store is opened
  bool is_reopened = false;  ///< the store is opened after `setup`
};

proof::Verdict explore(const Scenario& scenario, Flavour flavour);

}  // namespace holdfast::store::model

// explore.hpp: callers that change a log, or updates in transactions, in every order, crashed at each access. Rule 24.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "log/model/world.hpp"
#include "proof/explorer.hpp"

namespace holdfast::log::model {

enum class Op : std::uint8_t { insert, remove, clear };

struct Operation {
  Op op;
  std::uint64_t place;
};

/// Each caller does its operations one after another.
struct LogScenario {
  std::string name;
  LogShape shape;
  std::vector<std::vector<Operation>> callers;
};

struct Update {
  unsigned offset;  ///< in words of 4 bytes
  unsigned words;
};

/// Batches, each a transaction; in it every thread, with the place of its number, does its updates.
struct TransactionScenario {
  std::string name;
  LogShape shape;
  unsigned data_words;
  std::vector<std::vector<std::vector<Update>>> batches;  ///< by batch, by thread
};

proof::Verdict explore(const LogScenario& scenario, Flavour flavour);
proof::Verdict explore(const TransactionScenario& scenario, Flavour flavour);

}  // namespace holdfast::log::model

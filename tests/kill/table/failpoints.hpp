// failpoints.hpp: which tables pass each failpoint, and what brings a writer of one there.
#pragma once

#include <cstdint>

#include "kill/table/plan.hpp"
#include "proof/kill/failpoints.hpp"

namespace holdfast::proof::kill {

struct FailpointFacts {
  Failpoint at;
  Theme theme;               ///< of the pools whose writers stop there; none: recoveries alone do
  unsigned weight;           ///< Stop::weight
  unsigned skip_bits;        ///< Stop::skip_bits
  bool first_life;           ///< it is passed by the first writer of a pool, and seldom later
  bool (*on)(const Round&);  ///< which tables have it
};

const FailpointFacts& facts_of(Failpoint at);
RecoveryFailpoints table_mended_at(Failpoint at);

}  // namespace holdfast::proof::kill

// failpoints.hpp: what the campaign knows of each failpoint: its name, which tables pass it, and how a writer is made to.
#pragma once

#include <array>
#include <cstdint>

#include "core/failpoint.hpp"
#include "plan.hpp"

namespace holdfast::test::kill {

inline constexpr auto kFailpoints = static_cast<unsigned>(Failpoint::count);

struct FailpointFacts {
  const char* name;
  Theme theme;               ///< of the pools whose writers stop there; none: recoveries alone do
  unsigned weight;           ///< how much oftener writers stop there than at others of the theme: where much is to mend
  unsigned skip_bits;        ///< fewer than 2^skip_bits threads pass it before one stops
  bool first_life;           ///< it is passed by the first writer of a pool, and seldom later
  bool (*on)(const Round&);  ///< which tables have it
};

const FailpointFacts& facts_of(Failpoint at);
const char* name_of(Kind kind);

/// Where recovery passes when it mends what a writer killed at `at` has left: some of them, or none.
struct RecoveryFailpoints {
  std::array<Failpoint, 6> at{};
  unsigned size = 0;
};
RecoveryFailpoints mended_at(Failpoint at);

}  // namespace holdfast::test::kill

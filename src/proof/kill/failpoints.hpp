// failpoints.hpp: the names of failpoints, and where a campaign can have a process stop.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "core/failpoint.hpp"

namespace holdfast::proof::kill {

inline constexpr auto kFailpoints = static_cast<unsigned>(Failpoint::count);
inline constexpr unsigned kMostKinds = 9;  ///< a subject counts the kills at a failpoint by its kinds

const char* name_of(Failpoint at);

/// Where the next writer may stop.
struct Stop {
  Failpoint at = Failpoint::none;
  unsigned kind = 0;       ///< under which it counts
  unsigned weight = 1;     ///< how much oftener writers stop there than elsewhere: where much is to mend
  unsigned skip_bits = 0;  ///< fewer than 2^skip_bits threads pass it before one stops
};

/// Where a recovery passes when it mends what a writer killed at a failpoint has left: some of them, or none.
struct RecoveryFailpoints {
  std::array<Failpoint, 6> at{};
  unsigned size = 0;
};
RecoveryFailpoints list(std::initializer_list<Failpoint> some);

}  // namespace holdfast::proof::kill

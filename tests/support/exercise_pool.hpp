// exercise_pool.hpp: does to a pool of several objects, which may be damaged or hostile, everything a user could.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "support/exercise.hpp"

namespace holdfast::test {

/// What came of it.
struct PoolExercised {
  bool opened = false;
  std::string error;                             ///< why it did not open
  std::map<std::uint32_t, std::string> refused;  ///< why an object did not open, by its number
  std::map<std::uint32_t, std::string> listed;   ///< what `inspect` says of the damage of each object; empty: none
  bool repaired = false;                         ///< something was mended, and said so
  bool damage_found = false;                     ///< by a check of a table that opened
  std::string wrong;                             ///< what must not be; empty: nothing
};

/// Inspects, checks and opens the pool and each of its objects, for reading and for changes; takes a snapshot; makes, renames
/// and drops objects; and opens it again. Every outcome but these is `wrong`: one clear error, of which the file stays as it
/// was; or a pool of which each object either is refused, with an error of its own, or agrees with itself. Those in `intact`, by
/// number, must open and hold their items wherever the pool opens. What is refused can be copied and dropped.
PoolExercised exercise_pool(const std::string& path, const std::map<std::uint32_t, Items>& intact,
                            bool salvage = false);
/// A small part of that, for thousands of cases: inspects and opens the pool, and reads those objects that are not in `intact`,
/// and one that is, another each turn.
PoolExercised glance_at_pool(const std::string& path, const std::map<std::uint32_t, Items>& intact, std::uint64_t turn);

}  // namespace holdfast::test

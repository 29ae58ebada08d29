// exercise.hpp: does to a pool file, which may be damaged or hostile, everything a user could; notes what must not be.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace holdfast::test {

/// Keys and values, both by their bytes.
using Items = std::map<std::string, std::string>;

struct Exercised {
  bool opened = false;
  bool damage_reported = false;  ///< by an error, or by `check`
  bool repaired = false;         ///< opening mended the superblock, and said so
  std::string error;             ///< the first error that the library threw
  std::string wrong;             ///< what must not be; empty: nothing
};

/// Inspects, checks, opens, exports, finds, inserts, erases, closes and opens again. Every outcome but these is `wrong`:
/// an Error; a table of which `check` reports damage; a table that agrees with itself, and with `expected` if given.
Exercised exercise(const std::string& path, const Items* expected = nullptr, bool salvage = false);

}  // namespace holdfast::test

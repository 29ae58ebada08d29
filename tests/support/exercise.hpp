// exercise.hpp: does to a pool file, which may be damaged or hostile, everything a user could; notes what must not be.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "holdfast/table.hpp"

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

/// The part of it that is done to an open table, which is closed then; `items` becomes what it holds at the end.
void exercise_table(Table& table, const Items* expected, Items& items, Exercised& result);
Items export_all(Table& table, Exercised& result);
/// Runs `work`. An Error is an answer; anything else that is thrown is wrong. False if anything was.
bool answers(Exercised& result, const char* what, const std::function<void()>& work);

}  // namespace holdfast::test

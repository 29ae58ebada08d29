// cases.hpp: runs thousands of damaged pools, in a child that may crash or hang without taking the test along.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::test::corrupt {

/// What a run of cases came to.
struct Tally {
  std::uint64_t cases = 0, opened = 0, reported = 0;
  std::vector<std::string> wrong;  ///< "case 17 (bit 3 of byte 40): crashed by signal 11"
};

/// What one case came to; `wrong` is empty if all is well.
struct Outcome {
  bool opened = false, reported = false;
  std::string wrong;
};

/// Runs case 0 to `count` - 1 in children. A case that ends its child, or takes over 20 s, is wrong.
Tally run_cases(std::uint64_t count, const std::function<Outcome(std::uint64_t)>& run,
                const std::function<std::string(std::uint64_t)>& name);

/// True where all cases run, not a sample (HOLDFAST_LONG=1).
bool is_long();

/// Adds the counts of a group of cases to what HOLDFAST_RESULTS keeps.
void keep(const std::string& group, const Tally& tally);

}  // namespace holdfast::test::corrupt

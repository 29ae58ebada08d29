// pair_check.hpp: reads every variable-length pair of a table that stands still.
#pragma once

#include <string>
#include <vector>

#include "gphash/layout.hpp"

namespace holdfast::machine {

/// Says which slots name a pair that is not as it was written; a few of them.
std::vector<std::string> verify_pairs(const Layout& layout);

}  // namespace holdfast::machine

// pair_check.hpp: reads every variable-length pair of a table that stands still.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "structures/gphash/layout.hpp"
#include "structures/gphash/protocol/pair.hpp"

namespace holdfast::gphash {

/// Says which slots name a pair that is not as it was written; a few of them, and none where values have no checksums.
std::vector<std::string> verify_pairs(const Layout& layout);

/// Throws PoolCorrupt for rows of a batch that met such pairs and did not run.
[[noreturn]] void throw_damaged(const std::string& path, std::uint64_t rows);
/// Throws PoolCorrupt if a pair that an export met is not as it was written.
void require_whole(const std::string& path, const gphash::Part& key, const gphash::Part& value);

}  // namespace holdfast::gphash

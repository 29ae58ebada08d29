// largest_score.hpp: the largest score of a table, where its step is not noted.
#pragma once

#include <cstdint>

#include "structures/gphash/table_object.hpp"

namespace holdfast::table {

/// The largest score of a recovered table that keeps scores; 0 if it is empty. Reads a word of every item's cell, straight in the
/// pool; the table must not change.
std::uint64_t largest_score(const gphash::TableObject& table);

}  // namespace holdfast::table

// compact_table.hpp: the copy of a table that a snapshot holds where the table has become much larger than its items.
#pragma once

#include <cstdint>
#include <memory>

#include "pool/kinds/compact_copy.hpp"
#include "structures/gphash/table_object.hpp"

namespace holdfast::gphash {

/// A copy with the levels and cells of a table that is made for these items (`size_for`): the same keys, values and scores, in other slots
/// and cells. Null where that is more than half as large as the table's levels and heap; where the table is damaged or in a resize; where
/// `how.go_on` says so; and where there is no memory for it: its slots, and about 32 bytes for each cell. `items`: as many as the table
/// has. Nothing changes the table as long as the copy lives.
std::unique_ptr<pool::CompactCopy> compact(const TableObject& table, std::uint64_t items, const pool::CompactHow& how);
/// The same of a table that only the caller has open; null where it was not clean.
std::unique_ptr<pool::CompactCopy> compact(std::unique_ptr<TableObject> table, const pool::CompactHow& how);

}  // namespace holdfast::gphash

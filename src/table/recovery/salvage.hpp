// salvage.hpp: leaves out of a damaged pool, in a private copy, what does not verify, so that the rest can be read.
#pragma once

#include <cstdint>

#include "structures/gphash/table_object.hpp"

namespace holdfast::table {

/// Empties every slot that no crash could have left: in a bucket that its key does not hash to, with a cell that the heap
/// does not have, or with a cell that another key has too (neither can prove that the value is its own); and every slot of
/// which a part, or of its cell, was lost with the end of the file: a fixed value has no checksum. `pool` is open with
/// Access::scratch, so its file stays as it is. Returns how many slots were emptied.
std::uint64_t leave_out_damage(gphash::TableObject& pool);

}  // namespace holdfast::table

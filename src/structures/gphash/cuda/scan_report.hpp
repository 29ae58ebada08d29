// scan_report.hpp: what kernels that read a whole table report of it to the host.
#pragma once

#include <cstdint>

#include "structures/gphash/slot_damage.hpp"

namespace holdfast::gphash::cuda {

inline constexpr unsigned kDamages = 16;

/// What reading the slots found.
struct ScanReport {
  std::uint64_t items, torn, second_copies, copied, above;
  std::uint64_t damages;             ///< in all; the first few are described
  std::uint64_t shared;              ///< slots whose cell another slot names too
  std::uint64_t wrong_tags;          ///< words of tags that do not say what the slots hold
  std::uint64_t held_version_locks;  ///< claims that were not ended
  std::uint64_t wrong_copies;        ///< slots of which the bucket cache holds something else
  std::uint64_t wrong_values;        ///< cells of which the value cache does
  std::uint64_t wrong_cells;         ///< words of bits for cells of slabs that do not say what slots name
  std::uint64_t left;                ///< bytes that variable-length pairs leave of their cells
  std::uint32_t needs_level;
  std::uint32_t reserved_damaged, reserved_shared;
  Damage damage[kDamages];
  std::uint64_t shared_cell[kDamages];
};

}  // namespace holdfast::gphash::cuda

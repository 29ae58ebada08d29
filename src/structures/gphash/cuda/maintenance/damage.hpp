// damage.hpp: what a scan found wrong, in the words that the CPU uses too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "heap/slab.hpp"
#include "structures/gphash/cuda/scan_report.hpp"
#include "structures/gphash/layout.hpp"

namespace holdfast::machine::cuda {

inline std::string describe(const Damage& damage, const Layout& layout) {
  const std::string where = "level " + std::to_string(damage.level) + " bucket " + std::to_string(damage.bucket) +
                            " slot " + std::to_string(damage.slot);
  const bool variable = layout.shape.variable_;
  const heap::CellWord pair{damage.word};
  const std::string cell = variable ? std::to_string(pair.begin()) + " of class " + std::to_string(pair.size_class())
                                    : std::to_string(damage.word - 1);
  return damage.state == index::SlotState::no_cell
             ? where + " names cell " + cell + " of " + std::to_string(layout.cells) + (variable ? " slabs" : "")
             : where + " holds " + (layout.wide() || variable ? "a key with fingerprint " : "key ") +
                   std::to_string(damage.key) + ", which does not belong there";
}

/// The first few slots that hold what cannot be, and the reserved slot.
inline std::vector<std::string> describe(const ScanReport& report, const Layout& layout) {
  std::vector<std::string> lines;
  for (unsigned i = 0; i < std::min<std::uint64_t>(report.damages, kDamages); ++i) {
    lines.push_back(describe(report.damage[i], layout));
  }
  if (report.reserved_damaged) lines.emplace_back("the reserved slot is damaged");
  return lines;
}

inline std::vector<std::string> describe_shared(const ScanReport& report) {
  std::vector<std::string> lines;
  if (report.reserved_shared) lines.emplace_back("key 0 shares its cell with another key");
  for (unsigned i = 0; i < std::min<std::uint64_t>(report.shared, kDamages); ++i) {
    lines.push_back("two keys share cell " + std::to_string(report.shared_cell[i]));
  }
  return lines;
}

}  // namespace holdfast::machine::cuda

// damage.hpp: what a scan found wrong, in the words that all backends use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "structures/gphash/cuda/scan_report.hpp"

namespace holdfast::gphash::cuda {

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

}  // namespace holdfast::gphash::cuda

// check.cpp: verifies the tails of logs and undo entries.
#include "log/check.hpp"

#include <string>
#include <vector>

#include "log/cpu/view.hpp"
#include "log/kinds.hpp"
#include "log/protocol/transaction.hpp"
#include "pool/pool_file.hpp"

namespace holdfast::log {

CheckReport report_on_region(bool clean) {
  CheckReport report;
  report.was_clean = clean;
  report.checked.push_back("the header; the bytes of a region have no checksum");
  return report;
}

CheckReport check_tails(CpuMemory& memory, const View<CpuMemory>& view) {
  CheckReport report;
  std::uint64_t entries = 0;
  for (std::uint64_t place = 0; place < view.shape.places(); ++place) {
    const std::uint32_t tail = memory.load(view.tails + place);
    if (is_tail(tail, view.shape)) {
      entries += entries_in(tail);
    } else {
      report.errors.push_back("the tail of place " + std::to_string(place) + " is damaged");
    }
  }
  report.checked.push_back("the tails of " + std::to_string(view.shape.places()) + " places, which count " +
                           std::to_string(entries) + " entries; the bytes of an entry have no checksum");
  return report;
}

/// Of a transaction of the object with number `region`.
static void check_undo(CpuMemory& memory, const View<CpuMemory>& view, const pool::PoolFile& pool, std::uint32_t region,
                       CheckReport& report) {
  const auto directory = pool.directory();
  const auto extents = directory->extents_of(region, kDataRole);
  const pool::ObjectEntry* const entry = directory->find(region);
  if (entry == nullptr || entry->type != kinds::region_kind().type || extents.size() != 1) {
    report.errors.push_back("it has a transaction of the object with number " + std::to_string(region) +
                            ", which is not a region of this pool");
    return;
  }
  const std::uint64_t place = find_false_undo(memory, view, extents[0].bytes / 4);
  if (place != LogShape::none()) {
    report.errors.push_back("place " + std::to_string(place) + " has an entry that no transaction wrote");
  }
  report.checked.push_back("the undo entries of a transaction that was not finished");
}

CheckReport check(const LogShape& shape, std::byte* data, const pool::PoolFile& pool) {
  CpuMemory memory{pool::Persist()};
  std::vector<std::uint32_t> holds(shape.kind == LogKind::conventional ? shape.places() : 0);
  const View<CpuMemory> view = view_of(shape, data, holds.data());
  CheckReport report = check_tails(memory, view);
  const std::uint32_t flag = memory.load(view.flag);
  if (!is_flag(flag)) {
    report.errors.push_back("no transaction wrote " + std::to_string(flag) + " where its region is named");
  } else if (flag != 0 && report.errors.empty()) {
    check_undo(memory, view, pool, region_in(flag), report);
  }
  return report;
}

}  // namespace holdfast::log

// recovery.cpp: everything volatile is built from the pool, which is mended.
#include "core/clock.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/maintenance/damage.hpp"
#include "structures/gphash/cuda/maintenance/maintenance.hpp"

namespace holdfast::gphash::cuda {

/// GPHash §3.2.3 "Recovery", as gphash/cpu/level_maintenance.hpp does it.
void Maintenance::recover() {
  const auto start = Clock::now();
  const unsigned top_level = table_.pool.shape().top_level;
  table_.state.begin(table_.memory.values().maps().state(), table_.memory.cache().maps().state(), table_.stream);
  set_top_level(top_level, tags_for(top_level), false);
  cells_->cover();
  const DeviceBuffer<std::uint32_t>& live = cells_->live();
  ScanReport report = scan_table(live);
  torn_ = report.torn;
  second_copies_ = report.second_copies;
  if (!table_.pool.read_only() && table_.pool.shape().is_resizing) {
    // An item can lie below and above; which cells are live is known when it no longer does.
    drain_lower_levels(true);
    cuda::check(cudaMemsetAsync(table_.layout().tags, 0, table_.layout().tag_words() * 8, table_.stream),
                "emptying tags");
    report = scan_table(live);
  }
  const std::uint64_t items = report.items - report.second_copies;
  table_.state.set_items(items, table_.stream);
  cells_->begin(report.left);
  table_.state.note_bounds();
  recovery_ms_ = ms_since(start);
  cells_->cover_values(items != 0);
  table_.table_kernels.set_layout(table_.layout(), table_.memory.caches());
  searches_.choose_searches(items);
}

/// Reads every addressed slot into empty tags: torn slots are emptied, second copies dropped. Throws PoolCorrupt.
ScanReport Maintenance::scan_table(const DeviceBuffer<std::uint32_t>& live) {
  const bool repair = !table_.pool.read_only();
  const auto scan = [&](bool mend) {
    zero_report();
    cuda::check(cudaMemsetAsync(live.data(), 0, live.size() * 4, table_.stream), "starting a scan");
    table_.table_kernels.scan(mend, live.data(), scan_report_.data(), table_.stream);
    return read_report();
  };
  ScanReport report = scan(repair);
  refuse_damage(describe(report, table_.layout()));
  // Copies of an item with a cell share it, so a look at the cells has shown whether there are any.
  if (!table_.layout().in_slot() && report.shared == 0) return report;
  table_.table_kernels.drop_copies(repair, scan_report_.data(), table_.stream);
  report = read_report();
  if (report.shared == 0) return report;
  // What still shares a cell is no copy.
  const ScanReport again = scan(false);
  refuse_damage(describe_shared(again));
  report.left = again.left;
  return report;
}

void Maintenance::refuse_damage(const std::vector<std::string>& damage) const {
  if (damage.empty()) return;
  throw PoolCorrupt(table_.pool.path() + " is damaged: " + damage.front() +
                    ". Restore it from a copy, or save what verifies with: holdfast recover --salvage OUT.csv " +
                    table_.pool.path());
}

}  // namespace holdfast::gphash::cuda

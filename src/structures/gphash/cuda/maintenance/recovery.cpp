// recovery.cpp: everything volatile is built from the pool, which is mended.
#include <algorithm>

#include "core/clock.hpp"
#include "heap/cuda/ring.hpp"
#include "structures/gphash/cuda/cells/cells.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/maintenance/damage.hpp"
#include "structures/gphash/cuda/maintenance/maintenance.hpp"

namespace holdfast::machine::cuda {

/// GPHash §3.2.3 "Recovery", as gphash/cpu/level_maintenance.hpp does it.
void Maintenance::recover() {
  const auto start = Clock::now();
  const unsigned top_level = table_.pool.shape().top_level;
  table_.state.begin(table_.memory.values().maps().state(), table_.memory.cache().maps().state(), table_.stream);
  set_top_level(top_level, tags_for(top_level), false);
  if (table_.memory.pairs()) table_.memory.pairs()->cover(table_.layout().heap_view(), table_.stream);
  if (table_.memory.pairs()) table_.pair_kernels->set_slabs(table_.memory.pairs()->view());
  const DeviceBuffer<std::uint32_t> bits = table_.memory.pairs() ? DeviceBuffer<std::uint32_t>() : bits_for_cells();
  const DeviceBuffer<std::uint32_t>& live = table_.memory.pairs() ? table_.memory.pairs()->used() : bits;
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
  begin_cells(live, report.left);
  table_.state.note_bounds();
  recovery_ms_ = ms_since(start);
  if (!table_.memory.pairs()) table_.memory.cover_values(items != 0, table_.stream);
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

/// A bit for each cell of the heap.
DeviceBuffer<std::uint32_t> Maintenance::bits_for_cells() const {
  return DeviceBuffer<std::uint32_t>(table_.memory.pairs() ? table_.memory.pairs()->used().size()
                                                           : (table_.layout().cells + 31) / 32);
}

/// The cells that are not in `live` are free. `left`: bytes that pairs leave of theirs.
void Maintenance::begin_cells(const DeviceBuffer<std::uint32_t>& live, std::uint64_t left) {
  if (table_.layout().in_slot()) return;
  if (table_.memory.pairs()) {
    table_.memory.pairs()->begin(static_cast<std::int64_t>(left), table_.stream);
    return begin_retired(std::uint64_t{1} << 20);
  }
  const std::uint64_t cells = table_.layout().cells;
  if (ring_cells_.size() < cells) ring_cells_ = DeviceBuffer<std::uint64_t>(cells);
  table_.state.set_ring({ring_cells_.data(), cells, std::max<std::uint64_t>(1, cells / 64)});
  const std::size_t bytes = collect_scratch_bytes(cells);
  const DeviceBuffer<std::byte> scratch(bytes);
  collect_free_cells(live.data(), table_.state.ring(), table_.state.words(), scratch.data(), bytes, table_.stream);
  table_.stream.wait("collecting free cells");
}

}  // namespace holdfast::machine::cuda

// table_cells.cpp: what is done about cells of one size, in a ring.
#include "structures/gphash/cuda/maintenance/table_cells.hpp"

#include <algorithm>
#include <utility>

#include "core/both.hpp"
#include "heap/cuda/ring.hpp"
#include "structures/gphash/cuda/cells/cells.hpp"
#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::gphash::cuda {

namespace {

std::uint64_t ring_reserve(std::uint64_t cells) { return std::max<std::uint64_t>(1, cells / 64); }

}  // namespace

void TableCells::begin(std::uint64_t) {
  const DeviceBuffer<std::uint32_t> live = std::move(live_);
  if (table_.layout().in_slot()) return;
  const std::uint64_t cells = table_.layout().cells;
  table_.state.begin_ring(cells, ring_reserve(cells));
  const std::size_t bytes = collect_scratch_bytes(cells);
  const DeviceBuffer<std::byte> scratch(bytes);
  collect_free_cells(live.data(), table_.state.ring(), table_.state.words(), scratch.data(), bytes, table_.stream);
  table_.stream.wait("collecting free cells");
}

void TableCells::extend() {
  table_.state.settle(table_.stream);  // there is no reader: what is retired is free
  table_.state.settle(table_.stream);
  const std::uint64_t cells = table_.pool.cells();
  HOLDFAST_ASSERT(cells >= table_.state.ring().capacity);
  table_.state.grow_ring(cells, ring_reserve(cells), table_.stream);
  table_.memory.set_cells(cells);
  cover_values(true);
}

void TableCells::compare(const DeviceBuffer<std::uint32_t>& live, ScanReport* report) {
  table_.memory.values().compare(live.data(), table_.layout(), report, table_.stream);
  if (table_.layout().in_slot()) return;
  mark_free_cells(table_.state.ring(), table_.state.words(), live.data(), report, table_.stream);
}

void TableCells::check(CheckReport& report, const ScanReport& slots, const ScanReport&) {
  if (table_.layout().in_slot()) return;
  report.cells = table_.layout().cells;
  if (report.free_cells + slots.items == report.cells) return;
  report.errors.push_back(std::to_string(report.cells) + " cells, but " + std::to_string(slots.items) + " live and " +
                          std::to_string(report.free_cells) + " free");
}

std::unique_ptr<TableCells> make_table_cells(CudaTable& table) {
  return table.memory.pairs() != nullptr ? make_slab_cells(table) : std::make_unique<TableCells>(table);
}

}  // namespace holdfast::gphash::cuda

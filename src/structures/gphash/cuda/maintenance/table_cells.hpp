// table_cells.hpp: the policy of a table's cells on a GPU: what recovery, growth and checks do about them.
#pragma once

#include <cstdint>
#include <memory>

#include "structures/gphash/cuda/table/cuda_table.hpp"

namespace holdfast::gphash::cuda {

/// Cells of one size: the free ones are a ring, and values have a cache. A class of slabs is derived from it (slab_cells.cpp). The caller
/// is alone on the table.
class TableCells {
 public:
  explicit TableCells(CudaTable& table) : table_(table) {}
  virtual ~TableCells() = default;

  /// Begins the recovery of the heap of the layout.
  virtual void cover() {}
  /// Words of a bit for each cell.
  virtual std::uint64_t words() const { return (table_.layout().cells + 31) / 32; }
  /// Returns as many, where a scan notes which cells slots name.
  virtual const DeviceBuffer<std::uint32_t>& live() { return live_ = DeviceBuffer<std::uint32_t>(words()); }
  /// All cells are free that have no bit there. `left`: bytes that pairs leave of theirs. Waits.
  virtual void begin(std::uint64_t left);
  /// Fills the value cache. `filled`: there are values to copy.
  virtual void cover_values(bool filled) { table_.memory.cover_values(filled, table_.stream); }

  /// Cells, or slabs, by which the heap grows at least; and those that so many items need, 0 where that depends on their lengths.
  virtual std::uint64_t least_growth() const { return 1024; }
  virtual std::uint64_t cells_for(std::uint64_t items) const {
    return table_.layout().in_slot() ? 0 : items + items / 32 + 64;
  }
  /// The heap has grown: what was added is free. Waits.
  virtual void extend();

  /// Before a check scans: nothing is retired that has no reader.
  virtual void begin_check() {}
  /// Compares which cells are free, and their copies, with the bits that the scan has set in `live`.
  virtual void compare(const DeviceBuffer<std::uint32_t>& live, ScanReport* report);
  /// Adds how cells are used, and what is wrong with that. `all`: `slots`, what the scan found, and what was compared.
  virtual void check(CheckReport& report, const ScanReport& slots, const ScanReport& all);

 protected:
  CudaTable& table_;

 private:
  DeviceBuffer<std::uint32_t> live_;
};

std::unique_ptr<TableCells> make_table_cells(CudaTable& table);
std::unique_ptr<TableCells> make_slab_cells(CudaTable& table);

}  // namespace holdfast::gphash::cuda

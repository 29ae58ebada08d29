// maintenance.hpp: the part of a machine that is alone on the table: recovery, growth, clearing, and checks.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "structures/gphash/cuda/maintenance/table_cells.hpp"
#include "structures/gphash/cuda/search/searches.hpp"

namespace holdfast::gphash::cuda {

/// The caller of what changes the table holds `changing`.
class Maintenance {
 public:
  Maintenance(CudaTable& table, Searches& searches)
      : table_(table), searches_(searches), cells_(make_table_cells(table)) {}

  /// Builds everything volatile from the pool, and mends it. Throws PoolCorrupt.
  void recover();
  /// Adds a top level and drains the bottom one. False if the medium has no space for it; then nothing changed.
  bool grow_index();
  /// Adds cells to the heap. No search is disturbed: cells do not move. False as above.
  bool grow_heap(std::uint64_t at_least);
  void reserve(std::uint64_t items);
  void clear();
  CheckReport check();
  /// What it has done.
  void stats(Stats& stats) const;

 private:
  // recovery.cpp
  ScanReport scan_table(const DeviceBuffer<std::uint32_t>& live);
  void refuse_damage(const std::vector<std::string>& damage) const;
  void zero_report();
  ScanReport read_report() const;
  // growth.cpp
  DeviceBuffer<std::uint64_t> tags_for(unsigned top_level) const;
  void set_top_level(unsigned top_level, DeviceBuffer<std::uint64_t> tags, bool carry);
  void drain_lower_levels(bool recovering);
  // check.cpp
  void check_errors(CheckReport& report);

  CudaTable& table_;
  Searches& searches_;
  const std::unique_ptr<TableCells> cells_;
  DeviceBuffer<ScanReport> scan_report_{1};
  std::atomic<std::uint64_t> resizes_{0}, heap_growths_{0};
  double recovery_ms_ = 0, last_resize_ms_ = 0, last_resize_alloc_ms_ = 0;
  std::uint64_t torn_ = 0, second_copies_ = 0, rehashed_ = 0;
};

}  // namespace holdfast::gphash::cuda

// cpu_growth.cpp: what the CPU machine does alone on the table: growth, emptying, verification.
#include <algorithm>
#include <mutex>
#include <thread>

#include "core/both.hpp"
#include "core/clock.hpp"
#include "structures/gphash/cpu/cpu_machine.hpp"
#include "structures/gphash/pair_check.hpp"

namespace holdfast::gphash::cpu {

void CpuMachine::recover() {
  const auto start = Clock::now();
  items_ = static_cast<std::int64_t>(levels_.recover());
  left_ = static_cast<std::int64_t>(levels_.mended().left);
  recovery_ms_ = ms_since(start);
}

/// Adds a top level and drains the bottom one. The caller holds `geometry_` alone. Throws NoSpace; then nothing changed, or
/// a level more was needed and the table refuses to work until it is opened again with more space.
void CpuMachine::grow_index() {
  exports_.list_rest(layout());
  const auto start = Clock::now();
  levels_.add_level();
  last_resize_alloc_ms_ = ms_since(start);
  const auto rehash = Clock::now();
  unfinished_ = true;
  levels_.drain();
  unfinished_ = false;
  last_resize_ms_ = ms_since(rehash);
  ++resizes_;
  ++growth_;
}

/// Throws NoSpace while a resize is unfinished. The caller holds `geometry_`.
void CpuMachine::require_whole() const {
  if (!unfinished_) return;
  throw NoSpace("a resize of " + pool_.path() +
                " did not end, for want of space on its medium or of memory: make space, and open it again");
}

/// Adds cells to the heap. The caller holds `geometry_` alone.
bool CpuMachine::grow_heap(std::uint64_t at_least) {
  const std::uint64_t cells = std::max({at_least, pool_.cells() / 4, cells_->least_growth()});
  const std::uint64_t most = pool_.most_cells_with(cells);
  cells_->prepare(most);  // first: without memory for them nothing changes
  try {
    pool_.grow_heap(cells);
  } catch (const NoSpace&) {
    return false;
  }
  HOLDFAST_ASSERT(pool_.cells() <= most);
  levels_.take_cells();
  cells_->extend(layout().heap_view());
  heap_is_full_ = false;
  ++heap_growths_;
  ++growth_;
  return true;
}

void CpuMachine::reserve(std::uint64_t items) {
  const std::unique_lock lock(geometry_);
  require_whole();
  while (layout().total_slots() / 10 * 9 < items) grow_index();
  const std::uint64_t cells = layout().in_slot() ? 0 : cells_->cells_for(items);
  while (pool_.cells() < cells) {
    if (!grow_heap(cells - pool_.cells())) {
      throw NoSpace("no space in " + pool_.path() + " for " + std::to_string(items) +
                    " values: make space on its medium, or reserve less");
    }
  }
}

void CpuMachine::clear() {
  const std::unique_lock lock(geometry_);
  require_whole();
  for (unsigned rank = 0; rank < layout().shape.levels(); ++rank) {
    driver_->clear(layout().level[rank], layout().buckets(rank) * layout().shape.slots());
    HOLDFAST_FAILPOINT(level_emptied);
  }
  driver_->clear(layout().reserved_slot, 1);
  levels_.reset_tags();
  forget_callers();
  cells_->begin(layout().heap_view());
  cells_->count_free();
  heap_is_full_ = false;
  items_ = 0;
  left_ = 0;
}

/// Reads everything again into other tags, and compares with what the table believes.
CheckReport CpuMachine::check() {
  const std::unique_lock lock(geometry_);
  require_whole();
  CheckReport report;
  report.slots = layout().total_slots();
  report.items = size();
  report.repaired_slots = levels_.mended().torn;
  report.finished_moves = levels_.mended().second_copies;
  report.rehashed = levels_.mended().rehashed;
  report.was_clean = pool_.was_clean();
  report.recovery_ms = recovery_ms_;
  report.map_ms = pool_.map_ms();
  report.repairs = pool_.repairs();
  check_errors(report);
  return report;
}

void CpuMachine::check_errors(CheckReport& report) {
  settle_callers();
  while (cells_->reclaim()) std::this_thread::yield();
  const std::unique_ptr<heap::CellSet> fresh = make_cells();
  const std::uint64_t held = levels_.held_claims();
  std::uint64_t wrong_tags = 0;
  const Scan scan = levels_.verify(*fresh, wrong_tags);
  report.errors.insert(report.errors.end(), scan.damage.begin(), scan.damage.end());
  const auto expect = [&](bool holds, const std::string& what) {
    if (!holds) report.errors.push_back(what);
  };
  const std::uint64_t items = scan.items;
  expect(held == 0, std::to_string(held) + " claims are held, but nothing runs");
  expect(scan.torn == 0, std::to_string(scan.torn) + " slots are half-written");
  expect(scan.shared_cells.empty(), std::to_string(scan.shared_cells.size()) + " slots share a cell with another");
  expect(scan.second_copies == 0, std::to_string(scan.second_copies) + " keys are in the table twice");
  expect(items == report.items,
         "the table counts " + std::to_string(report.items) + " items, its slots hold " + std::to_string(items));
  expect(wrong_tags == 0, std::to_string(wrong_tags) + " tag words did not agree with their slots");
  const heap::HeapUse believed = cells_->use(), found = fresh->use();
  report.cells = believed.used_cells + believed.free_cells;
  report.free_cells = believed.free_cells;
  expect(believed == found, "the table believes " + std::to_string(believed.used_cells) + " cells in " +
                                std::to_string(believed.used_slabs) + " slabs to be in use, its slots name " +
                                std::to_string(found.used_cells) + " in " + std::to_string(found.used_slabs));
  const std::int64_t left = left_ + tally_of_callers().left;
  expect(scan.left == static_cast<std::uint64_t>(left), "the table counts " + std::to_string(left) +
                                                            " bytes that pairs leave of their cells, its slots " +
                                                            std::to_string(scan.left));
  if (!scan.damage.empty()) return;
  const std::vector<std::string> damage = verify_pairs(layout());
  report.errors.insert(report.errors.end(), damage.begin(), damage.end());
}

}  // namespace holdfast::gphash::cpu

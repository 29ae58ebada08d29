// growth.cpp: resizing, growing the heap, clearing.
#include <algorithm>

#include "core/both.hpp"
#include "core/clock.hpp"
#include "heap/cuda/ring.hpp"
#include "structures/gphash/cuda/cells/cells.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/maintenance/damage.hpp"
#include "structures/gphash/cuda/maintenance/maintenance.hpp"

namespace holdfast::gphash::cuda {

void Maintenance::zero_report() {
  cuda::check(cudaMemsetAsync(scan_report_.data(), 0, sizeof(ScanReport), table_.stream), "starting a scan");
}

ScanReport Maintenance::read_report() const {
  ScanReport report{};
  cuda::check(cudaMemcpyAsync(&report, scan_report_.data(), sizeof report, cudaMemcpyDeviceToHost, table_.stream),
              "reading a report");
  table_.stream.wait("scanning the slots");
  return report;
}

DeviceBuffer<std::uint64_t> Maintenance::tags_for(unsigned top_level) const {
  Layout layout = layout_of(table_.pool, table_.options, top_level);
  return DeviceBuffer<std::uint64_t>(layout.tag_words());
}

/// Addresses `top_level` from now on. `carry`: keeps the tags of the levels that both geometries address.
void Maintenance::set_top_level(unsigned top_level, DeviceBuffer<std::uint64_t> tags, bool carry) {
  Layout layout = layout_of(table_.pool, table_.options, top_level);
  layout.tags = tags.data();
  cuda::check(cudaMemsetAsync(tags.data(), 0, layout.tag_words() * 8, table_.stream), "emptying tags");
  if (carry) {
    for (unsigned level = layout.bottom_level(); level <= table_.layout().top_level; ++level) {
      table_.table_kernels.carry_tags(table_.layout(), layout, level, table_.stream);
    }
    cuda::check(cudaMemcpyAsync(layout.tags + layout.reserved_index() + 1,
                                table_.layout().tags + table_.layout().reserved_index() + 1, 8,
                                cudaMemcpyDeviceToDevice, table_.stream),
                "carrying tags over");
  }
  table_.stream.wait("carrying tags over");
  // A level that was added a moment ago is empty.
  table_.memory.set_levels(layout, std::move(tags), carry, table_.stream);
  table_.table_kernels.set_layout(table_.layout(), table_.memory.caches());
}

/// Rehashes every level below the addressed ones, lowest first, and releases it. GPHash §3.2.3 "Resizing", rule 17.
/// `recovering`: checks what it reads, and counts it.
void Maintenance::drain_lower_levels(bool recovering) {
  for (unsigned level = 0; level < table_.layout().bottom_level();) {
    gphash::Slot* const slots = table_.pool.level(level);
    if (slots == nullptr) {
      ++level;
      continue;
    }
    zero_report();
    table_.table_kernels.drain(slots, level, recovering, table_.state.words(), scan_report_.data(), table_.stream);
    const ScanReport report = read_report();
    rehashed_ += recovering ? report.copied + report.above : 0;
    refuse_damage(describe(report, table_.layout()));
    if (!report.needs_level) {
      table_.pool.release_level(level++);
      continue;
    }
    const unsigned next = table_.layout().top_level + 1;
    auto tags = tags_for(next);
    table_.pool.add_level(next);
    table_.memory.require_mapped();
    set_top_level(next, std::move(tags), true);
  }
}

bool Maintenance::grow_index() {
  const std::lock_guard lock(table_.order.launching());
  searches_.finish_all();
  searches_.end_captures();
  table_.exports.list_rest(table_.layout());
  const auto start = Clock::now();
  const unsigned next = table_.layout().top_level + 1;
  auto tags = tags_for(next);
  try {
    table_.pool.add_level(next);
  } catch (const NoSpace&) {
    return false;
  }
  last_resize_alloc_ms_ = ms_since(start);
  const auto rehash = Clock::now();
  try {
    table_.memory.require_mapped();
    set_top_level(next, std::move(tags), true);
    drain_lower_levels(false);
  } catch (const Error& error) {
    table_.order.fail(table_.pool.path() + " could not be resized: " + error.what() +
                      ". Close it and open it again, which finishes the resize");
  }
  last_resize_ms_ = ms_since(rehash);
  ++resizes_;
  return true;
}

bool Maintenance::grow_heap(std::uint64_t at_least) {
  const std::uint64_t wanted = std::max({at_least, table_.pool.cells() / 4, cells_->least_growth()});
  try {
    table_.pool.grow_heap(wanted);
  } catch (const NoSpace&) {
    return false;
  }
  const std::lock_guard lock(table_.order.launching());
  searches_.finish_all();
  searches_.end_captures();
  try {
    table_.memory.require_mapped();
    cells_->extend();
    table_.table_kernels.set_layout(table_.layout(), table_.memory.caches());
  } catch (const Error& error) {
    table_.order.fail(table_.pool.path() + " could not use its larger heap: " + error.what() +
                      ". Close it and open it again");
  }
  ++heap_growths_;
  return true;
}

void Maintenance::reserve(std::uint64_t items) {
  const OnDevice on(table_.options.device);
  const std::lock_guard change(table_.order.changing());
  table_.order.require_working();
  const auto no_space = [&](const char* what) {
    return NoSpace("no space in " + table_.pool.path() + " for " + std::to_string(items) + what +
                   ": make space on its medium, or reserve less");
  };
  while (table_.layout().total_slots() / 10 * 9 < items) {
    if (!grow_index()) throw no_space(" items");
  }
  const std::uint64_t cells = cells_->cells_for(items);
  while (table_.pool.cells() < cells) {
    if (!grow_heap(cells - table_.pool.cells())) throw no_space(" values");
  }
  table_.state.note_bounds();
}

void Maintenance::clear() {
  const OnDevice on(table_.options.device);
  const std::lock_guard change(table_.order.changing());
  const std::lock_guard lock(table_.order.launching());
  table_.order.require_working();
  searches_.finish_all();
  searches_.end_captures();
  const DeviceBuffer<std::uint32_t>& live = cells_->live();
  cuda::check(cudaMemsetAsync(live.data(), 0, live.size() * 4, table_.stream), "clearing the table");
  for (unsigned rank = 0; rank < table_.layout().shape.levels(); ++rank) {
    clear_slots(table_.layout().level[rank], table_.layout().buckets(rank) * table_.layout().shape.slots(),
                table_.layout(), table_.stream);
  }
  if (!table_.layout().wide()) clear_slots(table_.layout().reserved_slot, 1, table_.layout(), table_.stream);
  cuda::check(cudaMemsetAsync(table_.layout().tags, 0, table_.layout().tag_words() * 8, table_.stream),
              "clearing the table");
  table_.memory.cache().clear(table_.layout().key_decides(), table_.stream);
  table_.memory.values().clear(table_.stream);
  table_.state.set_items(0, table_.stream);
  table_.stream.wait("clearing the table");
  HOLDFAST_FAILPOINT(level_emptied);
  cells_->begin(0);
  table_.state.note_bounds();
}

}  // namespace holdfast::gphash::cuda

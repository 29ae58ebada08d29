// check.cpp: what maintenance did, and whether an open table is as it should be: its slots against the pool, and everything volatile against its slots.
#include "structures/gphash/cuda/maintenance/damage.hpp"
#include "structures/gphash/cuda/maintenance/maintenance.hpp"

namespace holdfast::gphash::cuda {

void Maintenance::stats(Stats& stats) const {
  stats.growth.resizes = resizes_;
  stats.growth.heap_growths = heap_growths_;
  stats.recovery.recovery_ms = recovery_ms_;
  stats.growth.last_resize_ms = last_resize_ms_;
  stats.growth.last_resize_alloc_ms = last_resize_alloc_ms_;
  stats.recovery.repaired_slots = torn_;
  stats.recovery.finished_moves = second_copies_;
  stats.recovery.rehashed = rehashed_;
}

CheckReport Maintenance::check() {
  const OnDevice on(table_.options.device);
  const std::lock_guard change(table_.order.changing());
  const std::lock_guard lock(table_.order.launching());
  table_.order.require_working();
  searches_.finish_all();
  CheckReport report;
  report.slots = table_.layout().total_slots();
  report.repaired_slots = torn_;
  report.finished_moves = second_copies_;
  report.rehashed = rehashed_;
  report.was_clean = table_.pool.was_clean();
  report.recovery_ms = recovery_ms_;
  report.map_ms = table_.pool.map_ms();
  report.repairs = table_.pool.repairs();
  check_errors(report);
  return report;
}

/// Reads everything again into other tags, and compares with what the table believes.
void Maintenance::check_errors(CheckReport& report) {
  table_.state.settle(table_.stream);
  table_.state.settle(table_.stream);
  const DeviceState state = table_.state.read();
  report.items = static_cast<std::uint64_t>(state.items);
  report.free_cells = state.tail - state.head;
  cells_->begin_check();
  const DeviceBuffer<std::uint32_t> live(cells_->words());
  const DeviceBuffer<std::uint64_t> tags = tags_for(table_.layout().top_level);
  cuda::check(cudaMemsetAsync(live.data(), 0, live.size() * 4, table_.stream), "checking the table");
  cuda::check(cudaMemsetAsync(tags.data(), 0, table_.layout().tag_words() * 8, table_.stream), "checking the table");
  struct Elsewhere {  // the kernels see the other tags, and the pool itself, as long as this lives
    Elsewhere(TableKernels& kernels, const Layout& own, const CacheView& cache, std::uint64_t* tags)
        : kernels_(kernels), own_(own), cache_(cache) {
      Layout other = own;
      other.tags = tags;
      kernels_.set_layout(other, {});
    }
    ~Elsewhere() { kernels_.set_layout(own_, cache_); }
    TableKernels& kernels_;
    const Layout& own_;
    const CacheView cache_;
  } elsewhere(table_.table_kernels, table_.layout(), table_.memory.caches(), tags.data());
  zero_report();
  table_.table_kernels.scan(false, live.data(), scan_report_.data(), table_.stream);
  const ScanReport slots = read_report();
  table_.table_kernels.compare_tags(table_.layout().tags, scan_report_.data(), table_.stream);
  table_.table_kernels.drop_copies(false, scan_report_.data(), table_.stream);
  table_.memory.cache().compare(scan_report_.data(), table_.stream);
  cells_->compare(live, scan_report_.data());
  const ScanReport all = read_report();
  const auto append = [&](const std::vector<std::string>& lines) {
    report.errors.insert(report.errors.end(), lines.begin(), lines.end());
  };
  const auto expect = [&](bool holds, const std::string& what) {
    if (!holds) report.errors.push_back(what);
  };
  append(describe(slots, table_.layout()));
  append(describe_shared(slots));
  expect(slots.torn == 0, std::to_string(slots.torn) + " slots are half-written");
  expect(all.second_copies == 0, std::to_string(all.second_copies) + " keys are in the table twice");
  expect(all.wrong_tags == 0, std::to_string(all.wrong_tags) + " tag words did not agree with their slots");
  expect(all.wrong_values == 0, std::to_string(all.wrong_values) + " values of the value cache differ from the pool");
  expect(all.wrong_copies == 0, std::to_string(all.wrong_copies) + " slots of the bucket cache differ from the pool");
  expect(all.held_version_locks == 0, std::to_string(all.held_version_locks) + " claims were never ended");
  expect(all.shared == slots.shared,
         std::to_string(all.shared - slots.shared) + " free cells are in use, or free twice");
  expect(slots.items == report.items,
         "the table counts " + std::to_string(report.items) + " items, its slots hold " + std::to_string(slots.items));
  cells_->check(report, slots, all);
}

}  // namespace holdfast::gphash::cuda

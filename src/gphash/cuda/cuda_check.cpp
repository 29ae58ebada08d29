// cuda_check.cpp: verifies an open table: its slots against the pool, and everything volatile against its slots.
#include "gphash/cuda/cuda_machine.hpp"
#include "gphash/cuda/damage.hpp"
#include "gphash/pair_check.hpp"

namespace holdfast::machine::cuda {

CheckReport CudaMachine::check() {
  const OnDevice on(options_.device);
  const std::lock_guard change(changing_);
  const std::lock_guard lock(launching_);
  require_working();
  finish_all();
  CheckReport report;
  report.slots = layout_.total_slots() + (layout_.wide() || pairs_ ? 0 : 1);
  report.cells = layout_.in_slot() ? 0 : layout_.cells;
  report.repaired_slots = torn_;
  report.finished_moves = second_copies_;
  report.rehashed = rehashed_;
  report.was_clean = pool_.was_clean();
  report.recovery_ms = recovery_ms_;
  report.map_ms = pool_.map_ms();
  report.repairs = pool_.repairs();
  check_errors(report);
  return report;
}

/// Reads everything again into other tags, and compares with what the table believes.
void CudaMachine::check_errors(CheckReport& report) {
  settle();
  settle();
  const DeviceState state = read_state();
  report.items = static_cast<std::uint64_t>(state.items);
  report.free_cells = state.tail - state.head;
  if (pairs_) {
    free_rested(pairs_->view(), ring_, state_.data(), stream_);
    read_directory(pairs_->view(), layout_, 0, stream_);  // as the pool has it
  }
  const DeviceBuffer<std::uint32_t> live = bits_for_cells();
  const DeviceBuffer<std::uint64_t> tags = tags_for(layout_.top_level);
  cuda::check(cudaMemsetAsync(live.data(), 0, live.size() * 4, stream_), "checking the table");
  cuda::check(cudaMemsetAsync(tags.data(), 0, layout_.tag_words() * 8, stream_), "checking the table");
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
  } elsewhere(table_kernels_, layout_, caches(), tags.data());
  zero_report();
  table_kernels_.scan(false, live.data(), scan_report_.data(), stream_);
  const ScanReport slots = read_report();
  table_kernels_.compare_tags(layout_.tags, scan_report_.data(), stream_);
  table_kernels_.drop_copies(false, scan_report_.data(), stream_);
  cache_.compare(scan_report_.data(), stream_);
  if (pairs_) {
    compare_cells(pairs_->view(), live.data(), scan_report_.data(), stream_);
  } else {
    values_.compare(live.data(), layout_, scan_report_.data(), stream_);
  }
  if (!layout_.in_slot() && !pairs_) mark_free_cells(ring_, state_.data(), live.data(), scan_report_.data(), stream_);
  const ScanReport all = read_report();
  const auto append = [&](const std::vector<std::string>& lines) {
    report.errors.insert(report.errors.end(), lines.begin(), lines.end());
  };
  const auto expect = [&](bool holds, const std::string& what) {
    if (!holds) report.errors.push_back(what);
  };
  append(describe(slots, layout_));
  append(describe_shared(slots));
  expect(slots.torn == 0, std::to_string(slots.torn) + " slots are half-written");
  expect(all.second_copies == 0, std::to_string(all.second_copies) + " keys are in the table twice");
  expect(all.wrong_tags == 0, std::to_string(all.wrong_tags) + " tag words did not agree with their slots");
  expect(all.wrong_values == 0, std::to_string(all.wrong_values) + " values of the value cache differ from the pool");
  expect(all.wrong_copies == 0, std::to_string(all.wrong_copies) + " slots of the bucket cache differ from the pool");
  expect(all.held_stripes == 0, std::to_string(all.held_stripes) + " claims were never ended");
  expect(all.shared == slots.shared,
         std::to_string(all.shared - slots.shared) + " free cells are in use, or free twice");
  expect(slots.items == report.items,
         "the table counts " + std::to_string(report.items) + " items, its slots hold " + std::to_string(slots.items));
  if (pairs_) {
    expect(all.wrong_cells == 0, std::to_string(all.wrong_cells) + " words of free cells do not say what slots name");
    check_pairs(report, slots);
  } else if (!layout_.in_slot()) {
    expect(report.free_cells + slots.items == report.cells, std::to_string(report.cells) + " cells, but " +
                                                                std::to_string(slots.items) + " live and " +
                                                                std::to_string(report.free_cells) + " free");
  }
}

/// How the heap is used, and whether every pair is as it was written, which the host reads.
void CudaMachine::check_pairs(CheckReport& report, const ScanReport& found) {
  const SlabUse use = pairs_->use(stream_);
  report.cells = use.used_cells + use.free_cells;
  report.free_cells = use.free_cells;
  if (use.used_cells != found.items) {
    report.errors.push_back("the table believes " + std::to_string(use.used_cells) +
                            " cells to be in use, its slots name " + std::to_string(found.items));
  }
  const std::int64_t left = pairs_->state(stream_).left;
  if (found.left != static_cast<std::uint64_t>(left)) {
    report.errors.push_back("the table counts " + std::to_string(left) +
                            " bytes that pairs leave of their cells, its slots " + std::to_string(found.left));
  }
  if (!report.errors.empty()) return;
  report.errors = verify_pairs(layout_);
}

}  // namespace holdfast::machine::cuda

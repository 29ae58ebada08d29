// cuda_growth.cpp: what the CUDA machine does alone on the table: who else still works on it, resizing, growing the heap, clearing.
#include <algorithm>

#include "core/clock.hpp"
#include "gphash/cuda/cuda_machine.hpp"
#include "gphash/cuda/damage.hpp"
#include "gphash/cuda/kit.hpp"
#include "gpu/capture.hpp"

namespace holdfast::machine::cuda {

void CudaMachine::require_working() const {
  if (!stuck_.empty()) throw DeviceError(stuck_);
}

void CudaMachine::zero_report() {
  cuda::check(cudaMemsetAsync(scan_report_.data(), 0, sizeof(ScanReport), stream_), "starting a scan");
}

ScanReport CudaMachine::read_report() const {
  ScanReport report{};
  cuda::check(cudaMemcpyAsync(&report, scan_report_.data(), sizeof report, cudaMemcpyDeviceToHost, stream_),
              "reading a report");
  stream_.wait("scanning the slots");
  return report;
}

/// After the last changing batch that is enqueued.
DeviceState CudaMachine::read_state() const {
  const std::lock_guard lock(reading_);
  DeviceState state;
  last_change_.hold(stream_for_state_);
  cuda::check(cudaMemcpyAsync(&state, state_.data(), sizeof state, cudaMemcpyDeviceToHost, stream_for_state_),
              "reading counts");
  stream_for_state_.wait("running a batch");
  return state;
}

PositionState CudaMachine::read_positions(const CacheMaps& maps) const {
  const std::lock_guard lock(reading_);
  PositionState state;
  cuda::check(cudaMemcpyAsync(&state, maps.state(), sizeof state, cudaMemcpyDeviceToHost, stream_for_state_),
              "reading counts");
  stream_for_state_.wait("reading counts");
  state.head = std::min(state.head, state.tail);
  return state;
}

void CudaMachine::settle() {
  settle_cells(state_.data(), stream_);
  stream_.wait("settling free cells");
}

void CudaMachine::finish_searches() {
  const std::lock_guard lock(launching_);
  for (const Event& search : searches_) search.wait("waiting for searches");
}

/// The caller holds `launching_`, so no other search begins.
void CudaMachine::finish_all() {
  for (const Event& search : searches_) search.wait("waiting for searches");
  last_change_.wait("waiting for the batch before");
  values_.maps().wait();
  cache_.maps().wait();
}

/// The caller holds what keeps the layout still.
CacheView CudaMachine::caches() const {
  CacheView view = cache_.view();
  view.values = values_.view();
  return view;
}

DeviceBuffer<std::uint64_t> CudaMachine::tags_for(unsigned top_level) const {
  Layout layout = layout_of(pool_, options_, top_level);
  return DeviceBuffer<std::uint64_t>(layout.tag_words());
}

/// Addresses `top_level` from now on. `carry`: keeps the tags of the levels that both geometries address.
void CudaMachine::set_top_level(unsigned top_level, DeviceBuffer<std::uint64_t> tags, bool carry) {
  Layout layout = layout_of(pool_, options_, top_level);
  layout.tags = tags.data();
  cuda::check(cudaMemsetAsync(tags.data(), 0, layout.tag_words() * 8, stream_), "emptying tags");
  if (carry) {
    for (unsigned level = layout.bottom_level(); level <= layout_.top_level; ++level) {
      table_kernels_.carry_tags(layout_, layout, level, stream_);
    }
    cuda::check(cudaMemcpyAsync(layout.tags + layout.aside_index() + 1, layout_.tags + layout_.aside_index() + 1, 8,
                                cudaMemcpyDeviceToDevice, stream_),
                "carrying tags over");
  }
  stream_.wait("carrying tags over");
  tags_ = std::move(tags);
  layout_ = layout;
  cache_.cover(layout_, carry, stream_);  // a level that was added a moment ago is empty
  stream_.wait("loading the bucket cache");
  table_kernels_.set_layout(layout_, caches());
}

/// Rehashes every level below the addressed ones, lowest first, and releases it. GPHash §3.2.3 "Resizing", RULES.md 17.
/// `recovering`: checks what it reads, and counts it.
void CudaMachine::drain_lower_levels(bool recovering) {
  for (unsigned level = 0; level < layout_.bottom_level();) {
    index::Slot* const slots = pool_.level(level);
    if (slots == nullptr) {
      ++level;
      continue;
    }
    zero_report();
    table_kernels_.drain(slots, level, recovering, state_.data(), scan_report_.data(), stream_);
    const ScanReport report = read_report();
    rehashed_ += recovering ? report.moved + report.cleared : 0;
    refuse_damage(describe(report, layout_));
    if (!report.needs_level) {
      pool_.release_level(level++);
      continue;
    }
    const unsigned next = layout_.top_level + 1;
    auto tags = tags_for(next);
    pool_.add_level(next);
    registration_.require_complete();
    set_top_level(next, std::move(tags), true);
  }
}

/// Adds a top level and drains the bottom one. False if the medium has no room for it; then nothing changed.
bool CudaMachine::grow_index() {
  const std::lock_guard lock(launching_);
  finish_all();
  end_captures();
  exports_.list_rest(layout_);
  const auto start = Clock::now();
  const unsigned next = layout_.top_level + 1;
  auto tags = tags_for(next);
  try {
    pool_.add_level(next);
  } catch (const NoSpace&) {
    return false;
  }
  last_resize_alloc_ms_ = ms_since(start);
  const auto rehash = Clock::now();
  try {
    registration_.require_complete();
    set_top_level(next, std::move(tags), true);
    drain_lower_levels(false);
  } catch (const Error& error) {
    stuck_ = pool_.path() + " could not be resized: " + error.what() +
             ". Close it and open it again, which finishes the resize";
    throw DeviceError(stuck_);
  }
  last_resize_ms_ = ms_since(rehash);
  ++resizes_;
  return true;
}

/// Adds cells to the heap. No search is disturbed: cells do not move.
bool CudaMachine::grow_heap(std::uint64_t at_least) {
  const std::uint64_t wanted = std::max({at_least, pool_.cells() / 4, std::uint64_t{pairs_ ? 8u : 1024u}});
  try {
    pool_.grow_heap(wanted);
  } catch (const NoSpace&) {
    return false;
  }
  const std::lock_guard lock(launching_);
  finish_all();
  end_captures();
  try {
    registration_.require_complete();
    pairs_ ? take_slabs() : take_cells();
    table_kernels_.set_layout(layout_, caches());
  } catch (const Error& error) {
    stuck_ = pool_.path() + " could not use its larger heap: " + error.what() + ". Close it and open it again";
    throw DeviceError(stuck_);
  }
  ++heap_growths_;
  return true;
}

/// The heap's new cells are free.
void CudaMachine::take_cells() {
  settle();  // nobody reads: limbo ends
  settle();
  const std::uint64_t cells = pool_.cells();
  DeviceBuffer<std::uint64_t> larger(cells);
  const CellRing ring{larger.data(), cells, std::max<std::uint64_t>(1, cells / 64)};
  extend_ring(ring_, ring, state_.data(), stream_);
  stream_.wait("adding free cells");
  ring_cells_ = std::move(larger);
  ring_ = ring;
  layout_.cells = cells;
  values_.cover(layout_, true, cache_.view().partial(), stream_);
}

/// The heap's new slabs are free. What rests goes on to rest.
void CudaMachine::take_slabs() {
  layout_.cells = pool_.cells();
  pairs_->extend(layout_, stream_);
  pair_kernels_->set_slabs(pairs_->view());
}

void CudaMachine::reserve(std::uint64_t items) {
  const OnDevice on(options_.device);
  const std::lock_guard change(changing_);
  require_working();
  const auto no_room = [&](const char* what) {
    return NoSpace("no room in " + pool_.path() + " for " + std::to_string(items) + what +
                   ": make room on its medium, or reserve less");
  };
  while (layout_.total_slots() / 10 * 9 < items) {
    if (!grow_index()) throw no_room(" items");
  }
  const std::uint64_t cells = items + items / 32 + 64;
  while (!layout_.in_slot() && !pairs_ && pool_.cells() < cells) {
    if (!grow_heap(cells - pool_.cells())) throw no_room(" values");
  }
  note_bounds();
}

void CudaMachine::clear() {
  const OnDevice on(options_.device);
  const std::lock_guard change(changing_);
  const std::lock_guard lock(launching_);
  require_working();
  finish_all();
  end_captures();
  const DeviceBuffer<std::uint32_t> bits = pairs_ ? DeviceBuffer<std::uint32_t>() : bits_for_cells();
  const DeviceBuffer<std::uint32_t>& live = pairs_ ? pairs_->used() : bits;
  cuda::check(cudaMemsetAsync(live.data(), 0, live.size() * 4, stream_), "clearing the table");
  for (unsigned rank = 0; rank < layout_.shape.levels(); ++rank) {
    clear_slots(layout_.level[rank], layout_.buckets(rank) * layout_.shape.slots(), layout_, stream_);
  }
  if (!layout_.wide()) clear_slots(layout_.aside, 1, layout_, stream_);
  cuda::check(cudaMemsetAsync(layout_.tags, 0, layout_.tag_words() * 8, stream_), "clearing the table");
  cache_.clear(layout_.key_decides(), stream_);
  values_.clear(stream_);
  cuda::check(cudaMemsetAsync(&state_.data()->items, 0, 8, stream_), "clearing the table");
  stream_.wait("clearing the table");
  begin_cells(live, 0);
  note_bounds();
}

}  // namespace holdfast::machine::cuda

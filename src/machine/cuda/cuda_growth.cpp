// cuda_growth.cpp: what the CUDA machine does alone on the table: recovery and resizing.
#include <algorithm>
#include <chrono>

#include "machine/cuda/capture.hpp"
#include "machine/cuda/cuda_machine.hpp"
#include "machine/cuda/damage.hpp"

namespace holdfast::machine::cuda {

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::string name_of(int device) {
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, device), "asking for the GPU's name");
  if (properties.major < 8) {
    throw DeviceError(std::string("GPU ") + std::to_string(device) + ", " + properties.name +
                      ", has compute capability " + std::to_string(properties.major) + "." +
                      std::to_string(properties.minor) + ", and this build needs 8.0: use device=\"cpu\"");
  }
  return properties.name;
}

bool is_variable(const memory::Pool& pool) { return pool.superblock().key_bytes == kVariableBytes; }

}  // namespace

CudaMachine::CudaMachine(memory::Pool& pool, const MachineOptions& options)
    : pool_(pool),
      options_(options),
      gpu_(name_of(options.device)),
      registration_(pool),
      pairs_(is_variable(pool) ? std::make_unique<PairHeap>() : nullptr),
      pair_kernels_(pairs_ ? make_pair_kernels(shape_of(pool.superblock())) : nullptr),
      kernels_(pairs_ ? nullptr : make_kernels(shape_of(pool.superblock()))),
      table_kernels_(pairs_ ? static_cast<TableKernels&>(*pair_kernels_) : *kernels_),
      cache_(options),
      times_(options.time_phases),
      values_(options),
      shared_state_(std::make_shared<DeviceBuffer<DeviceState>>(1)),
      state_(*shared_state_),
      scan_report_(1),
      change_report_(1) {
  if (pairs_ && options.cache.ratio != 0) {
    throw InvalidArgument("value_cache is for values of fixed length, and those of " + pool.path() +
                          " have any: leave it out");
  }
  recover();
}

CudaMachine::~CudaMachine() {
  try {
    wait();
    const OnDevice on(options_.device);
    const std::lock_guard lock(launching_);
    end_captures();
    free_what_graphs_kept();
  } catch (const std::exception&) {
    // After an error of the GPU nothing runs any more; the pool stays without a clean mark.
  }
}

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

/// Builds everything volatile from the pool, and mends it. GPHash §3.2.3 "Recovery", as machine/cpu/keeper.hpp does it.
void CudaMachine::recover() {
  const auto start = Clock::now();
  const unsigned top_level = pool_.superblock().top_level;
  DeviceState fresh{};
  fresh.epoch = 3;
  fresh.positions[0] = values_.maps().state();
  fresh.positions[1] = cache_.maps().state();
  fresh.generation = generation_;
  cuda::check(cudaMemcpyAsync(state_.data(), &fresh, sizeof fresh, cudaMemcpyHostToDevice, stream_),
              "starting recovery");
  set_top_level(top_level, tags_for(top_level), false);
  if (pairs_) pairs_->cover(layout_, stream_);
  if (pairs_) pair_kernels_->set_slabs(pairs_->view());
  const DeviceBuffer<std::uint32_t> bits = pairs_ ? DeviceBuffer<std::uint32_t>() : bits_for_cells();
  const DeviceBuffer<std::uint32_t>& live = pairs_ ? pairs_->used() : bits;
  ScanReport report = scan_table(live);
  torn_ = report.torn;
  second_copies_ = report.second_copies;
  if (!pool_.read_only() && pool_.superblock().is_resizing) {
    // An item can lie below and above; which cells are live is known when it no longer does.
    drain_lower_levels(true);
    cuda::check(cudaMemsetAsync(layout_.tags, 0, layout_.tag_words() * 8, stream_), "emptying tags");
    report = scan_table(live);
  }
  const std::uint64_t items = report.items - report.second_copies;
  cuda::check(cudaMemcpyAsync(&state_.data()->items, &items, 8, cudaMemcpyHostToDevice, stream_), "counting items");
  begin_cells(live, report.left);
  note_bounds();
  recovery_ms_ = ms_since(start);
  if (!pairs_) values_.cover(layout_, items != 0, stream_);
  table_kernels_.set_layout(layout_, caches());
  choose_searches(items);
}

/// Reads every addressed slot into empty tags: torn slots are emptied, second copies dropped. Throws PoolCorrupt.
ScanReport CudaMachine::scan_table(const DeviceBuffer<std::uint32_t>& live) {
  const bool repair = !pool_.read_only();
  const auto scan = [&](bool mend) {
    zero_report();
    cuda::check(cudaMemsetAsync(live.data(), 0, live.size() * 4, stream_), "starting a scan");
    table_kernels_.scan(mend, live.data(), scan_report_.data(), stream_);
    return read_report();
  };
  ScanReport report = scan(repair);
  refuse_damage(describe(report, layout_));
  // Copies of an item with a cell share it, so a look at the cells has told whether there are any.
  if (!layout_.in_slot() && report.shared == 0) return report;
  table_kernels_.drop_copies(repair, scan_report_.data(), stream_);
  report = read_report();
  if (report.shared == 0) return report;
  // What still shares a cell is no copy.
  const ScanReport again = scan(false);
  refuse_damage(describe_shared(again));
  report.left = again.left;
  return report;
}

void CudaMachine::refuse_damage(const std::vector<std::string>& damage) const {
  if (damage.empty()) return;
  throw PoolCorrupt(pool_.path() + " is damaged: " + damage.front() +
                    ". Restore it from a copy, or save what verifies with: holdfast recover --salvage OUT.csv " +
                    pool_.path());
}

/// The host's bounds become what is so: nothing is enqueued that could change it.
void CudaMachine::note_bounds() {
  const DeviceState state = read_state();
  bounds_ = {static_cast<std::uint64_t>(state.items), state.tail - std::min(state.head, state.tail)};
}

/// A bit for each cell of the heap.
DeviceBuffer<std::uint32_t> CudaMachine::bits_for_cells() const {
  return DeviceBuffer<std::uint32_t>(pairs_ ? pairs_->used().size() : (layout_.cells + 31) / 32);
}

/// The cells that are not in `live` are free. `left`: bytes that pairs leave of theirs.
void CudaMachine::begin_cells(const DeviceBuffer<std::uint32_t>& live, std::uint64_t left) {
  if (layout_.in_slot()) return;
  if (pairs_) {
    pairs_->begin(static_cast<std::int64_t>(left), stream_);
    return begin_rest(std::uint64_t{1} << 20);
  }
  const std::uint64_t cells = layout_.cells;
  if (ring_cells_.size() < cells) ring_cells_ = DeviceBuffer<std::uint64_t>(cells);
  ring_ = {ring_cells_.data(), cells, std::max<std::uint64_t>(1, cells / 64)};
  const std::size_t bytes = collect_scratch_bytes(cells);
  const DeviceBuffer<std::byte> scratch(bytes);
  collect_free_cells(live.data(), ring_, state_.data(), scratch.data(), bytes, stream_);
  stream_.wait("collecting free cells");
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
  pool_.set_resizing(false);
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
  values_.cover(layout_, true, stream_);
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

namespace holdfast::machine {

std::unique_ptr<Machine> make_cuda_machine(memory::Pool& pool, const MachineOptions& options) {
  const cuda::OnDevice on(options.device);
  return std::make_unique<cuda::CudaMachine>(pool, options);
}

}  // namespace holdfast::machine

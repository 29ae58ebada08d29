// cuda_recovery.cpp: the beginning and the end of a CUDA machine: everything volatile is built from the pool, which is mended.
#include <algorithm>

#include "core/clock.hpp"
#include "gphash/cuda/cuda_machine.hpp"
#include "gphash/cuda/damage.hpp"
#include "gphash/cuda/kit.hpp"
#include "gpu/capture.hpp"

namespace holdfast::machine::cuda {

namespace {

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

bool is_variable(const gphash::TableObject& pool) { return pool.shape().key_bytes == kVariableBytes; }

}  // namespace

CudaMachine::CudaMachine(gphash::TableObject& pool, const MachineOptions& options)
    : pool_(pool),
      options_(options),
      gpu_(name_of(options.device)),
      registration_(pool),
      pairs_(is_variable(pool) ? std::make_unique<PairHeap>() : nullptr),
      pair_kernels_(pairs_ ? make_pair_kernels(shape_of(pool.shape())) : nullptr),
      kernels_(pairs_ ? nullptr : make_kernels(shape_of(pool.shape()))),
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

/// Builds everything volatile from the pool, and mends it. GPHash §3.2.3 "Recovery", as gphash/cpu/keeper.hpp does it.
void CudaMachine::recover() {
  const auto start = Clock::now();
  const unsigned top_level = pool_.shape().top_level;
  DeviceState fresh{};
  fresh.readers.epoch = 3;
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
  if (!pool_.read_only() && pool_.shape().is_resizing) {
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
  if (!pairs_) values_.cover(layout_, items != 0, cache_.view().partial(), stream_);
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

}  // namespace holdfast::machine::cuda

namespace holdfast::machine {

std::unique_ptr<Machine> make_cuda_machine(gphash::TableObject& pool, const MachineOptions& options) {
  const cuda::OnDevice on(options.device);
  return std::make_unique<cuda::CudaMachine>(pool, options);
}

}  // namespace holdfast::machine

// cuda_batch.cpp: takes batches of host or device arrays apart, and enqueues searches.
#include <algorithm>
#include <bit>
#include <cstring>

#include "gphash/cuda/cuda_machine.hpp"
#include "gphash/cuda/kit.hpp"
#include "gpu/capture.hpp"

namespace holdfast::machine::cuda {

namespace {

constexpr std::size_t kDeviceRows = std::size_t{1} << 27;  // of device arrays ordered at once: 32-bit row numbers do
constexpr std::size_t kHostRows = std::size_t{1} << 22;    // of host arrays copied at once
constexpr std::size_t kHostRowsBetweenStops = std::size_t{1} << 17;
constexpr std::size_t kHostBytes = std::size_t{512} << 20;

/// Bytes of a row of values: of a whole one, or of a column.
std::uint32_t row_bytes(const Batch& batch, std::uint32_t value_bytes) {
  return batch.column_bytes != 0 ? batch.column_bytes : value_bytes;
}

/// The rows of `batch` from `base` on, as far as they are in its own arrays.
index::Rows rows_of(const Batch& batch, std::size_t base, std::uint32_t value_bytes) {
  index::Rows rows;
  rows.value_bytes = row_bytes(batch, value_bytes);
  rows.column = batch.column;
  rows.partial = rows.value_bytes != value_bytes;
  const auto offset = base * rows.value_bytes;
  if (batch.values) rows.values = static_cast<const std::byte*>(batch.values) + offset;
  if (batch.out) rows.out = static_cast<std::byte*>(batch.out) + offset;
  if (batch.statuses) rows.statuses = batch.statuses + base;
  if (batch.found) rows.found = batch.found + base;
  if (batch.scores) rows.scores = batch.scores + base;
  if (batch.ops) rows.ops = batch.ops + base;
  rows.op = batch.op;
  rows.combine = batch.combine;
  rows.element = batch.element;
  rows.scale = batch.scale;
  return rows;
}

/// An erase may be counted before the insert that it undid: never show that as a huge number.
std::uint64_t counted(std::int64_t items) { return static_cast<std::uint64_t>(std::max<std::int64_t>(items, 0)); }

}  // namespace

BatchResult CudaMachine::run(const Batch& batch, OpSet, std::uint64_t score) {
  if (batch.size == 0) return {};
  const OnDevice on(options_.device);
  require_working();
  if (pairs_) return run_pairs(batch);
  if (!batch.on_device) return run_from_host(batch, score);
  run_on_device(batch, score);
  return {};
}

/// A kernel that is given a pointer which the GPU cannot follow would end the process's use of it.
void CudaMachine::require_reachable(const void* array, const char* name) const {
  if (array == nullptr) return;
  cudaPointerAttributes attributes{};
  cuda::check(cudaPointerGetAttributes(&attributes, array), "asking where an array is");
  const bool other_gpu = attributes.type == cudaMemoryTypeDevice && attributes.device != options_.device;
  if (attributes.type != cudaMemoryTypeUnregistered && !other_gpu) return;
  throw InvalidArgument(std::string(name) + " is not in memory of GPU " + std::to_string(options_.device) +
                        (other_gpu ? " but of GPU " + std::to_string(attributes.device) : " but of the host") +
                        ": give arrays of the table's GPU, or arrays of the host without on_device");
}

void CudaMachine::require_reachable(const Batch& batch) const {
  require_reachable(batch.keys, "keys");
  require_reachable(batch.key_offsets, "key_offsets");
  require_reachable(batch.values, "values");
  require_reachable(batch.value_offsets, "value_offsets");
  require_reachable(batch.out, "out");
  require_reachable(batch.statuses, "statuses");
  require_reachable(batch.found, "found");
  require_reachable(batch.scores, "scores");
  require_reachable(batch.ops, "ops");
  require_reachable(batch.mask, "mask");
}

FindJob CudaMachine::find_job(const index::Rows& rows, const void* keys, const std::uint8_t* mask,
                              std::uint64_t size) const {
  FindJob job;
  job.rows = rows;
  job.keys = static_cast<const std::byte*>(keys);
  job.mask = mask;
  job.size = size;
  job.state = state_.data();
  return job;
}

ChangeJob CudaMachine::change_job(const index::Rows& rows, const void* keys, const std::uint8_t* mask,
                                  std::uint64_t size) const {
  ChangeJob job;
  job.rows = rows;
  job.keys = static_cast<const std::byte*>(keys);
  job.mask = mask;
  job.size = size;
  return job;
}

void CudaMachine::run_on_device(const Batch& batch, std::uint64_t score) {
  auto* const stream = static_cast<cudaStream_t>(batch.stream);
  const bool capturing = is_capturing(stream);
  if (capturing && may_run(batch).changes()) {
    throw InvalidArgument("stream is being captured into a CUDA graph, and a graph cannot hold a batch that changes " +
                          pool_.path() +
                          ", whose room the host makes: capture searches, and run changes outside of it");
  }
  if (!capturing) require_stream(stream, options_.device);
  require_reachable(batch);
  if (batch.ops && !batch.values && layout_.value_bytes != 0) {
    throw InvalidArgument("a mixed batch in GPU memory has no values: give an array of " + std::to_string(batch.size) +
                          " × " + std::to_string(row_bytes(batch, layout_.value_bytes)) + " bytes");
  }
  const std::size_t key_bytes = layout_.key_bytes();
  const auto* const keys = static_cast<const std::byte*>(batch.keys);
  for (std::size_t base = 0; base < batch.size; base += kDeviceRows) {
    const std::size_t size = std::min(kDeviceRows, batch.size - base);
    index::Rows rows = rows_of(batch, base, layout_.value_bytes);
    rows.score = score;
    const std::uint8_t* const mask = batch.mask ? batch.mask + base : nullptr;
    if (capturing) {
      capture_search(find_job(rows, keys + key_bytes * base, mask, size), stream);
      continue;
    }
    if (!may_run(batch).changes()) {
      search(find_job(rows, keys + key_bytes * base, mask, size), stream);
      load_if_due(size);
      continue;
    }
    const std::lock_guard lock(changing_);
    change(change_job(rows, keys + key_bytes * base, mask, size), batch.unique, need_of(batch, size), false, stream);
  }
}

CudaMachine::Need CudaMachine::need_of(const Batch& batch, std::size_t size) const {
  return {may_run(batch).adds_keys() ? size : 0, may_run(batch).takes_values() && !layout_.in_slot() ? size : 0};
}

BatchResult CudaMachine::run_from_host(const Batch& batch, std::uint64_t score) {
  const std::size_t each = layout_.key_bytes() + 2 * std::size_t{row_bytes(batch, layout_.value_bytes)} + 4;
  const std::size_t most = batch.stop ? kHostRowsBetweenStops : kHostRows;
  const std::size_t chunk = std::clamp<std::size_t>(kHostBytes / each, 1, most);
  BatchResult result;
  const Stages::Lease stage = stages_.lend();
  std::size_t base = 0;
  while (base < batch.size && !result.stopped) {
    const std::size_t size = std::min(chunk, batch.size - base);
    run_chunk(batch, base, size, score, *stage, result);
    base += size;
    result.stopped = batch.stop && batch.stop();
  }
  if (base >= batch.size) return result;
  const std::size_t rest = batch.size - base;
  const index::Rows rows = rows_of(batch, base, layout_.value_bytes);
  if (rows.statuses) std::fill_n(rows.statuses, rest, Status::not_run);
  if (rows.found) std::fill_n(rows.found, rest, false);
  if (rows.scores) std::fill_n(rows.scores, rest, 0);
  if (rows.out) std::memset(rows.out, 0, rest * rows.value_bytes);
  result.count[static_cast<unsigned>(Status::not_run)] += rest;
  return result;
}

/// Copies a chunk to the GPU, runs it, and copies its results back.
void CudaMachine::run_chunk(const Batch& batch, std::size_t base, std::size_t size, std::uint64_t score, Stage& stage,
                            BatchResult& result) {
  const index::Rows host = rows_of(batch, base, layout_.value_bytes);
  const std::size_t bytes = size * host.value_bytes, key_bytes = layout_.key_bytes();
  stage.begin(key_bytes * size + 2 * bytes + (host.scores ? 12 : 4) * size, 8);
  const auto* const keys =
      stage.upload<std::byte>(static_cast<const std::byte*>(batch.keys) + key_bytes * base, key_bytes * size);
  const auto* const mask = stage.upload<std::uint8_t>(batch.mask ? batch.mask + base : nullptr, size);
  index::Rows rows = host;
  rows.score = score;
  rows.values = may_run(batch).takes_values() ? stage.upload<std::byte>(host.values, bytes) : nullptr;
  rows.ops = stage.upload<std::uint8_t>(host.ops, size);
  rows.statuses = stage.take<Status>(size);
  rows.found = host.found ? stage.take<bool>(size) : nullptr;
  rows.scores = host.scores ? stage.take<std::uint64_t>(sizeof(std::uint64_t) * size) : nullptr;
  rows.out = nullptr;
  if (host.out && bytes != 0 && may_run(batch).reads_values()) {
    rows.out = stage.take<std::byte>(bytes);
    // Rows of a mixed batch that read nothing keep what the caller has there.
    if (host.ops)
      cuda::check(cudaMemcpyAsync(rows.out, host.out, bytes, cudaMemcpyHostToDevice, stage.stream()),
                  "copying a batch to the GPU");
  }
  if (may_run(batch).changes()) {
    const std::lock_guard lock(changing_);
    change(change_job(rows, keys, mask, size), batch.unique, need_of(batch, size), true, stage.stream());
  } else {
    search(find_job(rows, keys, mask, size), stage.stream());
    load_if_due(size);
  }
  std::vector<Status> scratch(host.statuses ? 0 : size);
  Status* const statuses = host.statuses ? host.statuses : scratch.data();
  stage.download(statuses, rows.statuses, size);
  if (host.found) stage.download(host.found, rows.found, size);
  if (host.scores) stage.download(host.scores, rows.scores, sizeof(std::uint64_t) * size);
  if (rows.out) stage.download(host.out, rows.out, bytes);
  stage.stream().wait("running a batch");
  for (std::size_t i = 0; i < size; ++i) ++result.count[static_cast<unsigned>(statuses[i]) % kStatuses];
}

void CudaMachine::search(FindJob job, cudaStream_t stream) {
  const std::lock_guard lock(launching_);
  while (!searches_.empty() && searches_.front().passed()) {
    spare_events_.push_back(std::move(searches_.front()));
    searches_.pop_front();
  }
  if (spare_events_.empty()) spare_events_.emplace_back();
  Event ended = std::move(spare_events_.back());
  spare_events_.pop_back();
  if (job.mask) skip_masked(job.rows, job.mask, job.size, stream);
  SearchRooms::Room* const cells =
      goes_by_cells(job) ? &search_rooms_.lend(job.size, is_wide(layout_.cells), stream) : nullptr;
  SearchRooms::Room* const aims = goes_by_address(job) ? &aim_rooms_.lend(job.size, false, stream) : nullptr;
  start_search(job, cells, aims, stream);
  if (cells != nullptr) cells->end(stream);
  if (aims != nullptr) aims->end(stream);
  ended.record(stream);
  searches_.push_back(std::move(ended));
}

/// True if it looks for values that may lie in the heap alone, in buckets that have copies.
bool CudaMachine::goes_by_cells(const FindJob& job) const {
  const bool wants_cells = job.rows.out != nullptr && job.rows.op != Op::contains && !layout_.in_slot();
  return wants_cells && cache_.view().any() && !values_.view().resident();
}

/// True if many rows may read slots that have no copy.
bool CudaMachine::goes_by_address(const FindJob& job) const {
  return cache_.view().partial() && job.size >= order_from() && !is_wide(layout_.total_slots());
}

/// In the rooms that it asks for.
void CudaMachine::start_search(const FindJob& job, SearchRooms::Room* cells, SearchRooms::Room* aims,
                               cudaStream_t stream) {
  if (aims != nullptr) return search_far(job, *aims, cells != nullptr ? cells->room() : SearchRoom{}, stream);
  if (cells != nullptr) return search_cells(job, *cells, stream);
  kernels_->find(job, {}, stream);
}

/// The aims are ordered by slot, and then, for values in the heap, rows by cell in their own room (far_search.cuh). What copies in
/// GPU memory answer goes on beside what waits for the link.
void CudaMachine::search_far(const FindJob& job, const SearchRooms::Room& aims, SearchRoom room, cudaStream_t stream) {
  const std::uint64_t slots = layout_.total_slots();
  SearchRoom aim = aims.room();
  const bool by_cells = room.cells != nullptr, near = by_cells && values_.view().any();
  divide_heap(aim, slots, layout_.slot_bytes());
  if (by_cells) {
    divide_heap(room, layout_.cells, layout_.cell_bytes);
    room.gather_share = choices_.gather_share;
    cuda::check(cudaMemsetAsync(aim.counts, 0, 4 * (std::uint64_t{aim.stretches} + 1), stream), "starting a search");
  }
  enter_search(job.state, by_cells ? room : aim, stream);
  RowsLeft left;
  if (values_.view().known != nullptr) {
    left = {static_cast<std::uint32_t*>(aim.places), reinterpret_cast<std::uint32_t*>(aim.table)};
    kernels_->answer_known(job, aim, room, left, stream);
  }
  kernels_->aim(job, aim, room, left, stream);
  order_search(aim, job.size, slots, stream);
  kernels_->resolve_far(job, aim, room, stream);
  if (!by_cells) return;
  room.is_left_by_others = near;
  if (near) {
    aims.fork(stream);
    kernels_->answer_near(job, aim, aims.beside());
  }
  order_search(room, job.size, layout_.cells, stream);
  kernels_->gather(job, room, false, stream);
  if (!near) return;
  aims.join(stream);
  leave_search(job.state, room, stream);
}

/// A search for values in the heap: in phases, of which small_search.cuh does the first in one, or unordered (search.cuh).
void CudaMachine::search_cells(const FindJob& job, SearchRooms::Room& lent, cudaStream_t stream) {
  SearchRoom room = lent.room();
  // Of few rows that mostly have copies, too few are left to be worth an order.
  const std::uint64_t by_choice = std::max(choices_.unordered_rows, values_.view().any() ? kSmallNearSearch : 0);
  const std::uint64_t unordered = options_.order_from != 0 ? options_.order_from - 1 : by_choice;
  const bool few = options_.order_from == 0 && job.size > unordered && job.size <= choices_.cluster_rows;
  divide_heap(room, layout_.cells, layout_.cell_bytes, few ? kClusterStretchBits : kStretchBits);
  room.gather_share = choices_.gather_share;
  if (few && kernels_->resolve_small(job, room, stream)) {
    kernels_->gather(job, room, false, stream);
  } else if (job.size > unordered) {
    enter_search(job.state, room, stream);
    const std::uint64_t first = head_start_of(job);
    first != 0 ? search_with_head_start(job, first, room, lent.head_start(), stream)
               : search_in_order(job, room, stream);
  } else {
    Repeats repeats;
    if (job.size <= kSmallSearch) {
      repeats = {room.table, 2 * std::bit_ceil(job.size) - 1, room.ranks};
      cuda::check(cudaMemsetAsync(room.table, 0, 8 * (repeats.last + 1), stream), "starting a search");
    }
    kernels_->find(job, repeats, stream);
  }
}

void CudaMachine::search_in_order(const FindJob& job, const SearchRoom& room, cudaStream_t stream) {
  kernels_->resolve(job, room, stream);
  order_search(room, job.size, layout_.cells, stream);
  kernels_->gather(job, room, false, stream);
}

std::size_t CudaMachine::export_batch(std::uint64_t& cursor, const ExportArrays& to, std::size_t n) {
  const OnDevice on(options_.device);
  require_working();
  const std::lock_guard lock(changing_);  // nothing changes meanwhile
  last_change_.wait("waiting for the batch before");
  const Exports::Take take = Exports::into(to);
  std::size_t count = 0;
  do {
    count += exports_.copy(layout_, cursor, take, n - count, layout_.total_slots() + 1);
  } while (count < n && cursor != Exports::kEnd);
  return count;
}

void CudaMachine::wait() {
  const OnDevice on(options_.device);
  const std::lock_guard change(changing_);
  const std::lock_guard lock(launching_);
  finish_all();
  free_what_graphs_kept();
  require_working();
}

std::uint64_t CudaMachine::size() const {
  const OnDevice on(options_.device);
  return counted(read_state().items);
}

std::uint64_t CudaMachine::slots() const {
  const std::lock_guard lock(launching_);
  return layout_.total_slots();
}

void CudaMachine::stats(Stats& stats) const {
  const OnDevice on(options_.device);
  const DeviceState state = read_state();
  const PositionState copies = read_positions(values_.maps()), buckets = read_positions(cache_.maps());
  const std::lock_guard lock(launching_);
  stats.device_reason += ": " + gpu_;
  stats.size = counted(state.items);
  stats.slots = layout_.total_slots();
  stats.cells = layout_.in_slot() ? 0 : layout_.cells;
  stats.free_cells = state.limbo_end - std::min(state.head, state.tail);  // some of them rest for a batch more
  if (pairs_) {
    const SlabUse use = pairs_->use(stream_for_state_);
    stats.cells = use.used_cells + use.free_cells;
    stats.free_cells = use.free_cells;
    stats.heap_bytes = layout_.cells * layout_.cell_bytes;
    stats.slab_bytes = use.used_slabs * layout_.cell_bytes;
    stats.live_bytes = use.used_bytes;
    stats.rounding_bytes = static_cast<std::uint64_t>(pairs_->state(stream_for_state_).left);
  }
  stats.moves = state.moves;
  stats.claim_misses = state.claim_misses;
  stats.retries = state.retries;
  stats.resizes = resizes_;
  stats.heap_growths = heap_growths_;
  stats.recovery_ms = recovery_ms_;
  stats.last_resize_ms = last_resize_ms_;
  stats.last_resize_alloc_ms = last_resize_alloc_ms_;
  stats.repaired_slots = torn_;
  stats.finished_moves = second_copies_;
  stats.rehashed = rehashed_;
  stats.unordered_rows = choices_.unordered_rows;
  stats.cluster_rows = choices_.cluster_rows;
  stats.gather_share = choices_.gather_share;
  stats.calibration_ms = choices_.ms;
  stats.cached_bytes = cache_.bytes();
  stats.cached_ratio = cache_.ratio();
  stats.bucket_hits = buckets.hits;
  stats.bucket_loads = cache_.maps().loads();
  stats.phased_batches = phased_batches_;
  stats.phases = times_.totals();
  const ValueView& values = values_.view();
  stats.cached_value_bytes = values_.bytes();
  stats.cached_value_ratio =
      values.any() ? static_cast<double>(values.positions) / static_cast<double>(layout_.cells) : 0;
  stats.cached_values = values.resident()  ? values.positions
                        : copies.tail == 0 ? 0
                                           : values.positions - (copies.limbo_end - copies.head);
  stats.cache_hits = copies.hits;
  stats.known_hits = copies.known_hits;
  stats.cache_loads = values_.maps().loads();
  if (values.any() || cache_.view().buckets.map != nullptr) stats.cache_policy = name(values_.maps().policy());
  stats.tile = "warp";
  stats.threads = 1;
}

}  // namespace holdfast::machine::cuda

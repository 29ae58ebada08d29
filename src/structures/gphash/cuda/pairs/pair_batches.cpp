// pair_batches.cpp: batches of variable-length pairs: their arrays are checked, or copied in chunks, and each chunk is run.
#include "structures/gphash/cuda/pairs/pair_batches.hpp"

#include <algorithm>

#include "gpu/capture.hpp"
#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::gphash::cuda {

namespace {

constexpr std::size_t kPairRows = std::size_t{1} << 22;  // copied at once
constexpr std::size_t kPairRowsBetweenStops = std::size_t{1} << 17;
constexpr std::uint64_t kPairBytes = std::uint64_t{512} << 20;  // of keys and values copied at once

constexpr std::byte kNoBytes{};

std::uint64_t bytes_of(const std::uint64_t* offsets, std::size_t base, std::size_t size) {
  return offsets == nullptr ? 0 : offsets[base + size] - offsets[base];
}

/// How many rows from `base` on have no more bytes than are copied at once; one at least.
std::size_t rows_of_chunk(const Batch& batch, std::size_t base, std::size_t most) {
  const VariableLength& parts = *batch.variable;
  std::size_t few = 1, many = std::min(most, batch.size - base);
  while (few < many) {
    const std::size_t middle = many - (many - few) / 2;
    const bool fits =
        bytes_of(parts.key_offsets, base, middle) + bytes_of(parts.value_offsets, base, middle) <= kPairBytes;
    fits ? few = middle : many = middle - 1;
  }
  return few;
}

/// What a chunk works with, on top of its arrays.
std::size_t bytes_to_run(OpSet ops, std::size_t size) {
  return 8 + (ops.changes() ? PairReads::bytes(size) : pair_search_bytes(size));
}

/// Where the bytes of a chunk would begin on the GPU if those before it were there too: offsets count from there.
const std::byte* origin(const std::byte* chunk, const std::uint64_t* offsets, std::size_t base) {
  return reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(chunk) - offsets[base]);
}

}  // namespace

std::size_t PairBatches::run(const Batch& batch, OpSet ops, std::uint64_t, std::size_t from, BatchResult& result) {
  if (from != 0) return run_chunks(batch, ops, from, result);
  if (batch.variable->device_blobs != nullptr) *batch.variable->device_blobs = DeviceBlobs();
  if (batch.variable->blobs == nullptr) return run_chunks(batch, ops, from, result);
  if (!may_read_pairs(batch, ops)) {
    batch.variable->blobs->reset(batch.size);
    return run_chunks(batch, ops, from, result);
  }
  const std::shared_ptr<std::byte[]> rows = pinned_->take(sizeof(Blob) * batch.size);
  batch.variable->blobs->reset(batch.size, {rows, reinterpret_cast<Blob*>(rows.get())});
  try {
    return run_chunks(batch, ops, from, result);
  } catch (...) {
    batch.variable->blobs->reset(batch.size);
    throw;
  }
}

std::size_t PairBatches::run_chunks(const Batch& batch, OpSet ops, std::size_t from, BatchResult& result) {
  const std::size_t most = batch.variable->device_blobs != nullptr ? batch.size
                           : in_pieces(batch) && !batch.device     ? kPairRowsBetweenStops
                                                                   : kPairRows;
  const Stages::Lease stage = table_.stages.lend();
  if (batch.device) require_pairs(batch, *stage);
  std::size_t base = from;
  do {
    const std::size_t size = batch.device ? std::min(most, batch.size - base) : rows_of_chunk(batch, base, most);
    batch.device ? run_in_place(batch, ops, base, size, *stage) : run_chunk(batch, ops, base, size, *stage, result);
    base += size;
  } while (base < batch.size && !(!batch.device && stops_after(batch, base)));
  return base;
}

/// Arrays of GPU memory, which no kernel has read yet.
void PairBatches::require_pairs(const Batch& batch, Stage& stage) const {
  auto* const stream = static_cast<cudaStream_t>(batch.device->stream);
  if (is_capturing(stream)) {
    throw InvalidArgument("stream is being captured into a CUDA graph, which cannot hold batches of " +
                          table_.pool.path() + ", whose results the host makes space for: run them outside of it");
  }
  require_stream(stream, table_.options.device);
  table_.require_reachable(batch);
  if (batch.ops && !batch.variable->value_offsets)
    throw InvalidArgument("a mixed batch in GPU memory has no values: give `values`, and where each begins");
  std::uint64_t bad[3] = {};
  stage.begin(sizeof bad, 1);
  auto* const found = stage.take<std::uint64_t>(sizeof bad);
  check_rows(batch.variable->key_offsets, batch.variable->value_offsets, batch.ops, batch.size, found, stream);
  cuda::check(cudaMemcpyAsync(bad, found, sizeof bad, cudaMemcpyDeviceToHost, stream), "checking a batch");
  cuda::check(cudaStreamSynchronize(stream), "checking a batch");
  const std::uint64_t* const offsets[] = {batch.variable->key_offsets, batch.variable->value_offsets};
  for (unsigned i = 0; i < 2; ++i) {
    if (bad[i] >= batch.size) continue;
    std::uint64_t two[2] = {};
    cuda::check(cudaMemcpy(two, offsets[i] + bad[i], sizeof two, cudaMemcpyDeviceToHost), "checking a batch");
    const std::string what = i == 0 ? "key" : "value";
    if (two[1] < two[0])
      throw InvalidArgument("the offsets of " + what + "s fall from " + std::to_string(two[0]) + " to " +
                            std::to_string(two[1]) + " at row " + std::to_string(bad[i]));
    throw InvalidArgument(what + " " + std::to_string(bad[i]) + " has " + std::to_string(two[1] - two[0]) +
                          " bytes: a " + what + " has at most " + std::to_string(gphash::kMaxPart));
  }
  if (bad[2] < batch.size)
    throw InvalidArgument("ops[" + std::to_string(bad[2]) +
                          "] is no operation that values of any length have: give codes 0 to " +
                          std::to_string(kOps - 1) + ", and none to accumulate");
}

/// A chunk whose arrays the GPU can reach. What rows read is the caller's when it returns.
void PairBatches::run_rows(const PairChunk& chunk, const ResultsOf& to, Stage& stage, cudaStream_t stream) {
  auto* const epoch = stage.take<std::uint64_t>(8);
  if (!to.ops.changes()) {
    FindJob job = table_.find_job(chunk.rows, chunk.keys, chunk.mask, chunk.size);
    job.key_offsets = chunk.key_offsets;
    {
      const std::shared_lock finding(finding_);
      const ReadsInEpoch inside(table_.state.words(), epoch, stream);
      search_pairs(job, to, stage, stream);
    }
    loads_.load_if_due(chunk.size);
    return;
  }
  const bool reads = may_read_pairs(to.batch, to.ops);
  const PairReads workspace = reads ? PairReads::in(stage, chunk.size, stream) : PairReads{};
  gphash::Rows rows = chunk.rows;
  rows.blobs = workspace.blobs;
  const std::lock_guard lock(table_.order.changing());
  ChangeJob job = table_.change_job(rows, to.ops, chunk.keys, chunk.mask, chunk.size);
  job.key_offsets = chunk.key_offsets;
  prepare_workspace(job);
  if (!reads) return change_pairs(job, nullptr, stream);
  ReadsOfChange read{workspace, to, chunk.size, stage, {table_.state.words(), epoch, stream}};
  change_pairs(job, &read, stream);
  gather_reads(read, stream);
  read.epoch.leave();
  give_reads(read, stream);
}

/// Arrays of GPU memory, on the caller's stream.
void PairBatches::run_in_place(const Batch& batch, OpSet ops, std::size_t base, std::size_t size, Stage& stage) {
  auto* const stream = static_cast<cudaStream_t>(batch.device->stream);
  stage.begin(bytes_to_run(ops, size), kPairArrays + 1);
  PairChunk chunk;
  chunk.keys = static_cast<const std::byte*>(batch.keys);
  chunk.key_offsets = batch.variable->key_offsets + base;
  chunk.mask = batch.mask ? batch.mask + base : nullptr;
  chunk.size = size;
  chunk.rows.op = batch.op;
  chunk.rows.ops = batch.ops ? batch.ops + base : nullptr;
  chunk.rows.statuses = batch.statuses ? batch.statuses + base : nullptr;
  chunk.rows.found = batch.found ? batch.found + base : nullptr;
  chunk.rows.values = static_cast<const std::byte*>(batch.values);
  chunk.rows.value_offsets = batch.variable->value_offsets ? batch.variable->value_offsets + base : nullptr;
  run_rows(chunk, {batch, ops, base}, stage, stream);
  cuda::check(cudaStreamSynchronize(stream), "running a batch");
}

/// Copies a chunk to the GPU, runs it, and copies its results back.
void PairBatches::run_chunk(const Batch& batch, OpSet ops, std::size_t base, std::size_t size, Stage& stage,
                            BatchResult& result) {
  const bool stores = ops.takes_values() && batch.variable->value_offsets != nullptr;
  const std::uint64_t key_bytes = bytes_of(batch.variable->key_offsets, base, size);
  const std::uint64_t value_bytes = stores ? bytes_of(batch.variable->value_offsets, base, size) : 0;
  stage.begin(key_bytes + value_bytes + 16 * (size + 1) + 4 * size + bytes_to_run(ops, size), kPairArrays + 9);
  const auto* const keys = static_cast<const std::byte*>(batch.keys);
  PairChunk chunk;
  chunk.size = size;
  chunk.keys =
      origin(stage.upload<std::byte>(key_bytes ? keys + batch.variable->key_offsets[base] : &kNoBytes, key_bytes),
             batch.variable->key_offsets, base);
  chunk.key_offsets = stage.upload<std::uint64_t>(batch.variable->key_offsets + base, 8 * (size + 1));
  chunk.mask = stage.upload<std::uint8_t>(batch.mask ? batch.mask + base : nullptr, size);
  chunk.rows.op = batch.op;
  chunk.rows.ops = stage.upload<std::uint8_t>(batch.ops ? batch.ops + base : nullptr, size);
  chunk.rows.statuses = stage.take<Status>(size);
  chunk.rows.found = batch.found ? stage.take<bool>(size) : nullptr;
  if (stores) {
    const auto* const values = static_cast<const std::byte*>(batch.values);
    const auto* const from = value_bytes ? values + batch.variable->value_offsets[base] : &kNoBytes;
    chunk.rows.values = origin(stage.upload<std::byte>(from, value_bytes), batch.variable->value_offsets, base);
    chunk.rows.value_offsets = stage.upload<std::uint64_t>(batch.variable->value_offsets + base, 8 * (size + 1));
  }
  run_rows(chunk, {batch, ops, base}, stage, stage.stream());
  std::vector<Status> unwanted(batch.statuses ? 0 : size);
  Status* const statuses = batch.statuses ? batch.statuses + base : unwanted.data();
  stage.download(statuses, chunk.rows.statuses, size);
  if (batch.found) stage.download(batch.found + base, chunk.rows.found, size);
  stage.stream().wait("running a batch");
  for (std::size_t i = 0; i < size; ++i) ++result.count[static_cast<unsigned>(statuses[i]) % kStatuses];
}

void PairBatches::stats(Stats& stats) const {
  const heap::HeapUse use = table_.memory.pairs()->use(table_.state.reader());
  stats.space.cells = use.used_cells + use.free_cells;
  stats.space.free_cells = use.free_cells;
  stats.pairs.heap_bytes = table_.layout().cells * table_.layout().cell_bytes;
  stats.pairs.slab_bytes = use.used_slabs * table_.layout().cell_bytes;
  stats.pairs.live_bytes = use.used_bytes;
  stats.work.phased_batches = phased_batches_;
  stats.pairs.rounding_bytes = static_cast<std::uint64_t>(table_.memory.pairs()->state(table_.state.reader()).left);
}

}  // namespace holdfast::gphash::cuda

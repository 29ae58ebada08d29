// fixed_batches.cpp: takes batches of host or device arrays apart.
#include <algorithm>
#include <cstring>

#include "gpu/capture.hpp"
#include "structures/gphash/batch_rows.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/machine/fixed_batches.hpp"

namespace holdfast::gphash::cuda {

namespace {

constexpr std::size_t kDeviceRows = std::size_t{1} << 27;  // of device arrays ordered at once: 32-bit row numbers do
constexpr std::size_t kHostRows = std::size_t{1} << 22;    // of host arrays copied at once
constexpr std::size_t kHostRowsBetweenStops = std::size_t{1} << 17;
constexpr std::size_t kHostBytes = std::size_t{512} << 20;

/// Bytes of a row of values: of a whole one, or of a column.
std::uint32_t row_bytes(const Batch& batch, std::uint32_t value_bytes) {
  return batch.column ? batch.column->bytes : value_bytes;
}

}  // namespace

std::size_t FixedBatches::run(const Batch& batch, OpSet ops, std::uint64_t score, std::size_t from,
                              BatchResult& result) {
  if (!batch.device) return run_from_host(batch, ops, score, from, result);
  run_on_device(batch, ops, score);
  return batch.size;
}

void FixedBatches::run_on_device(const Batch& batch, OpSet ops, std::uint64_t score) {
  auto* const stream = static_cast<cudaStream_t>(batch.device->stream);
  const bool capturing = is_capturing(stream);
  if (capturing && ops.changes()) {
    throw InvalidArgument("stream is being captured into a CUDA graph, and a graph cannot hold a batch that changes " +
                          table_.pool.path() +
                          ", whose space the host makes: capture searches, and run changes outside of it");
  }
  if (!capturing) require_stream(stream, table_.options.device);
  table_.require_reachable(batch);
  if (batch.ops && !batch.values && table_.layout().value_bytes != 0) {
    throw InvalidArgument("a mixed batch in GPU memory has no values: give an array of " + std::to_string(batch.size) +
                          " × " + std::to_string(row_bytes(batch, table_.layout().value_bytes)) + " bytes");
  }
  const std::size_t key_bytes = table_.layout().key_bytes();
  const auto* const keys = static_cast<const std::byte*>(batch.keys);
  for (std::size_t base = 0; base < batch.size; base += kDeviceRows) {
    const std::size_t size = std::min(kDeviceRows, batch.size - base);
    const gphash::Rows rows = rows_of(batch, base, table_.layout().value_bytes, score);
    const std::uint8_t* const mask = batch.mask ? batch.mask + base : nullptr;
    if (capturing) {
      searches_.capture_search(table_.find_job(rows, keys + key_bytes * base, mask, size), stream);
      continue;
    }
    if (!ops.changes()) {
      searches_.search(table_.find_job(rows, keys + key_bytes * base, mask, size), stream);
      loads_.load_if_due(size);
      continue;
    }
    const std::lock_guard lock(table_.order.changing());
    changes_.change(table_.change_job(rows, ops, keys + key_bytes * base, mask, size), batch.unique, need_of(ops, size),
                    false, stream);
  }
}

Need FixedBatches::need_of(OpSet ops, std::size_t size) const {
  return {ops.adds_keys() ? size : 0, ops.takes_values() && !table_.layout().in_slot() ? size : 0};
}

std::size_t FixedBatches::run_from_host(const Batch& batch, OpSet ops, std::uint64_t score, std::size_t from,
                                        BatchResult& result) {
  const std::size_t each =
      table_.layout().key_bytes() + 2 * std::size_t{row_bytes(batch, table_.layout().value_bytes)} + 4;
  const std::size_t most = in_pieces(batch) ? kHostRowsBetweenStops : kHostRows;
  const std::size_t chunk = std::clamp<std::size_t>(kHostBytes / each, 1, most);
  const Stages::Lease stage = table_.stages.lend();
  std::size_t base = from;
  do {
    const std::size_t size = std::min(chunk, batch.size - base);
    run_chunk(batch, ops, base, size, score, *stage, result);
    base += size;
  } while (base < batch.size && !stops_after(batch, base));
  return base;
}

/// Copies a chunk to the GPU, runs it, and copies its results back.
void FixedBatches::run_chunk(const Batch& batch, OpSet ops, std::size_t base, std::size_t size, std::uint64_t score,
                             Stage& stage, BatchResult& result) {
  const gphash::Rows host = rows_of(batch, base, table_.layout().value_bytes, score);
  const std::size_t bytes = size * host.value_bytes, key_bytes = table_.layout().key_bytes();
  stage.begin(key_bytes * size + 2 * bytes + (host.scores ? 12 : 4) * size, 8);
  const auto* const keys =
      stage.upload<std::byte>(static_cast<const std::byte*>(batch.keys) + key_bytes * base, key_bytes * size);
  const auto* const mask = stage.upload<std::uint8_t>(batch.mask ? batch.mask + base : nullptr, size);
  gphash::Rows rows = host;
  rows.values = ops.takes_values() ? stage.upload<std::byte>(host.values, bytes) : nullptr;
  rows.ops = stage.upload<std::uint8_t>(host.ops, size);
  rows.statuses = stage.take<Status>(size);
  rows.found = host.found ? stage.take<bool>(size) : nullptr;
  rows.scores = host.scores ? stage.take<std::uint64_t>(sizeof(std::uint64_t) * size) : nullptr;
  rows.out = nullptr;
  if (host.out && bytes != 0 && ops.reads_values()) {
    rows.out = stage.take<std::byte>(bytes);
    // Rows of a mixed batch that read nothing keep what the caller has there.
    if (host.ops)
      cuda::check(cudaMemcpyAsync(rows.out, host.out, bytes, cudaMemcpyHostToDevice, stage.stream()),
                  "copying a batch to the GPU");
  }
  if (ops.changes()) {
    const std::lock_guard lock(table_.order.changing());
    changes_.change(table_.change_job(rows, ops, keys, mask, size), batch.unique, need_of(ops, size), true,
                    stage.stream());
  } else {
    searches_.search(table_.find_job(rows, keys, mask, size), stage.stream());
    loads_.load_if_due(size);
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

}  // namespace holdfast::gphash::cuda

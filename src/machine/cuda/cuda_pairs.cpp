// cuda_pairs.cpp: batches of variable-length pairs. Their arrays are copied in chunks; what they read is measured on the GPU,
// gathered there, and copied to wherever the caller's blobs lie.
#include <algorithm>
#include <cstring>

#include "machine/cuda/capture.hpp"
#include "machine/cuda/cuda_machine.hpp"

namespace holdfast::machine::cuda {

namespace {

constexpr std::size_t kPairRows = std::size_t{1} << 22;  // copied at once
constexpr std::size_t kPairRowsBetweenStops = std::size_t{1} << 17;
constexpr std::uint64_t kPairBytes = std::uint64_t{512} << 20;    // of keys and values copied at once
constexpr std::uint64_t kGatherBytes = std::uint64_t{256} << 20;  // of results copied at once

constexpr std::byte kNoBytes{};

bool may_change(const Batch& batch) { return batch.ops != nullptr || changes(batch.op); }
bool may_store(const Batch& batch) { return batch.ops != nullptr || takes_value(batch.op); }
bool may_read(const Batch& batch) { return batch.blobs != nullptr && (batch.ops != nullptr || reads_value(batch.op)); }

std::uint64_t bytes_of(const std::uint64_t* offsets, std::size_t base, std::size_t size) {
  return offsets == nullptr ? 0 : offsets[base + size] - offsets[base];
}

/// How many rows from `base` on have no more bytes than are copied at once; one at least.
std::size_t rows_of_chunk(const Batch& batch, std::size_t base, std::size_t most) {
  std::size_t few = 1, many = std::min(most, batch.size - base);
  while (few < many) {
    const std::size_t middle = many - (many - few) / 2;
    const bool fits =
        bytes_of(batch.key_offsets, base, middle) + bytes_of(batch.value_offsets, base, middle) <= kPairBytes;
    fits ? few = middle : many = middle - 1;
  }
  return few;
}

/// Where the bytes of a chunk would begin on the GPU if those before it were there too: offsets count from there.
const std::byte* origin(const std::byte* chunk, const std::uint64_t* offsets, std::size_t base) {
  return reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(chunk) - offsets[base]);
}

}  // namespace

BatchResult CudaMachine::run_pairs(const Batch& batch) {
  const std::size_t most = batch.stop ? kPairRowsBetweenStops : kPairRows;
  BatchResult result;
  if (batch.blobs != nullptr) batch.blobs->reset(batch.size);
  const Stages::Lease stage = stages_.lend();
  if (batch.on_device) require_pairs(batch, *stage);
  std::size_t base = 0;
  while (base < batch.size && !result.stopped) {
    const std::size_t size = batch.on_device ? std::min(most, batch.size - base) : rows_of_chunk(batch, base, most);
    batch.on_device ? run_pairs_in_place(batch, base, size, *stage) : run_pair_chunk(batch, base, size, *stage, result);
    base += size;
    result.stopped = !batch.on_device && batch.stop && batch.stop();
  }
  if (base >= batch.size) return result;
  const std::size_t rest = batch.size - base;
  if (batch.statuses) std::fill_n(batch.statuses + base, rest, Status::not_run);
  if (batch.found) std::fill_n(batch.found + base, rest, false);
  result.count[static_cast<unsigned>(Status::not_run)] += rest;
  return result;
}

/// Arrays of GPU memory, which nobody has looked at yet.
void CudaMachine::require_pairs(const Batch& batch, Stage& stage) const {
  auto* const stream = static_cast<cudaStream_t>(batch.stream);
  if (is_capturing(stream)) {
    throw InvalidArgument("stream is being captured into a CUDA graph, which cannot hold batches of " + pool_.path() +
                          ", whose results the host makes room for: run them outside of it");
  }
  require_stream(stream, options_.device);
  require_reachable(batch.keys, "keys");
  require_reachable(batch.key_offsets, "key_offsets");
  require_reachable(batch.values, "values");
  require_reachable(batch.value_offsets, "value_offsets");
  require_reachable(batch.statuses, "statuses");
  require_reachable(batch.found, "found");
  require_reachable(batch.ops, "ops");
  require_reachable(batch.mask, "mask");
  if (batch.ops && !batch.value_offsets)
    throw InvalidArgument("a mixed batch in GPU memory has no values: give `values`, and where each begins");
  std::uint64_t bad[3] = {};
  stage.begin(sizeof bad, 1);
  auto* const found = stage.take<std::uint64_t>(sizeof bad);
  check_rows(batch.key_offsets, batch.value_offsets, batch.ops, batch.size, found, stream);
  cuda::check(cudaMemcpyAsync(bad, found, sizeof bad, cudaMemcpyDeviceToHost, stream), "checking a batch");
  cuda::check(cudaStreamSynchronize(stream), "checking a batch");
  const std::uint64_t* const offsets[] = {batch.key_offsets, batch.value_offsets};
  for (unsigned i = 0; i < 2; ++i) {
    if (bad[i] >= batch.size) continue;
    std::uint64_t two[2] = {};
    cuda::check(cudaMemcpy(two, offsets[i] + bad[i], sizeof two, cudaMemcpyDeviceToHost), "checking a batch");
    const std::string what = i == 0 ? "key" : "value";
    if (two[1] < two[0])
      throw InvalidArgument("the offsets of " + what + "s fall from " + std::to_string(two[0]) + " to " +
                            std::to_string(two[1]) + " at row " + std::to_string(bad[i]));
    throw InvalidArgument(what + " " + std::to_string(bad[i]) + " has " + std::to_string(two[1] - two[0]) +
                          " bytes: a " + what + " has at most " + std::to_string(index::kMaxPart));
  }
  if (bad[2] < batch.size)
    throw InvalidArgument("ops[" + std::to_string(bad[2]) +
                          "] is no operation that values of any length have: give codes 0 to " +
                          std::to_string(kOps - 1) + ", and none to accumulate");
}

/// Room for what rows read, on top of what `stage` has been asked for. Null blobs where they read nothing.
PairResults CudaMachine::results_in(Stage& stage, const Batch& batch, std::size_t size, cudaStream_t stream) {
  PairResults results;
  if (!may_read(batch)) return results;
  const std::size_t scratch = measure_scratch_bytes(size);
  results = {stage.take<Blob>(sizeof(Blob) * size), stage.take<std::uint64_t>(8 * (size + 1)), stage.take<bool>(size),
             stage.take<std::byte>(scratch), scratch};
  cuda::check(cudaMemsetAsync(results.blobs, 0, sizeof(Blob) * size, stream), "starting a batch");
  return results;
}
std::size_t CudaMachine::bytes_of_results(const Batch& batch, std::size_t size) {
  return may_read(batch) ? (sizeof(Blob) + 1 + 8) * (size + 1) + measure_scratch_bytes(size) : 0;
}

/// A chunk whose arrays the GPU can reach. What rows read is in the caller's blobs when it returns.
void CudaMachine::run_pair_rows(const PairChunk& chunk, const Batch& batch, std::size_t base, Stage& stage,
                                cudaStream_t stream) {
  auto* const epoch = stage.take<std::uint64_t>(8);
  const PairResults results = results_in(stage, batch, chunk.size, stream);
  index::Rows rows = chunk.rows;
  rows.blobs = results.blobs;
  const bool reads = results.blobs != nullptr;
  if (may_change(batch)) {
    const std::lock_guard lock(changing_);
    ChangeJob job = change_job(rows, chunk.keys, chunk.mask, chunk.size);
    job.key_offsets = chunk.key_offsets;
    const PairRoom room = prepare_pair_room(chunk.size);
    const ReadsInEpoch inside(reads ? state_.data() : nullptr, epoch, stream);
    change_pairs(job, room, stream);
    if (reads) collect(results, batch, base, chunk.size, stage, stream);
  } else {
    {
      FindJob job = find_job(rows, chunk.keys, chunk.mask, chunk.size);
      job.key_offsets = chunk.key_offsets;
      const std::shared_lock finding(finding_);
      const ReadsInEpoch inside(state_.data(), epoch, stream);
      find_pairs(job, stream);
      if (reads) collect(results, batch, base, chunk.size, stage, stream);
    }
    load_if_due(chunk.size);
  }
}

/// Arrays of GPU memory, on the caller's stream.
void CudaMachine::run_pairs_in_place(const Batch& batch, std::size_t base, std::size_t size, Stage& stage) {
  auto* const stream = static_cast<cudaStream_t>(batch.stream);
  stage.begin(bytes_of_results(batch, size) + 8, 5);
  PairChunk chunk;
  chunk.keys = static_cast<const std::byte*>(batch.keys);
  chunk.key_offsets = batch.key_offsets + base;
  chunk.mask = batch.mask ? batch.mask + base : nullptr;
  chunk.size = size;
  chunk.rows.op = batch.op;
  chunk.rows.ops = batch.ops ? batch.ops + base : nullptr;
  chunk.rows.statuses = batch.statuses ? batch.statuses + base : nullptr;
  chunk.rows.found = batch.found ? batch.found + base : nullptr;
  chunk.rows.values = static_cast<const std::byte*>(batch.values);
  chunk.rows.value_offsets = batch.value_offsets ? batch.value_offsets + base : nullptr;
  run_pair_rows(chunk, batch, base, stage, stream);
  cuda::check(cudaStreamSynchronize(stream), "running a batch");
}

/// Copies a chunk to the GPU, runs it, and copies its results back.
void CudaMachine::run_pair_chunk(const Batch& batch, std::size_t base, std::size_t size, Stage& stage,
                                 BatchResult& result) {
  const bool stores = may_store(batch) && batch.value_offsets != nullptr;
  const std::uint64_t key_bytes = bytes_of(batch.key_offsets, base, size);
  const std::uint64_t value_bytes = stores ? bytes_of(batch.value_offsets, base, size) : 0;
  stage.begin(key_bytes + value_bytes + 16 * (size + 1) + 4 * size + bytes_of_results(batch, size) + 8, 13);
  const auto* const keys = static_cast<const std::byte*>(batch.keys);
  PairChunk chunk;
  chunk.size = size;
  chunk.keys = origin(stage.upload<std::byte>(key_bytes ? keys + batch.key_offsets[base] : &kNoBytes, key_bytes),
                      batch.key_offsets, base);
  chunk.key_offsets = stage.upload<std::uint64_t>(batch.key_offsets + base, 8 * (size + 1));
  chunk.mask = stage.upload<std::uint8_t>(batch.mask ? batch.mask + base : nullptr, size);
  chunk.rows.op = batch.op;
  chunk.rows.ops = stage.upload<std::uint8_t>(batch.ops ? batch.ops + base : nullptr, size);
  chunk.rows.statuses = stage.take<Status>(size);
  chunk.rows.found = batch.found ? stage.take<bool>(size) : nullptr;
  if (stores) {
    const auto* const values = static_cast<const std::byte*>(batch.values);
    const auto* const from = value_bytes ? values + batch.value_offsets[base] : &kNoBytes;
    chunk.rows.values = origin(stage.upload<std::byte>(from, value_bytes), batch.value_offsets, base);
    chunk.rows.value_offsets = stage.upload<std::uint64_t>(batch.value_offsets + base, 8 * (size + 1));
  }
  run_pair_rows(chunk, batch, base, stage, stage.stream());
  std::vector<Status> unwanted(batch.statuses ? 0 : size);
  Status* const statuses = batch.statuses ? batch.statuses + base : unwanted.data();
  stage.download(statuses, chunk.rows.statuses, size);
  if (batch.found) stage.download(batch.found + base, chunk.rows.found, size);
  stage.stream().wait("running a batch");
  for (std::size_t i = 0; i < size; ++i) ++result.count[static_cast<unsigned>(statuses[i]) % kStatuses];
}

/// Looks the keys up. Whoever changes the geometry waits for this, but not for the gathering after it: pairs do not move.
void CudaMachine::find_pairs(const FindJob& job, cudaStream_t stream) {
  const std::lock_guard lock(launching_);
  if (job.mask) skip_masked(job.rows, job.mask, job.size, stream);
  pair_kernels_->find(job, stream);
  while (!searches_.empty() && searches_.front().passed()) searches_.pop_front();
  searches_.emplace_back();
  searches_.back().record(stream);
}

/// Brings what rows read to the caller's blobs. Waits.
void CudaMachine::collect(const PairResults& results, const Batch& batch, std::size_t base, std::size_t size,
                          Stage& stage, cudaStream_t stream) {
  const auto download = [&](void* to, const void* from, std::size_t bytes) {
    cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "copying results from the GPU");
  };
  measure_blobs(results.blobs, size, results.offsets, results.present, results.scratch, results.scratch_bytes, stream);
  std::vector<std::uint64_t> offsets(size + 1);
  const auto present = std::make_unique<bool[]>(size);
  download(offsets.data(), results.offsets, 8 * (size + 1));
  download(present.get(), results.present, size);
  cuda::check(cudaStreamSynchronize(stream), "measuring results");
  std::byte* const to = batch.blobs->arena().take(offsets[size]);
  const Layout layout = [this] {
    const std::lock_guard lock(launching_);
    return layout_;
  }();
  for (std::size_t first = 0; first < size;) {
    std::size_t last = first + 1;
    if (offsets[size] - offsets[first] <= kGatherBytes) {
      last = size;
    } else {
      const auto end = std::upper_bound(offsets.begin() + static_cast<std::ptrdiff_t>(first), offsets.end(),
                                        offsets[first] + kGatherBytes);
      last = std::max(last, static_cast<std::size_t>(end - offsets.begin()) - 1);
    }
    const std::uint64_t bytes = offsets[last] - offsets[first];
    if (bytes != 0) {
      std::byte* const room = stage.results(bytes);
      gather_blobs(layout, results.blobs, results.offsets, first, last - first, room, stream);
      download(to + offsets[first], room, bytes);
      cuda::check(cudaStreamSynchronize(stream), "gathering results");
    }
    first = last;
  }
  Blob* const blobs = batch.blobs->rows() + base;
  for (std::size_t i = 0; i < size; ++i) {
    if (present[i]) blobs[i] = {to + offsets[i], offsets[i + 1] - offsets[i]};
  }
}

std::size_t CudaMachine::export_pairs(std::uint64_t& cursor, Blobs* keys, Blobs* values, std::size_t n) {
  const OnDevice on(options_.device);
  require_working();
  const std::lock_guard lock(changing_);  // nothing changes meanwhile
  last_change_.wait("waiting for the batch before");
  for (Blobs* blobs : {keys, values}) {
    if (blobs != nullptr) blobs->reset(n);
  }
  std::size_t count = 0;
  const auto keep = [&](Blobs* blobs, const index::Part& part) {
    if (blobs == nullptr) return;
    std::byte* const to = blobs->arena().take(part.size);
    if (part.size != 0) std::memcpy(to, part.data, part.size);
    blobs->rows()[count] = {to, part.size};
  };
  const Exports::Take take = [&](const Exports::Taken& item) {
    keep(keys, item.key);
    keep(values, item.value);
    ++count;
  };
  do {
    exports_.copy(layout_, cursor, take, n - count, layout_.total_slots() + 1);
  } while (count < n && cursor != Exports::kEnd);
  for (Blobs* blobs : {keys, values}) {
    if (blobs != nullptr) blobs->shrink(count);
  }
  return count;
}

}  // namespace holdfast::machine::cuda

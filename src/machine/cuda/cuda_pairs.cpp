// cuda_pairs.cpp: batches of variable-length pairs. Their arrays are copied in chunks; what they read is measured on the GPU,
// gathered there, and copied to wherever the caller's blobs lie.
#include <algorithm>
#include <cstring>

#include "machine/cuda/cuda_machine.hpp"

namespace holdfast::machine::cuda {

namespace {

constexpr std::size_t kPairRows = std::size_t{1} << 22;  // copied at once
constexpr std::size_t kPairRowsBetweenStops = std::size_t{1} << 17;
constexpr std::uint64_t kPairBytes = std::uint64_t{512} << 20;    // of keys and values copied at once
constexpr std::uint64_t kGatherBytes = std::uint64_t{256} << 20;  // of results copied at once

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
  std::size_t base = 0;
  while (base < batch.size && !result.stopped) {
    const std::size_t size = rows_of_chunk(batch, base, most);
    run_pair_chunk(batch, base, size, *stage, result);
    base += size;
    result.stopped = batch.stop && batch.stop();
  }
  const std::size_t rest = batch.size - base;
  if (batch.statuses) std::fill_n(batch.statuses + base, rest, Status::not_run);
  if (batch.found) std::fill_n(batch.found + base, rest, false);
  result.count[static_cast<unsigned>(Status::not_run)] += rest;
  return result;
}

void CudaMachine::run_pair_chunk(const Batch& batch, std::size_t base, std::size_t size, Stage& stage,
                                 BatchResult& result) {
  const bool reads = may_read(batch), stores = may_store(batch) && batch.value_offsets != nullptr;
  const std::uint64_t key_bytes = bytes_of(batch.key_offsets, base, size);
  const std::uint64_t value_bytes = stores ? bytes_of(batch.value_offsets, base, size) : 0;
  const std::size_t scratch = reads ? measure_scratch_bytes(size) : 0;
  stage.begin(
      key_bytes + value_bytes + 24 * (size + 1) + (reads ? sizeof(Blob) + 1 : 0) * size + scratch + 4 * size + 8, 12);
  const auto* const keys =
      stage.upload<std::byte>(static_cast<const std::byte*>(batch.keys) + batch.key_offsets[base], key_bytes);
  const auto* const key_offsets = stage.upload<std::uint64_t>(batch.key_offsets + base, 8 * (size + 1));
  const auto* const mask = stage.upload<std::uint8_t>(batch.mask ? batch.mask + base : nullptr, size);
  index::Rows rows;
  rows.op = batch.op;
  rows.ops = stage.upload<std::uint8_t>(batch.ops ? batch.ops + base : nullptr, size);
  rows.statuses = stage.take<Status>(size);
  rows.found = batch.found ? stage.take<bool>(size) : nullptr;
  if (stores) {
    const auto* const from = static_cast<const std::byte*>(batch.values) + batch.value_offsets[base];
    rows.values = origin(stage.upload<std::byte>(from, value_bytes), batch.value_offsets, base);
    rows.value_offsets = stage.upload<std::uint64_t>(batch.value_offsets + base, 8 * (size + 1));
  }
  std::uint64_t* const epoch = stage.take<std::uint64_t>(8);
  PairResults results;
  if (reads) {
    results = {stage.take<Blob>(sizeof(Blob) * size), stage.take<std::uint64_t>(8 * (size + 1)), stage.take<bool>(size),
               stage.take<std::byte>(scratch), scratch};
    cuda::check(cudaMemsetAsync(results.blobs, 0, sizeof(Blob) * size, stage.stream()), "starting a batch");
    rows.blobs = results.blobs;
  }
  const std::byte* const first = origin(keys, batch.key_offsets, base);
  if (may_change(batch)) {
    const std::lock_guard lock(changing_);
    ChangeJob job = change_job(rows, first, mask, size);
    job.key_offsets = key_offsets;
    const ReadsInEpoch inside(reads ? state_.data() : nullptr, epoch, stage.stream());
    change_pairs(job, stage.stream());
    if (reads) collect(results, batch, base, size, stage);
  } else {
    FindJob job = find_job(rows, first, mask, size);
    job.key_offsets = key_offsets;
    const std::shared_lock finding(finding_);
    const ReadsInEpoch inside(state_.data(), epoch, stage.stream());
    find_pairs(job, stage.stream());
    if (reads) collect(results, batch, base, size, stage);
  }
  std::vector<Status> unwanted(batch.statuses ? 0 : size);
  Status* const statuses = batch.statuses ? batch.statuses + base : unwanted.data();
  stage.download(statuses, rows.statuses, size);
  if (batch.found) stage.download(batch.found + base, rows.found, size);
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
                          Stage& stage) {
  const cudaStream_t stream = stage.stream();
  measure_blobs(results.blobs, size, results.offsets, results.present, results.scratch, results.scratch_bytes, stream);
  std::vector<std::uint64_t> offsets(size + 1);
  const auto present = std::make_unique<bool[]>(size);
  stage.download(offsets.data(), results.offsets, 8 * (size + 1));
  stage.download(present.get(), results.present, size);
  stage.stream().wait("measuring results");
  std::byte* const to = batch.blobs->arena().take(offsets[size]);
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
      gather_blobs(results.blobs, results.offsets, first, last - first, room, stream);
      stage.download(to + offsets[first], room, bytes);
      stage.stream().wait("gathering results");
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

// pair_results.cpp: searches of variable-length pairs, and the way of what a batch reads of them to its caller: cut into parts,
// of which the GPU gathers one while another crosses the link to pinned host memory; or left in GPU memory, all in one piece.
#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <vector>

#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/pairs/pair_batches.hpp"
#include "structures/gphash/pair_check.hpp"

namespace holdfast::gphash::cuda {

namespace {

// Results come in parts, at most so large: few enough that what each costs does not matter, many enough that the first and the last,
// which cross the link in one direction alone, are a small part of all.
constexpr std::size_t kSmallestPart = std::size_t{4} << 20, kLargestPart = std::size_t{32} << 20;
constexpr std::size_t kFewParts = 8;
constexpr std::size_t kBeyond = std::size_t{128} << 10;  // a part ends behind the row that fills it
static_assert(kBeyond > gphash::kMaxPart + 8);

std::size_t part_space(std::uint64_t bytes) {
  return std::bit_ceil(std::clamp<std::size_t>(bytes / kFewParts, kSmallestPart, kLargestPart));
}

/// A word that a kernel has written. Waits.
template <class T>
T read_word(const T* from, cudaStream_t stream) {
  T word{};
  cuda::check(cudaMemcpyAsync(&word, from, sizeof word, cudaMemcpyDeviceToHost, stream), "measuring results");
  cuda::check(cudaStreamSynchronize(stream), "measuring results");
  return word;
}

}  // namespace

bool may_read_pairs(const Batch& batch, OpSet ops) {
  return (batch.variable->blobs != nullptr || batch.variable->device_blobs != nullptr) && ops.reads_values();
}

std::size_t PairReads::bytes(std::size_t rows) {
  return 2 * sizeof(Blob) * rows + 8 * (rows + 1) + measure_scratch_bytes(rows);
}

PairReads PairReads::in(Stage& stage, std::size_t rows, cudaStream_t stream) {
  PairReads reads;
  reads.blobs = stage.take<Blob>(sizeof(Blob) * rows);
  reads.results = stage.take<Blob>(sizeof(Blob) * rows);
  reads.offsets = stage.take<std::uint64_t>(8 * (rows + 1));
  reads.scratch_bytes = measure_scratch_bytes(rows);
  reads.scratch = stage.take<std::byte>(reads.scratch_bytes);
  for (Blob* const blobs : {reads.blobs, reads.results})
    cuda::check(cudaMemsetAsync(blobs, 0, sizeof(Blob) * rows, stream), "starting a batch");
  return reads;
}

std::size_t pair_search_bytes(std::size_t rows) {
  return (16 + 8 + 8 + 4 + sizeof(Blob)) * (rows + 1) + pair_search_scratch_bytes(rows) + 4;
}

PairSearchWorkspace pair_search_workspace(Stage& stage, std::size_t rows, bool values) {
  PairSearchWorkspace workspace;
  for (unsigned i = 0; i < 2; ++i) {
    workspace.words[i] = stage.take<std::uint64_t>(8 * rows);
    workspace.rows[i] = stage.take<std::uint32_t>(4 * rows);
  }
  workspace.sizes = stage.take<std::uint32_t>(4 * rows);
  workspace.wrong = stage.take<std::uint32_t>(4);
  workspace.scratch_bytes = pair_search_scratch_bytes(rows);
  workspace.scratch = stage.take<std::byte>(workspace.scratch_bytes);
  if (!values) return workspace;
  workspace.offsets = stage.take<std::uint64_t>(8 * (rows + 1));
  workspace.blobs = stage.take<Blob>(sizeof(Blob) * rows);
  return workspace;
}

/// The caller has joined an epoch.
void PairBatches::search_pairs(const FindJob& job, const ResultsOf& to, Stage& stage, cudaStream_t stream) {
  const bool values = may_read_pairs(to.batch, to.ops);
  const PairSearchWorkspace workspace = pair_search_workspace(stage, job.size, values);
  for (const bool exact : {false, true}) {
    if (search_pairs_once(job, to, workspace, exact, stage, stream)) return;
  }
  throw DeviceError(table_.pool.path() + " has a pair whose key is not the one that was looked for: run check");
}

/// False: some key is not that of the pair that has its hash.
bool PairBatches::search_pairs_once(const FindJob& job, const ResultsOf& to, PairSearchWorkspace workspace, bool exact,
                                    Stage& stage, cudaStream_t stream) {
  cuda::check(cudaMemsetAsync(workspace.wrong, 0, 4, stream), "starting a search");
  const Layout layout = resolve_pairs(job, workspace, exact, stream);
  if (table_.options.verify) {
    verify_read_pairs(workspace, job.size, layout, stream);
    if (const std::uint32_t damaged = read_word(workspace.wrong, stream)) throw_damaged(table_.pool.path(), damaged);
  }
  if (path_of(PairFacts{.rows = job.size, .order_from = table_.options.order_from}) == PairPath::ordered)
    order_pairs(workspace, job.size, layout.cells << layout.slab_bits, stream);
  if (workspace.offsets == nullptr) {
    gather_pairs(workspace, job, layout.heap, 0, job.size, 0, nullptr, stream);
    finish_pairs(workspace, job, 0, job.size, nullptr, stream);
    return read_word(workspace.wrong, stream) == 0;
  }
  lay_out_pairs(workspace, job, stream);
  LaidOut laid;
  laid.offsets = workspace.offsets;
  laid.size = job.size;
  laid.bytes = read_word(workspace.offsets + job.size, stream);
  laid.gather = [&](std::uint64_t first, std::uint64_t size, std::uint64_t bytes, std::byte* at) {
    gather_pairs(workspace, job, layout.heap, first, size, bytes, at, stream);
  };
  laid.finish = [&](std::uint64_t first, std::uint64_t size, const std::byte* at) {
    finish_pairs(workspace, job, first, size, at, stream);
  };
  if (to.batch.variable->device_blobs == nullptr) {
    std::uint32_t wrong = 0;
    const PinnedParts parts = bring_results(laid, stage, stream, [&] {
      bring_rows(workspace.blobs, job.size, to, stream);
      cuda::check(cudaMemcpyAsync(&wrong, workspace.wrong, sizeof wrong, cudaMemcpyDeviceToHost, stream),
                  "gathering results");
    });
    if (wrong != 0) return false;
    for (const auto& part : parts) to.batch.variable->blobs->arena().keep(part);
    return true;
  }
  const std::size_t space_bytes = std::max<std::size_t>(laid.bytes, 8);
  std::byte* const gathered = stage.results(space_bytes);
  laid.gather(0, job.size, laid.bytes, gathered);
  laid.finish(0, job.size, gathered);
  if (read_word(workspace.wrong, stream) != 0) return false;
  leave_results(
      {workspace.blobs, job.size, gathered, space_bytes, workspace.offsets, workspace.scratch, workspace.scratch_bytes},
      to, stream);
  return true;
}

/// Enqueues the first phase. A change of the geometry waits for it, but not for what follows: pairs do not move.
Layout PairBatches::resolve_pairs(const FindJob& job, const PairSearchWorkspace& workspace, bool exact,
                                  cudaStream_t stream) {
  const std::lock_guard lock(table_.order.launching());
  if (job.mask) skip_masked(job.rows, job.mask, job.size, stream);
  table_.pair_kernels->resolve(job, workspace, exact, stream);
  searches_.note(stream);
  return table_.layout();
}

/// What the rows of a changing batch have read since the last time. Waits.
void PairBatches::gather_reads(ReadsOfChange& reads, cudaStream_t stream) {
  const Layout layout = [this] {
    const std::lock_guard lock(table_.order.launching());
    return table_.layout();
  }();
  const PairReads& workspace = reads.workspace;
  measure_blobs(workspace.blobs, reads.size, workspace.offsets, workspace.scratch, workspace.scratch_bytes, stream);
  LaidOut laid;
  laid.offsets = workspace.offsets;
  laid.size = reads.size;
  laid.bytes = read_word(workspace.offsets + reads.size, stream);
  laid.gather = [&](std::uint64_t first, std::uint64_t rows, std::uint64_t, std::byte* at) {
    gather_blobs(layout.heap, layout.cells << layout.slab_bits, workspace.blobs, workspace.offsets, first, rows, at,
                 stream);
  };
  laid.finish = [&](std::uint64_t first, std::uint64_t rows, const std::byte* at) {
    finish_blobs(workspace.blobs, workspace.offsets, first, rows, at, workspace.results, nullptr, stream);
  };
  if (reads.to.batch.variable->device_blobs == nullptr) {
    for (const auto& part : bring_results(laid, reads.stage, stream, [] {}))
      reads.to.batch.variable->blobs->arena().keep(part);
  } else {
    std::byte* const at = reads.gathered.emplace_back(std::max<std::size_t>(laid.bytes, 1)).data();
    laid.gather(0, reads.size, laid.bytes, at);
    laid.finish(0, reads.size, at);
  }
  cuda::check(cudaMemsetAsync(workspace.blobs, 0, sizeof(Blob) * reads.size, stream), "gathering results");
}

/// Gives the caller what has been gathered. Waits.
void PairBatches::give_reads(const ReadsOfChange& reads, cudaStream_t stream) {
  const PairReads& workspace = reads.workspace;
  if (reads.to.batch.variable->device_blobs != nullptr) {
    const Scattered from{workspace.results,      reads.size, nullptr, 0, workspace.offsets, workspace.scratch,
                         workspace.scratch_bytes};
    return leave_results(from, reads.to, stream);
  }
  bring_rows(workspace.results, reads.size, reads.to, stream);
  cuda::check(cudaStreamSynchronize(stream), "gathering results");
}

/// Copies results to pinned memory. Waits for that, and for what `last` enqueues.
PinnedParts PairBatches::bring_results(const LaidOut& laid, Stage& stage, cudaStream_t stream,
                                       const std::function<void()>& last) {
  PinnedParts brought;
  try {
    bring_parts(laid, brought, stage, stream);
    last();
    cuda::check(cudaStreamSynchronize(stream), "gathering results");
    stage.copying().wait("copying results from the GPU");
  } catch (...) {  // no other batch gets this memory while something is still being copied to it
    static_cast<void>(cudaStreamSynchronize(stream));
    static_cast<void>(cudaStreamSynchronize(stage.copying()));
    throw;
  }
  return brought;
}

/// Where results are, as they are wanted there.
void PairBatches::bring_rows(const Blob* results, std::size_t size, const ResultsOf& to, cudaStream_t stream) {
  cuda::check(cudaMemcpyAsync(to.batch.variable->blobs->rows() + to.base, results, sizeof(Blob) * size,
                              cudaMemcpyDeviceToHost, stream),
              "copying results from the GPU");
}

void PairBatches::bring_parts(const LaidOut& laid, PinnedParts& brought, Stage& stage, cudaStream_t stream) {
  const std::size_t space = part_space(laid.bytes), most = space - kBeyond;
  const auto download = [&](const std::byte* from, std::size_t bytes, cudaStream_t on) {
    cuda::check(cudaMemcpyAsync(brought.back().get(), from, bytes, cudaMemcpyDeviceToHost, on),
                "copying results from the GPU");
  };
  if (laid.bytes <= most) {
    std::byte* const at = stage.results(space);
    brought.push_back(pinned_->take(std::max<std::size_t>(laid.bytes, 1)));
    laid.gather(0, laid.size, laid.bytes, at);
    laid.finish(0, laid.size, brought.back().get());
    return download(at, laid.bytes, stream);
  }
  const std::uint64_t parts = (laid.bytes + most - 1) / most;
  std::vector<ResultPart> begins(parts);
  const std::size_t cuts = sizeof(ResultPart) * parts;
  std::byte* const halves = stage.results(2 * space + cuts);
  auto* const found = reinterpret_cast<ResultPart*>(halves + 2 * space);
  cut_results(laid.offsets, laid.size, most, parts, found, stream);
  cuda::check(cudaMemcpyAsync(begins.data(), found, cuts, cudaMemcpyDeviceToHost, stream), "gathering results");
  cuda::check(cudaStreamSynchronize(stream), "gathering results");
  begins.push_back({laid.size, laid.bytes});
  for (std::uint64_t part = 0; part < parts; ++part) {
    const std::uint64_t first = begins[part].first, size = begins[part + 1].first - first;
    const std::uint64_t bytes = begins[part + 1].offset - begins[part].offset;
    if (size == 0) continue;
    brought.push_back(pinned_->take(bytes));
    std::byte* const at = halves + part % 2 * space;
    Stage::Half& half = stage.half(part % 2);
    if (part >= 2) half.copied.hold(stream);
    laid.gather(first, size, bytes, at);
    laid.finish(first, size, brought.back().get());
    half.gathered.record(stream);
    half.gathered.hold(stage.copying());
    download(at, bytes, stage.copying());
    half.copied.record(stage.copying());
  }
}

/// Puts results, wherever they lie, one after another into GPU memory that is the caller's from then on. Waits.
void PairBatches::leave_results(const Scattered& from, const ResultsOf& to, cudaStream_t stream) {
  measure_blobs(from.blobs, from.size, from.offsets, from.scratch, from.scratch_bytes, stream);
  const auto bytes = read_word(from.offsets + from.size, stream);
  const std::size_t offset_bytes = 8 * (from.size + 1);
  const auto memory = std::make_shared<DeviceBuffer<std::byte>>(offset_bytes + bytes + from.size);
  auto* const offsets = reinterpret_cast<std::uint64_t*>(memory->data());
  std::byte* const at = memory->data() + offset_bytes;
  auto* const present = reinterpret_cast<bool*>(at + bytes);
  cuda::check(cudaMemcpyAsync(offsets, from.offsets, offset_bytes, cudaMemcpyDeviceToDevice, stream),
              "gathering results");
  gather_blobs(from.begin, from.bytes, from.blobs, offsets, 0, from.size, at, stream);
  finish_blobs(from.blobs, offsets, 0, from.size, at, nullptr, present, stream);
  cuda::check(cudaStreamSynchronize(stream), "gathering results");
  to.batch.variable->device_blobs->reset(memory, from.size, offsets, present, at, bytes, table_.options.device);
}

}  // namespace holdfast::gphash::cuda

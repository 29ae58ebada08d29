// searches.cpp: enqueues a search on the path that it takes (paths.hpp).
#include "structures/gphash/cuda/search/searches.hpp"

#include <algorithm>
#include <bit>

#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::gphash::cuda {

void Searches::search(const FindJob& job, cudaStream_t stream) {
  const std::lock_guard lock(table_.order.launching());
  Event ended = next_event();
  if (job.mask) skip_masked(job.rows, job.mask, job.size, stream);
  const SearchPath path = path_of(facts_of(job));
  SearchWorkspaces::Workspace* const cells =
      values_may_miss(job) ? &cell_workspaces_.lend(job.size, is_wide(table_.layout().cells), stream) : nullptr;
  const bool aims_first = path == SearchPath::by_slots || path == SearchPath::by_both;
  SearchWorkspaces::Workspace* const aims = aims_first ? &aim_workspaces_.lend(job.size, false, stream) : nullptr;
  start(job, path, cells, aims, stream);
  if (cells != nullptr) cells->end(stream);
  if (aims != nullptr) aims->end(stream);
  ended.record(stream);
  running_.push_back(std::move(ended));
}

void Searches::note(cudaStream_t stream) {
  Event ended = next_event();
  ended.record(stream);
  running_.push_back(std::move(ended));
}

/// That of a search which has passed, if there is one.
Event Searches::next_event() {
  while (!running_.empty() && running_.front().passed()) {
    spare_events_.push_back(std::move(running_.front()));
    running_.pop_front();
  }
  if (spare_events_.empty()) spare_events_.emplace_back();
  Event event = std::move(spare_events_.back());
  spare_events_.pop_back();
  return event;
}

void Searches::finish_searches() const {
  const std::lock_guard lock(table_.order.launching());
  for (const Event& search : running_) search.wait("waiting for searches");
}

void Searches::finish_all() const {
  for (const Event& search : running_) search.wait("waiting for searches");
  table_.order.finish();
  table_.memory.values().maps().wait();
  table_.memory.cache().maps().wait();
}

/// It looks for values that may lie in the heap alone, in buckets that have copies.
bool Searches::values_may_miss(const FindJob& job) const {
  const bool wants_cells = job.rows.out != nullptr && reads_value(job.rows.op) && !table_.layout().in_slot();
  return wants_cells && table_.memory.cache().view().any() && !table_.memory.values().view().resident();
}

bool Searches::slots_may_miss() const {
  return table_.memory.cache().view().partial() && !is_wide(table_.layout().total_slots());
}

SearchFacts Searches::facts_of(const FindJob& job) const {
  SearchFacts facts;
  facts.rows = job.size;
  facts.order_from = table_.options.order_from;
  facts.slots_may_miss = slots_may_miss();
  facts.values_may_miss = values_may_miss(job);
  facts.values_have_copies = table_.memory.values().view().any();
  facts.unordered_rows = choices_.unordered_rows;
  facts.cluster_rows = choices_.cluster_rows;
  facts.pipelined_rows = pipelined_rows(job);
  return facts;
}

/// In the workspaces that its path asks for.
void Searches::start(const FindJob& job, SearchPath path, SearchWorkspaces::Workspace* cells,
                     SearchWorkspaces::Workspace* aims, cudaStream_t stream) {
  if (aims != nullptr)
    return search_misses(job, *aims, cells != nullptr ? cells->workspace() : SearchWorkspace{}, stream);
  if (cells != nullptr) return search_cells(job, path, *cells, stream);
  table_.kernels->find(job, {}, stream);
}

/// The aims are ordered by slot, and then, for values in the heap, rows by cell in their workspace (miss_search.cuh). What copies in
/// GPU memory answer runs beside what waits for the link.
void Searches::search_misses(const FindJob& job, const SearchWorkspaces::Workspace& aims, SearchWorkspace workspace,
                             cudaStream_t stream) {
  const std::uint64_t slots = table_.layout().total_slots();
  SearchWorkspace aim = aims.workspace();
  const bool by_cells = workspace.cells != nullptr, hits = by_cells && table_.memory.values().view().any();
  divide(aim, slots, table_.layout().slot_bytes());
  if (by_cells) {
    divide(workspace, table_.layout().cells, table_.layout().cell_bytes);
    workspace.gather_share = choices_.share_of(job.size);
    cuda::check(cudaMemsetAsync(aim.counts, 0, 4 * (std::uint64_t{aim.bins} + 1), stream), "starting a search");
  }
  enter_search(job.state, by_cells ? workspace : aim, stream);
  RowsLeft left;
  if (table_.memory.values().view().directory.any()) {
    left = {static_cast<std::uint32_t*>(aim.places), reinterpret_cast<std::uint32_t*>(aim.table)};
    table_.kernels->answer_from_directory(job, aim, workspace, left, stream);
  }
  table_.kernels->aim(job, aim, workspace, left, stream);
  order_search(aim, job.size, slots, stream);
  table_.kernels->resolve_misses(job, aim, workspace, stream);
  if (!by_cells) return;
  workspace.is_left_by_others = hits;
  if (hits) {
    aims.fork(stream);
    table_.kernels->answer_hits(job, aim, aims.beside());
  }
  order_search(workspace, job.size, table_.layout().cells, stream);
  table_.kernels->gather(job, workspace, false, stream);
  if (!hits) return;
  aims.join(stream);
  leave_search(job.state, workspace, stream);
}

/// A search for values in the heap.
void Searches::search_cells(const FindJob& job, SearchPath path, SearchWorkspaces::Workspace& lent,
                            cudaStream_t stream) {
  SearchWorkspace workspace = lent.workspace();
  const bool clustered = path == SearchPath::cluster;
  divide(workspace, table_.layout().cells, table_.layout().cell_bytes, clustered ? kClusterBinBits : kBinBits);
  workspace.gather_share = choices_.share_of(job.size);
  if (clustered && table_.kernels->resolve_small(job, workspace, stream))
    return table_.kernels->gather(job, workspace, false, stream);
  if (path == SearchPath::one_kernel) return table_.kernels->find(job, {}, stream);
  if (path == SearchPath::merged) {
    const Repeats repeats{workspace.table, 2 * std::bit_ceil(job.size) - 1, workspace.ranks};
    cuda::check(cudaMemsetAsync(workspace.table, 0, 8 * (repeats.last + 1), stream), "starting a search");
    return table_.kernels->find(job, repeats, stream);
  }
  enter_search(job.state, workspace, stream);
  path == SearchPath::two_parts ? search_in_two_parts(job, workspace, lent.pipelining(), stream)
                                : search_in_order(job, workspace, stream);
}

void Searches::search_in_order(const FindJob& job, const SearchWorkspace& workspace, cudaStream_t stream) {
  table_.kernels->resolve(job, workspace, stream);
  order_search(workspace, job.size, table_.layout().cells, stream);
  table_.kernels->gather(job, workspace, false, stream);
}

}  // namespace holdfast::gphash::cuda

// pipelining.cu: an ordered search in two parts: the link works on the first rows while the others are resolved.
//
// Rows are resolved and ordered at some eight thousand million a second, and gathered at four hundred: in one part, the link would stand
// still for a sixteenth of the time. What the parts share is read twice, though, so if many rows want few cells, all go together after
// all. That is known when the first rows have been counted, on the GPU alone: kernels ask it (SearchPart::apart), the host does not.
#include "structures/gphash/cuda/kernels/pipelining.hpp"

#include "gpu/launch.cuh"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/search/searches.hpp"

namespace holdfast::gphash::cuda {

namespace {

// Where fewer rows go first, the translation of addresses limits the link; where more do, too few are left to resolve beside them.
constexpr std::uint64_t kHeapBytes = 6144;  ///< of the heap, for each row that goes first
constexpr std::uint64_t kLeastRest = 2, kMostRest = 8;
constexpr std::uint32_t kLargeCell = 160;  ///< from which on reading some cells twice costs more than is won
constexpr std::uint32_t kCrowd = 64, kCrowdTimes = 4;  ///< rows of one range: these, and so many times the average

/// Rows [base, base + size) of a search alone.
FindJob part_of(const FindJob& job, std::uint64_t base, std::uint64_t size, std::size_t key_bytes) {
  FindJob part = job;
  part.keys += base * key_bytes;
  part.size = size;
  if (part.mask) part.mask += base;
  gphash::Rows& rows = part.rows;
  if (rows.out) rows.out += base * rows.value_bytes;
  if (rows.statuses) rows.statuses += base;
  if (rows.found) rows.found += base;
  if (rows.scores) rows.scores += base;
  return part;
}

/// How many rows fell to the range that most fell to.
__global__ void __launch_bounds__(kThreads)
    crowd_kernel(const std::uint32_t* counts, std::uint32_t bins, std::uint32_t* crowd) {
  std::uint32_t most = 0;
  for (std::uint64_t i = first_of_thread(); i < bins; i += all_threads()) most = max(most, counts[i]);
  most = __reduce_max_sync(kAllLanes, most);
  if (threadIdx.x % kWarp == 0) atomicMax(crowd, most);
}

__global__ void __launch_bounds__(kThreads) second_part_kernel(const __grid_constant__ SearchWorkspace workspace) {
  if (!workspace.part.apart()) return;
  for (std::uint64_t i = first_of_thread(); i <= workspace.bins; i += all_threads()) workspace.counts[i] = 0;
}

/// When the first rows are counted.
void count_crowd(const SearchWorkspace& workspace, std::uint32_t* crowd, cudaStream_t stream) {
  check(cudaMemsetAsync(crowd, 0, sizeof(*crowd), stream), "starting a search");
  crowd_kernel<<<blocks_for(crowd_kernel, workspace.bins), kThreads, 0, stream>>>(workspace.counts, workspace.bins,
                                                                                  crowd);
  check_launch("starting a search");
}

/// The bins are empty again.
void begin_second_part(const SearchWorkspace& workspace, cudaStream_t stream) {
  second_part_kernel<<<blocks_for(second_part_kernel, workspace.bins), kThreads, 0, stream>>>(workspace);
  check_launch("starting a search");
}

}  // namespace

/// How many rows go first; 0: all at once. A stream that is drawn into a capture stays in it, so in a graph all do.
std::uint64_t Searches::pipelined_rows(const FindJob& job) const {
  const std::uint64_t first = table_.layout().cells * table_.layout().cell_bytes / kHeapBytes;
  const bool worth_it =
      job.size >= kLeastRest * first && job.size <= kMostRest * first && table_.layout().cell_bytes < kLargeCell;
  return worth_it && !table_.memory.values().view().any() && job.generation == 0 ? first : 0;
}

void Searches::search_in_two_parts(const FindJob& job, const SearchWorkspace& workspace, Pipelining& head,
                                   cudaStream_t stream) {
  const std::uint64_t first = pipelined_rows(job);
  const FindJob ahead = part_of(job, 0, first, table_.layout().key_bytes());
  SearchWorkspace all = workspace;
  all.part.first = first;
  all.part.crowd = head.crowd.data();
  all.part.crowd_limit = static_cast<std::uint32_t>(kCrowd + kCrowdTimes * first / workspace.bins);
  SearchWorkspace ahead_workspace = all;
  ahead_workspace.part.goes_first = true;
  ahead_workspace.starts = head.starts.data();
  table_.kernels->resolve(ahead, ahead_workspace, stream);
  order_search(ahead_workspace, first, table_.layout().cells, stream);
  count_crowd(ahead_workspace, head.crowd.data(), stream);
  head.ordered.record(stream);
  head.ordered.hold(head.stream);
  table_.kernels->gather(ahead, ahead_workspace, false, head.stream);
  head.gathered.record(head.stream);

  begin_second_part(all, stream);
  SearchWorkspace others = all;  // each row has its own places there, whichever part it is in
  others.cells = static_cast<std::byte*>(all.cells) + (is_wide(table_.layout().cells) ? 8 : 4) * first;
  others.ranks += first;
  table_.kernels->resolve(part_of(job, first, job.size - first, table_.layout().key_bytes()), others, stream);
  order_search(all, job.size, table_.layout().cells, stream);
  head.gathered.hold(stream);
  table_.kernels->gather(job, all, false, stream);
}

}  // namespace holdfast::gphash::cuda

// searches.cpp: enqueues a search on the path that it takes (paths.hpp).
#include "structures/gphash/cuda/search/searches.hpp"

#include <algorithm>
#include <bit>

#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::machine::cuda {

void Searches::search(const FindJob& job, cudaStream_t stream) {
  const std::lock_guard lock(table_.order.launching());
  Event ended = next_event();
  if (job.mask) skip_masked(job.rows, job.mask, job.size, stream);
  const SearchPath path = path_of(facts_of(job));
  SearchRooms::Room* const cells =
      values_are_far(job) ? &cell_rooms_.lend(job.size, is_wide(table_.layout().cells), stream) : nullptr;
  const bool aims_first = path == SearchPath::by_slots || path == SearchPath::by_both;
  SearchRooms::Room* const aims = aims_first ? &aim_rooms_.lend(job.size, false, stream) : nullptr;
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
bool Searches::values_are_far(const FindJob& job) const {
  const bool wants_cells = job.rows.out != nullptr && reads_value(job.rows.op) && !table_.layout().in_slot();
  return wants_cells && table_.memory.cache().view().any() && !table_.memory.values().view().resident();
}

bool Searches::slots_are_far() const {
  return table_.memory.cache().view().partial() && !is_wide(table_.layout().total_slots());
}

SearchFacts Searches::facts_of(const FindJob& job) const {
  SearchFacts facts;
  facts.rows = job.size;
  facts.order_from = table_.options.order_from;
  facts.slots_are_far = slots_are_far();
  facts.values_are_far = values_are_far(job);
  facts.values_have_copies = table_.memory.values().view().any();
  facts.unordered_rows = choices_.unordered_rows;
  facts.cluster_rows = choices_.cluster_rows;
  facts.pipelined_rows = pipelined_rows(job);
  return facts;
}

/// In the rooms that its path asks for.
void Searches::start(const FindJob& job, SearchPath path, SearchRooms::Room* cells, SearchRooms::Room* aims,
                     cudaStream_t stream) {
  if (aims != nullptr) return search_far(job, *aims, cells != nullptr ? cells->room() : SearchRoom{}, stream);
  if (cells != nullptr) return search_cells(job, path, *cells, stream);
  table_.kernels->find(job, {}, stream);
}

/// The aims are ordered by slot, and then, for values in the heap, rows by cell in their own room (miss_search.cuh). What copies in
/// GPU memory answer goes on beside what waits for the link.
void Searches::search_far(const FindJob& job, const SearchRooms::Room& aims, SearchRoom room, cudaStream_t stream) {
  const std::uint64_t slots = table_.layout().total_slots();
  SearchRoom aim = aims.room();
  const bool by_cells = room.cells != nullptr, hits = by_cells && table_.memory.values().view().any();
  divide(aim, slots, table_.layout().slot_bytes());
  if (by_cells) {
    divide(room, table_.layout().cells, table_.layout().cell_bytes);
    room.gather_share = choices_.share_of(job.size);
    cuda::check(cudaMemsetAsync(aim.counts, 0, 4 * (std::uint64_t{aim.bins} + 1), stream), "starting a search");
  }
  enter_search(job.state, by_cells ? room : aim, stream);
  RowsLeft left;
  if (table_.memory.values().view().directory.any()) {
    left = {static_cast<std::uint32_t*>(aim.places), reinterpret_cast<std::uint32_t*>(aim.table)};
    table_.kernels->answer_known(job, aim, room, left, stream);
  }
  table_.kernels->aim(job, aim, room, left, stream);
  order_search(aim, job.size, slots, stream);
  table_.kernels->resolve_far(job, aim, room, stream);
  if (!by_cells) return;
  room.is_left_by_others = hits;
  if (hits) {
    aims.fork(stream);
    table_.kernels->answer_near(job, aim, aims.beside());
  }
  order_search(room, job.size, table_.layout().cells, stream);
  table_.kernels->gather(job, room, false, stream);
  if (!hits) return;
  aims.join(stream);
  leave_search(job.state, room, stream);
}

/// A search for values in the heap.
void Searches::search_cells(const FindJob& job, SearchPath path, SearchRooms::Room& lent, cudaStream_t stream) {
  SearchRoom room = lent.room();
  const bool clustered = path == SearchPath::cluster;
  divide(room, table_.layout().cells, table_.layout().cell_bytes, clustered ? kClusterBinBits : kBinBits);
  room.gather_share = choices_.share_of(job.size);
  if (clustered && table_.kernels->resolve_small(job, room, stream))
    return table_.kernels->gather(job, room, false, stream);
  if (path == SearchPath::one_kernel) return table_.kernels->find(job, {}, stream);
  if (path == SearchPath::merged) {
    const Repeats repeats{room.table, 2 * std::bit_ceil(job.size) - 1, room.ranks};
    cuda::check(cudaMemsetAsync(room.table, 0, 8 * (repeats.last + 1), stream), "starting a search");
    return table_.kernels->find(job, repeats, stream);
  }
  enter_search(job.state, room, stream);
  path == SearchPath::two_parts ? search_in_two_parts(job, room, lent.pipelining(), stream)
                                : search_in_order(job, room, stream);
}

void Searches::search_in_order(const FindJob& job, const SearchRoom& room, cudaStream_t stream) {
  table_.kernels->resolve(job, room, stream);
  order_search(room, job.size, table_.layout().cells, stream);
  table_.kernels->gather(job, room, false, stream);
}

}  // namespace holdfast::machine::cuda

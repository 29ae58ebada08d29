// rows.cuh: one row of a search, by one thread: whether it is asked, where its item is, and its answers that do not lie in cells.
#pragma once

#include <cstdint>

#include "gpu/order/copy_rows.cuh"
#include "structures/gphash/cuda/caches/maps.cuh"
#include "structures/gphash/cuda/epochs.cuh"
#include "structures/gphash/cuda/jobs.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/memory.cuh"
#include "structures/gphash/cuda/row_keys.cuh"
#include "structures/gphash/cuda/thread_tile.cuh"
#include "structures/gphash/protocol/find.hpp"

namespace holdfast::gphash::cuda {

/// Of an item whose slot says `word`. Its cell does not change as long as the search is in its epoch.
template <class Shape>
__device__ std::uint64_t score_of_item(const View<Shape>& view, std::uint64_t word) {
  return SystemWord(*view.score_of(word - 1)).load(::cuda::memory_order_relaxed);
}

/// True if a row is to be answered.
__device__ inline bool is_asked(const FindJob& job, std::uint64_t row) {
  return row < job.size && (job.mask == nullptr || job.mask[row] != 0) && !outlived(job);
}

/// Looks a row's key up, by one thread.
template <class Shape>
__device__ gphash::Found find_row(const CopyMemory& memory, BucketHits& hits, const View<Shape>& view,
                                  const FindJob& job, std::uint64_t row) {
  const Candidates<Shape> candidates(view, key_of_row(view, job, row));
  memory.begin_look();
  const gphash::Found found = gphash::find_settled(ThreadTile{}, memory, view, candidates);
  if (found.item) hits.note(memory, found.item.slot, row);
  return found;
}

/// The answers of a row that are not in cells, by the word of its item; 0: it has none.
template <class Shape>
__device__ Wanted answer_row(const View<Shape>& view, const FindJob& job, std::uint64_t row, Status status,
                             std::uint64_t word) {
  Wanted wanted;
  wanted.row = row;
  const bool there = status == Status::found;
  if (job.rows.statuses) job.rows.statuses[row] = status;
  if (job.rows.found) job.rows.found[row] = there;
  if (job.rows.scores) job.rows.scores[row] = there ? score_of_item(view, word) : 0;
  if (!reads_value(job.rows.op) || job.rows.out == nullptr) return wanted;
  if (view.in_slot()) {
    // No item has the word 0.
    store_user(job.rows.result(row), word >> (8 * job.rows.column), job.rows.value_bytes);
  } else {
    wanted.word = word;
  }
  return wanted;
}

/// True if the row's value is asked for, and lies in a cell.
template <class Shape>
__device__ bool wants_value(const View<Shape>& view, const FindJob& job) {
  return reads_value(job.rows.op) && job.rows.out != nullptr && !view.in_slot();
}

}  // namespace holdfast::gphash::cuda

// orderings.cpp: makes room to order a batch, and enqueues that.
#include "gphash/cuda/change/orderings.hpp"

#include <algorithm>
#include <iterator>

#include "gphash/cuda/kit.hpp"

namespace holdfast::machine::cuda {

Ordering& Orderings::next(std::uint64_t rows) {
  constexpr std::uint64_t kMostRows = 1 << 24;
  return rooms_[rows <= kMostRows ? turn_++ % std::size(rooms_) : 0];
}

void Orderings::order(ChangeJob& job, Ordering& ordering, bool folds, bool counts, cudaStream_t stream) {
  const std::uint64_t rows = job.size;
  std::size_t scratch = key_order_scratch_bytes(rows);
  if (folds) scratch = std::max(scratch, fold_scratch_bytes(rows));
  if (ordering.rows.size() < 2 * rows || ordering.scratch.size() < scratch ||
      (folds && ordering.effects.size() < rows) || (counts && ordering.writes.size() < rows)) {
    ordering.ended.wait("waiting for the batch before");
    ordering.prefixes.at_least(2 * rows);
    ordering.rows.at_least(2 * rows);
    ordering.scratch.at_least(scratch);
    if (folds) ordering.effects.at_least(rows);
    if (counts) ordering.writes.at_least(rows);
  }
  ordering.ended.hold(stream);
  const std::size_t n = ordering.rows.size() / 2;
  OrderRoom room;
  room.prefixes[0] = ordering.prefixes.data();
  room.prefixes[1] = ordering.prefixes.data() + n;
  room.rows[0] = ordering.rows.data();
  room.rows[1] = ordering.rows.data() + n;
  room.ordered = ordering.ordered.data();
  room.effects = ordering.effects.data();
  if (counts) room.writes = ordering.writes.data();
  room.scratch = ordering.scratch.data();
  room.scratch_bytes = ordering.scratch.size();
  // In the order of their hashes, the buckets that keys hash to come in address order.
  const BatchKeys keys{job.keys, table_.layout.key_words(), job.key_offsets};
  const KeyOrder ordered = order_keys(keys, rows, job.mask, table_.layout.seed, room, stream);
  job.order = ordered.rows;
  job.begins = ordered.begins;
  job.ordered = ordered.ordered;
  if (folds) fold_effects(job, room, stream);
  table_.times.end("order", stream);
}

}  // namespace holdfast::machine::cuda

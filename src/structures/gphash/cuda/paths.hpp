// paths.hpp: which path a batch takes on a GPU: all of them, and what decides. Needs no CUDA, and asks nothing of the GPU.
#pragma once

#include <cstdint>

namespace holdfast::gphash::cuda {

inline constexpr unsigned kGatherShare =
    4;  ///< where rows lie far apart, fewer blocks than multiprocessors read the link faster
inline constexpr std::uint64_t kSmallSearch = 1 << 14;     ///< rows, at most, of a search that one cluster orders
inline constexpr std::uint64_t kSmallHitSearch = 1 << 13;  ///< rows, at most, in no order where values have copies

/// The paths of a search for keys and values of fixed length, in the order in which path_of asks for them.
///
/// | path       | taken where                                          | phases                                             |
/// |------------|------------------------------------------------------|----------------------------------------------------|
/// | by_slots   | some slots have no copy, and rows are many           | aim, order by slot, resolve                        |
/// | by_both    | the same, and values lie in the heap                 | the same, then order by cell, gather               |
/// | one_kernel | slots or values need no order: they have copies, or lie in their slots; or rows are few | one |
/// | merged     | rows are few, values lie in the heap                 | one; rows that want one cell read it once           |
/// | cluster    | rows are some, values lie in the heap                | resolve and order in one cluster of blocks, gather |
/// | ordered    | rows are many, values lie in the heap                | resolve, order by cell, gather                     |
/// | two_parts  | the same, and rows are many enough to pipeline        | the same for the first rows, and beside it the rest |
enum class SearchPath : std::uint8_t { by_slots, by_both, one_kernel, merged, cluster, ordered, two_parts };

/// What a search's path depends on.
struct SearchFacts {
  std::uint64_t rows = 0;
  std::uint64_t order_from = 0;  ///< as the user gave it; 0: as measured
  bool slots_may_miss = false;   ///< some slots have no copy, and 32 bits do for their numbers
  bool values_may_miss = false;  ///< rows read values in the heap, some without a copy, of buckets with copies
  bool values_have_copies = false;
  std::uint64_t unordered_rows = 0, cluster_rows = 0;  ///< SearchChoices
  std::uint64_t pipelined_rows = 0;                    ///< rows that may go first; 0: none
};

constexpr SearchPath path_of(const SearchFacts& facts) {
  const bool chosen = facts.order_from != 0;
  if (facts.slots_may_miss && facts.rows >= (chosen ? facts.order_from : kSmallSearch + 1))
    return facts.values_may_miss ? SearchPath::by_both : SearchPath::by_slots;
  if (!facts.values_may_miss) return SearchPath::one_kernel;
  // Of few rows that mostly have copies, too few are left to be worth an order.
  std::uint64_t unordered = facts.unordered_rows;
  if (facts.values_have_copies && unordered < kSmallHitSearch) unordered = kSmallHitSearch;
  if (chosen) unordered = facts.order_from - 1;
  if (facts.rows <= unordered) return facts.rows <= kSmallSearch ? SearchPath::merged : SearchPath::one_kernel;
  if (!chosen && facts.rows <= facts.cluster_rows) return SearchPath::cluster;
  return facts.pipelined_rows != 0 ? SearchPath::two_parts : SearchPath::ordered;
}

/// The paths of a changing batch.
///
/// | path       | taken where                                                    | how                                              |
/// |------------|----------------------------------------------------------------|--------------------------------------------------|
/// | phases     | phases pay, and the whole batch surely finds space             | all rows, phase by phase; then what is left over |
/// | parts      | phases pay, and parts of the batch surely find space           | part after part, each on its own path            |
/// | repeated   | the host waits, or space must be made                          | row by row, again and again, growing the table   |
/// | row_by_row | the host does not wait, and the whole batch surely finds space | row by row, once                                 |
enum class ChangePath : std::uint8_t { phases, parts, repeated, row_by_row };

/// What a changing batch's path depends on.
struct ChangeFacts {
  bool phases_pay = false;    ///< it is large enough, and buckets have copies
  bool fits = false;          ///< all of it surely finds space
  bool may_ever_fit = false;  ///< some load is low enough for a part of it to be sure
  bool whole = false;         ///< it is such a part already
  bool waited = false;        ///< the caller waits for its end
};

constexpr ChangePath path_of(const ChangeFacts& facts) {
  if (facts.phases_pay && facts.fits) return ChangePath::phases;
  if (facts.phases_pay && !facts.whole && facts.may_ever_fit) return ChangePath::parts;
  return facts.waited || !facts.fits ? ChangePath::repeated : ChangePath::row_by_row;
}

inline constexpr std::uint64_t kOrderPairsFrom = 1 << 10;  ///< rows of a search

/// The paths of a batch for keys and values of any length. Values are copied out part by part on all of them.
///
/// | path     | taken where                                             | how                                            |
/// |----------|---------------------------------------------------------|------------------------------------------------|
/// | ordered  | it searches, and rows are many                          | resolve, order by cell, gather                 |
/// | resolved | it searches, and rows are few                           | resolve, gather                                |
/// | phases   | it changes and reads nothing, buckets have copies, and rows are many | all rows, phase by phase; then what is left over |
/// | repeated | any other change                                        | row by row, again and again, growing the table |
enum class PairPath : std::uint8_t { ordered, resolved, phases, repeated };

/// What its path depends on.
struct PairFacts {
  std::uint64_t rows = 0;
  std::uint64_t order_from = 0;  ///< as the user gave it; 0: as measured
  bool changes = false;
  bool reads = false;       ///< values
  bool phases_pay = false;  ///< as for a change of keys of fixed length
  bool resident = false;    ///< all buckets have copies
};

constexpr PairPath path_of(const PairFacts& facts) {
  if (facts.changes) return facts.phases_pay && facts.resident && !facts.reads ? PairPath::phases : PairPath::repeated;
  return facts.rows >= (facts.order_from != 0 ? facts.order_from : kOrderPairsFrom) ? PairPath::ordered
                                                                                    : PairPath::resolved;
}

}  // namespace holdfast::gphash::cuda

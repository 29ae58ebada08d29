// tile_concept.hpp: what GPHash's protocol demands of a policy `Tile`: the lanes that look at the candidate slots of one key together.
//
// A tile is a CPU thread with vector registers, a GPU thread, or a warp with a lane for each slot. All its lanes call each member
// together, with equal arguments, and all get the same answer. What it reads and writes goes through the `Memory` policy, so a tile is
// asserted together with a memory and a shape. Bit i of a LaneMask is the slot that Candidates::slot(view, i) returns.
//
//   SearchTile      find.hpp                                       peek, load_tags, match, first_item, flush_slots, stands
//   SlotTile        commit.hpp, move.hpp, rehash.hpp, plan_run     the same, once
//   OperationTile   run.hpp, run_state.hpp                         the same; write_cell, read_cell, copy_cell, combine_cell,
//                                                                  write_pair; zero_cell, write_column, combine_column where
//                                                                  Memory::kColumns; copy, zero
#pragma once

#include "core/combine.hpp"
#include "structures/gphash/protocol/address.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/pair.hpp"

namespace holdfast::gphash {

struct Item;

template <class T, class M, class S>
concept SearchTile = SearchMemory<M> &&
    requires(const T& tile, const M& memory, const View<S>& view, const Candidates<S>& candidates, LaneMask hits,
             const std::uint64_t* word) {
  // Returns a volatile word, read once for all lanes. Acquires.
  { tile.peek(memory, word) } -> std::same_as<std::uint64_t>;
  // Reads the tags of all candidate slots at once, in a form of the tile's own. Acquires.
  tile.load_tags(memory, view, candidates);
  // Returns the lanes whose tag was the last argument.
  { tile.match(view, candidates, tile.load_tags(memory, view, candidates), std::uint8_t{}) } -> std::same_as<LaneMask>;
  // Returns the item with the candidates' key in the lowest of the lanes `hits` that has it, or none. Reads slots, and keys and
  // pairs behind them; acquires.
  { tile.first_item(memory, view, candidates, hits) } -> std::same_as<Item>;
  // Starts to write back the slots of the lanes `hits`, as Memory::flush does.
  { tile.flush_slots(memory, view, candidates, hits) } -> std::same_as<void>;
  // Called after a fence, for slots that were read in the pool. Returns false if one of them has a copy by now, which may be
  // older than what was seen: the search looks again.
  { tile.stands(memory, view, candidates, hits) } -> std::same_as<bool>;
};

/// Stands for what a tile executes once.
struct AnyAct {
  HOLDFAST_BOTH int operator()() const { return 0; }
};

template <class T, class M, class S>
concept SlotTile = SearchTile<T, M, S> && SlotMemory<M> && requires(const T& tile) {
  // Executes the callable in one lane, whose accesses are ordered with those of the others before and after. Returns its result, of at
  // most 8 bytes, to all lanes.
  { tile.once(AnyAct{}) } -> std::same_as<int>;
};

/// Bytes of a fresh cell whose others stay as they are.
template <class T, class M>
concept ColumnTile = requires(const T& tile, const M& memory, std::byte* cell, const std::byte* row, std::size_t bytes,
                              const Combining& how) {
  // Zeroes so many bytes of a cell.
  { tile.zero_cell(memory, cell, bytes) } -> std::same_as<void>;
  // As write_cell and combine_cell, from any byte of a cell on.
  { tile.write_column(memory, cell, row, bytes) } -> std::same_as<void>;
  { tile.combine_column(memory, cell, row, bytes, how) } -> std::same_as<void>;
};

/// Also moves values between an operation's arrays and cells. A cell that is written is the caller's own: it is durable when it is
/// flushed and fenced, and its bytes behind the value are padding. Cells begin at multiples of 8 bytes. Members order nothing.
template <class T, class M, class S>
concept OperationTile = SlotTile<T, M, S> && OperationMemory<M, S> &&
    requires(const T& tile, const M& memory, std::byte* to, const std::byte* from, std::size_t bytes,
             const Combining& how, const PairHeader& header, const Part& part) {
  // Array to cell; cell to array; cell to cell.
  { tile.write_cell(memory, to, from, bytes) } -> std::same_as<void>;
  { tile.read_cell(memory, to, from, bytes) } -> std::same_as<void>;
  { tile.copy_cell(memory, to, from, bytes) } -> std::same_as<void>;
  // Combines a cell with the bytes of an array, element by element (core/combine.hpp).
  { tile.combine_cell(memory, to, from, bytes, how) } -> std::same_as<void>;
  // Writes a pair into a cell of its class: the header, the key and the value.
  { tile.write_pair(memory, to, header, part, part) } -> std::same_as<void>;
  // Array to array, which may be the same; and zeros into an array.
  { tile.copy(to, from, bytes) } -> std::same_as<void>;
  { tile.zero(to, bytes) } -> std::same_as<void>;
} &&(!M::kColumns || S::kVariable || ColumnTile<T, M>);

}  // namespace holdfast::gphash

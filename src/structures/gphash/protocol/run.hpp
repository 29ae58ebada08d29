// run.hpp: the operations of one batch on one key, applied as one change: the heart of every machine's driver.
//
// A run is evaluated in array order against the state of its key, which gives each operation its status; only the
// difference between the first and the last state is then made durable. A run of one operation is the common case.
// Cells and slots are used once a run, however often a batch repeats a key (rules 2, 5).
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "structures/gphash/protocol/added_group.hpp"
#include "structures/gphash/protocol/commit.hpp"
#include "structures/gphash/protocol/find.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/move.hpp"
#include "structures/gphash/protocol/rows.hpp"
#include "structures/gphash/protocol/run_state.hpp"
#include "structures/gphash/protocol/tile_concept.hpp"

namespace holdfast::gphash {

/// The durable part of a run on a key that is in the table: nothing, a new word, or its removal.
template <class Memory, class Shape, OperationTile<Memory, Shape> Tile>
HOLDFAST_BOTH Outcome change_item(const Tile& tile, const Memory& memory, const View<Shape>& view,
                                  const Candidates<Shape>& candidates, const Item& old,
                                  RunState<Tile, Memory, Shape>& state) {
  if (state.source() == Source::pool) return state.drop_cell(), Outcome::done;
  if constexpr (SeesChanges<Memory>) tile.once([&] { return memory.begin_change(old.word), 0; });
  std::uint64_t word = 0;
  if (state.source() == Source::absent) {
    tile.once([&] {
      clear_slot(memory, view, old.slot, Step::fence_after_erase);
      HOLDFAST_FAILPOINT(slot_cleared);
      if (memory.keeps(Step::raise_after_erase)) raise(memory, candidates.version_lock(view));
      retag(memory, candidates.tag_word(view, old.lane), candidates.slot_in_bucket(view, old.lane), candidates.tag(),
            kTagEmpty);
      return 0;
    });
    state.drop_cell();
    memory.count_items(-1);
  } else {
    if (!state.place(candidates, word)) return Outcome::needs_cell;
    tile.once([&] { return swap_word(memory, old.slot, word), 0; });
    HOLDFAST_FAILPOINT(word_swapped);
    state.keep_cell();
  }
  // The thread that takes a cell out of its slot, and no other, frees it (rule 5).
  if (!view.in_slot()) tile.once([&] { return ItemKindOf<Shape>::retire(memory, old.word), 0; });
  return Outcome::done;
}

/// The durable part of a run on a key that is not: nothing, or an insert. Of a group, if there is one: then the group holds the claim of
/// the key from now on (`joined`), and makes the insert durable.
template <class Memory, class Shape, OperationTile<Memory, Shape> Tile, class Group>
HOLDFAST_BOTH Outcome add_item(const Tile& tile, const Memory& memory, const View<Shape>& view,
                               const Candidates<Shape>& candidates, RunState<Tile, Memory, Shape>& state, Group* group,
                               bool& joined) {
  if (state.source() == Source::absent) return state.drop_cell(), Outcome::done;
  std::uint64_t word = 0;
  bool busy = false;
  unsigned lane = claim_empty(tile, memory, view, candidates, busy);
  if (lane == kNoLane && !busy) lane = claim_by_moving(tile, memory, view, candidates, busy);
  if (lane == kNoLane) return state.drop_cell(), busy ? Outcome::claim_missed : Outcome::needs_slot;
  Written value;
  if (!state.write(candidates, word, value)) {
    tile.once([&] {
      retag(memory, candidates.tag_word(view, lane), candidates.slot_in_bucket(view, lane), kTagClaimed, kTagEmpty);
      return 0;
    });
    return Outcome::needs_cell;
  }
  if constexpr (Group::kGroups) joined = group != nullptr && !view.wide();
  if (joined) {
    if constexpr (Group::kGroups) {
      group->add({candidates.slot(view, lane), candidates.stored_key(), word, value.begin,
                  candidates.tag_word(view, lane), candidates.version_lock(view), value.bytes,
                  static_cast<std::uint8_t>(candidates.slot_in_bucket(view, lane)), candidates.tag()});
    }
  } else {
    state.make_durable(value);
    commit_and_publish(tile, memory, view, candidates, lane, word, Step::fence_after_commit);
  }
  state.keep_cell();
  memory.count_items(+1);
  return Outcome::done;
}

/// Applies a run of operations on one key, all that a batch has, in array order. GPHash §3.2.3. An insert joins `group`, if that is not
/// null: it is durable when the caller has settled the group.
template <class Memory, class Shape, OperationTile<Memory, Shape> Tile, class Index, class Group = NoGroup>
HOLDFAST_BOTH Outcome apply_run(const Tile& tile, const Memory& memory, const View<Shape>& view, const Rows& rows,
                                const Run<Index>& run, const Candidates<Shape>& candidates, const Permits& permits,
                                Group* group = nullptr) {
  if constexpr (SeesAttempts<Memory>) memory.begin_attempt();
  const bool claims = memory.keeps(Step::claim_key);
  if (claims && !tile.once([&] { return try_claim(memory, candidates.version_lock(view)); }))
    return Outcome::claim_missed;
  const Item old = find_claimed(tile, memory, view, candidates);
  RunState<Tile, Memory, Shape> state(tile, memory, view, rows, permits, old);
  Outcome outcome = Outcome::done;
  bool joined = false;
  for (std::size_t i = 0; i < run.size && outcome == Outcome::done; ++i) {
    if (!state.evaluate(run.row(i))) outcome = Outcome::needs_cell;
  }
  if (outcome == Outcome::done) {
    outcome = old ? change_item(tile, memory, view, candidates, old, state)
                  : add_item(tile, memory, view, candidates, state, group, joined);
  }
  if (outcome != Outcome::done) state.drop_cell();
  if (claims && !joined) tile.once([&] { return release(memory, candidates.version_lock(view)), 0; });
  return outcome;
}

}  // namespace holdfast::gphash

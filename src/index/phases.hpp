// phases.hpp: the steps of run.hpp for a whole batch, phase by phase: a fence is paid for once a phase. RULES.md 12.
//
//   plan      volatile   each run's answers, and what it will change; an add claims its slot
//   place     durable    the new values, in fresh cells
//   commit    durable    the slots
//   publish   volatile   the copies of the slots, and their tags, to readers
//
// All of a phase is over, and fenced, before the next begins. The batch is alone in changing the table (RULES.md 14), and a
// key has one run in it, so no key is claimed and no item moves: a run that finds no slot is left to run.hpp. Readers look
// at copies of the slots (GPHash §3.3), which stay as they were until `publish`: a change that a crash could take back is
// seen by nobody. Values are in cells; a batch is of one operation whose answer needs no value.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "index/run.hpp"

namespace holdfast::index {

enum class Change : std::uint8_t {
  none,
  add,      ///< a key that is new
  replace,  ///< the value of one that is there
  remove
};

/// What a run will change.
struct Plan {
  Change change = Change::none;
  std::uint8_t lane = 0;       ///< of the slot, among the key's candidates
  std::size_t row = 0;         ///< whose value it gets
  std::uint64_t old_word = 0;  ///< of an item that is replaced or removed
};

/// True if batches of this operation can be planned.
HOLDFAST_BOTH constexpr bool can_plan(Op op) {
  return op == Op::insert || op == Op::insert_or_assign || op == Op::assign || op == Op::erase;
}
HOLDFAST_BOTH constexpr bool needs_cell(Change change) { return change == Change::add || change == Change::replace; }

/// Answers the first row of a run, and the last, and says what is to be done. Outcomes other than `done` changed nothing.
template <class Tile, class Memory, class Shape, class Index>
HOLDFAST_BOTH Outcome plan_run(const Tile& tile, const Memory& memory, const View<Shape>& view, const Rows& rows,
                               const Run<Index>& run, const Candidates<Shape>& candidates, Plan& plan) {
  plan = {};
  const Item old = find_claimed(tile, memory, view, candidates);
  const Permits all;
  RunState<Tile, Memory, Shape> state(tile, memory, view, rows, all, old);
  state.evaluate(run.row(0));
  if (run.size > 1) state.evaluate(run.row(run.size - 1));  // those between change nothing that these do not
  if (state.source() == Source::pool || (state.source() == Source::absent && !old)) return Outcome::done;
  unsigned lane = old.lane;
  if (old) {
    plan.change = state.source() == Source::absent ? Change::remove : Change::replace;
    plan.old_word = old.word;
  } else {
    bool busy = false;
    lane = claim_empty(tile, memory, view, candidates, busy);
    if (lane == kNoLane) return busy ? Outcome::claim_missed : Outcome::needs_slot;
    plan.change = Change::add;
  }
  plan.lane = static_cast<std::uint8_t>(lane);
  plan.row = state.row();
  return Outcome::done;
}

/// Answers a row of a run that is not its first. Each operation leaves its key as it would be after two of them, so the second
/// of two answers as the row does, wherever in the run it is; a hot key's rows are answered side by side.
template <class Tile, class Memory, class Shape>
HOLDFAST_BOTH void answer_later_row(const Tile& tile, const Memory& memory, const View<Shape>& view, const Rows& rows,
                                    std::size_t row, const Candidates<Shape>& candidates) {
  const Item old = find_claimed(tile, memory, view, candidates);
  const Permits all;
  RunState<Tile, Memory, Shape> state(tile, memory, view, rows, all, old);
  state.evaluate(row);
  state.evaluate(row);
}

/// Writes the slot. It is durable when the phase is over.
template <class Memory, class Shape>
HOLDFAST_BOTH void commit_plan(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates,
                               const Plan& plan, std::uint64_t word) {
  Slot* const slot = candidates.slot(view, plan.lane);
  switch (plan.change) {
    case Change::none: return;
    case Change::add: memory.store_pair(slot, candidates.stored_key(), word); break;
    case Change::replace: memory.store(&slot->word, word); break;
    case Change::remove: memory.store_pair(slot, 0, 0); break;
  }
  flush_slot(memory, slot);
}

/// Shows it to readers. The caller frees the old cell.
template <class Memory, class Shape>
HOLDFAST_BOTH void publish_plan(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates,
                                const Plan& plan, std::uint64_t word) {
  Slot* const slot = candidates.slot(view, plan.lane);
  std::uint64_t* const tags = candidates.tag_word(view, plan.lane);
  const unsigned in_bucket = candidates.slot_in_bucket(view, plan.lane);
  switch (plan.change) {
    case Change::none: return;
    case Change::add:
      memory.show(slot, candidates.stored_key(), word);
      retag(memory, tags, in_bucket, kTagClaimed, candidates.tag());
      return;
    case Change::replace: memory.show_word(slot, word); return;
    case Change::remove:
      hide_slot(memory, view, slot);
      // The stripe is raised last. A search that reads it raised reads the tag that went before; one that read it earlier
      // looks again, because the slot is filled by a later batch at the earliest.
      retag(memory, tags, in_bucket, candidates.tag(), kTagEmpty);
      if (memory.keeps(Step::raise_after_erase)) raise_shared(memory, candidates.stripe(view));
  }
}

}  // namespace holdfast::index

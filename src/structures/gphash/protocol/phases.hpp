// phases.hpp: the steps of run.hpp for a whole batch, phase by phase, with one fence for each phase. Rule 12.
//
//   plan      volatile   the result of each row, and the change of each run; a run that adds a key claims a slot
//   sum       volatile   the sums of runs that accumulate
//   place     durable    the new values, in fresh cells
//   commit    durable    the slots, in whole lines of the pool; values in slots before their keys, and the rest of a wide slot
//                        before its fingerprint
//   publish   volatile   the copies of the slots and their tags, which readers see
//   release   volatile   the claims, if there are any
//
// A phase ends, and is fenced, before the next begins. No other batch changes the table (rule 14), and a key has one run in the
// batch, so no run waits for another and no item moves; run.hpp executes a run that finds no slot. Cells that the batch removes from
// slots are not reused until all rows of the batch that read them are answered.
//
// If all slots have copies (GPHash §3.3), readers use the copies, which do not change before `publish`: no thread sees a change that
// a crash could take back, and no key is claimed. If some slots have no copy, readers may read the pool, and are protected as during
// run.hpp: `plan` claims the keys that will change before the first slot is written, and `release` follows the last publication. In
// between, a reader that meets a claimed key verifies what it read, and prevents that an older copy is published (find.hpp, rules 11
// and 15). For that reader each key goes through the sequence of run.hpp: claim, store, fence, show, release.
//
// A request over a GPU's link costs the same from 8 to 64 bytes, so each line that the batch changes is written once, as a whole: its
// changed slots with their new contents, the others with the contents of their copies, or of the pool. Every word of a copy equals the
// pool's, also in empty slots, and no other batch changes the table. After a crash each word of such a line is therefore old or new, as
// if only the changed slots had been written.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "structures/gphash/protocol/effect.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/run.hpp"
#include "structures/gphash/protocol/tile_concept.hpp"

namespace holdfast::gphash {

enum class Change : std::uint8_t {
  none,
  add,      ///< a new key
  replace,  ///< the value of an existing key
  remove
};

/// The change that a run will make.
struct Plan {
  Change change = Change::none;
  std::uint8_t lane = 0;       ///< of the slot, among the key's candidates
  Held held = kNothing;        ///< what the key will have: the value of a row, or a sum
  std::uint64_t old_word = 0;  ///< of an item that is replaced or removed
};

/// Which phases rows of an operation may need.
HOLDFAST_BOTH constexpr bool may_place(Op op) { return takes_value(op); }
HOLDFAST_BOTH constexpr bool may_retire(Op op) { return act_of(op, true) != Act::keeps; }
HOLDFAST_BOTH constexpr bool may_sum(Op op) { return act_of(op, true) == Act::combines; }
HOLDFAST_BOTH constexpr bool may_change_key(Op op) {
  return act_of(op, false) != Act::keeps || act_of(op, true) == Act::removes;
}
HOLDFAST_BOTH constexpr bool needs_cell(Change change) { return change == Change::add || change == Change::replace; }

/// Plans the change of a run from the effect of all its rows on the item `old`, or on an absent key. After an outcome other than
/// `done` nothing has changed, and run.hpp executes the run.
template <class Memory, class Shape, SlotTile<Memory, Shape> Tile>
HOLDFAST_BOTH Outcome plan_run(const Tile& tile, const Memory& memory, const View<Shape>& view, const Effect& whole,
                               const Candidates<Shape>& candidates, const Item& old, Plan& plan) {
  plan = {};
  const Held held = after(whole, old ? kOld : kNothing);
  if (held == kOld || (held == kNothing && !old)) return Outcome::done;
  unsigned lane = old.lane;
  if (old) {
    plan.change = held == kNothing ? Change::remove : Change::replace;
    plan.old_word = old.word;
  } else {
    bool busy = false;
    lane = claim_empty<true>(tile, memory, view, candidates, busy);
    if (lane == kNoLane) return busy ? Outcome::claim_missed : Outcome::needs_slot;
    plan.change = Change::add;
  }
  plan.lane = static_cast<std::uint8_t>(lane);
  plan.held = held;
  return Outcome::done;
}

HOLDFAST_BOTH constexpr std::uint64_t line_of(std::uint64_t number) { return number / kLineSlots; }

/// Returns the number of the first slot of a rank. Slots are numbered by address, rank by rank; each rank begins a line. The reserved
/// slot is the last one, alone in its line.
template <class Shape>
HOLDFAST_BOTH std::uint64_t first_number(const View<Shape>& view, unsigned rank) {
  std::uint64_t lines = 0;
  for (unsigned r = 0; r < rank; ++r) lines += (view.buckets(r) * view.shape.slots() + kLineSlots - 1) / kLineSlots;
  return lines * kLineSlots;
}
/// All numbers are below this.
template <class Shape>
HOLDFAST_BOTH std::uint64_t slot_numbers(const View<Shape>& view) {
  return first_number(view, view.shape.levels()) + 1;
}
template <class Shape>
HOLDFAST_BOTH std::uint64_t slot_number(const View<Shape>& view, const Candidates<Shape>& candidates, unsigned lane) {
  if (candidates.is_reserved()) return first_number(view, view.shape.levels());
  const SlotPlace at = candidates.place(view, lane).place;
  return first_number(view, at.rank) + at.bucket * view.shape.slots() + at.slot;
}
/// Returns the slot with a number; null if it is behind the last slot of its rank, in the same line.
template <class Shape>
HOLDFAST_BOTH Slot* slot_at(const View<Shape>& view, std::uint64_t number) {
  std::uint64_t first = 0;
  for (unsigned rank = 0; rank < view.shape.levels(); ++rank) {
    const std::uint64_t next = first_number(view, rank + 1);
    if (number < next) {
      const bool is_slot = number - first < view.buckets(rank) * view.shape.slots();
      return is_slot ? view.after(view.level[rank], number - first) : nullptr;
    }
    first = next;
  }
  return number == first ? view.reserved_slot : nullptr;
}

/// Slots whose values are in cells are written once. A value in its slot must be durable before its key (rule 3), so such slots are
/// written twice: with the old keys, and with the new ones.
enum class Pass : std::uint8_t { whole, values, keys };

/// Returns the contents of a plan's slot after a pass. An emptied slot keeps its value.
template <class Shape>
HOLDFAST_BOTH Slot slot_after(const View<Shape>& view, const Candidates<Shape>& candidates, const Plan& plan,
                              std::uint64_t word, Pass pass) {
  HOLDFAST_ASSERT(plan.change != Change::none);
  const bool removes = plan.change == Change::remove;
  const bool has_key = pass == Pass::values ? plan.change != Change::add : !removes;
  const std::uint64_t left = view.in_slot() ? plan.old_word : 0;
  return {has_key ? candidates.stored_key() : 0, removes ? left : word};
}

/// What one slot of a line holds after a pass. `changes` are the batch's, those of one line together: `size()`, `change(at)`, the
/// `number(at)` of its slot, and what that holds `after(at)` the pass. `first` is the first of this line.
template <PhasedMemory Memory, class Changes>
HOLDFAST_BOTH Slot after_pass(const Memory& memory, const Slot* slot, std::uint64_t number, const Changes& changes,
                              std::uint64_t first) {
  const unsigned most = memory.keeps(Step::commit_all_of_line) ? kLineSlots : 1;
  for (std::uint64_t at = first; at < first + most && at < changes.size(); ++at) {
    if (line_of(changes.number(at)) != line_of(number)) break;
    if (changes.number(at) == number) return changes.after(at);
  }
  return memory.load_slot(slot);  // of the copy, if there is one
}

/// True if a change is the first of its line: the thread that has it writes the line.
template <class Changes>
HOLDFAST_BOTH bool leads_line(const Changes& changes, std::uint64_t at) {
  return at == 0 || line_of(changes.number(at - 1)) != line_of(changes.number(at));
}

/// True if a pass has something to write into the line whose first change is `first`.
template <class Changes>
HOLDFAST_BOTH bool changes_line(const Changes& changes, std::uint64_t first, Pass pass) {
  for (std::uint64_t at = first; at < changes.size() && line_of(changes.number(at)) == line_of(changes.number(first));
       ++at) {
    const Change change = changes.change(at);
    if (pass == Pass::whole || change == Change::add) return true;
    if (pass == Pass::values ? change == Change::replace : change == Change::remove) return true;
  }
  return false;
}

/// Writes one slot of a line. It is durable when the phase is over.
template <SlotMemory Memory>
HOLDFAST_BOTH void commit_slot(const Memory& memory, Slot* slot, const Slot& after) {
  memory.store_pair(slot, after.key, after.word);
  flush_slot(memory, slot);
}

// Wide slots are longer than a line may be shared for: what changes of them is written and nothing else, in two steps with a
// fence between.

/// Word `i` of what stands behind the fingerprint of a slot that is added: its word, and then those of its key.
template <PhasedMemory Memory>
HOLDFAST_BOTH void commit_behind(const Memory& memory, Slot* slot, unsigned i, std::uint64_t word,
                                 const std::byte* key) {
  memory.store_value(&slot->word + i, i == 0 ? word : Memory::given_word(key + 8 * (i - 1)));
}

/// The one word that makes a change of a wide slot count: the fingerprint, or the word of an item that is replaced.
template <PhasedMemory Memory, class Shape>
HOLDFAST_BOTH void commit_head(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates,
                               const Plan& plan, std::uint64_t word) {
  Slot* const slot = candidates.slot(view, plan.lane);
  if (plan.change == Change::replace) {
    memory.store_value(&slot->word, word);
  } else {
    memory.store_value(&slot->key, plan.change == Change::add ? candidates.stored_key() : 0);
  }
  flush_slot(memory, slot);
}

/// Where readers may look into the pool: before anything of the batch is written there, and when all of it is shown.
template <PhasedMemory Memory, class Shape>
HOLDFAST_BOTH void claim_plan(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates) {
  if (memory.keeps(Step::claim_in_phases)) claim_shared(memory, candidates.version_lock(view));
}
template <PhasedMemory Memory, class Shape>
HOLDFAST_BOTH void release_plan(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates) {
  release_shared(memory, candidates.version_lock(view));
}

/// Shows it to readers. The caller frees the old cell.
template <PhasedMemory Memory, class Shape>
HOLDFAST_BOTH void publish_plan(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates,
                                const Plan& plan, std::uint64_t word) {
  Slot* const slot = candidates.slot(view, plan.lane);
  std::uint64_t* const tags = candidates.tag_word(view, plan.lane);
  const unsigned in_bucket = candidates.slot_in_bucket(view, plan.lane);
  switch (plan.change) {
    case Change::none: return;
    case Change::add:
      show_slot(memory, view, slot, candidates, word);
      retag(memory, tags, in_bucket, kTagClaimed, candidates.tag());
      return;
    case Change::replace: memory.show_word(slot, word); return;
    case Change::remove:
      hide_slot(memory, view, slot);
      // The version lock is raised last. A search that reads it raised reads the tag that went before; one that read it earlier
      // looks again, because the slot is filled by a later batch at the earliest.
      retag(memory, tags, in_bucket, candidates.tag(), kTagEmpty);
      if (memory.keeps(Step::raise_after_erase)) raise_shared(memory, candidates.version_lock(view));
  }
}

}  // namespace holdfast::gphash

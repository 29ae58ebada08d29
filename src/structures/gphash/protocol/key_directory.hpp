// key_directory.hpp: which key a copy in GPU memory is of, so that a search can use the copy without looking for the key's slot; and how
// searches, changes and loads agree on that. Rules 11, 15.
//
// A word for each position of a value cache, beside the key that it is about:
//
//   gone → blank → noted → known     and from each of them → gone
//
//   blank   the thread that fills the position, before F names it (cache_map.hpp): the copy's key is not recorded
//   noted   a search that found the key's cell in its slot, and F to name this position for the cell: it wrote the key, and then this
//   known   a search that read `noted`, saw the key's version lock unclaimed after that, and after that found the same cell in the slot
//   gone    the thread that changes the key, after it has claimed it and before it writes the slot, or that takes the position out of F
//
// A search that reads `known` may answer with the copy: the key's change, if there is one, has not begun. Two steps lead there, because
// a search that has read a slot may be slow, and the key be changed meanwhile. `noted` came before the look at the version lock: a
// change that claims later sees the position in F, and takes the word; one that claimed earlier is seen in the version lock, or in the
// slot. The fence of the change, between its claim and its look at F, and that of the search, between `noted` and the version lock,
// make this correct.
//
// A position is used again only when no search is left that may have seen it (it is retired), so no thread says of a copy what was true of
// the one before.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "structures/gphash/protocol/cache_map.hpp"
#include "structures/gphash/protocol/claim.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/mutant.hpp"

namespace holdfast::gphash {

enum Known : std::uint64_t { kGone = 0, kBlank, kNoted, kKnown };

/// For the thread that has claimed a key, and will change the slot that names cell x: no search answers with its copy from now on.
/// `f` is F(x), and `state_of` gives the word of a position.
template <KeyDirectoryMemory Memory, class Word, class StateOf>
HOLDFAST_BOTH void forget_key(const Memory& memory, const Word* f, const StateOf& state_of) {
  if (!memory.keeps(Step::forget_before_change)) return;
  if (memory.keeps(Step::fence_before_forgetting)) memory.fence_readers();
  const Mapped<Word> seen = mapped(memory, f);
  if (seen.cached()) memory.poke(state_of(seen.position()), std::uint64_t{kGone});
}

/// For a search that has read `noted` for its key, before it looks for the slot. True: what it finds there may be confirmed.
template <KeyDirectoryMemory Memory>
HOLDFAST_BOTH bool may_confirm(const Memory& memory, const std::uint64_t* version_lock) {
  if (memory.keeps(Step::fence_before_version_lock)) memory.fence_readers();
  return !is_claimed(memory.peek(version_lock)) || !memory.keeps(Step::confirm_unclaimed);
}

/// For a search that has found the key's cell, whose copy is at a position of this state: the key is written there by `write_key`.
template <KeyDirectoryMemory Memory, class WriteKey>
HOLDFAST_BOTH bool note_key(const Memory& memory, std::uint64_t* state, const WriteKey& write_key) {
  if (memory.peek(state) != kBlank) return false;
  write_key();
  return memory.swap(state, std::uint64_t{kBlank}, std::uint64_t{kNoted});
}
/// The same where may_confirm said so, and the cell's copy is still where it was.
template <KeyDirectoryMemory Memory>
HOLDFAST_BOTH bool confirm_key(const Memory& memory, std::uint64_t* state) {
  return memory.swap(state, std::uint64_t{kNoted}, std::uint64_t{kKnown});
}

}  // namespace holdfast::gphash

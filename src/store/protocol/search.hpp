// search.hpp: one search of one key, beside changes of any keys. docs/internals/store.md, "Searches".
#pragma once

#include <cstdint>

#include "store/protocol/change.hpp"

namespace holdfast::store {

enum class Answer : std::uint8_t { item, absent, look_again };

/// What a candidate says to a search that began at `begun`.
template <Parts P, class Copy>
HOLDFAST_BOTH Answer ask(P& parts, const Key& key, const Cell& cell, const Moment& begun, const Copy& copy) {
  auto& memory = parts.memory();
  std::uint64_t sequence = 0;
  State state;
  const Seen seen = read(memory, cell, key.data, key.bytes, sequence,
                         [&](const Header& header, State its, std::uint64_t number, const Cell& where) {
                           state = its;
                           return copy(header, its, number, where);
                         });
  if (seen == Seen::changed) return Answer::look_again;
  if (memory.flushes() && memory.keeps(Step::flush_claimed) && parts.claimed(key)) {
    memory.flush(cell.words + kStateWord, 8);
    memory.fence();
  }
  const bool is_item = seen == Seen::item && !begun.is_over(state, sequence);
  if (is_item && state.expiry() != 0 && parts.reaches(state.expiry())) return Answer::look_again;
  const Answer answer = is_item ? Answer::item : Answer::absent;
  const bool older = sequence <= begun.newest || !memory.keeps(Step::look_again);
  if (older && seen != Seen::dead) return answer;
  if (seen == Seen::other_key) return Answer::look_again;
  // The cell was reused since the search began, and the index may not name its item yet; or it is dead, and was replaced. What was seen
  // counts if the index names the cell now and the number says that it is still the same item.
  const bool same = parts.names(key, cell.location) && memory.load(cell.words + kSequenceWord) == sequence;
  return same ? answer : Answer::look_again;
}

/// Looks a key up that had these candidates at a moment later than `begun`. As `find`.
template <Parts P, class Candidates, class Copy>
HOLDFAST_BOTH Cell find(P& parts, const Key& key, Moment begun, Candidates candidates, const Copy& copy) {
  for (;;) {  // each round but the last follows a change of a key whose item lay, or lies now, in a candidate cell
    bool again = false;
    for (unsigned i = 0; i < candidates.size; ++i) {
      const Answer answer = ask(parts, key, candidates.cells[i], begun, copy);
      if (answer == Answer::item) return candidates.cells[i];
      again = again || answer == Answer::look_again;
    }
    if (!again) return {};
    begun = parts.moment();
    candidates = parts.candidates(key);
  }
}

/// Looks a key up. `copy(header, state, sequence, cell)` copies what is wanted; it may be called several times, and the last time counts.
/// Returns the cell of the item, or none. Takes no claim, and stores nothing. What a change has not made durable yet is durable before the
/// answer (rule 11).
template <Parts P, class Copy>
HOLDFAST_BOTH Cell find(P& parts, const Key& key, const Copy& copy) {
  const Moment begun = parts.moment();
  return find(parts, key, begun, parts.candidates(key), copy);
}

}  // namespace holdfast::store

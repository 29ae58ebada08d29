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
    if (!again) [[likely]]
      return {};
    const Cell latest = parts.latest(key);
    if (!latest.none() && ask(parts, key, latest, parts.time(), copy) == Answer::item) return latest;
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

/// Copies the items that the index names for a key, for a caller who compares keys (`getk`, Mega-KV §4): `copy` as in `find` copies one, `keep`
/// says that it counts, and `restart` that none of those kept counts. The key's item is among them if it is there throughout.
template <Parts P, class Candidates, class Copy, class Keep, class Restart>
HOLDFAST_BOTH void find_candidates(P& parts, const Key& key, Moment begun, Candidates candidates, const Copy& copy,
                                   const Keep& keep, const Restart& restart) {
  auto& memory = parts.memory();
  const auto ask_any = [&](const Cell& cell) {
    std::uint64_t sequence = 0;
    State state;
    const Seen seen =
        read_any(memory, cell, sequence, [&](const Header& header, State its, std::uint64_t number, const Cell& where) {
          state = its;
          return copy(header, its, number, where);
        });
    // A newer item may have taken the cell of the key's, which is in another cell now.
    if (seen == Seen::changed || sequence > begun.newest) return Answer::look_again;
    if (seen == Seen::dead) {
      const bool same = parts.names(key, cell.location) && memory.load(cell.words + kSequenceWord) == sequence;
      return same ? Answer::absent : Answer::look_again;
    }
    if (memory.flushes() && parts.claimed(key)) {
      memory.flush(cell.words + kStateWord, 8);
      memory.fence();
    }
    if (begun.is_over(state, sequence)) return Answer::absent;
    return state.expiry() != 0 && parts.reaches(state.expiry()) ? Answer::look_again : Answer::item;
  };
  for (;;) {  // ends: each round but the last follows a change of a key whose item was, or is now, in a candidate cell
    restart();
    bool again = false;
    for (unsigned i = 0; i < candidates.size && !again; ++i) {
      const Answer answer = ask_any(candidates.cells[i]);
      if (answer == Answer::item) keep();
      again = answer == Answer::look_again;
    }
    if (!again) return;
    begun = parts.moment();
    candidates = parts.candidates(key);
  }
}

/// Looks a key up and gives its item another expiry, as one change: touched, and `copy`, as in `find`, has copied the item, which has `state`
/// now; or not_found. The copy is made without the claim, and counts if the item is still the key's under the claim.
template <Parts P, class Copy>
HOLDFAST_BOTH Change get_and_touch(P& parts, const Key& key, std::uint64_t expiry, const Copy& copy, State& state) {
  for (;;) {  // ends: repeated only if another change replaced the item meanwhile
    std::uint64_t read = 0;
    const Cell cell = find(parts, key, [&](const Header& header, State its, std::uint64_t sequence, const Cell& where) {
      read = sequence;
      return copy(header, its, sequence, where);
    });
    if (cell.none()) return Change::not_found;
    const auto is_same = [&](const Current& now) {
      return now.sequence == read || !parts.memory().keeps(Step::touch_what_was_read);
    };
    const Change change = change_state(parts, key, is_same, [&](const Current& now) {
      state = now.state.with_expiry(expiry);
      return state;
    });
    if (change != Change::mismatch) return change;
  }
}

}  // namespace holdfast::store

// change.hpp: one change of one key: in which order cells, the index and the claim of the key are used.
//
//   set      cell taken, vacated, filled; claim; number drawn; committed; index exchanged; the old item killed; claim ends; its cell is free
//   erase    claim; killed; index entry removed; claim ends; cell free
//   touch    claim; state replaced; claim ends
//
// Set and erase then kill the damaged items that read this key (`drop_damaged`).
//
// The number is drawn under the claim, and after the cell was taken. So the numbers of a key rise in the order in which the index
// exchanges its items, and recovery keeps the right one; and a cell that was reused after a search began has a larger number than that
// search saw. Eviction and expiry are erases, with the same claim.
#pragma once

#include <cstdint>

#include "store/protocol/chunks.hpp"
#include "store/protocol/parts.hpp"

namespace holdfast::store {

enum class Change : std::uint8_t {
  inserted,
  replaced,
  erased,
  touched,
  not_found,
  exists,    ///< the key has an item, and the change wanted none
  mismatch,  ///< the item has another CAS id, or its value cannot be changed so
  no_space,
  larger,  ///< the new item needs a larger cell than was taken: again, with one
  damaged  ///< the item does not match its checksum, and what depends on it would get one that matches
};

/// What a key has, under its claim.
struct Current {
  Cell cell;  ///< none: nothing
  Header header;
  State state;
  std::uint64_t sequence = 0;
  bool is_over = false;       ///< it counts no more; a change kills it
  std::uint64_t flushed = 0;  ///< of the moment at which this was so

  HOLDFAST_BOTH bool is_there() const { return !cell.none() && !is_over; }
  template <class Memory>
  HOLDFAST_BOTH std::uint64_t cas(Memory& memory) const {
    return header.has_cas ? memory.load(cell.words + kHeaderWords) : sequence;
  }
};

/// Looks for the item of a claimed key in the cells that the index named under the claim, at `moment` or later. False: again, for a cell of another
/// key with this signature has changed, or the item's time has come.
template <Parts P, class Candidates>
HOLDFAST_BOTH bool find_current(P& parts, const Key& key, const Moment& moment, const Candidates& candidates,
                                Current& found) {
  bool again = false;
  for (unsigned i = 0; i < candidates.size; ++i) {
    found = {candidates.cells[i], {}, {}, 0, false, moment.flushed};
    const Seen seen = read(parts.memory(), found.cell, key.data, key.bytes, found.sequence,
                           [&](const Header& header, State state, std::uint64_t, const Cell&) {
                             found.header = header;
                             found.state = state;
                             return true;
                           });
    if (seen == Seen::item) {
      found.is_over = moment.is_over(found.state, found.sequence);
      if (found.is_over || found.state.expiry() == 0 || !parts.reaches(found.state.expiry())) return true;
      again = true;
    }
    again = again || seen == Seen::changed;
  }
  found = {{}, {}, {}, 0, false, moment.flushed};
  return !again;
}

/// Under the claim: the item stays, though cells of other keys with its signature may change. A live item of the key is the one that it has, wherever it
/// was found.
template <Parts P>
HOLDFAST_BOTH Current current(P& parts, const Key& key) {
  Current found;
  if (const Guess guess = parts.guess(key); guess.is_absent || !guess.cell.none()) {
    const Moment moment = parts.time();
    std::remove_cvref_t<decltype(parts.candidates(key))> its;
    its.size = guess.is_absent ? 0 : 1;
    its.cells[0] = guess.cell;
    if (find_current(parts, key, moment, its, found) && (guess.is_absent || !found.cell.none())) return found;
  }
  for (
      ;
      ;) {  // each round but the last follows a change of another key with this signature, or the end of the item's time
    const Moment moment = parts.time();
    if (find_current(parts, key, moment, parts.candidates(key), found)) return found;
  }
}

/// Free, with its chunks: the cell of a new item that is not committed.
template <Parts P>
HOLDFAST_BOTH void give_reserved(P& parts, const Cell& cell, const Header& header) {
  for (unsigned chunk = 0; chunk < header.chunks; ++chunk) {
    parts.give(parts.at(location_of_chunk(parts.memory(), cell.words, header, chunk)));
  }
  parts.give(cell);
}

/// Free, with its chunks: the cell of an item that is durably dead. The item may have been damaged since it was committed: what another one owns stays.
template <Parts P>
HOLDFAST_BOTH void give_item(P& parts, const Cell& cell, const Header& header) {
  auto& memory = parts.memory();
  const unsigned chunks = header.words() <= cell.size ? header.chunks : 0;
  for (unsigned chunk = 0; chunk < chunks; ++chunk) {
    const Cell its = parts.at(location_of_chunk(memory, cell.words, header, chunk));
    if (!its.none() && memory.load(its.words + kOwnerWord) == owner_word(cell.location, chunk)) parts.give(its);
  }
  parts.give(cell);
}

/// Under the claim, when the key durably has a new item, or none: cells that read the key and were damaged at the opening are free. No index names them. Their
/// chunks were free at the opening.
template <Parts P>
HOLDFAST_BOTH void drop_damaged(P& parts, const Key& key) {
  for (Cell cell = parts.take_damaged(key); !cell.none(); cell = parts.take_damaged(key)) {  // ends: each is taken once
    if (parts.memory().keeps(Step::kill_damaged)) kill(parts.memory(), cell.words);
    parts.give(cell);
  }
}

/// A new item, in cells that were taken and vacated for it.
struct NewItem {
  Cell cell;
  Header header;
  std::uint64_t sum = 0;  ///< of all behind the header, its chunks with it
  std::uint64_t expiry = 0;
  bool is_filled = false;  ///< otherwise the content is written under the claim
};

/// The chunks of a new item are its own, durably when the commit has fenced.
template <Parts P>
HOLDFAST_BOTH void own_chunks(P& parts, const NewItem& item, std::uint64_t sequence) {
  auto& memory = parts.memory();
  for (unsigned chunk = 0; chunk < item.header.chunks; ++chunk) {
    const Cell its = parts.at(location_of_chunk(memory, item.cell.words, item.header, chunk));
    own_chunk(memory, its.words, item.cell.location, chunk, sequence,
              words_in_chunk(item.header, chunk, parts.chunk_words()));
  }
}

/// Gives a key an item. `decide(current, content)` says, under the claim, what becomes of the key: `inserted` or `replaced` if it gets the
/// new item; otherwise the answer, and nothing changes. It fills in `content`, whose key is `key`, unless the item is filled already. If the
/// content needs a larger cell, `larger` is the answer. Unless the key gets the item, its cells are free afterwards.
template <Parts P, class Decide>
HOLDFAST_BOTH Change put(P& parts, const Key& key, NewItem item, const Decide& decide) {
  auto& memory = parts.memory();
  Content content;
  Current old;
  Change change{};
  std::uint64_t sequence = 0;
  if (!memory.keeps(Step::decide_under_claim)) change = decide(current(parts, key), content);
  if (!memory.keeps(Step::draw_under_claim)) sequence = parts.draw();
  Claim<P> claim(parts, key);
  const auto refuse = [&](Change answer) {
    claim.end();
    give_reserved(parts, item.cell, item.is_filled ? item.header : Header{});
    return answer;
  };
  for (bool again = true; again;) {  // ends: each round but the last meets a flush
    old = current(parts, key);
    if (memory.keeps(Step::decide_under_claim)) change = decide(old, content);
    if (!item.is_filled) item.header = content.header();
    if (change != Change::inserted && change != Change::replaced) return refuse(change);
    if (item.header.words() > item.cell.size) return refuse(Change::larger);
    if (memory.keeps(Step::draw_under_claim)) sequence = parts.draw();
    again = memory.keeps(Step::draw_again) && parts.flushed_since(old.flushed);
  }
  if (!item.is_filled) {
    fill(memory, item.cell.words, content, item.header);
    item.sum = sum_in(memory, item.cell.words, item.header);
    item.expiry = content.expiry;
  }
  own_chunks(parts, item, sequence);
  commit(memory, item.cell.words, item.header, item.sum, sequence, item.expiry);
  if (item.expiry != 0) parts.expires(item.cell.location, item.expiry);
  if (!parts.exchange(key, old.cell.location, item.cell.location)) {
    if (memory.keeps(Step::kill_unnamed)) kill(memory, item.cell.words);
    claim.end();
    give_item(parts, item.cell, item.header);
    return Change::no_space;
  }
  HOLDFAST_FAILPOINT(item_exchanged);
  if (!old.cell.none() && memory.keeps(Step::kill_replaced)) kill(memory, old.cell.words);
  drop_damaged(parts, key);
  claim.end();
  if (!old.cell.none()) give_item(parts, old.cell, old.header);
  return change;
}

/// The answer where no cell can be had: no_space, if `decide` gives the key an item.
template <Parts P, class Decide>
HOLDFAST_BOTH Change put_nothing(P& parts, const Key& key, const Decide& decide) {
  Content content;
  const Claim<P> claim(parts, key);
  const Change change = decide(current(parts, key), content);
  return change == Change::inserted || change == Change::replaced ? Change::no_space : change;
}

/// As `put`, of one cell of `words` words, which is taken first. Where the content depends on what the key has, `words` is a guess.
template <Parts P, class Decide>
HOLDFAST_BOTH Change put(P& parts, const Key& key, std::uint64_t words, const Decide& decide) {
  NewItem item;
  item.cell = parts.take(words);
  if (item.cell.none()) return put_nothing(parts, key, decide);
  vacate(parts.memory(), item.cell.words);
  return put(parts, key, item, decide);
}

/// Takes the cells of a new item and writes its header and its key. `content.value` is not read: the caller writes the value next, and then
/// `sum_item`. `chunks`: in how many the value lies. False: there is no memory, and nothing is taken.
template <Parts P>
HOLDFAST_BOTH bool reserve_item(P& parts, const Content& content, unsigned chunks, NewItem& item) {
  auto& memory = parts.memory();
  item.header = content.header(static_cast<std::uint8_t>(chunks));
  item.expiry = content.expiry;
  item.is_filled = true;
  Location locations[kMostChunks];
  unsigned taken = 0;
  for (; taken < chunks; ++taken) {
    const Cell chunk = parts.take(kChunkHeaderWords + words_in_chunk(item.header, taken, parts.chunk_words()));
    if (chunk.none()) break;
    vacate(memory, chunk.words);
    locations[taken] = chunk.location;
  }
  item.cell = taken < chunks ? Cell{} : parts.take(item.header.words());
  if (item.cell.none()) {
    for (unsigned chunk = 0; chunk < taken; ++chunk) parts.give(parts.at(locations[chunk]));
    return false;
  }
  vacate(memory, item.cell.words);
  fill_key(memory, item.cell.words, content, item.header);
  name_chunks(memory, item.cell.words, item.header, locations);
  return true;
}

/// Calls `visit(words, first word of the value, count)` for each range of words that a reserved item's value lies in.
template <Parts P, class Visit>
HOLDFAST_BOTH void visit_value(P& parts, const NewItem& item, const Visit& visit) {
  if (item.header.chunks == 0) return visit(item.cell.words + item.header.value_at(), 0, item.header.value_words());
  for (unsigned chunk = 0; chunk < item.header.chunks; ++chunk) {
    const Cell its = parts.at(location_of_chunk(parts.memory(), item.cell.words, item.header, chunk));
    visit(its.words + kChunkHeaderWords, chunk * parts.chunk_words(),
          words_in_chunk(item.header, chunk, parts.chunk_words()));
  }
}

/// The sum of a reserved item, whose value is written.
template <Parts P>
HOLDFAST_BOTH void sum_item(P& parts, NewItem& item) {
  auto& memory = parts.memory();
  item.sum = sum_in(memory, item.cell.words, item.header);
  if (item.header.chunks == 0) return;
  visit_value(parts, item, [&](const std::uint64_t* words, std::uint64_t, std::uint64_t count) {
    item.sum = checksum_step(item.sum, sum_of(count, [&](std::uint64_t i) { return memory.load(words + i); }));
  });
}

/// Gives the key this content, whatever it had. `key` is that of `content`.
template <Parts P>
HOLDFAST_BOTH Change set(P& parts, const Key& key, const Content& content) {
  return put(parts, key, content.header().words(), [&](const Current& old, Content& next) {
    next = content;
    return old.is_there() ? Change::replaced : Change::inserted;
  });
}

/// Removes the key's item, if `admit(current)`: otherwise `mismatch`.
template <Parts P, class Admit>
HOLDFAST_BOTH Change erase(P& parts, const Key& key, const Admit& admit) {
  Claim<P> claim(parts, key);
  const Current old = current(parts, key);
  const bool refused = old.is_there() && !admit(old);
  const bool kills = !old.cell.none() && !refused;
  if (kills) {
    kill(parts.memory(), old.cell.words);
    parts.remove(key, old.cell.location);
  }
  if (!refused) drop_damaged(parts, key);
  claim.end();
  if (kills) give_item(parts, old.cell, old.header);
  if (refused) return Change::mismatch;
  return old.is_there() ? Change::erased : Change::not_found;
}

template <Parts P>
HOLDFAST_BOTH Change erase(P& parts, const Key& key) {
  return erase(parts, key, [](const Current&) { return true; });
}

/// Replaces the state of the key's item by `next(current)`, which lives, if `admit(current)`: otherwise `mismatch`. The new state has check bits
/// that match: `damaged` if the old one has not.
template <Parts P, class Admit, class Next>
HOLDFAST_BOTH Change change_state(P& parts, const Key& key, const Admit& admit, const Next& next) {
  const Claim<P> claim(parts, key);
  const Current old = current(parts, key);
  if (!old.is_there()) return Change::not_found;
  if (!admit(old)) return Change::mismatch;
  if (!old.state.is_valid()) return Change::damaged;
  const State state = next(old);
  set_state(parts.memory(), old.cell.words, state);
  if (state.expiry() != 0) parts.expires(old.cell.location, state.expiry());
  return Change::touched;
}

template <Parts P, class Next>
HOLDFAST_BOTH Change change_state(P& parts, const Key& key, const Next& next) {
  return change_state(
      parts, key, [](const Current&) { return true; }, next);
}

/// Gives the key's item another expiry.
template <Parts P>
HOLDFAST_BOTH Change touch(P& parts, const Key& key, std::uint64_t expiry) {
  return change_state(parts, key, [&](const Current& old) { return old.state.with_expiry(expiry); });
}

}  // namespace holdfast::store

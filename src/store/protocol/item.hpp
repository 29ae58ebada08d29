// item.hpp: how an item comes to life, changes in place, and dies: every store to a cell that a crash may see.
//
//   vacate    the old sequence number, zero                 before any other byte of the cell is written
//   fill      header, key, value
//   commit    checksum, state                     durable   before the number, unless they lie in its line
//             the sequence number                 durable   from here on a crash leaves the item
//   touch     the state of a live item            durable   before the change ends
//   kill      the state, dead                     durable   before the cell is vacated and before the change ends
//
// The zero of `vacate` needs no flush: it lies in one line with all that could make the dead item live again, its state and its header,
// and stores to one line become durable in their order. What lies in other lines may come before it and means nothing: the item was
// durably dead. States change under the claim of the item's key, or in recovery: plain stores do.
//
// A cell's words are read while they are written: a reader takes the sequence number, copies, and looks at the number again. It is never
// used twice. Stores release and loads acquire, so that a number that has not changed says that nothing else has.
#pragma once

#include <cstdint>

#include "core/failpoint.hpp"
#include "store/protocol/cell.hpp"
#include "store/protocol/item_memory.hpp"
#include "store/protocol/step.hpp"

namespace holdfast::store {

/// The cell, whose item is durably dead, is free for other bytes when it returns.
template <ItemMemory Memory>
HOLDFAST_BOTH void vacate(Memory& memory, std::uint64_t* cell) {
  if (memory.keeps(Step::zero_before_reuse)) memory.store(cell + kSequenceWord, 0);
  if (memory.keeps(Step::void_chunk)) memory.store(cell + kOwnerWord, 0);  // it may have been a chunk
  HOLDFAST_FAILPOINT(item_vacated);
}

/// Writes the header and the key. The cell is vacated, and large enough.
template <ItemMemory Memory>
HOLDFAST_BOTH void fill_key(Memory& memory, std::uint64_t* cell, const Content& content, const Header& header) {
  memory.store(cell + kValueWord, header.value_word());
  if (header.has_cas) memory.store(cell + kHeaderWords, content.cas);
  for (std::uint32_t i = 0; i < (header.key_bytes + 7u) / 8; ++i) {
    memory.store(cell + header.key_at() + i, padded_word(content.key, header.key_bytes, i));
  }
}

/// The value too, which lies in the cell: all that does not depend on the sequence number.
template <ItemMemory Memory>
HOLDFAST_BOTH void fill(Memory& memory, std::uint64_t* cell, const Content& content, const Header& header) {
  fill_key(memory, cell, content, header);
  for (std::uint32_t i = 0; i < header.value_words(); ++i) {
    memory.store(cell + header.value_at() + i, padded_word(content.value, header.value_bytes, i));
  }
}

/// The sum of what a cell has behind its header.
template <ItemMemory Memory>
HOLDFAST_BOTH std::uint64_t sum_in(Memory& memory, const std::uint64_t* cell, const Header& header) {
  return sum_of(header.words() - kHeaderWords, [&](std::uint64_t i) { return memory.load(cell + kHeaderWords + i); });
}

/// Gives a filled cell its sequence number. `header` is that of what it was filled with, and `sum` that of all behind it. A crash afterwards leaves
/// the item.
template <ItemMemory Memory>
HOLDFAST_BOTH void commit(Memory& memory, std::uint64_t* cell, Header header, std::uint64_t sum, std::uint64_t sequence,
                          std::uint64_t expiry) {
  header.checksum = checksum_of(sequence, header, sum);
  memory.store(cell + kKeyWord, header.key_word());
  memory.store(cell + kStateWord, State::live(expiry).word);
  if (8 * header.words() > kLineBytes || header.chunks != 0) {
    if (memory.keeps(Step::flush_content)) memory.flush(cell, 8 * header.words());
    if (memory.keeps(Step::fence_before_sequence)) memory.fence();
  }
  HOLDFAST_FAILPOINT(item_filled);
  memory.store(cell + kSequenceWord, sequence);
  if (memory.keeps(Step::flush_sequence)) memory.flush(cell, 8 * kHeaderWords);
  if (memory.keeps(Step::fence_after_sequence)) memory.fence();
  HOLDFAST_FAILPOINT(item_committed);
}

/// The live item is durably dead when it returns. Under the claim of its key. Of many, `fence` may be false for all but the last.
template <ItemMemory Memory>
HOLDFAST_BOTH void kill(Memory& memory, std::uint64_t* cell, bool fence = true) {
  memory.store(cell + kStateWord, State::dead().word);
  if (memory.keeps(Step::flush_kill)) memory.flush(cell + kStateWord, 8);
  if (fence && memory.keeps(Step::fence_after_kill)) memory.fence();
  HOLDFAST_FAILPOINT(item_killed);
}

/// Replaces the state of a live item by another, durably. Under the claim of its key.
template <ItemMemory Memory>
HOLDFAST_BOTH void set_state(Memory& memory, std::uint64_t* cell, State state) {
  memory.store(cell + kStateWord, state.word);
  if (memory.keeps(Step::flush_touch)) memory.flush(cell + kStateWord, 8);
  if (memory.keeps(Step::fence_after_touch)) memory.fence();
  HOLDFAST_FAILPOINT(state_replaced);
}

/// What a reader found in a cell.
enum class Seen : std::uint8_t {
  item,       ///< the key's, live, and copied whole
  dead,       ///< some key's
  other_key,  ///< another key's, live
  changed     ///< the cell was free, or changed meanwhile: look up the key again
};

/// Looks at the cell that an index names for a key. `copy(header, state, sequence, cell)` copies what is wanted of an item with the same key; what
/// it copied counts only where `item` is returned. False: a chunk of the value changed meanwhile. `sequence` becomes the number that was seen.
template <ItemMemory Memory, class Copy>
HOLDFAST_BOTH Seen read(Memory& memory, const Cell& cell, const std::byte* key, std::uint16_t key_bytes,
                        std::uint64_t& sequence, const Copy& copy) {
  const std::uint64_t* const words = cell.words;
  sequence = memory.load(words + kSequenceWord);
  if (sequence == 0) return Seen::changed;
  const State state{memory.load(words + kStateWord)};
  const Header header = Header::of(memory.load(words + kValueWord), memory.load(words + kKeyWord));
  bool same = state.is_live() && header.key_bytes == key_bytes && header.words() <= cell.size;
  for (std::uint32_t i = 0; same && i < (key_bytes + 7u) / 8; ++i) {
    same = memory.load(words + header.key_at() + i) == padded_word(key, key_bytes, i);
  }
  const bool copied = !same || copy(header, state, sequence, cell);
  memory.order_loads();
  if (memory.load(words + kSequenceWord) != sequence && memory.keeps(Step::look_again)) return Seen::changed;
  if (!copied) return Seen::changed;
  if (!state.is_live()) return Seen::dead;
  return same ? Seen::item : Seen::other_key;
}

/// The same of a cell whose key the caller compares: never `other_key`.
template <ItemMemory Memory, class Copy>
HOLDFAST_BOTH Seen read_any(Memory& memory, const Cell& cell, std::uint64_t& sequence, const Copy& copy) {
  sequence = memory.load(cell.words + kSequenceWord);
  if (sequence == 0) return Seen::changed;
  const State state{memory.load(cell.words + kStateWord)};
  const Header header = Header::of(memory.load(cell.words + kValueWord), memory.load(cell.words + kKeyWord));
  const bool reads = state.is_live() && header.words() <= cell.size;
  const bool copied = !reads || copy(header, state, sequence, cell);
  memory.order_loads();
  if (!copied || memory.load(cell.words + kSequenceWord) != sequence) return Seen::changed;
  return reads ? Seen::item : Seen::dead;
}

/// What recovery finds in a cell.
enum class Found : std::uint8_t {
  free,    ///< nothing that counts
  live,    ///< an item
  damaged  ///< an item whose checksum, or check bits, say that it was changed
};

/// Looks at a cell when nothing else runs. `header` becomes that of an item. `sum_of_chunks(cell, header, sequence, sum)` adds the chunks to the sum;
/// false: they are not the item's.
template <ItemMemory Memory, class SumOfChunks>
HOLDFAST_BOTH Found inspect(Memory& memory, const Cell& cell, Header& header, const SumOfChunks& sum_of_chunks) {
  const std::uint64_t sequence = memory.load(cell.words + kSequenceWord);
  const State state{memory.load(cell.words + kStateWord)};
  if (sequence == 0 || state.word == State::dead().word) return Found::free;
  header = Header::of(memory.load(cell.words + kValueWord), memory.load(cell.words + kKeyWord));
  if (!state.is_valid() || header.words() > cell.size) return Found::damaged;
  std::uint64_t sum = sum_in(memory, cell.words, header);
  if (header.chunks != 0 && !sum_of_chunks(cell, header, sequence, sum)) return Found::damaged;
  return checksum_of(sequence, header, sum) == header.checksum ? Found::live : Found::damaged;
}

}  // namespace holdfast::store

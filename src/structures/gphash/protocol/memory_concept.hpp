// memory_concept.hpp: what GPHash's protocol demands of a policy `Memory`, beside what every persistent structure does
// (pool/medium/memory_concept.hpp). Each member is described once, here or there.
//
//   SearchMemory       find.hpp                      keeps, fence, kReadersFlush, count_retry
//   KeyMemory          address.hpp                   load, given_word, load_still, same_words, same_bytes
//   TagMemory          claim.hpp, tags.hpp           peek, poke, swap, put_byte
//   SlotMemory         commit.hpp, move.hpp,         the three above; store, flush, store_pair, store_words, order; show, show_word,
//                      rehash.hpp, recover.hpp       show_words, hide; note_move
//   OperationMemory    run.hpp, run_state.hpp        SlotMemory; take_cell, return_cell, retire_cell, and for pairs take_pair,
//                                                    return_pair, retire_pair, kNotesReads, take_bytes; load_value, store_value;
//                                                    kColumns; count_items
//   PhasedMemory       phases.hpp                    SlotMemory; load_slot, add, load_value, store_value
//   CacheMapMemory     cache_map.hpp                 keeps, peek, poke, swap, fence
//   KeyDirectoryMemory key_directory.hpp             keeps, peek, poke, swap, fence_readers
//
// A policy of a backend is asserted to satisfy what its kernels or drivers use, next to its definition.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "core/both.hpp"
#include "holdfast/blobs.hpp"
#include "pool/medium/memory_concept.hpp"
#include "structures/gphash/protocol/geometry.hpp"
#include "structures/gphash/protocol/mutant.hpp"
#include "structures/gphash/protocol/slot.hpp"

namespace holdfast::gphash {

/// Stand for the arguments of members that are templates. They are declared only.
struct AnyWords {
  HOLDFAST_BOTH std::uint64_t operator()(unsigned i) const;
};
struct AnyKey {
  template <class M>
  HOLDFAST_BOTH std::uint64_t key_word(const M& memory, unsigned i) const;
};

/// A search, which changes nothing.
template <class M>
concept SearchMemory = pool::SteppedMemory<M, Step> && requires(const M& memory) {
  // True where what a reader sees may not be durable yet: a search that meets a claim then flushes, fences and looks at the copies
  // again (rule 11).
  { M::kReadersFlush } -> std::convertible_to<bool>;
  // As in WritableMemory: what the search has seen is durable.
  { memory.fence() } -> std::same_as<void>;
  // Notes that a search begins again because slots were cleared meanwhile. May let other threads run. By one lane or all alike.
  { memory.count_retry() } -> std::same_as<void>;
};

/// Tags and version locks: volatile words of which a byte can be changed alone.
template <class M>
concept TagMemory = pool::VolatileWords<M> &&
    requires(const M& memory, std::uint64_t* word, unsigned byte, std::uint8_t tag) {
  // Changes byte `byte` of a volatile word from the third argument to the fourth. Releases. Others may change its other bytes at
  // the same time, by any member. For the holder of the byte's slot.
  { memory.put_byte(word, byte, tag, tag) } -> std::same_as<void>;
};

/// Keys in an operation's arrays, and in slots that their holder keeps from changing.
template <class M>
concept KeySource = requires(const M& memory, const std::byte* given, const std::uint64_t* word) {
  // Returns 8 bytes of an operation's array, at any alignment. Static.
  { M::given_word(given) } -> std::same_as<std::uint64_t>;
  // Returns a persistent word that does not change meanwhile. Orders nothing.
  { memory.load_still(word) } -> std::same_as<std::uint64_t>;
};

/// Keys of slots and pairs, compared with those that were given.
template <class M>
concept KeyMemory = pool::ReadableMemory<M> && KeySource<M> &&
    requires(const M& memory, const std::uint64_t* words, const AnyKey& key, unsigned count, const std::byte* bytes) {
  // Returns whether the `count` words of a slot's wide key are those of the candidates' key. Acquires, as `load`. By one thread.
  { memory.same_words(words, key, count) } -> std::same_as<bool>;
  // Returns whether a part of a pair in the pool (first) has the bytes of an operation's array (second). Pairs do not change
  // while a reader can see them. By one thread.
  { memory.same_bytes(bytes, bytes, std::size_t{count}) } -> std::same_as<bool>;
};

/// Copies of slots that readers look at instead of the pool (GPHash §3.3). These members do nothing where there are none. They release;
/// the caller holds the slot, and what it shows is durable.
template <class M>
concept SlotCopies = requires(const M& memory, Slot* slot, std::uint64_t value, std::uint64_t* words) {
  // Shows key and word. The word comes first, since the key makes it count.
  { memory.show(slot, value, value) } -> std::same_as<void>;
  // Shows a new word of an item.
  { memory.show_word(slot, value) } -> std::same_as<void>;
  // Shows the words behind a fingerprint, before `show`; the callable gives word i.
  { memory.show_words(words, 1u, AnyWords{}) } -> std::same_as<void>;
  // Takes the key from readers.
  { memory.hide(slot) } -> std::same_as<void>;
};

/// All that claims, fills, moves and clears slots.
template <class M>
concept SlotMemory = pool::PersistentMemory<M> && SearchMemory<M> && TagMemory<M> && KeyMemory<M> && SlotCopies<M> &&
    requires(const M& memory, Slot* slot, std::uint64_t value, std::uint64_t* words) {
  // Stores both words of an empty slot that the caller holds. A crash may keep one of them, which is as good as
  // none (rule 3). Releases.
  { memory.store_pair(slot, value, value) } -> std::same_as<void>;
  // Stores words of an empty slot that another word makes count later; the callable gives word i. Releases.
  { memory.store_words(words, 1u, AnyWords{}) } -> std::same_as<void>;
  // Makes the caller's stores to a slot durable before its later stores to the same slot. No fence is needed
  // where stores to one line become durable in their order.
  { memory.order(slot) } -> std::same_as<void>;
  // Notes that an item moved from one slot to another. By the lanes that `count_retry` is called by.
  { memory.note_move(slot, slot) } -> std::same_as<void>;
};

/// Words of cells. A cell that no slot names belongs to one caller; one that a slot names does not change until no reader can see it. So
/// these members order nothing: a fence follows before a slot names the cell.
template <class M>
concept ValueMemory = requires(const M& memory, std::uint64_t* word, std::uint64_t value) {
  { memory.load_value(word) } -> std::same_as<std::uint64_t>;
  { memory.store_value(word, value) } -> std::same_as<void>;
};

/// Cells for values of one size, by number. Which are free is volatile (rule 5). One lane of a tile calls.
template <class M>
concept CellSource = requires(const M& memory, bool adds_key, std::uint64_t cell) {
  // Returns the number of a free cell, now the caller's, or heap::kNoCell. Callers that add keys leave a reserve to updates (rule 6).
  { memory.take_cell(adds_key) } -> std::same_as<std::uint64_t>;
  // Gives back one that no slot ever named.
  { memory.return_cell(cell) } -> std::same_as<void>;
  // Retires one that the caller took out of its slot, durably: it is free again when no reader that runs now is left.
  { memory.retire_cell(cell) } -> std::same_as<void>;
};

/// Cells for pairs of any length, by the word that names them in a slot (heap::CellWord). Beside that as CellSource.
template <class M, class S>
concept PairSource = requires(const M& memory, const View<S>& view, std::uint32_t bytes, std::uint64_t word) {
  // Returns the word for a pair of so many bytes in a fresh cell, or 0. The class of its slab is durable (heap::enter_slab).
  { memory.take_pair(view, bytes, true) } -> std::same_as<std::uint64_t>;
  { memory.return_pair(word) } -> std::same_as<void>;
  { memory.retire_pair(word) } -> std::same_as<void>;
};

/// True of a policy whose reads of pairs return where the bytes are now, and whose driver copies them later.
template <class M>
concept NotesReads = requires {
  requires M::kNotesReads;
};

/// Changes of pairs, which also read. Others than those that note reads take memory for the bytes that they return.
template <class M, class S>
concept PairMemory = PairSource<M, S> && requires {
  { M::kNotesReads } -> std::convertible_to<bool>;
} &&(NotesReads<M> || requires(const M& memory, Arena& arena, std::size_t bytes) {
  // Returns so many bytes of the arena, or null: then the row does not run. Does not throw, since the caller
  // holds a claim.
  { memory.take_bytes(arena, bytes) } -> std::same_as<std::byte*>;
});

/// All that executes operations on a table whose shape is S.
template <class M, class S>
concept OperationMemory = SlotMemory<M> && ValueMemory<M> && CellSource<M> && requires(const M& memory) {
  // True if operations can be about a column of the values; where not, no code is compiled for it.
  { M::kColumns } -> std::convertible_to<bool>;
  // Adds to the number of items. By the lanes that `count_retry` is called by.
  { memory.count_items(1) } -> std::same_as<void>;
} &&(!S::kVariable || PairMemory<M, S>);

/// Batches in phases, which are alone in changing the table. The end of a phase orders its accesses before those of the next, so this
/// policy's own may be weaker than the members say.
template <class M>
concept PhasedMemory = SlotMemory<M> && ValueMemory<M> &&
    requires(const M& memory, const Slot* slot, std::uint64_t* word) {
  // Returns both words of a slot that does not change meanwhile, of its copy if there is one. Orders nothing.
  { memory.load_slot(slot) } -> std::same_as<Slot>;
  // Adds to a volatile word. Acquires, and releases. Any thread.
  { memory.add(word, std::uint64_t{2}) } -> std::same_as<void>;
};

/// Maps from parts of the pool to their copies (cache_map.hpp), in words of 32 or 64 bits. `fence` is that of WritableMemory: it orders
/// accesses to the maps with those to the pool, in both directions.
template <class M, class Word>
concept CacheMapMemory = pool::SteppedMemory<M, Step> && pool::VolatileWords<M, Word> && requires(const M& memory) {
  { memory.fence() } -> std::same_as<void>;
};

/// The same with a directory of keys (key_directory.hpp).
template <class M>
concept KeyDirectoryMemory = pool::SteppedMemory<M, Step> && pool::VolatileWords<M> && requires(const M& memory) {
  // Orders this thread's accesses to volatile words, the earlier ones before the later ones, for all threads that call it too.
  { memory.fence_readers() } -> std::same_as<void>;
};

// Members that a policy may have:

/// Takes keys of any length with one hash for the same: its driver compares them later.
template <class M>
concept TrustsHashes = requires {
  requires M::kTrustsHashes;
};

/// Called, with the word of the item that a run will change, before anything of that is written. By one lane, which holds the claim.
template <class M>
concept SeesChanges = requires(const M& memory, std::uint64_t word) {
  memory.begin_change(word);
};

/// For the model, which has to know when a caller waits: a run begins, perhaps once more; a move found the key of this version lock held.
template <class M>
concept SeesAttempts = requires(const M& memory, const std::uint64_t* lock) {
  memory.begin_attempt();
  memory.note_held_move(lock);
};

}  // namespace holdfast::gphash

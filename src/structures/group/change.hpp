// change.hpp: inserts, assignments and erases. §3.4, Algorithms 1 and 3.
//
//   insert   cell durable, bit set and durable                                               two persists
//   erase    bit cleared and durable                                                         one
//   assign   of one word: the value, in place, durable                                       one
//            of several: second cell durable; its bit set and the old one cleared, by one store where both are in one word: two,
//            else the new bit durable before the old one is cleared: three
//
// A persist is a flush and a fence. The paper counts one more for `count`, which is derived here, and one for the contents of an
// erased cell, which nothing reads while its bit is clear.
#pragma once

#include "core/failpoint.hpp"
#include "holdfast/status.hpp"
#include "structures/group/search.hpp"

namespace holdfast::group {

template <class Memory>
void persist(const Memory& memory, const std::uint64_t* from, std::size_t words, Step flush, Step fence) {
  if (memory.keeps(flush)) memory.flush(from, words * 8);
  if (memory.keeps(fence)) memory.fence();
}

template <class Item, class Memory>
void store_item(const Memory& memory, std::uint64_t* cell, const typename Item::Key& key,
                const typename Item::Value& value) {
  for (unsigned i = 0; i < Item::Key::kCount; ++i) memory.store(cell + i, key.word[i]);
  for (unsigned i = 0; i < Item::Value::kCount; ++i) memory.store(cell + Item::Key::kCount + i, value.word[i]);
}

/// Writes an item to a free cell, durably; its bit stays clear.
template <class Item, class Memory>
void fill_cell(const Memory& memory, const View& view, const Target& target, Cell cell, const typename Item::Key& key,
               const typename Item::Value& value) {
  std::uint64_t* const at = view.cell(target.words, cell);
  store_item<Item>(memory, at, key, value);
  persist(memory, at, Item::kWords, Step::flush_cell, Step::fence_after_cell);
  HOLDFAST_FAILPOINT(cell_filled);
}

/// Adds an item. `is_new`: the caller promises that the key is absent.
template <class Item, class Memory>
Status insert(const Memory& memory, const View& view, const typename Item::Key& key, const typename Item::Value& value,
              bool is_new) {
  const Target target = prefetched_target(memory, view, key);
  const GroupLock<Memory> hold(memory, view.locks + target.number);
  if (!is_new && memory.keeps(Step::search_first) && find_key(memory, view, target, key) != kNoCell) {
    return Status::exists;
  }
  const Cell free = find_free(memory, view, target);
  if (free == kNoCell) return Status::no_space;
  fill_cell<Item>(memory, view, target, free, key, value);
  std::uint64_t* const word = target.words + word_of(view.shape, free);
  memory.store(word, memory.load(word) | bit_of(view.shape, free));
  persist(memory, word, 1, Step::flush_insert, Step::fence_after_insert);
  HOLDFAST_FAILPOINT(bit_set);
  return Status::inserted;
}

template <class Item, class Memory>
Status erase(const Memory& memory, const View& view, const typename Item::Key& key) {
  const Target target = prefetched_target(memory, view, key);
  const GroupLock<Memory> hold(memory, view.locks + target.number);
  const Cell cell = find_key(memory, view, target, key);
  if (cell == kNoCell) return Status::not_found;
  std::uint64_t* const word = target.words + word_of(view.shape, cell);
  memory.store(word, memory.load(word) & ~bit_of(view.shape, cell));
  persist(memory, word, 1, Step::flush_erase, Step::fence_after_erase);
  HOLDFAST_FAILPOINT(bit_cleared);
  return Status::erased;
}

/// Replaces the value of a cell where it is.
template <class Item, class Memory>
void assign_in_place(const Memory& memory, const View& view, const Target& target, Cell cell,
                     const typename Item::Value& value) {
  std::uint64_t* const at = view.cell(target.words, cell) + Item::Key::kCount;
  for (unsigned i = 0; i < Item::Value::kCount; ++i) memory.store(at + i, value.word[i]);
  persist(memory, at, Item::Value::kCount, Step::flush_value, Step::fence_after_value);
  HOLDFAST_FAILPOINT(value_replaced);
}

/// Makes `free`, which has the new item durably, occupied, and `old` free.
template <class Memory>
void switch_cells(const Memory& memory, const View& view, const Target& target, Cell old, Cell free) {
  std::uint64_t* const set = target.words + word_of(view.shape, free);
  std::uint64_t* const cleared = target.words + word_of(view.shape, old);
  if (set != cleared) {
    memory.store(set, memory.load(set) | bit_of(view.shape, free));
    persist(memory, set, 1, Step::flush_new_bit, Step::fence_between_bits);
    HOLDFAST_FAILPOINT(both_bits_set);
    memory.store(cleared, memory.load(cleared) & ~bit_of(view.shape, old));
  } else {
    memory.store(set, (memory.load(set) | bit_of(view.shape, free)) & ~bit_of(view.shape, old));
  }
  persist(memory, cleared, 1, Step::flush_old_bit, Step::fence_after_assign);
}

template <class Item, class Memory>
Status assign(const Memory& memory, const View& view, const typename Item::Key& key,
              const typename Item::Value& value) {
  const Target target = prefetched_target(memory, view, key);
  const GroupLock<Memory> hold(memory, view.locks + target.number);
  const Cell cell = find_key(memory, view, target, key);
  if (cell == kNoCell) return Status::not_found;
  if (Item::kAtomicValue || !memory.keeps(Step::second_cell)) {
    assign_in_place<Item>(memory, view, target, cell, value);
    return Status::updated;
  }
  const Cell free = find_free(memory, view, target);
  if (free == kNoCell) return Status::no_space;
  fill_cell<Item>(memory, view, target, free, key, value);
  switch_cells(memory, view, target, cell, free);
  return Status::updated;
}

}  // namespace holdfast::group

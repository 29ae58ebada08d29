// search.hpp: looks a key up in its group, and reads a group without its lock. §3.4, Algorithm 2.
#pragma once

#include "structures/group/shape.hpp"
#include "structures/group/step.hpp"
#include "structures/item.hpp"
#include "structures/lock.hpp"

namespace holdfast::group {

using structures::VersionLock;

/// A table in memory that a Memory reads and writes.
struct View {
  Shape shape = {};
  std::uint64_t seed = 0;
  std::uint64_t* words = nullptr;
  VersionLock* locks = nullptr;  ///< one a group, volatile

  std::uint64_t* group(std::uint64_t number) const {
    HOLDFAST_ASSERT(number < shape.groups);
    return words + number * shape.group_words();
  }
  std::uint64_t* cell(std::uint64_t* group, Cell cell) const {
    HOLDFAST_ASSERT(cell < shape.cells_of_group());
    return group + shape.header_words() + std::uint64_t{cell} * shape.item_words;
  }
};

/// A group of a view, and the cell of level 1 that a key addresses.
struct Target {
  std::uint64_t number;
  std::uint64_t* words;
  Cell first;
};

template <class Key>
Target target_of(const View& view, const Key& key) {
  const std::uint64_t hash = structures::hash_of(key, view.seed);
  const std::uint64_t number = view.shape.group_of(hash);
  return {number, view.group(number), view.shape.position_of(hash)};
}

/// The same, and asks for its lines all at once: the lock, the occupancy words, the cell of level 1.
template <class Key, class Memory>
Target prefetched_target(const Memory& memory, const View& view, const Key& key) {
  const Target target = target_of(view, key);
  memory.prefetch(view.locks + target.number);
  memory.prefetch(target.words);
  memory.prefetch(view.cell(target.words, target.first));
  return target;
}

template <class Memory>
bool is_occupied(const Memory& memory, const View& view, const std::uint64_t* group, Cell cell) {
  if (!memory.keeps(Step::test_occupancy)) return true;
  return (memory.load(group + word_of(view.shape, cell)) & bit_of(view.shape, cell)) != 0;
}

template <class Words, class Memory>
Words load_words(const Memory& memory, const std::uint64_t* from) {
  Words words;
  for (unsigned i = 0; i < Words::kCount; ++i) words.word[i] = memory.load(from + i);
  return words;
}

/// Whether a cell has this key. Stops at the first word that differs.
template <class Key, class Memory>
bool has_key(const Memory& memory, const std::uint64_t* cell, const Key& key) {
  for (unsigned i = 0; i < Key::kCount; ++i) {
    if (memory.load(cell + i) != key.word[i]) return false;
  }
  return true;
}

/// Searches the cell of level 1, then level 2 of the group. Scan order: that cell, then level 2 from its first cell on.
template <class Key, class Memory>
Cell find_key(const Memory& memory, const View& view, const Target& target, const Key& key) {
  const Shape& shape = view.shape;
  if (is_occupied(memory, view, target.words, target.first) &&
      has_key(memory, view.cell(target.words, target.first), key)) {
    return target.first;
  }
  for (std::uint32_t w = 0; w < shape.level_words(); ++w) {
    const std::uint32_t cells = shape.group_size - w * 64 < 64 ? shape.group_size - w * 64 : 64;
    const std::uint64_t all = cells == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << cells) - 1;
    std::uint64_t bits = memory.load(target.words + shape.level_words() + w);
    if (!memory.keeps(Step::test_occupancy)) bits = all;
    for (bits &= all; bits != 0; bits &= bits - 1) {
      const Cell cell = shape.group_size + w * 64 + static_cast<Cell>(std::countr_zero(bits));
      if (has_key(memory, view.cell(target.words, cell), key)) return cell;
    }
  }
  return kNoCell;
}

/// Finds the first cell in scan order that is free. The caller holds the group's lock.
template <class Memory>
Cell find_free(const Memory& memory, const View& view, const Target& target) {
  const Shape& shape = view.shape;
  const std::uint64_t first = memory.load(target.words + word_of(shape, target.first));
  if ((first & bit_of(shape, target.first)) == 0) return target.first;
  for (std::uint32_t w = 0; w < shape.level_words(); ++w) {
    const std::uint64_t bits = memory.load(target.words + shape.level_words() + w);
    const auto bit = static_cast<std::uint32_t>(std::countr_one(bits));
    if (bit < 64 && w * 64 + bit < shape.group_size) return shape.group_size + w * 64 + bit;
  }
  return kNoCell;
}

/// Holds the lock of a group.
template <class Memory>
using GroupLock = structures::LockHold<Step::lock_group, Memory>;

/// Returns what `read` returns of a group in which no writer was during it.
template <class Memory, class Read>
auto read_group(const Memory& memory, VersionLock* lock, const Read& read) {
  return structures::read_consistently<Step::lock_group>(memory, lock, read);
}

}  // namespace holdfast::group

// cells.hpp: the cells of a table: where they are, what they hold, whether they are empty.
#pragma once

#include "structures/cells/shape.hpp"
#include "structures/cells/step.hpp"
#include "structures/item.hpp"
#include "structures/lock.hpp"

namespace holdfast::cells {

using structures::VersionLock;

/// A table in memory that a Memory reads and writes.
struct View {
  Shape shape = {};
  std::uint64_t seed = 0;
  std::uint64_t* words = nullptr;
  VersionLock* locks = nullptr;  ///< one, volatile

  std::uint64_t* cell(Cell number) const {
    HOLDFAST_ASSERT(number <= shape.reserved());
    return number == shape.reserved() ? words + kLineWords : words + kHeaderWords + number * shape.item_words;
  }
  std::uint64_t line_of(Cell number) const { return static_cast<std::uint64_t>(cell(number) - words) / kLineWords; }
};

template <class ItemType, class Memory>
class Cells {
 public:
  using Item = ItemType;
  using Key = typename Item::Key;
  using Value = typename Item::Value;

  Cells(const Memory& memory, const View& view) : memory(memory), view(view) {}

  const Shape& shape() const { return view.shape; }
  std::uint64_t count() const { return memory.load(view.words + word::kCount); }
  std::uint64_t hash_of(const Key& key) const { return structures::hash_of(key, view.seed); }

  Key key(Cell cell) const {
    Key key;
    for (unsigned i = 0; i < Key::kCount; ++i) key.word[i] = memory.load(view.cell(cell) + i);
    return key;
  }
  Value value(Cell cell) const {
    Value value;
    for (unsigned i = 0; i < Value::kCount; ++i) value.word[i] = memory.load(view.cell(cell) + Key::kCount + i);
    return value;
  }
  bool is_empty(Cell cell) const { return key(cell) == Key{}; }
  bool has_key(Cell cell, const Key& wanted) const {
    for (unsigned i = 0; i < Key::kCount; ++i) {
      if (memory.load(view.cell(cell) + i) != wanted.word[i]) return false;
    }
    return true;
  }
  void prefetch(Cell cell) const { memory.prefetch(view.cell(cell)); }

  /// Stores a key, then a value.
  void store(Cell cell, const Key& key, const Value& value) const {
    for (unsigned i = 0; i < Key::kCount; ++i) memory.store(view.cell(cell) + i, key.word[i]);
    store_value(cell, value);
  }
  void store_value(Cell cell, const Value& value) const {
    for (unsigned i = 0; i < Value::kCount; ++i) memory.store(view.cell(cell) + Key::kCount + i, value.word[i]);
  }
  void empty(Cell cell) const {
    for (unsigned i = 0; i < Key::kCount; ++i) memory.store(view.cell(cell) + i, 0);
  }

  const Memory& memory;
  const View& view;
};

/// Where an insert puts its item. Where `moves_to` is a cell, the item that is in `cell` moves there first.
struct Placement {
  Cell cell = kNoCell;
  Cell moves_to = kNoCell;
};

/// The key as its cell stores it: a key of zeros is in the reserved cell, and stored as 1 there.
template <class Key>
Key stored_in_reserved() {
  Key key = {};
  key.word[0] = 1;
  return key;
}

}  // namespace holdfast::cells

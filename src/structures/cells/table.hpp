// table.hpp: a persistent table of cells: the operations that linear probing, PFHT and path hashing share, over one View.
//
// A Scheme says which cells a key may be in. Its members are static:
//
//   cells(index)                  how many cells a table of 2^index places has
//   find(cells, hash, key)        the cell that has a key, or kNoCell. The table may change meanwhile
//   place(cells, hash)            where an insert puts its item; no cell: the table must grow
//   next_to_move(cells, hole)     the cell whose item has to move into one that an erase emptied, or kNoCell
//   prefetch(cells, hash)         asks for the lines that are read first
//
// There is one log entry, so writers of a table exclude each other; readers take no lock.
#pragma once

#include "structures/cells/recover.hpp"

namespace holdfast::cells {

template <class Scheme, bool kLogged, class ItemType, class Memory>
requires structures::PersistentMemory<Memory, Step>
class Table {
 public:
  using Item = ItemType;
  using Key = typename Item::Key;
  using Value = typename Item::Value;

  Table(const Memory& memory, const View& view) : cells_(memory, view) {}

  Status insert(const Key& key, const Value& value) { return insert(key, value, false); }
  Status insert_new(const Key& key, const Value& value) { return insert(key, value, true); }
  Status assign(const Key& key, const Value& value) {
    return change(key, [&](Cell cell) {
      change_.assign(cell, value);
      return Status::updated;
    });
  }
  Status erase(const Key& key) {
    return change(key, [&](Cell cell) {
      change_.erase(cell);
      return Status::erased;
    });
  }
  Status find(const Key& key, Value& out) const {
    struct Answer {
      bool is_found;
      Value value;
    };
    const std::uint64_t hash = prefetched_hash(key);
    const Answer answer = structures::read_consistently<Step::lock_table>(memory(), view().locks, [&]() -> Answer {
      const Cell cell = cell_of(key, hash);
      if (cell == kNoCell) return {};
      return {true, cells_.value(cell)};
    });
    if (answer.is_found) out = answer.value;
    return answer.is_found ? Status::found : Status::not_found;
  }
  std::uint64_t size() const {
    return structures::read_consistently<Step::lock_table>(memory(), view().locks, [&] { return cells_.count(); });
  }

  /// `visit` is called with writers kept out, and must not use the table.
  template <class Visit>
  void for_each(const Visit& visit) const {
    const Hold hold(memory(), view().locks);
    for (Cell cell = 0; cell <= view().shape.reserved(); ++cell) {
      Key key = cells_.key(cell);
      if (key == Key{}) continue;
      if (cell == view().shape.reserved()) key = {};
      if (!visit(key, cells_.value(cell))) return;
    }
  }
  /// Visits a part of the table: all of it, because items move. Returns the cursor of the next part: ~0, there is none.
  template <class Visit>
  std::uint64_t visit_some(std::uint64_t, const Visit& visit) const {
    for_each([&](const Key& key, const Value& value) {
      visit(key, value);
      return true;
    });
    return ~std::uint64_t{0};
  }

  structures::Recovered recover() { return cells::recover<Scheme, kLogged>(cells_); }

 private:
  using Hold = structures::LockHold<Step::lock_table, Memory>;
  const Memory& memory() const { return cells_.memory; }
  const View& view() const { return cells_.view; }

  std::uint64_t prefetched_hash(const Key& key) const {
    const std::uint64_t hash = cells_.hash_of(key);
    memory().prefetch(view().locks);
    Scheme::prefetch(cells_, hash);
    return hash;
  }
  Cell cell_of(const Key& key, std::uint64_t hash) const {
    if (key != Key{}) return Scheme::find(cells_, hash, key);
    return cells_.is_empty(view().shape.reserved()) ? kNoCell : view().shape.reserved();
  }
  template <class Act>
  Status change(const Key& key, const Act& act) {
    const std::uint64_t hash = prefetched_hash(key);
    memory().prefetch(view().words);
    const Hold hold(memory(), view().locks);
    const Cell cell = cell_of(key, hash);
    return cell == kNoCell ? Status::not_found : act(cell);
  }
  Status insert(const Key& key, const Value& value, bool is_new) {
    const std::uint64_t hash = prefetched_hash(key);
    memory().prefetch(view().words);
    const Hold hold(memory(), view().locks);
    if (!is_new && memory().keeps(Step::search_first) && cell_of(key, hash) != kNoCell) return Status::exists;
    if (key == Key{}) {
      change_.insert({view().shape.reserved()}, stored_in_reserved<Key>(), value);
      return Status::inserted;
    }
    const Placement to = Scheme::place(cells_, hash);
    if (to.cell == kNoCell) return Status::no_space;
    change_.insert(to, key, value);
    return Status::inserted;
  }

  const Cells<Item, Memory> cells_;
  const Change<Scheme, kLogged, Item, Memory> change_{cells_};
};

/// Copies the items of `from`, whose writers are stopped, to `to`, which is zero and larger. Durable when it returns true. Returns false if
/// an item found no cell: `to` is then too small, and of no use.
template <class Scheme, class Item, class Memory>
bool fill(const Memory& memory, const View& from, const View& to) {
  const Cells<Item, Memory> source(memory, from), target(memory, to);
  std::uint64_t count = 0;
  for (Cell cell = 0; cell <= from.shape.reserved(); ++cell) {
    const auto key = source.key(cell);
    if (source.is_empty(cell)) continue;
    Placement place{to.shape.reserved()};
    if (cell != from.shape.reserved()) place = Scheme::place(target, target.hash_of(key));
    if (place.cell == kNoCell) return false;
    if (place.moves_to != kNoCell) target.store(place.moves_to, target.key(place.cell), target.value(place.cell));
    target.store(place.cell, key, source.value(cell));
    memory.store(to.words + word::kCount, ++count);
  }
  if (memory.keeps(Step::flush_growth)) memory.flush(to.words, to.shape.bytes());
  if (memory.keeps(Step::fence_growth)) memory.fence();
  return true;
}

}  // namespace holdfast::cells

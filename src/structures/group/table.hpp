// table.hpp: group hashing as a persistent table: the operations of this folder over one View.
#pragma once

#include "structures/group/grow.hpp"

namespace holdfast::group {

/// `View` and `Memory` outlive it. It holds nothing else, so each call may make one.
template <class ItemType, class Memory>
requires structures::PersistentMemory<Memory, Step>
class Table {
 public:
  using Item = ItemType;
  using Key = typename Item::Key;
  using Value = typename Item::Value;

  Table(const Memory& memory, const View& view) : memory_(memory), view_(view) {}

  Status insert(const Key& key, const Value& value) { return group::insert<Item>(memory_, view_, key, value, false); }
  Status insert_new(const Key& key, const Value& value) {
    return group::insert<Item>(memory_, view_, key, value, true);
  }
  Status assign(const Key& key, const Value& value) { return group::assign<Item>(memory_, view_, key, value); }
  Status erase(const Key& key) { return group::erase<Item>(memory_, view_, key); }

  Status find(const Key& key, Value& out) const {
    const Target target = prefetched_target(memory_, view_, key);
    struct Answer {
      bool is_found;
      Value value;
    };
    const Answer answer = read_group(memory_, view_.locks + target.number, [&]() -> Answer {
      const Cell cell = find_key(memory_, view_, target, key);
      if (cell == kNoCell) return {};
      return {true, load_words<Value>(memory_, view_.cell(target.words, cell) + Key::kCount)};
    });
    if (answer.is_found) out = answer.value;
    return answer.is_found ? Status::found : Status::not_found;
  }

  /// Takes time in proportion to the number of groups.
  std::uint64_t size() const {
    std::uint64_t items = 0;
    for (std::uint64_t number = 0; number < view_.shape.groups; ++number) {
      items += read_group(memory_, view_.locks + number, [&] { return count_items(memory_, view_, number); });
    }
    return items;
  }

  /// `visit` is called with the group locked, and must not use the table.
  template <class Visit>
  void for_each_of_group(std::uint64_t number, const Visit& visit) const {
    const GroupLock<Memory> hold(memory_, view_.locks + number);
    std::uint64_t* const group = view_.group(number);
    visit_cells(memory_, view_, group, [&](Cell cell) {
      const std::uint64_t* const at = view_.cell(group, cell);
      return visit(load_words<Key>(memory_, at), load_words<Value>(memory_, at + Key::kCount));
    });
  }
  /// Visits the items of one group, and returns the cursor of the next: ~0, there is none. A cursor is the smallest hash of its group, so it
  /// means the same when there are more groups.
  template <class Visit>
  std::uint64_t visit_some(std::uint64_t cursor, const Visit& visit) const {
    const std::uint64_t number = view_.shape.group_of(cursor);
    for_each_of_group(number, [&](const Key& key, const Value& value) {
      visit(key, value);
      return true;
    });
    if (number + 1 == view_.shape.groups) return ~std::uint64_t{0};
    return (number + 1) << (64 - static_cast<unsigned>(std::countr_zero(view_.shape.groups)));
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    bool goes_on = true;
    for (std::uint64_t number = 0; goes_on && number < view_.shape.groups; ++number) {
      for_each_of_group(number, [&](const Key& key, const Value& value) { return goes_on = visit(key, value); });
    }
  }

  structures::Recovered recover() { return group::recover<Item>(memory_, view_); }

 private:
  const Memory& memory_;
  const View& view_;
};

}  // namespace holdfast::group

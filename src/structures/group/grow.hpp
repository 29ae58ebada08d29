// grow.hpp: fills a larger table with the items of a full one. The caller then lets the pool's directory name the new one instead of the
// old one, by one commit: a crash before it leaves the old table, which nothing here writes.
#pragma once

#include "structures/group/recover.hpp"

namespace holdfast::group {

/// Copies the items of `from`, whose writers are stopped, to `to`, which is zero and has a multiple of its groups. Durable when it returns
/// true. Returns false if an item found no cell: `to` is then too small, and of no use.
template <class Item, class Memory>
bool fill(const Memory& memory, const View& from, const View& to) {
  HOLDFAST_ASSERT(to.shape.groups >= from.shape.groups && to.shape.group_size == from.shape.group_size);
  const std::uint64_t factor = to.shape.groups / from.shape.groups;
  bool fits = true;
  for (std::uint64_t number = 0; fits && number < from.shape.groups; ++number) {
    std::uint64_t* const group = from.group(number);
    visit_cells(memory, from, group, [&](Cell cell) {
      const std::uint64_t* const at = from.cell(group, cell);
      const auto key = load_words<typename Item::Key>(memory, at);
      const Target target = target_of(to, key);
      HOLDFAST_ASSERT(target.number / factor == number);
      const Cell free = find_free(memory, to, target);
      fits = free != kNoCell;
      if (!fits) return false;
      store_item<Item>(memory, to.cell(target.words, free), key,
                       load_words<typename Item::Value>(memory, at + Item::Key::kCount));
      std::uint64_t* const word = target.words + word_of(to.shape, free);
      memory.store(word, memory.load(word) | bit_of(to.shape, free));
      return true;
    });
    if (fits && memory.keeps(Step::flush_growth)) {
      memory.flush(to.group(number * factor), factor * to.shape.group_words() * 8);
    }
  }
  if (fits && memory.keeps(Step::fence_growth)) memory.fence();
  return fits;
}

}  // namespace holdfast::group

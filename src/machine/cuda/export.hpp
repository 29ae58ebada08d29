// export.hpp: copies the items of a table to host memory while nothing changes it: the host reads the pool itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "machine/layout.hpp"

namespace holdfast::machine::cuda {

/// Copies up to `n` items from `cursor` on, which counts slots: the aside slot first, then those of each level, from the top;
/// ~0 at the end. `values` may be null.
inline std::size_t export_items(const Layout& layout, std::uint64_t& cursor, void* keys, void* values, std::size_t n) {
  auto* const to_key = static_cast<std::byte*>(keys);
  auto* const to_value = static_cast<std::byte*>(values);
  const std::size_t value_bytes = layout.value_bytes;
  std::size_t count = 0;
  const auto take = [&](const index::Slot* slot, bool aside) {
    const std::uint64_t key = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);
    const std::uint64_t word = __atomic_load_n(&slot->word, __ATOMIC_ACQUIRE);
    if (key == 0 || (word == 0 && !layout.in_slot())) return;
    const std::uint64_t shown = aside ? 0 : key;
    std::memcpy(to_key + 8 * count, &shown, 8);
    if (to_value && layout.in_slot()) std::memcpy(to_value + count * value_bytes, &word, value_bytes);
    if (to_value && !layout.in_slot()) std::memcpy(to_value + count * value_bytes, layout.cell(word - 1), value_bytes);
    ++count;
  };
  std::uint64_t skipped = 1;
  if (cursor == 0 && n != 0) {
    take(layout.aside, true);
    cursor = 1;
  }
  for (unsigned rank = 0; rank < layout.shape.levels(); ++rank) {
    const std::uint64_t size = layout.buckets(rank) * layout.shape.slots();
    for (; count < n && cursor < skipped + size; ++cursor) take(layout.level[rank] + (cursor - skipped), false);
    skipped += size;
  }
  if (cursor >= skipped) cursor = ~std::uint64_t{0};
  return count;
}

}  // namespace holdfast::machine::cuda

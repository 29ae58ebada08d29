// in_place.cpp: values that callers write and read where they lie: reservations and leases.
#include "store/cpu/parts.hpp"

namespace holdfast::store::cpu {

NewItem Engine::reserve(const Content& content) {
  Parts parts(*this);
  NewItem item;
  const bool fits = 8 * content.header().words() <= mapped_.heap.slab_bytes();
  if (!reserve_item(parts, content, fits ? 0 : chunks_of(content.value_bytes), item)) return {};
  visit_value(parts, item, [&](std::uint64_t* words, std::uint64_t, std::uint64_t count) {
    if (count != 0) memory_.store(words + count - 1, 0);  // what is behind the last byte counts in the checksum
  });
  return item;
}

std::vector<std::span<std::byte>> Engine::pieces_of(const NewItem& item) {
  Parts parts(*this);
  std::vector<std::span<std::byte>> pieces;
  visit_value(parts, item, [&](std::uint64_t* words, std::uint64_t first, std::uint64_t count) {
    if (count == 0) return;
    pieces.emplace_back(reinterpret_cast<std::byte*>(words),
                        std::min<std::uint64_t>(8 * count, item.header.value_bytes - 8 * first));
  });
  return pieces;
}

Change Engine::commit(NewItem item) {
  Parts parts(*this);
  sum_item(parts, item);
  const Key key = key_in(item.cell.words, item.header);
  return put(parts, key, item,
             [](const Current& old, Content&) { return old.is_there() ? Change::replaced : Change::inserted; });
}

void Engine::abort(const NewItem& item) {
  Parts parts(*this);
  give_item(parts, item.cell, item.header);
}

bool Engine::lease(std::span<const std::byte> key, Leased& leased) {
  Parts parts(*this);
  const Key its = key_of(key);
  for (;;) {  // ends: repeated only if the key's item was replaced meanwhile
    leased = {};
    leased.cell = find(parts, its, [&](const Header& header, State state, std::uint64_t sequence, const Cell& cell) {
      leased.header = header;
      leased.value = {
          header.flags, cas_of(header, sequence, cell), state.expiry(), header.value_bytes, state.is_stale(), sequence};
      return true;
    });
    if (leased.cell.none()) return true;
    std::vector<Location> held;
    bool all = true;
    each_cell_of(leased.cell, leased.header, [&](Location location) {
      all = all && cells_.lease(location);
      if (all) held.push_back(location);
    });
    // If the index names the item now, its cells were not given before they were leased.
    const bool same = parts.names(its, leased.cell.location) &&
                      memory_.load(leased.cell.words + kSequenceWord) == leased.value.sequence;
    if (all && same) break;
    for (const Location location : held) cells_.end_lease(location);
    if (same) return false;
  }
  NewItem item;
  item.cell = leased.cell;
  item.header = leased.header;
  for (const std::span<std::byte> piece : pieces_of(item)) leased.pieces.emplace_back(piece);
  cells_.mark(leased.cell.location);
  return true;
}

void Engine::end_lease(const Leased& leased) {
  std::vector<Location> held;  // first: the item's cell says where its chunks are
  each_cell_of(leased.cell, leased.header, [&](Location location) { held.push_back(location); });
  for (const Location location : held) cells_.end_lease(location);
}

}  // namespace holdfast::store::cpu

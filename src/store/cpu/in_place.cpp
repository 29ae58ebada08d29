// in_place.cpp: values that callers write and read where they lie: reservations and leases.
#include <utility>

#include "store/cpu/rows.hpp"

namespace holdfast::store::cpu {

NewItem Engine::reserve(const Content& content) {
  Parts parts(*this);
  NewItem item;
  const bool fits = 8 * content.header().words() <= mapped_.heap.slab_bytes();
  if (!(fits ? reserve_item(parts, content, 0, item) : reserve_large(parts, content, item))) return {};
  visit_value(parts, item, [&](std::uint64_t* words, std::uint64_t, std::uint64_t count) {
    if (count == 0) return;
    memory_.keep(words, 8 * count);       // the caller writes there, during a snapshot too
    memory_.store(words + count - 1, 0);  // what is behind the last byte counts in the checksum
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

Change Engine::commit(NewItem item, std::span<const std::uint64_t> sums) {
  Parts parts(*this);
  cells_.use(item.cell.location);
  if (sums.empty()) {
    sum_item(parts, item);
  } else if (item.header.chunks == 0) {
    item.sum = sums.front();
  } else {
    HOLDFAST_ASSERT(sums.size() == item.header.chunks);
    item.sum = sum_in(memory_, item.cell.words, item.header);
    for (const std::uint64_t sum : sums) item.sum = checksum_step(item.sum, sum);
  }
  const Key key = key_in(item.cell.words, item.header);
  return put(parts, key, item,
             [](const Current& old, Content&) { return old.is_there() ? Change::replaced : Change::inserted; });
}

void Engine::abort(const NewItem& item) {
  Parts parts(*this);
  give_reserved(parts, item.cell, item.header);
}

void Engine::note(Leased& leased, const Header& header, State state, std::uint64_t sequence, const Cell& cell) const {
  leased.cell = cell;
  leased.header = header;
  leased.value = {header.flags, cas_of(header, sequence, cell), state.expiry(), header.value_bytes, state.is_stale(),
                  sequence};
}

void Engine::name_pieces(Leased& leased) {
  NewItem item;
  item.cell = leased.cell;
  item.header = leased.header;
  for (const std::span<std::byte> piece : pieces_of(item)) leased.pieces.emplace_back(piece);
}

/// A cell is given when its item is dead. The state is read first: a live one of a later item comes with another number.
bool Engine::still_has(const Leased& leased) const {
  const State state{memory_.load(leased.cell.words + kStateWord)};
  return state.is_live() && memory_.load(leased.cell.words + kSequenceWord) == leased.value.sequence;
}

bool Engine::lease(std::span<const std::byte> key, Leased& leased) {
  Parts parts(*this);
  const Key its = key_of(key);
  std::vector<Location> held;
  for (;;) {  // ends: repeated only if the key's item was replaced meanwhile
    Leased found;
    const Cell cell =
        find(parts, its, [&](const Header& header, State state, std::uint64_t sequence, const Cell& where) {
          note(found, header, state, sequence, where);
          return true;
        });
    leased = {};
    if (cell.none()) return true;
    held.clear();
    held.reserve(found.header.chunks + 1u);
    bool all = true, is_full = false;
    try {
      each_cell_of(found.cell, found.header, [&](Location location) {
        all = all && cells_.lease(location);
        if (all) held.push_back(location);
      });
      // Of an item that lives, no cell was given before it was leased.
      const bool same = still_has(found);
      if (all && same) {
        name_pieces(found);
        cells_.mark(found.cell.location);
        leased = std::move(found);
        return true;
      }
      is_full = same;
    } catch (...) {
      for (const Location location : held) cells_.end_lease(location);
      throw;
    }
    for (const Location location : held) cells_.end_lease(location);
    if (is_full) return false;
  }
}

bool Engine::lease(const ByteRows& keys, const std::function<Leased&(std::size_t row)>& leased) {
  std::vector<Leased> found(keys.size);
  read(
      keys,
      [&](std::size_t row, const Header& header, State state, std::uint64_t sequence, const Cell& cell) {
        note(found[row], header, state, sequence, cell);
        return true;
      },
      [&](std::size_t row, bool is_there) {
        if (!is_there) found[row] = {};
      });
  std::vector<CellSpace::Wanted> wanted;
  std::vector<std::size_t> rows;  // of `wanted`: values in chunks are leased one by one
  wanted.reserve(keys.size);
  rows.reserve(keys.size);
  for (std::size_t row = 0; row < keys.size; ++row) {
    leased(row) = {};
    if (found[row].cell.none() || found[row].header.chunks != 0) continue;
    name_pieces(found[row]);
    wanted.push_back({found[row].cell.location});
    rows.push_back(row);
  }
  cells_.lease(wanted);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Leased& its = found[rows[i]];
    if (!wanted[i].is_leased) continue;
    if (still_has(its)) {
      leased(rows[i]) = std::exchange(its, {});
    } else {
      cells_.end_lease(its.cell.location);
    }
  }
  for (std::size_t row = 0; row < keys.size; ++row) {
    if (!found[row].cell.none() && !lease(keys[row], leased(row))) return false;
  }
  return true;
}

void Engine::end_lease(const Leased& leased) {
  std::vector<Location> held;  // first: the item's cell says where its chunks are
  each_cell_of(leased.cell, leased.header, [&](Location location) { held.push_back(location); });
  for (const Location location : held) cells_.end_lease(location);
}

}  // namespace holdfast::store::cpu

// verify.cpp: the verification of a store's items, and the end of those that are damaged.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "store/cpu/parts.hpp"

namespace holdfast::store::cpu {

/// What the item has of its key, and whether reads find it: it may have been damaged since the store was opened.
std::string Engine::describe_damage(const Cell& cell) {
  const Header header = Header::of(memory_.load(cell.words + kValueWord), memory_.load(cell.words + kKeyWord));
  const auto byte = reinterpret_cast<const std::byte*>(cell.words) - mapped_.heap.base;
  const std::string where = "(byte " + std::to_string(byte) + " of the heap) does not match its checksum";
  if (header.words() > cell.size) {
    return "an item without a valid size " + where +
           "; its key is not known, and is absent: restore it from a copy, and drop what is damaged (holdfast recover "
           "--drop-damaged)";
  }
  const Key key = key_in(cell.words, header);
  if (Parts(*this).names(key, cell.location)) {
    return "the item of the key " + quoted(key) + " " + where +
           "; reads return it until the store is opened again: set the key again, or erase it";
  }
  return "an item whose key reads " + quoted(key) + " " + where +
         "; it is absent since the store was opened: set the key again from a copy, or erase it";
}

std::vector<std::string> Engine::verify(std::size_t most, std::uint64_t& items) {
  Parts parts(*this);
  std::vector<std::string> errors;
  std::uint64_t damaged = 0;
  const auto report = [&](const std::string& error) {
    ++damaged;
    if (errors.size() < most) errors.push_back(error);
  };
  for (const std::uint64_t piece : damaged_.pieces()) {
    report("piece " + std::to_string(piece) +
           " of the heap has a damaged entry; its items are absent: restore them from a copy, and drop what is damaged "
           "(holdfast recover --drop-damaged)");
  }
  // Items that have expired by the clock are none, though nothing is written: a look at the time would do that.
  Moment moment = counters_.moment();
  moment.now = std::max(moment.now, options_.clock());
  items = 0;
  const auto verify_cell = [&](std::uint32_t, const Cell& cell) {
    Header header;
    Recovered found;
    bool is_free = false;
    const bool lives = look(parts, moment, cell, header, is_free, found);
    if (is_free) return;
    if (lives) {
      ++items;
    } else {
      report(describe_damage(cell));
    }
  };
  for (std::uint64_t piece = 0; piece < slabs(); ++piece) cells_.each_cell(piece, verify_cell);
  if (damaged > errors.size()) errors.push_back(std::to_string(damaged - errors.size()) + " more items are damaged");
  return errors;
}

/// Changes may run: no index names these cells, and no class has these pieces.
std::uint64_t Engine::drop_damaged() {
  const std::vector<Cell> cells = damaged_.take_all();
  for (const Cell& cell : cells) kill(memory_, cell.words, false);
  memory_.fence();
  for (const Cell& cell : cells) stocks_.give(cell);
  const std::vector<std::uint64_t> pieces = damaged_.take_pieces();
  for (const std::uint64_t piece : pieces) {
    enter_piece(memory_, mapped_.heap, piece, {}, false);
    cells_.give_piece(piece);
  }
  return cells.size() + pieces.size();
}

}  // namespace holdfast::store::cpu

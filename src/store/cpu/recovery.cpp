// recovery.cpp: what is volatile of a store, from its items; and their verification.
#include <cstddef>
#include <string>

#include "holdfast/error.hpp"
#include "store/cpu/parts.hpp"

namespace holdfast::store::cpu {

void Engine::recover() {
  for (std::uint64_t piece = 0; piece < mapped_.heap.count; ++piece) {
    if (mapped_.heap.is_directory(piece)) continue;
    if (!cells_.enter(piece, {memory_.load(mapped_.heap.entry(piece))})) damaged_pieces_.push_back(piece);
  }
  static_assert(store::Parts<Parts>);
  Parts parts(*this);
  const auto key_at = [&](const std::uint64_t* cell, const Header& header) {
    return key_of(reinterpret_cast<const std::byte*>(cell + header.key_at()), header.key_bytes);
  };
  cells_.each_cell(0, mapped_.heap.count, [&](const Cell& cell) { recover_cell(parts, cell, key_at, recovered_); });
  end_recovery(parts);
  cells_.end_recovery();
  if (recovered_.unnamed != 0) {
    throw NoSpace("there is no memory for an index of the store's items: free memory, and open it again");
  }
  if (recovered_.newest > counters_.reserved()) {
    throw PoolCorrupt("an item of the store has the number " + std::to_string(recovered_.newest) + ", and only " +
                      std::to_string(counters_.reserved()) + " are reserved: restore the pool from a copy");
  }
}

std::vector<std::string> Engine::verify(std::size_t most, std::uint64_t& items) {
  std::vector<std::string> errors;
  std::uint64_t damaged = 0;
  const auto report = [&](const std::string& error) {
    ++damaged;
    if (errors.size() < most) errors.push_back(error);
  };
  for (const std::uint64_t piece : damaged_pieces_) {
    report("piece " + std::to_string(piece) + " of the heap has a damaged entry; its items are not served");
  }
  const Moment moment = counters_.moment();
  items = 0;
  cells_.each_cell(0, slabs_.load(std::memory_order_acquire), [&](const Cell& cell) {
    Header header;
    const Found found = inspect(memory_, cell.words, cell.size, header);
    if (found == Found::free) return;
    const auto at = reinterpret_cast<const std::byte*>(cell.words) - mapped_.heap.base;
    const std::uint64_t sequence = memory_.load(cell.words + kSequenceWord);
    const State state{memory_.load(cell.words + kStateWord)};
    if (found == Found::damaged) {
      report("the item at byte " + std::to_string(at) + " of the heap does not match its checksum; it is not served");
    } else if (!moment.is_over(state, sequence)) {
      ++items;
    }
  });
  if (damaged > errors.size()) errors.push_back(std::to_string(damaged - errors.size()) + " more items are damaged");
  return errors;
}

}  // namespace holdfast::store::cpu

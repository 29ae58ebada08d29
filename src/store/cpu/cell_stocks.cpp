// cell_stocks.cpp: moves cells between the stocks of threads and the space.
#include "store/cpu/cell_stocks.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/both.hpp"

namespace holdfast::store::cpu {

/// The calling thread's; null: too many threads have one.
CellStocks::Stock* CellStocks::own() {
  const unsigned number = threads::thread_number();
  if (number >= threads::kThreadNumbers) return nullptr;
  unsigned used = used_.load(std::memory_order_relaxed);
  while (used <= number && !used_.compare_exchange_weak(used, number + 1)) {
  }  // ends: it only rises
  return &stocks_[number];
}

/// The newest of this size: their memory is in the thread's cache.
std::size_t CellStocks::Stock::take(std::uint64_t words, std::span<Cell> to) {
  std::size_t taken = 0;
  for (std::size_t i = size; i-- > 0 && taken < to.size();) {
    if (cells[i].size != words) continue;
    to[taken++] = cells[i];
    cells[i] = cells[--size];
  }
  return taken;
}

/// For kMoved cells.
void CellStocks::spill(Stock& stock) {
  if (stock.size <= kMost - kMoved) return;
  space_.give(std::span<const Cell>(stock.cells).first(kMoved));  // the oldest
  std::move(stock.cells.begin() + kMoved, stock.cells.begin() + static_cast<std::ptrdiff_t>(stock.size),
            stock.cells.begin());
  stock.size -= kMoved;
}

Cell CellStocks::take(const Memory& memory, std::uint64_t words) {
  const unsigned size_class = class_of(8 * words);
  Cell cell;
  if (size_class != kClasses) take(memory, size_class, std::span(&cell, 1));
  return cell;
}

std::size_t CellStocks::take(const Memory& memory, unsigned size_class, std::span<Cell> cells) {
  const std::uint64_t words = class_bytes(size_class) / 8;
  Stock* const stock = words <= kMostWords ? own() : nullptr;
  if (stock == nullptr) return space_.take(memory, size_class, cells);
  const std::lock_guard lock(stock->mutex);
  std::size_t taken = stock->take(words, cells);
  for (const Cell& cell : cells.first(taken)) space_.use(cell.location);
  while (taken < cells.size()) {  // ends: each round takes at least one
    spill(*stock);
    const std::size_t added = space_.take(memory, size_class, std::span(stock->cells).subspan(stock->size, kMoved));
    if (added == 0) break;
    stock->size += added;
    taken += stock->take(words, cells.subspan(taken));
  }
  return taken;
}

void CellStocks::give(std::span<const Cell> cells, std::span<const Cell> others) {
  const auto is_kept = [](const Cell& cell) { return cell.size <= kMostWords; };
  Stock* const stock = std::ranges::all_of(cells, is_kept) && std::ranges::all_of(others, is_kept) ? own() : nullptr;
  if (stock == nullptr || space_.may_be_leased()) return space_.give(cells, others);
  const std::lock_guard lock(stock->mutex);
  for (const std::span<const Cell> some : {cells, others}) {
    for (const Cell& cell : some) {
      HOLDFAST_ASSERT(!stock->has(cell));
      if (stock->size == kMost) spill(*stock);
      stock->cells[stock->size++] = cell;
    }
  }
}

void CellStocks::gather() {
  const unsigned used = used_.load();
  for (unsigned i = 0; i < used; ++i) {
    Stock& stock = stocks_[i];
    const std::lock_guard lock(stock.mutex);
    if (stock.size != 0) space_.give(std::span<const Cell>(stock.cells).first(std::exchange(stock.size, 0)));
  }
}

}  // namespace holdfast::store::cpu

// cell_stocks.hpp: free cells that threads keep, so that callers whose changes take and give cells do not wait for each other (magazines: Bonwick and
// Adams 2001).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "store/cpu/cell_space.hpp"
#include "threads/brief_mutex.hpp"
#include "threads/thread_number.hpp"

namespace holdfast::store::cpu {

/// Takes cells from the calling thread's stock, and gives them to it; the space is asked for many at once. For the space a kept cell is in use: its piece
/// stays in its class until `gather`. Thread-safe.
class CellStocks {
 public:
  explicit CellStocks(CellSpace& space) : space_(space), stocks_(std::make_unique<Stock[]>(threads::kThreadNumbers)) {}

  /// As those of CellSpace. None: the thread's stock has no such cell, and the space has none.
  Cell take(const Memory& memory, std::uint64_t words);
  std::size_t take(const Memory& memory, unsigned size_class, std::span<Cell> cells);
  void give(const Cell& cell) { give(std::span(&cell, 1)); }
  void give(std::span<const Cell> cells, std::span<const Cell> others = {});
  /// Gives the cells of all stocks to the space.
  void gather();

  static constexpr std::size_t kMost = 64;          ///< cells of a stock
  static constexpr std::uint64_t kMostWords = 512;  ///< of a cell that is kept: few larger ones are in a piece

 private:
  static constexpr std::size_t kMoved = kMost / 2;  ///< between a stock and the space, at once
  struct alignas(64) Stock {
    threads::BriefMutex mutex;  // of all that follows; only `gather` makes the stock's thread wait
    std::size_t size = 0;
    std::array<Cell, kMost> cells;

    bool has(const Cell& cell) const {
      const auto end = cells.begin() + static_cast<std::ptrdiff_t>(size);
      return std::any_of(cells.begin(), end, [&](const Cell& its) { return its.words == cell.words; });
    }
    std::size_t take(std::uint64_t words, std::span<Cell> to);
  };
  Stock* own();
  void spill(Stock& stock);

  CellSpace& space_;
  const std::unique_ptr<Stock[]> stocks_;  ///< by thread number
  std::atomic<unsigned> used_ = 0;         ///< no thread with this number or a higher one has a stock
};

}  // namespace holdfast::store::cpu

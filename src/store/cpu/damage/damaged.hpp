// damaged.hpp: what did not verify when a store was opened, and keeps its memory until its key is set or erased, or all of it is dropped.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/protocol/cell.hpp"

namespace holdfast::store::cpu {

/// Thread-safe, except `add` and `add_piece`, which recovery calls.
class Damaged {
 public:
  /// `hash`: of the key that the cell reads; any, where none can be read.
  void add(std::uint64_t hash, const Cell& cell) {
    cells_.emplace(hash, cell);
    count_.store(cells_.size(), std::memory_order_relaxed);
  }
  void add_piece(std::uint64_t piece) { pieces_.push_back(piece); }

  /// A cell with this hash for which `reads_it(cell)`, once; or none. Costs one load where nothing is damaged.
  template <class ReadsIt>
  Cell take(std::uint64_t hash, const ReadsIt& reads_it) {
    if (count_.load(std::memory_order_relaxed) == 0) [[likely]]
      return {};
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = cells_.equal_range(hash);
    for (auto at = begin; at != end; ++at) {
      if (!reads_it(at->second)) continue;
      const Cell cell = at->second;
      cells_.erase(at);
      count_.store(cells_.size(), std::memory_order_relaxed);
      return cell;
    }
    return {};
  }
  std::vector<Cell> take_all() {
    const std::lock_guard lock(mutex_);
    std::vector<Cell> all;
    for (const auto& [hash, cell] : cells_) all.push_back(cell);
    cells_.clear();
    count_.store(0, std::memory_order_relaxed);
    return all;
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return cells_.size() + pieces_.size();
  }
  std::vector<std::uint64_t> take_pieces() {
    const std::lock_guard lock(mutex_);
    return std::exchange(pieces_, {});
  }
  std::vector<std::uint64_t> pieces() const {
    const std::lock_guard lock(mutex_);
    return pieces_;
  }

 private:
  std::atomic<std::size_t> count_ = 0;
  mutable std::mutex mutex_;  // of all that follows
  std::unordered_multimap<std::uint64_t, Cell> cells_;
  std::vector<std::uint64_t> pieces_;  ///< whose entries are damaged
};

}  // namespace holdfast::store::cpu

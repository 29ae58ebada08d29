// retired_list.hpp: what was taken out of its slots, until no reader of that moment is left. Rule 5.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "reclaim/epochs.hpp"

namespace holdfast::reclaim {

/// Numbers of cells, or words that name them, by the epoch that they were retired in. Its owner's mutex protects it.
class RetiredList {
 public:
  explicit RetiredList(Epochs& epochs) : epochs_(epochs) {}

  void clear() { retired_.clear(); }

  /// Notes `cells`, taking `mutex`. Where there is no memory for it, waits until they are no longer read, and calls `free(cell)` for
  /// each. Call it outside an epoch.
  template <class Free>
  void retire(std::mutex& mutex, const std::vector<std::uint64_t>& cells, const Free& free) {
    std::uint64_t epoch = 0;
    try {
      const std::lock_guard lock(mutex);
      // The epoch is read after the slots were changed: a reader that enters a later one cannot see these cells.
      epoch = epochs_.now();
      if (!retired_.empty() && retired_.back().epoch == epoch) {
        retired_.back().cells.insert(retired_.back().cells.end(), cells.begin(), cells.end());
      } else {
        retired_.push_back({epoch, cells});
      }
      return;
    } catch (const std::bad_alloc&) {
    }
    for (; epochs_.now() < epoch + 2; std::this_thread::yield()) epochs_.try_advance();
    const std::lock_guard lock(mutex);
    for (const std::uint64_t cell : cells) free(cell);
  }

  /// Calls `free(cell)` for those that are no longer read; the caller has the mutex. True if any is left.
  template <class Free>
  bool reclaim(const Free& free) {
    for (int i = 0; i < 2 && !retired_.empty(); ++i) epochs_.try_advance();
    while (!retired_.empty() && retired_.front().epoch + 2 <= epochs_.now()) {
      for (const std::uint64_t cell : retired_.front().cells) free(cell);
      retired_.pop_front();
    }
    return !retired_.empty();
  }

 private:
  struct Retired {
    std::uint64_t epoch;
    std::vector<std::uint64_t> cells;
  };

  Epochs& epochs_;
  std::deque<Retired> retired_;
};

}  // namespace holdfast::reclaim

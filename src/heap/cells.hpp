// cells.hpp: which cells of the value heap are free. Derived from the slots at open, never stored (rules 5, 6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "heap/slab.hpp"
#include "reclaim/retired_list.hpp"

namespace holdfast::heap {

class ThreadSlabCells;

/// What recovery derives from the slots: which cells are live, and so which are free. Drivers know which of the two it is.
class CellSet {
 public:
  virtual ~CellSet() = default;
  /// Begins anew with the heap of a layout, no cell of it live.
  virtual void begin(const View& view) = 0;
  /// Call once after the last `mark_live`.
  virtual void count_free() = 0;
};

/// The free cells of a heap, a bit each, and the retired ones, which may still be read. Thread-safe.
class Cells final : public CellSet {
 public:
  explicit Cells(reclaim::Epochs& epochs) : retired_(epochs) {}

  /// Begins anew with `cells` cells, all of them free.
  void reset(std::uint64_t cells);
  void begin(const View& view) override { reset(view.count); }
  /// Marks a cell live, while recovering: any number of threads at once. False if it was live already.
  bool mark_live(std::uint64_t cell);
  void count_free() override;
  /// Reserves space for so many cells, so that `extend` needs no memory.
  void prepare(std::uint64_t cells);
  /// The heap has grown: cells from the old end to `cells` are free.
  void extend(std::uint64_t cells);

  /// Takes up to `n` cells, lowest after the last taken first. Those that add keys leave a reserve of 1/64 for updates
  /// (rule 6). Returns how many.
  std::size_t take(std::uint64_t* out, std::size_t n, bool adds_key);
  /// Whether `take` would have one.
  bool has(bool adds_key) const;
  /// Cells that no slot ever named.
  void give_back(const std::uint64_t* cells, std::size_t n);
  /// Cells that were taken out of their slots: free once no reader of this moment is left. Waits for that where there is no
  /// memory to note them. Call it outside an epoch.
  void retire(const std::vector<std::uint64_t>& cells);
  /// Frees retired cells that are no longer read. True if anything is still there.
  bool reclaim();

  std::uint64_t free() const;  ///< without the retired ones
  bool is_free(std::uint64_t cell) const;

 private:
  std::uint64_t spare(bool adds_key) const;
  void set_free(std::uint64_t cell);

  mutable std::mutex mutex_;
  std::vector<std::uint64_t> bits_;  ///< 1: free (while recovering: 1: live)
  std::uint64_t total_ = 0;
  std::uint64_t free_ = 0;
  std::uint64_t cursor_ = 0;  ///< the word to look at first
  reclaim::RetiredList retired_;
};

/// A per-thread cache of free cells: those taken in advance, and those retired since the last settlement.
class ThreadCells {
 public:
  explicit ThreadCells(Cells& cells) : cells_(cells) {}
  ~ThreadCells() { settle(true); }
  ThreadCells(const ThreadCells&) = delete;
  ThreadCells& operator=(const ThreadCells&) = delete;

  /// Reserves space for so many operations between two settlements: they hold claims, so none of them may fail to allocate.
  void prepare(std::size_t operations);

  /// A free cell, or kNoCell; then `missing_adds_key` says for what there was none.
  std::uint64_t take(bool adds_key) {
    if (fresh_.empty() && !refill(adds_key)) return kNoCell;
    const std::uint64_t cell = fresh_.back();
    fresh_.pop_back();
    return cell;
  }
  void give_back(std::uint64_t cell) { fresh_.push_back(cell); }
  void retire(std::uint64_t cell) { retired_.push_back(cell); }
  bool missing_adds_key() const { return missing_adds_key_; }

  /// Hands retired cells over, and with `all` the unused ones too. Call it outside an epoch.
  void settle(bool all);

  /// The same for variable-length pairs; null where cells are all of one size.
  ThreadSlabCells* pairs = nullptr;

 private:
  bool refill(bool adds_key);

  Cells& cells_;
  std::vector<std::uint64_t> fresh_;  ///< highest first, so that cells are used in address order
  std::vector<std::uint64_t> retired_;
  bool missing_adds_key_ = true;
};

}  // namespace holdfast::heap

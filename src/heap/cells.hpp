// cells.hpp: which cells of a heap are free. Derived from the slots at open, never stored (rules 5, 6). The two kinds of heap,
// cells of one size and slabs by size class, are two `CellSet`s; their callers do not ask which.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/both.hpp"
#include "heap/slab.hpp"
#include "reclaim/retired_list.hpp"

namespace holdfast::heap {

/// How a heap is used. Of cells of one size there are no slabs, and no bytes are counted.
struct HeapUse {
  std::uint64_t all_slabs = 0;   ///< with directories
  std::uint64_t slabs = 0;       ///< without
  std::uint64_t used_slabs = 0;  ///< in which a cell is live, retired, or in a thread's cache
  std::uint64_t free_cells = 0;  ///< of used slabs, or of all; without the retired ones
  std::uint64_t used_cells = 0;
  std::uint64_t used_bytes = 0;  ///< of used cells, those of their class
  bool operator==(const HeapUse&) const = default;
};

/// The free cells of a heap, and the retired ones, which may still be read. Cells of one size have class 0 and a number; cells of slabs
/// have a class and the byte where they begin. A *word* is what a slot has to name one. Thread-safe.
class CellSet {
 public:
  explicit CellSet(reclaim::Epochs& epochs) : retired_(epochs) {}
  virtual ~CellSet() = default;
  CellSet(const CellSet&) = delete;
  CellSet& operator=(const CellSet&) = delete;

  virtual unsigned classes() const = 0;
  /// How many cells of a class a thread takes at once.
  virtual std::size_t ahead(unsigned size_class) const = 0;
  /// Cells, or slabs, by which the heap grows at least.
  virtual std::uint64_t least_growth() const = 0;
  /// Cells that so many items need; 0 where that depends on their lengths.
  virtual std::uint64_t cells_for(std::uint64_t items) const = 0;

  /// Begins anew with a heap, no cell of it live.
  virtual void begin(const View& view) = 0;
  /// Marks the cell that a slot's word names live, while recovering: any number of threads at once. False if it was live already.
  virtual bool mark_live(std::uint64_t word) = 0;
  /// Call once after the last `mark_live`: all other cells are free.
  virtual void count_free() = 0;
  /// Reserves space for a heap of so many cells, or slabs, so that `extend` needs no memory.
  virtual void prepare(std::uint64_t count) = 0;
  /// The heap has grown: what was added is free.
  virtual void extend(const View& view) = 0;

  /// Gives a slab that is free its class, durably.
  using EnterSlab = std::function<void(std::uint64_t slab, unsigned size_class)>;
  /// Takes up to `n` cells of a class and returns how many. Those that add keys leave a reserve for updates: 1/64 of the cells of each
  /// class, and of the free slabs (rule 6).
  virtual std::size_t take(unsigned size_class, std::uint64_t* out, std::size_t n, bool adds_key,
                           const EnterSlab& enter) = 0;
  /// True if take would find one.
  virtual bool has(unsigned size_class, bool adds_key) const = 0;
  /// Cells that no slot ever named.
  virtual void give_back(unsigned size_class, const std::uint64_t* cells, std::size_t n) = 0;
  /// Words that slots have no more: their cells are free once no reader of this moment is left. Waits for that where there is no
  /// memory to note them. Call it outside an epoch.
  void retire(const std::vector<std::uint64_t>& words) {
    retired_.retire(mutex_, words, [this](std::uint64_t word) { set_free(word); });
  }
  /// Frees retired cells that are no longer read. True if anything is still there.
  bool reclaim() {
    const std::lock_guard lock(mutex_);
    return retired_.reclaim([this](std::uint64_t word) { set_free(word); });
  }

  virtual HeapUse use() const = 0;
  virtual bool is_free(std::uint64_t word) const = 0;

 protected:
  virtual void set_free(std::uint64_t word) = 0;  ///< the caller has the mutex

  mutable std::mutex mutex_;
  reclaim::RetiredList retired_;
};

/// The cells of a heap of slabs, or of cells of one size.
std::unique_ptr<CellSet> make_cells(bool slabs, reclaim::Epochs& epochs);

/// Cells of one size, a bit each.
class Cells final : public CellSet {
 public:
  using CellSet::CellSet;
  unsigned classes() const override { return 1; }
  std::size_t ahead(unsigned) const override { return 256; }
  std::uint64_t least_growth() const override { return 1024; }
  std::uint64_t cells_for(std::uint64_t items) const override { return items + items / 32 + 64; }
  void begin(const View& view) override;
  bool mark_live(std::uint64_t word) override;
  void count_free() override;
  void prepare(std::uint64_t count) override;
  void extend(const View& view) override;
  /// Lowest after the last taken first.
  std::size_t take(unsigned size_class, std::uint64_t* out, std::size_t n, bool adds_key, const EnterSlab&) override;
  bool has(unsigned size_class, bool adds_key) const override;
  void give_back(unsigned size_class, const std::uint64_t* cells, std::size_t n) override;
  HeapUse use() const override;
  bool is_free(std::uint64_t word) const override;

 private:
  std::uint64_t spare(bool adds_key) const;
  void set_free(std::uint64_t word) override;

  std::vector<std::uint64_t> bits_;  ///< 1: free (while recovering: 1: live)
  std::uint64_t total_ = 0;
  std::uint64_t free_ = 0;
  std::uint64_t cursor_ = 0;  ///< the word to look at first
};

/// A per-thread cache of free cells: those of each class taken in advance, and those retired since the last settlement.
class ThreadCells {
 public:
  explicit ThreadCells(CellSet& cells) : cells_(cells) {}
  ~ThreadCells() { settle(true); }
  ThreadCells(const ThreadCells&) = delete;
  ThreadCells& operator=(const ThreadCells&) = delete;

  /// Reserves space for so many operations between two settlements, before the first of them: they hold claims.
  void prepare(std::size_t operations);
  /// An operation that held a claim found no memory.
  void miss_memory() noexcept { no_memory_ = true; }
  /// Throws std::bad_alloc if `take`, or such an operation, found no memory since. It held a claim, so it said kNoCell.
  void require_memory();

  /// Returns a free cell, or kNoCell; then `missing_adds_key` and `has_missing` say for what there was none. `enter`: as EnterSlab.
  template <class Enter>
  std::uint64_t take(unsigned size_class, bool adds_key, const Enter& enter) {
    HOLDFAST_ASSERT(size_class < fresh_.size());
    std::vector<std::uint64_t>& fresh = fresh_[size_class];
    if (fresh.empty() && !refill(size_class, adds_key, enter)) return kNoCell;
    const std::uint64_t cell = fresh.back();
    fresh.pop_back();
    count(size_class, -1);
    return cell;
  }
  void give_back(unsigned size_class, std::uint64_t cell) {
    fresh_[size_class].push_back(cell);
    count(size_class, 1);
  }
  void retire(std::uint64_t word) { retired_.push_back(word); }
  bool missing_adds_key() const { return missing_adds_key_; }
  bool has_missing() const { return cells_.has(missing_class_, missing_adds_key_); }  ///< by now

  /// Cells that it has and no slot names, and their bytes if they have classes. Any thread may ask.
  std::uint64_t unused() const { return unused_.load(std::memory_order_relaxed); }
  std::uint64_t unused_bytes() const { return unused_bytes_.load(std::memory_order_relaxed); }

  /// Hands retired cells over, and with `all` the unused ones too. Call it outside an epoch.
  void settle(bool all);

 private:
  bool refill(unsigned size_class, bool adds_key, const CellSet::EnterSlab& enter);
  void count(unsigned size_class, std::int64_t cells) {
    const auto add = [](std::atomic<std::uint64_t>& sum, std::int64_t more) {
      sum.store(sum.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(more), std::memory_order_relaxed);
    };
    add(unused_, cells);
    add(unused_bytes_, cells * class_bytes(size_class));
  }

  CellSet& cells_;
  std::vector<std::vector<std::uint64_t>> fresh_;  ///< by class; highest first, so that cells are used in address order
  std::vector<std::uint64_t> retired_;
  std::atomic<std::uint64_t> unused_{0}, unused_bytes_{0};  ///< sums over `fresh_`, written by its thread alone
  unsigned missing_class_ = 0;
  bool missing_adds_key_ = true;
  bool no_memory_ = false;
};

}  // namespace holdfast::heap

// slab_cells.hpp: which cells of a heap of slabs are free. Derived from the slots at open, never stored. Rules 5, 6, 7.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "heap/cells.hpp"
#include "heap/slab.hpp"

namespace holdfast::heap {

/// How a heap of slabs is used. Bytes of cells are those of their class.
struct HeapUse {
  std::uint64_t slabs = 0;       ///< without directories
  std::uint64_t used_slabs = 0;  ///< in which a cell is live, retired, or in a thread's cache
  std::uint64_t free_cells = 0;  ///< of used slabs
  std::uint64_t used_cells = 0;
  std::uint64_t used_bytes = 0;  ///< of used cells
  bool operator==(const HeapUse&) const = default;
};

/// The free cells of each class, a bit each, the slabs that are free for any class, and the retired cells. Thread-safe.
class SlabCells final : public CellSet {
 public:
  explicit SlabCells(reclaim::Epochs& epochs) : retired_(epochs) {}

  /// Begins anew with the slabs of a heap and the classes that its directory gives them, all cells free.
  void begin(const View& view) override;
  /// Marks the cell that a slot's word names live, while recovering: any number of threads at once. False if it was already.
  bool mark_live(std::uint64_t word);
  void count_free() override;
  /// Reserves space for so many slabs, so that `extend` needs no memory.
  void prepare(std::uint64_t slabs);
  /// The heap has grown: slabs from the old end on are free.
  void extend(const View& view);

  /// Gives a slab that is free its class, durably.
  using EnterSlab = std::function<void(std::uint64_t slab, unsigned size_class)>;
  /// Takes up to `n` cells of a class, those of the lowest slabs first, and returns where they begin. Those that add keys leave a
  /// reserve for updates: 1/64 of each class, and of the free slabs (rule 6).
  std::size_t take(unsigned size_class, std::uint64_t* out, std::size_t n, bool adds_key, const EnterSlab& enter);
  /// True if take would find one.
  bool has(unsigned size_class, bool adds_key) const;
  /// Cells that no slot ever named, by where they begin.
  void give_back(unsigned size_class, const std::uint64_t* begins, std::size_t n);
  /// Words of slots that name their cells no more: free once no reader of this moment is left. Waits for that where there is no
  /// memory to note them. Call it outside an epoch.
  void retire(const std::vector<std::uint64_t>& words);
  /// Frees retired cells that are no longer read. True if anything is still there.
  bool reclaim();

  HeapUse use() const;
  bool is_free(std::uint64_t word) const;

 private:
  struct Slab {
    std::uint8_t entry = 0;  ///< 1 + the class; 0: free for any
    std::uint32_t cells = 0, free = 0;
    std::uint32_t cursor = 0;         ///< no word of `bits` before it has a bit
    std::vector<std::uint64_t> bits;  ///< 1: free (while recovering: 1: live)
  };
  /// Slabs by number, lowest first.
  struct SlabSet {
    std::vector<std::uint64_t> bits;
    std::size_t cursor = 0;
    std::uint64_t count = 0;
    void prepare(std::uint64_t slabs);  ///< space for those below `slabs`: `add` needs none
    void add(std::uint64_t slab);
    void remove(std::uint64_t slab);
    std::uint64_t lowest();  ///< there is one
  };
  struct Class {
    SlabSet with_free;
    std::uint64_t cells = 0, free = 0;
  };
  struct Place {
    std::uint64_t slab;
    std::uint32_t index;
  };

  Place place_of(unsigned size_class, std::uint64_t begin) const;
  std::uint64_t spare_slabs(bool adds_key) const;
  std::uint64_t spare_cells(unsigned size_class, bool adds_key) const;
  void set_class(std::uint64_t slab, unsigned size_class);
  void set_free(unsigned size_class, std::uint64_t begin);
  void set_free(std::uint64_t word);
  void list(std::uint64_t slab);  ///< where its free cells say that it belongs

  mutable std::mutex mutex_;
  unsigned slab_bits_ = kSlabBits;
  std::vector<Slab> slabs_;
  std::uint64_t usable_ = 0;  ///< slabs that are no directory
  SlabSet free_slabs_;
  Class classes_[kClasses];
  reclaim::RetiredList retired_;
};

/// One thread's cells of each class, taken in advance, and what it has retired.
class ThreadSlabCells {
 public:
  explicit ThreadSlabCells(SlabCells& cells) : cells_(cells) {}
  ~ThreadSlabCells() { settle(true); }
  ThreadSlabCells(const ThreadSlabCells&) = delete;
  ThreadSlabCells& operator=(const ThreadSlabCells&) = delete;

  /// Reserves space to retire so many pairs between two settlements.
  void prepare(std::size_t operations) { retired_.reserve(operations); }
  /// A run that held a claim found no memory.
  void miss_memory() noexcept { no_memory_ = true; }
  /// Throws std::bad_alloc if `take`, or such a run, found no memory since. It held a claim, so it said kNoCell.
  void require_memory();

  /// Where a free cell begins, or kNoCell; then `missing` says of which class there was none.
  std::uint64_t take(unsigned size_class, bool adds_key, const SlabCells::EnterSlab& enter);
  void give_back(unsigned size_class, std::uint64_t begin) {
    if (size_class < kClasses) fresh_[size_class].push_back(begin);
  }
  void retire(std::uint64_t word) { retired_.push_back(word); }
  /// Hands retired cells over, and with `all` the unused ones too. Call it outside an epoch.
  void settle(bool all);

  struct Missing {
    unsigned size_class = 0;
    bool adds_key = true;
  };
  const Missing& missing() const { return missing_; }
  bool has_missing() const { return cells_.has(missing_.size_class, missing_.adds_key); }  ///< by now

 private:
  void refill(unsigned size_class, bool adds_key, const SlabCells::EnterSlab& enter);

  SlabCells& cells_;
  std::vector<std::uint64_t> fresh_[kClasses];
  std::vector<std::uint64_t> retired_;
  Missing missing_;
  bool no_memory_ = false;
};

}  // namespace holdfast::heap

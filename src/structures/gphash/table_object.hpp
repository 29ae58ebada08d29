// table_object.hpp: a table as an object of a pool: mapped levels, a mapped heap, and extents that come and go durably.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "heap/mapped_heap.hpp"
#include "pool/object.hpp"
#include "structures/gphash/protocol/slot.hpp"
#include "structures/gphash/table_shape.hpp"

namespace holdfast::gphash {

/// How a table is made or opened.
struct TableUse {
  std::string label;     ///< for messages
  bool flush = false;    ///< run the protocol of domain `power` on any medium
  bool salvage = false;  ///< open it after a power cut all the same
  std::uint64_t reserve = std::uint64_t{16}
                          << 30;  ///< address space for the heap, at least, where no maximum is declared
};

/// An open, mapped table. Nothing in it moves while it is open, but the heap where it outgrows its address space. Not
/// thread-safe, except `mark_changed`: the caller excludes other users of a level while it changes the levels.
class TableObject : public pool::Object {
 public:
  /// Makes a table, which is there when `edit` is committed: nothing may change in it before.
  /// Throws InvalidArgument, ObjectExists, NoSpace, MediumError.
  static std::unique_ptr<TableObject> create(pool::Edit& edit, std::shared_ptr<pool::PoolFile> pool,
                                             const std::string& name, TableShape shape, const TableUse& use);
  /// The same in a separate commit.
  static std::unique_ptr<TableObject> create(std::shared_ptr<pool::PoolFile> pool, const std::string& name,
                                             const TableShape& shape, const TableUse& use);
  /// Throws PoolCorrupt, PoolVersion, PoolMismatch (it is no table), PowerLost (unless `salvage`), MediumError, and ReadOnly
  /// where it was not closed: mending it means writing.
  static std::unique_ptr<TableObject> open(std::shared_ptr<pool::PoolFile> pool, const pool::ObjectEntry& entry,
                                           const TableUse& use);
  ~TableObject() override;  ///< unmaps; does not set the clean mark

  const TableShape& shape() const { return shape_; }
  double map_ms() const { return map_ms_; }  ///< spent mapping at open

  gphash::Slot* level(unsigned number) const;  ///< the first of 2^number × slots slots; null if there is no such level
  gphash::Slot* reserved_slot() const;         ///< one slot, for the reserved key value 0
  std::byte* heap() const {
    return heap_ ? heap_->base() : nullptr;
  }  ///< cell c begins at heap() + c × cell_bytes; null if values live in their slots
  std::uint64_t cells() const { return shape_.cells; }
  /// Of a table with scores of steps: the largest step that its changes were given, or more; none where the table does not say.
  std::optional<std::uint64_t> noted_step() const;
  /// No score of the table is larger than `step`: what the next `note_step` begins with.
  void know_step(std::uint64_t step) { largest_step_.store(step, std::memory_order_relaxed); }
  /// Makes it durable, before a change sets scores of `step`, that there may be such. Cheap where that is so already. Thread-safe.
  void note_step(std::uint64_t step);
  static constexpr unsigned slab_bits() { return heap::kSlabBits; }
  /// Where a range of an extent is mapped.
  const std::byte* address_of(const pool::Extent& extent) const override;

  /// Allocates, maps and zeroes level `number`, then names it in the directory, durably, as the new top level
  /// (GPHash §3.2.3 "Resizing", rules 17, 19). `number` is one above the top level. Throws NoSpace; then nothing changed.
  void add_level(unsigned number);
  /// Takes level `number`, whose items are all durably in others, out of the directory; its extent becomes free. `number` is the
  /// lowest level, and one more than are addressed. With the last such level the resize has ended.
  void release_level(unsigned number);
  /// Adds at least one and up to `more` cells, or a few more, as pages are whole. Throws NoSpace if there is no space for one.
  /// No other thread may use the heap, since it moves where the address space kept for it is too small.
  void grow_heap(std::uint64_t more);
  /// No growth by `more` leaves more cells than these.
  std::uint64_t most_cells_with(std::uint64_t more) const;

  /// Called with every range of mapped pool memory: once for each now, and for each added later. For CUDA registration.
  /// `unmapping` is called for each before it goes, in the destructor too. Empty functions end it.
  void on_extent(std::function<void(void* address, std::size_t bytes)> mapped,
                 std::function<void(void* address, std::size_t bytes)> unmapping);

 private:
  TableObject(std::shared_ptr<pool::PoolFile> pool, std::uint32_t number, const TableUse& use);
  void make(pool::Edit& edit, const TableShape& shape);
  StepRecord* step_record() const;
  void read_step();
  void map_all();
  void add_level_to(pool::Edit& edit, unsigned number);
  heap::MappedHeap& add_heap();
  std::uint64_t bytes_with(std::uint64_t more) const;
  void announce(const pool::Range& range) const;
  void withdraw(pool::Range& range) const;  ///< announces the end of a range, and unmaps it

  TableShape shape_;
  double map_ms_ = 0;
  pool::Range levels_[kMaxLevel + 1];
  std::mutex step_mutex_;                        ///< held by who writes the record
  std::atomic<std::uint64_t> largest_step_ = 0;  ///< no score is larger
  std::atomic<bool> step_is_noted_ = false;      ///< and the record says so
  const std::uint64_t least_reserve_;
  std::optional<heap::MappedHeap> heap_;  ///< none if values are in their slots
  std::function<void(void*, std::size_t)> mapped_, unmapping_;
};

}  // namespace holdfast::gphash

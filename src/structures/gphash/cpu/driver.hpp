// driver.hpp: what the CPU machine asks of the code compiled for one instruction set and configuration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heap/cells.hpp"
#include "pool/medium/persist.hpp"
#include "structures/gphash/cpu/memory.hpp"
#include "structures/gphash/protocol/geometry.hpp"
#include "structures/gphash/protocol/rehash.hpp"
#include "structures/gphash/protocol/run.hpp"
#include "structures/gphash/view.hpp"

namespace holdfast::gphash::cpu {

/// The rows that one thread works on: `order[0..size)` relative to `base`, or base, base + 1, … without `order`.
struct Work {
  gphash::Rows rows;
  const std::byte* keys = nullptr;             ///< (n, key_bytes), unaligned
  const std::uint64_t* key_offsets = nullptr;  ///< (n + 1,) of variable-length keys: where each begins
  const std::uint8_t* mask = nullptr;
  const std::uint32_t* order = nullptr;
  std::size_t base = 0;
  std::size_t size = 0;
  gphash::Permits permits = {};
  bool changes = false;

  gphash::Part key_part(std::size_t row) const {
    return {keys + key_offsets[row], static_cast<std::uint32_t>(key_offsets[row + 1] - key_offsets[row])};
  }
  std::size_t row(std::size_t i) const { return base + (order ? order[i] : i); }
};

/// How far a driver came. `done` means to the end it was given.
struct Progress {
  std::size_t next = 0;
  gphash::Outcome outcome = gphash::Outcome::done;
};

/// What a scan of slots found.
struct Scan {
  std::uint64_t items = 0;  ///< less those that were dropped; of a part it may be below zero, modulo 2^64
  std::uint64_t torn = 0;
  std::uint64_t second_copies = 0;
  std::uint64_t left = 0;                   ///< bytes that variable-length pairs leave of their cells
  std::vector<gphash::Slot*> shared_cells;  ///< slots whose cell an earlier slot names too
  std::vector<std::string> damage;          ///< at most a few, in words

  void add(const Scan& other) {
    items += other.items;
    torn += other.torn;
    second_copies += other.second_copies;
    left += other.left;
    shared_cells.insert(shared_cells.end(), other.shared_cells.begin(), other.shared_cells.end());
    damage.insert(damage.end(), other.damage.begin(), other.damage.end());
  }
};

/// What rehashing a range of a drained level did.
struct Drained {
  std::uint64_t copied = 0;
  std::uint64_t above = 0;  ///< they were there already
  bool needs_level = false;
  std::vector<std::string> damage;
};

/// Runs the index on this CPU. Thread-safe between calls of set_layout.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual const char* tile() const = 0;
  virtual void set_layout(const Layout& layout) = 0;

  /// Runs rows [begin, end) of `work`; the caller is in an epoch. Stops early where the table must grow.
  virtual Progress run(const Work& work, std::size_t begin, std::size_t end, heap::ThreadCells& cells,
                       Tally& tally) const = 0;

  /// The same for row 0, which has no mask, of a batch with one operation for all rows.
  virtual gphash::Outcome run_one(const Work& work, heap::ThreadCells& cells, Tally& tally) const = 0;

  /// Carries out a change. When it is done, `status` has its answer.
  virtual gphash::Outcome change_one(const gphash::OneRow& row, std::uint32_t bytes, std::uint64_t score,
                                     Status& status, heap::ThreadCells& cells, Tally& tally) const = 0;
  /// Searches for one key of fixed length. Returns `found`, with the value's `bytes` bytes in `out` if that is not null; `not_found`, with
  /// zeros; `not_run` if a slot was cleared meanwhile: then `run` searches again.
  virtual Status find_one(const std::byte* key, std::byte* out, std::uint32_t bytes,
                          heap::ThreadCells& cells) const = 0;

  /// Reads buckets [begin, end) of a rank, builds their tags, empties torn slots and marks live cells.
  virtual void scan(unsigned rank, std::uint64_t begin, std::uint64_t end, bool repair, heap::CellSet& cells,
                    Scan& scan) const = 0;
  /// The same for the reserved slot.
  virtual void scan_reserved(bool repair, heap::CellSet& cells, Scan& scan) const = 0;
  /// Drops second copies among buckets [begin, end) of a rank. For values in slots; else drop_shared.
  virtual void drop_copies(unsigned rank, std::uint64_t begin, std::uint64_t end, bool repair, Scan& scan) const = 0;
  /// Drops `slot`, or another of the same key and cell, if it is a second copy; if none is, keys share a cell: damage.
  virtual void drop_shared(gphash::Slot* slot, bool repair, Scan& scan) const = 0;

  virtual void carry_tags(const Layout& from, const Layout& to, unsigned level, std::uint64_t begin,
                          std::uint64_t end) const = 0;
  /// Copies the items in slots [begin, end) of a drained level up, durably. `recovering`: checks them first. Without a slot for one it
  /// stops, and is called again for the same slots when there is another level.
  virtual void drain(const gphash::Drain& level, std::uint64_t begin, std::uint64_t end, bool recovering,
                     Drained& drained) const = 0;
  /// Durably empties `slots` slots.
  virtual void clear(gphash::Slot* first, std::uint64_t slots) const = 0;
  /// False where the model leaves a step out (structures/gphash/protocol/mutant.hpp).
  virtual bool keeps(gphash::Step step) const = 0;
};

/// The driver for this CPU (or for HOLDFAST_TILE=portable|avx2|avx512 in the environment), this shape and these flushes.
std::unique_ptr<Driver> make_driver(const gphash::RuntimeShape& shape, const pool::Persist& persist);

std::unique_ptr<Driver> make_portable_driver(const gphash::RuntimeShape& shape, const pool::Persist& persist);
std::unique_ptr<Driver> make_avx2_driver(const gphash::RuntimeShape& shape, const pool::Persist& persist);
std::unique_ptr<Driver> make_avx512_driver(const gphash::RuntimeShape& shape, const pool::Persist& persist);

}  // namespace holdfast::gphash::cpu

// pool.hpp: the pool as the rooms below see it: mapped levels, a mapped heap, and a directory that grows durably.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/pool.hpp"
#include "index/slot.hpp"
#include "memory/persist.hpp"
#include "memory/superblock.hpp"

namespace holdfast::memory {

struct PoolShape {
  std::uint32_t key_bytes = 8, value_bytes = 8;
  std::uint32_t levels = 2, hash_locations = 2, slots = 8;
  std::uint32_t top_level = 4;  ///< at least levels - 1
  Score score = Score::none;    ///< what cells keep behind their values
  std::uint64_t cells = 0;      ///< to begin with; ignored if values live in their slots
  std::uint64_t seed = 0;       ///< 0: random
  std::uint64_t max_bytes = 0;  ///< 0: 1 TiB
};

enum class Access { read_write, read_only, scratch /**< a private copy in memory: the file is not written */ };

/// An open, locked, mapped pool. Nothing in it moves while it is open. Not thread-safe, except `mark_changed`:
/// the caller excludes other users of a level while it changes the directory.
///
/// A file that somebody else cuts short while it is open ends the process by SIGBUS, as it does any program that maps it.
class Pool {
 public:
  /// Makes a pool file, readable by its owner alone (0600), under a temporary name, and renames it when it is whole.
  /// An unlinked file (a memfd, by /proc/self/fd/N) has no name to take over: it is filled in place, if empty or `overwrite`.
  /// Throws PoolExists, PoolInUse (overwriting an open one), NoSpace, MediumError, InvalidArgument.
  static std::unique_ptr<Pool> create(const std::string& path, const PoolShape& shape, bool overwrite, bool flush);
  /// Opens one. Throws PoolNotFound, PoolInUse, PoolCorrupt, PoolVersion, PowerLost (unless `salvage`), MediumError, and
  /// ReadOnly where the pool was not closed: mending it means writing.
  static std::unique_ptr<Pool> open(const std::string& path, Access access, bool salvage, bool flush);
  ~Pool();  ///< unmaps and unlocks; does not set the clean mark

  const std::string& path() const;
  Medium medium() const;
  Domain domain(bool gpu = false) const;  ///< RULES.md 9
  const Persist& persist() const;         ///< the flushes that this pool's domain (or `flush`) asks for
  const Superblock& superblock() const;   ///< the copy in memory; equal to both durable ones between changes
  bool read_only() const;
  bool was_clean() const;                           ///< at open
  double map_ms() const;                            ///< spent mapping at open
  const std::vector<std::string>& repairs() const;  ///< what open had to mend: "copy A of the superblock"

  index::Slot* level(unsigned number) const;  ///< the first of 2^number × slots slots; null if there is no such level
  index::Slot* aside() const;                 ///< one slot, for the reserved key value 0
  std::byte* heap() const;                    ///< cell c begins at heap() + c × cell_bytes
  std::uint64_t cells() const;
  static constexpr unsigned slab_bits() { return kSlabBits; }

  /// Allocates, maps and zeroes level `number`, then names it in the directory, durably, as the new top level with
  /// `is_resizing` set (GPHash §3.2.3 "Resizing", RULES.md 17, 19). `number` is one above the top level.
  /// Throws NoSpace; then nothing changed.
  void add_level(unsigned number);
  /// Takes level `number`, whose slots are all durably empty, out of the directory; its extent becomes free. `number` is the
  /// lowest level, and one more than are addressed.
  void release_level(unsigned number);
  /// Off only when no more levels are left than are addressed.
  void set_resizing(bool on);
  /// Adds at least one and up to `cells` cells. Throws NoSpace if there is no room for one.
  void grow_heap(std::uint64_t cells);

  /// Durably clears the clean mark, if it is set, and notes that what follows is written in domain `domain(gpu)`. Cheap when
  /// that is done already. Thread-safe. Throws ReadOnly.
  void mark_changed(bool gpu = false);
  /// Puts the data on its device (msync on medium file), then sets the clean mark. No batch may run.
  void sync();

  /// Called with every range of mapped pool memory: once for each now, and for each added later. For CUDA registration.
  /// `unmapping` is called for each before it goes, in the destructor too. Empty functions end it.
  void on_extent(std::function<void(void* address, std::size_t bytes)> mapped,
                 std::function<void(void* address, std::size_t bytes)> unmapping);

  /// True in a process forked from the one that opened it: the mappings are gone there.
  bool forked() const;

 private:
  struct Impl;
  explicit Pool(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::memory

// pool_impl.hpp: the state of an open pool, shared by the files that create, open and grow it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "memory/file.hpp"
#include "memory/layout.hpp"
#include "memory/mapping.hpp"
#include "memory/medium.hpp"
#include "memory/pool.hpp"

namespace holdfast::memory {

/// The Memory policy with which superblocks are written in an open pool.
class SuperblockMemory {
 public:
  SuperblockMemory(const File& file, std::byte* header, const Persist& persist, Medium medium)
      : file_(file), header_(header), persist_(persist), medium_(medium) {}
  void store(std::uint64_t* address, std::uint64_t value) const;
  void flush(const void* address, std::size_t bytes) const { persist_.flush(address, bytes); }
  /// On medium `file` it puts the page on its device too: what follows relies on it even after a power cut (RULES.md 21).
  void fence() const;

 private:
  const File& file_;
  std::byte* header_;
  Persist persist_;
  Medium medium_;
};

/// A range of mapped pool memory.
struct Range {
  std::byte* address = nullptr;
  std::uint64_t bytes = 0;   ///< of the pool
  std::uint64_t mapped = 0;  ///< rounded up to the granule
};

struct Pool::Impl {
  Impl(File opened, Access how);
  ~Impl();

  // What is fixed while the pool is open.
  File file;
  std::string path;
  Access access;
  MediumFacts medium;
  Persist persist;
  bool was_clean = false;
  double map_ms = 0;
  std::vector<std::string> repairs;
  bool owns = false;  ///< the note in the pool is of this process

  // What is mapped.
  Range header;  ///< both superblocks and the aside slot
  Range levels[kMaxLevel + 1];
  std::byte* heap = nullptr;  ///< the start of the reservation; null if values live in their slots
  std::uint64_t heap_reserved = 0;
  std::uint64_t heap_mapped = 0;
  std::vector<Range> heap_ranges;  ///< as they were mapped
  std::function<void(void*, std::size_t)> mapped, unmapping;

  // What changes.
  Superblock block = {};  ///< equal to both copies in the file between changes
  bool broken = false;    ///< a write of the superblock failed half-way
  std::mutex change_mutex;
  std::atomic<int> marked = -1;  ///< the Domain noted with the cleared clean mark; -1: the mark stands

  bool writes_file() const { return access == Access::read_write; }
  MapMode mode() const;
  std::uint64_t granule() const { return medium.granule; }
  std::uint64_t rounded(std::uint64_t bytes) const { return round_up(bytes, medium.granule); }

  void find_out(bool flush);  ///< the medium, and the flushes it needs
  void map_all();             ///< header, levels and heap, as `block` says; sets map_ms
  Range map_extent(std::uint64_t offset, std::uint64_t bytes, bool populate, std::byte* at = nullptr) const;
  void announce(const Range& range) const;
  void withdraw(Range& range) const;  ///< announces the end of a range, and unmaps it
  void take_ownership();              ///< writes the note and watches for forks

  void require_writable() const;  ///< throws ReadOnly, TableClosed, SystemError
  Superblock* copy(unsigned which) const { return reinterpret_cast<Superblock*>(header.address) + which; }
  void mend_copies(const Choice& choice);  ///< makes both equal to `block`, and notes what was wrong
  void commit(Superblock next);            ///< seals `next` as the new generation, writes it durably, keeps it

  /// Makes room behind the last extent; returns its offset. Nothing to undo but `drop_room`.
  std::uint64_t make_room(const Layout& layout, std::uint64_t bytes, std::uint64_t address) const;
  /// The same for the heap, whose parts so far are in `now`, at `address` in it. Throws NoSpace.
  std::uint64_t make_heap_room(const Layout& before, const Layout& now, std::uint64_t bytes,
                               std::uint64_t address) const;
  /// Maps new parts behind the heap; or takes everything back.
  void map_heap_parts(const Layout& before, const std::vector<Extent>& parts);
  /// On a medium with a device: puts the length of the file and the place of a new range there, before a word names it.
  void settle_room(const Range& range) const;
  void drop_room(const Layout& layout) const noexcept;
};

[[noreturn]] void throw_too_many_pieces(const std::string& path);

}  // namespace holdfast::memory

// pool_file.hpp: an open, locked pool: its medium, its directory, and the commits that change it. Rules 19, 20, 22.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/bits.hpp"
#include "pool/directory.hpp"
#include "pool/medium/medium.hpp"
#include "pool/medium/memory_concept.hpp"
#include "pool/medium/persist.hpp"
#include "pool/pool_image.hpp"
#include "pool/pool_name.hpp"
#include "system/file.hpp"
#include "system/mapping.hpp"
#include "system/named_file.hpp"

namespace holdfast::pool {

inline constexpr std::uint64_t kNothingLost = ~std::uint64_t{0};  ///< PoolFile::lost_from of a whole file

enum class Access { read_write, read_only, scratch /**< private copies in memory: the file is not written */ };

/// A range of mapped pool memory.
struct Range {
  std::byte* address = nullptr;
  std::uint64_t bytes = 0;   ///< of the pool
  std::uint64_t mapped = 0;  ///< rounded up to the granule
};

class PoolFile;

/// The Memory policy with which headers are written in an open pool. On medium `file` a fence also puts what was flushed since
/// the last one on its device: what follows relies on it even after a power cut (rule 21).
class HeaderMemory {
 public:
  HeaderMemory(PoolFile& pool, const Persist& persist) : pool_(pool), persist_(persist) {}
  void store(std::uint64_t* address, std::uint64_t value) const;
  void flush(const void* address, std::size_t bytes) const;
  void fence() const;

 private:
  PoolFile& pool_;
  Persist persist_;
  mutable std::uintptr_t begin_ = ~std::uintptr_t{0}, end_ = 0;  ///< what was flushed since the last fence
};
static_assert(WritableMemory<HeaderMemory>);

/// A pool that is open in this process, shared by its objects. It knows objects, extents and names, and not what they mean.
/// Thread-safe. Ends, and with it the lock, with its last object and its last user.
///
/// If another process truncates the file while it is open, or the medium cannot provide a page, the file is lost to this process: no
/// (`require_whole`).
class PoolFile {
 public:
  /// Opens one; with Access::scratch also one that was cut short. Throws PoolNotFound, PoolInUse, ObjectInUse, PoolCorrupt, PoolVersion, MediumError.
  static std::shared_ptr<PoolFile> open(const std::string& path, Access access);
  ~PoolFile();

  const std::string& path() const { return path_; }
  const system::File& file() const { return file_; }
  Access access() const { return access_; }
  bool writes_file() const { return access_ == Access::read_write; }
  const MediumFacts& medium() const { return medium_; }
  Domain domain(bool gpu) const;  ///< rule 9
  std::uint64_t granule() const { return medium_.granule; }
  std::uint64_t rounded(std::uint64_t bytes) const { return round_up(bytes, medium_.granule); }
  const std::vector<std::string>& repairs() const { return repairs_; }  ///< what open had to mend
  /// What extents have from this offset on was lost, and reads as zeros: the file was cut short, and is open with Access::scratch.
  /// kNothingLost: the file is whole.
  std::uint64_t lost_from() const { return lost_from_; }
  /// Whether so many lost bytes may be read as zeros: a small file that claims terabytes would keep its reader busy for ever.
  bool believes_lost(std::uint64_t bytes) const { return bytes <= most_lost_; }
  /// True in a process forked from the one that opened it: the mappings are gone there.
  bool forked() const { return file_.forked(); }

  Superblock superblock() const;
  /// As it is now; it never changes afterwards.
  std::shared_ptr<const Directory> directory() const;

  /// Flushes and fences as the medium asks for, or as `flush` does.
  Persist persist(bool flush) const;
  HeaderMemory header_memory(const Persist& persist) { return {*this, persist}; }
  /// Maps a part of an extent; private memory where it is a scratch copy of what has no place in the file yet.
  Range map(std::uint64_t offset, std::uint64_t bytes, bool populate, std::byte* at = nullptr) const;
  /// Keeps the space that opening allocated in a sparse file. Without this call it returns to the medium at the end.
  void keep_space() {
    if (!kept_.load(std::memory_order_relaxed)) kept_ = true;
  }
  /// On a medium with a device: puts the length of the file and the place of a new range there, before a word names it.
  void settle(const Range& range);
  /// Puts all of the file on its device.
  void sync_data();
  /// A sync of the file failed. The kernel says so once, and takes what it could not write for written: no later sync brings that to
  /// the device. So nothing changes in this pool any more, and the next opener writes all of it again.
  void note_failed_sync() noexcept;
  /// Before a change of so many rows: notices that the file was removed or replaced, since then no process would find what is
  /// written. Asks the kernel for large batches, and for others once in some milliseconds. Nothing changes in the pool from then on,
  /// and its domain is `none`.
  void notice_removal(std::size_t rows) noexcept;
  bool is_file(const std::string& path) const;  ///< that the pool is in
  /// Throws MediumError if a mapped page was not there since the pool was opened: what was read since may be zero, and what was written
  /// be nowhere, so it is not acknowledged.
  void require_whole() const {
    if (lost_.load()) [[unlikely]]
      refuse_lost();
  }
  bool is_sound() const { return trouble_.load(std::memory_order_acquire) == Trouble::none && !lost_.load(); }

  void require_writable() const;  ///< throws ReadOnly, ObjectClosed, SystemError, MediumError
  /// That a change is for good: private copies may be recovered, and later changes must not be acknowledged. Throws ReadOnly.
  void require_kept() const;

 private:
  friend class Edit;
  friend class NewPool;
  PoolFile(system::File file, Access access);
  void map_header();
  void take_ownership();
  void mend_copies(const Choice& choice);
  void make_up_for_failed_sync() const;
  void find_lost(std::uint64_t file_bytes);
  std::vector<system::FileRange> ranges_there() const;
  void believe_sizes();
  void fill_holes();
  void give_back(std::uint64_t from) const noexcept;
  void unshare() const;
  void map_holes(const Range& range, std::uint64_t offset) const;
  void require_alignment() const;
  [[noreturn]] void refuse_lost() const;
  void commit(Directory next);  ///< the caller holds `edit_mutex_`
  std::byte* area(unsigned which) const { return header_.address + area_offset(which); }
  Superblock* copies() const { return reinterpret_cast<Superblock*>(header_.address); }

  system::File file_;
  const std::string path_;
  const Access access_;
  MediumFacts medium_;
  Range header_;
  std::vector<std::string> repairs_;
  bool owns_ = false;         ///< the note in the pool is of this process
  bool sync_failed_ = false;  ///< and says so

  /// Why nothing may change any more.
  enum class Trouble : std::uint8_t { none, unsynced /**< a commit or a sync failed half-way */, removed };
  std::atomic<Trouble> trouble_ = Trouble::none;
  mutable std::atomic<bool> lost_ = false;  ///< a page was not there
  std::string name_;  ///< that the file has, wherever the process works; empty: it has none, or none yet
  std::atomic<std::uint64_t> looked_ = 0;  ///< at the name: the tick

  std::uint64_t file_bytes_ = 0;  ///< at open
  std::uint64_t lost_from_ = kNothingLost, most_lost_ = 0;
  bool sparse_ = false;                    ///< at open: not all of it was allocated on the medium
  std::vector<system::FileRange> filled_;  ///< the ranges allocated then
  std::vector<system::FileRange> holes_;   ///< or left as holes, since it is open for reading; with what was lost
  std::atomic<bool> kept_ = false;

  std::mutex edit_mutex_;     ///< held by an Edit, all along
  mutable std::mutex mutex_;  ///< guards what follows
  Superblock block_ = {};     ///< equal to both copies in the file between commits
  std::shared_ptr<const Directory> directory_;
};

/// A pool that is being made, under a temporary name until it is whole. What it replaces stays until then.
class NewPool {
 public:
  /// Makes an empty pool, readable by its owner alone (0600). An unlinked file (a memfd, by /proc/self/fd/N) has no name to take
  /// over: an empty one is filled in place, and another one is not replaced.
  /// Throws PoolExists, PoolInUse, ObjectInUse (overwriting an open one), NoSpace, MediumError.
  NewPool(const std::string& path, bool overwrite);
  ~NewPool();
  NewPool(const NewPool&) = delete;
  NewPool& operator=(const NewPool&) = delete;
  const std::shared_ptr<PoolFile>& pool() const { return pool_; }
  /// Puts the pool on its device, and gives it its name. Without it there is no pool. Throws PoolExists, SystemError.
  void publish();

 private:
  std::optional<PoolName> name_;  ///< none: it is filled in place
  system::TemporaryName temporary_;
  bool published_ = false;
  std::shared_ptr<PoolFile> pool_;
};

}  // namespace holdfast::pool

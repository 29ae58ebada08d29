// snapshot.hpp: copies an open pool to a new pool, which gets its name when it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pool/kinds/open_object.hpp"
#include "pool/medium/medium.hpp"
#include "pool/object.hpp"
#include "pool/pool_name.hpp"
#include "pool/superblock.hpp"
#include "system/named_file.hpp"

namespace holdfast::system {
class BulkWriter;
}

namespace holdfast::pool {

class CompactCopy;
class Space;

/// Memory that can be written past the page cache.
struct alignas(kPage) AlignedPage {
  std::byte bytes[kPage];
};

/// Writes a snapshot. Without `finish` there is no file.
///
///   begin         while nothing changes the pool
///   copy          while nothing changes the objects that are not frozen
///   copy_frozen   while changes run
///   finish
///
/// The copy has all objects, with their numbers and names, laid out anew: what lies in pieces is in one, what is free stays
/// behind, an object that lost a part with the end of the file and is not open is left out, and an object whose kind makes a compact copy of it has that in place of its extents. Objects that are open are clean in
/// it; others are as they are. It has a new id.
class Snapshot {
 public:
  /// Asked on the calling thread, at least before and after copying, with the bytes done and in all, as far as is known; false: stop.
  using Progress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

  /// Makes the file under a temporary name. Throws PoolExists, PoolInUse, ObjectInUse (overwriting an open pool), MediumError, NoSpace.
  Snapshot(const std::string& path, bool overwrite);

  /// Copies the pages of the `frozen` objects, and plans the copy of the rest of them. `open`: objects that are open, those with them.
  void begin(const std::shared_ptr<PoolFile>& pool, const std::vector<std::unique_ptr<Quiesced>>& open,
             const std::vector<std::unique_ptr<Frozen>>& frozen);
  /// Copies the other objects with `threads` threads (0: as many as keep a fast disk busy). `open`: those of them that are open. False if `progress`
  /// said to stop. Throws NoSpace, SystemError, and what `progress` throws.
  bool copy(const std::shared_ptr<PoolFile>& pool, const std::vector<std::unique_ptr<Quiesced>>& open, unsigned threads,
            const Progress& progress);
  /// Copies the rest of the frozen objects, which still live. The same otherwise.
  bool copy_frozen(unsigned threads, const Progress& progress);
  /// Puts the copy on its device, and gives it its name. Throws PoolExists, SystemError.
  void finish();

  std::uint64_t bytes() const { return bytes_; }      ///< of all extents
  std::uint64_t written() const { return written_; }  ///< of them; ranges of zeros are not written
  std::vector<std::string> take_left_out() { return std::move(left_out_); }

 private:
  /// A range of the source's memory, or an extent of a compact copy, and its place in the file.
  struct Part {
    std::uint64_t bytes, offset;
    const std::byte* from;
    const CompactCopy* compact = nullptr;
    std::size_t extent = 0;
    Frozen* frozen = nullptr;
  };
  using Parts = std::vector<Part>;
  /// What the copy of one pool needs until it is written.
  struct Sources;
  void leave_out_lost(const PoolFile& pool, const std::vector<std::unique_ptr<Quiesced>>& open);
  void plan(Sources& sources, Space& space, const ObjectEntry& entry, const Quiesced* open, Frozen* frozen);
  void plan_compact(Space& space, const CompactCopy& compact, const Object* open);
  Extent place(Space& space, Extent extent);
  static void write_part(system::BulkWriter& writer, const Part& part, std::uint64_t begin, std::uint64_t bytes);
  bool write_parts(const Parts& parts, std::uint64_t before, unsigned threads, const Progress& progress);
  void plan_pages(const Extent& to, std::vector<AlignedPage> pages, const Object* open);
  void write_header();

  const PoolName name_;
  system::TemporaryName temporary_;
  system::File file_;
  MediumFacts medium_;
  Superblock superblock_;                        ///< of the source
  Directory directory_;                          ///< of the copy
  Parts parts_, frozen_parts_;                   ///< those that `copy` copies, and `copy_frozen`
  std::vector<std::vector<AlignedPage>> pages_;  ///< of objects, as the copy has them
  std::uint64_t bytes_ = 0, written_ = 0;
  std::vector<std::string> left_out_;
};

}  // namespace holdfast::pool

// snapshot.hpp: a copy of an open pool as a pool of its own, whole before it has a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "memory/medium.hpp"
#include "memory/named_file.hpp"
#include "memory/pool.hpp"

namespace holdfast::memory {

class BulkWriter;

/// Writes a snapshot: `copy` while nothing changes the pool, `finish` whenever it suits. Without `finish` there is no file.
///
/// The copy is laid out anew, as a pool just created: the levels that are addressed, then the heap in one piece. Free extents
/// and what growth left between extents stay behind. It has an id of its own, and the source's seed.
class Snapshot {
 public:
  /// Asked on the calling thread, at least before and after copying, with the bytes done and in all; false: stop.
  using Progress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

  /// Makes the file under a temporary name. Throws PoolExists, PoolInUse (overwriting an open pool), MediumError, NoSpace.
  Snapshot(const std::string& path, bool overwrite);

  /// Copies the pool with `threads` threads (0: as many as keep a fast disk busy). False if `progress` said to stop.
  /// Throws NoSpace, SystemError, and what `progress` throws.
  bool copy(const Pool& pool, unsigned threads, const Progress& progress);
  /// Puts the copy on its device, and gives it its name. Throws PoolExists, SystemError.
  void finish();

  std::uint64_t bytes() const { return bytes_; }      ///< of levels and heap
  std::uint64_t written() const { return written_; }  ///< of them; stretches of zeros need no writing

 private:
  /// A range of the source's memory and its place in the file.
  struct Part {
    const std::byte* from;
    std::uint64_t bytes, offset;
  };
  static std::vector<Part> plan(const Pool& pool, const Superblock& block);
  void write_header(BulkWriter& writer, const index::Slot& aside, Superblock& block);

  const std::string path_, target_;
  const bool overwrite_;
  File replaced_;  ///< holds the lock on what is replaced until it is
  TemporaryName temporary_;
  File file_;
  MediumFacts medium_;
  std::uint64_t bytes_ = 0, written_ = 0;
};

}  // namespace holdfast::memory

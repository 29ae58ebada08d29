// log.hpp: durable logs for a kernel's threads, with atomic entries. GPM §5.2. Kernels include log.cuh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "holdfast/log_status.hpp"
#include "holdfast/pool.hpp"

namespace holdfast {

struct LogOptions {
  std::uint32_t entry_bytes =
      0;  ///< at creation: of the largest entry, a multiple of 4 up to 4,096. At opening: must agree, or 0
  std::uint32_t capacity = 1;    ///< entries of a thread, or of a partition
  std::uint32_t blocks = 1;      ///< hierarchical: of the largest launch; any other launch may read the log
  std::uint32_t threads = 1;     ///< of a block
  std::uint32_t partitions = 0;  ///< not 0: a conventional log with this number of partitions
  bool gpu = false;              ///< kernels may use it
  bool eadr = false;             ///< see RegionOptions
  bool overwrite = false;
  bool flush = false;
};

/// The contents of a LogRef: log.cuh.
struct LogHandle {
  std::uint32_t kind = 0, entry_words = 0, capacity = 0, blocks = 0, threads = 0;
  std::uint32_t *flag = nullptr, *tails = nullptr, *entries = nullptr, *shown = nullptr, *holds = nullptr;
};

/// An open log. A place is that of a thread of a launch, block × (threads of a block, rounded up to 32) + thread, or a
/// partition. Operations on several places, and on one partition, may run at once; those on one thread's place may not.
class Log {
 public:
  /// Makes a log. Throws InvalidArgument, ObjectExists, ObjectInUse, NoSpace, MediumError, DeviceError.
  static Log create(Pool& pool, const std::string& name, const LogOptions& options);
  /// Opens a log. Throws ObjectNotFound, ObjectInUse, PoolMismatch (another kind, or entries of another
  /// size), PoolVersion, PoolCorrupt (also for a damaged tail), PowerLost, ReadOnly, DeviceError.
  static Log open(Pool& pool, const std::string& name, const LogOptions& options = {});

  std::uint64_t places() const;
  std::uint32_t entry_bytes() const;
  std::uint32_t capacity() const;
  std::uint32_t blocks() const;   ///< of the launch that it was made for; conventional: partitions
  std::uint32_t threads() const;  ///< of a block; conventional: 1
  bool is_conventional() const;
  std::uint32_t count(std::uint64_t place) const;  ///< entries; 0 where there is no such place

  /// Appends an entry, durably. An entry may be smaller than the log's; it takes the same space.
  LogStatus insert(std::uint64_t place, const void* entry, std::size_t bytes);
  /// Reads the newest entry, or one `back` before it.
  LogStatus read(std::uint64_t place, void* entry, std::size_t bytes, std::uint32_t back = 0) const;
  LogStatus remove(std::uint64_t place);  ///< removes the newest entry, durably
  LogStatus clear(std::uint64_t place);
  void clear();  ///< all places
  template <class T>
  LogStatus insert(std::uint64_t place, const T& entry) {
    static_assert(std::is_trivially_copyable_v<T>);
    return insert(place, &entry, sizeof entry);
  }

  /// Returns a handle for kernels, valid until `close` or a change by the CPU. No kernel may use the log during the call.
  /// `domain` is what entries must survive: throws MediumError if they survive less, InvalidArgument without `gpu`.
  LogHandle handle(Domain domain = Domain::process);

  void close();  ///< as Region::close
  bool is_open() const;

 private:
  friend class Transaction;
  class Impl;
  explicit Log(std::shared_ptr<Impl> impl);
  Held<std::shared_ptr<Impl>> impl_;
};

}  // namespace holdfast

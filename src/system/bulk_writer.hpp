// bulk_writer.hpp: writes large ranges of memory to a file, at the speed of its disk.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "system/file.hpp"

namespace holdfast::system {

/// Writes whole pages of memory to whole pages of a file, past the page cache where the file system allows it: that leaves the
/// processors to others, and what they have cached in place. The file has space already, and is zero where it was not written.
class BulkWriter {
 public:
  /// `granule`: the page size of a hugetlbfs, which is written through mappings; else 4096.
  BulkWriter(const File& file, std::uint64_t granule);
  ~BulkWriter();
  BulkWriter(const BulkWriter&) = delete;
  BulkWriter& operator=(const BulkWriter&) = delete;

  /// Writes `bytes` from `from` to `offset`, all multiples of 4096; leaves out ranges of zeros. Thread-safe.
  /// Throws NoSpace, SystemError.
  void write(const std::byte* from, std::uint64_t bytes, std::uint64_t offset);
  /// Bytes written so far.
  std::uint64_t written() const { return written_; }

 private:
  void write_range(const std::byte* from, std::uint64_t bytes, std::uint64_t offset);
  void write_by_mapping(const std::byte* from, std::uint64_t bytes, std::uint64_t offset) const;
  void set_direct(bool on);

  const File& file_;
  const std::uint64_t granule_;
  std::atomic<bool> direct_ = false;
  std::atomic<std::uint64_t> written_ = 0;
};

}  // namespace holdfast::system

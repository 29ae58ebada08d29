// compact_copy.hpp: an object laid out anew for a snapshot, in less space than it has itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "pool/directory.hpp"

namespace holdfast::pool {

/// How a kind makes a compact copy.
struct CompactHow {
  std::uint64_t granule = 0;  ///< what grows later, as a heap, has a multiple of so many bytes
  std::function<bool()>
      go_on;  ///< asked every few hundredths of a second; false: the snapshot is given up, and the copy with it
};

/// What a kind makes of an object whose contents need much less than its extents have (ObjectKind::compact). It may refer to the object's
/// memory, so nothing changes the object as long as this lives.
class CompactCopy {
 public:
  virtual ~CompactCopy() = default;
  /// The copy's extents, by role and index. Their offsets mean nothing.
  virtual std::vector<Extent> extents() const = 0;
  /// Stores at `to` bytes [begin, begin + bytes) of extent `which` of `extents`. Thread-safe.
  virtual void read(std::size_t which, std::uint64_t begin, std::byte* to, std::uint64_t bytes) const = 0;
};

}  // namespace holdfast::pool

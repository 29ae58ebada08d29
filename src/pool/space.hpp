// space.hpp: where new extents go: into the gaps between others, or behind the last.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pool/directory.hpp"
#include "system/file.hpp"

namespace holdfast::pool {

/// What an extent must be like.
struct Wanted {
  std::uint64_t bytes = 0;    ///< a multiple of the granule
  std::uint64_t address = 0;  ///< where it will be mapped, if that is known: modulo a large page
};

/// The free space of a pool's file. What is taken is never in two hands; what a commit frees is not free before it.
class Space {
 public:
  /// `granule`: offsets are multiples of it, the page size of the medium.
  Space(const Directory& directory, std::uint64_t granule);

  /// The smallest gap that fits all of it; aligned as wanted if there is one.
  std::optional<system::FileRange> take_gap(const Wanted& wanted);
  /// As much of it as the largest gap has, at least `least` bytes.
  std::optional<system::FileRange> take_part(const Wanted& wanted, std::uint64_t least);
  /// 0 to `bytes` bytes of the gap that begins at `end`, where an extent ends.
  system::FileRange take_next(std::uint64_t end, std::uint64_t bytes);
  /// Space behind the last extent.
  system::FileRange behind(const Wanted& wanted) const { return {first_fit(end_, wanted), wanted.bytes}; }
  system::FileRange take_behind(const Wanted& wanted);

  std::uint64_t end() const { return end_; }  ///< of what is taken
  std::uint64_t free_bytes() const;           ///< in gaps

 private:
  std::uint64_t first_fit(std::uint64_t from, const Wanted& wanted) const;
  std::optional<std::size_t> best_gap(const Wanted& wanted, bool aligned) const;
  void cut(std::size_t gap, const system::FileRange& taken);
  std::vector<system::FileRange> gaps_;
  std::uint64_t end_, granule_;
};

}  // namespace holdfast::pool

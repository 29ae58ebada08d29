// data_objects.hpp: a pool of regions, logs, a transaction and a checkpoint, to be damaged; and what a user can do with what is left of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "cases.hpp"
#include "log/protocol/shape.hpp"

namespace holdfast::test::corrupt {

/// Objects, by number, which is their name too.
inline constexpr std::uint32_t kRegion = 1, kUndo = 2, kThreads = 3, kPartitions = 4, kCheckpoint = 5, kNeighbour = 6;
inline constexpr std::uint64_t kRegionWords = 1200;  ///< of 8 bytes: some pages
inline constexpr unsigned kUpdates = 3;              ///< of a place, of places 0 and 33
inline constexpr std::uint64_t kNewest = 3;          ///< save

inline log::LogShape undo_shape() { return {log::LogKind::hierarchical, 4, kUpdates + 1, 1, 64}; }

/// A pool whose process was killed in a transaction of the region; saves 1 to 3 in copies 0 to 2.
const std::string& data_bytes();

/// What a pool came to.
struct Found {
  Outcome outcome;
  bool undone = false;
  bool undo_refused = false;  ///< with PoolCorrupt or InvalidArgument, by `open` or `recover`
  std::optional<std::uint64_t> step = {};
  std::map<std::uint32_t, std::string> refused = {};
  void wrong(const std::string& what) { outcome.wrong += what + "; "; }
};

/// All that a user could do. `victim`: the object that may have wrong contents, or be refused.
Found use(const std::string& bytes, std::uint32_t victim, bool on_disk);

}  // namespace holdfast::test::corrupt

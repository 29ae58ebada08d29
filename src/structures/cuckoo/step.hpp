// step.hpp: each step of the protocol that the model can leave out, to show that its tests would notice. Rule 25.
#pragma once

#include <cstdint>

namespace holdfast::cuckoo {

/// Shipping policies keep every step: their `Memory::keeps` is a constant true.
enum class Step : std::uint8_t {
  copy_before_clear,    ///< a moved entry is in its new cell before its old cell is emptied
  raise_version,        ///< the version rises when an entry returns to its primary bucket
  raise_before_clear,   ///< and does so before the old cell is emptied
  count_before_copy,    ///< an entry that leaves its primary bucket is counted before its old cell is emptied
  uncount_after_clear,  ///< an entry that returns is counted until its old cell is empty
  compare_versions,     ///< a search that found nothing begins again if the version changed
  lock_changes,         ///< replacing and erasing exclude a move of the entry
  lock_moves,           ///< a move excludes other moves, and changes, of the entry
  load_under_lock,      ///< a move reads the entry again when it has excluded them
  count
};

}  // namespace holdfast::cuckoo

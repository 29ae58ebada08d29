// step.hpp: each step of logs and transactions that the model can leave out, to show that its tests would notice. Rule 25.
#pragma once

#include <cstdint>

namespace holdfast::log {

/// Shipping machines keep every step: their `Memory::keeps` is a constant true.
enum class Step : std::uint8_t {
  flush_entry,           ///< an entry is written back
  fence_after_entry,     ///< and durable before the tail counts it
  flush_tail,            ///< the tail is written back
  fence_after_tail,      ///< and durable before the insert returns, and so before what it allows to be undone
  fence_after_remove,    ///< a shorter log is durable before the place of its last entry is written again
  fence_after_clear,     ///< and so is an empty one
  hold_partition,        ///< a partition of a conventional log is one thread's while it changes
  flush_flag,            ///< the flag of a transaction is written back
  fence_after_begin,     ///< and durable before the first update
  log_before_update,     ///< what a location held is logged before it is written
  flush_update,          ///< an update is written back
  fence_after_update,    ///< and durable before the flag is cleared
  fence_after_end,       ///< the cleared flag is durable before the log is cleared
  fence_after_truncate,  ///< and that before the next transaction begins
  newest_first,          ///< the updates of a thread are undone from the newest to the oldest
  fence_after_undo,      ///< a location has its old content durably before its entry goes
  clear_flag_last,       ///< in recovery the flag stands until everything is undone
  count
};

}  // namespace holdfast::log

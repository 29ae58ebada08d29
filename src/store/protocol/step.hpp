// step.hpp: each step of the store that the model can leave out, to show that its tests would notice. Rule 25.
#pragma once

#include <cstdint>

namespace holdfast::store {

/// Shipping code keeps every step: its `Memory::keeps` is a constant true.
enum class Step : std::uint8_t {
  zero_before_reuse,      ///< a cell's sequence number is zero before any other byte of it changes
  void_chunk,             ///< and what a chunk belongs to is void
  flush_chunks,           ///< and are written back before the item is committed
  check_chunks,           ///< a reader looks at a chunk's number behind its bytes
  flush_content,          ///< what an item holds is written back
  fence_before_sequence,  ///< and durable before its sequence number, where it has more lines than that has
  flush_sequence,         ///< the number is written back
  fence_after_sequence,   ///< and durable before the index names the cell
  draw_under_claim,       ///< the number is drawn when no other change of the key runs
  kill_replaced,          ///< an item that another replaced is dead before its key changes again
  draw_again,            ///< a change that meets a flush decides again, and draws a number that the flush does not kill
  decide_under_claim,    ///< whether a key has an item is looked up when no other change of the key runs
  claim_evicted,         ///< an eviction claims the key: no other change of it runs
  kill_unnamed,          ///< a committed item for which the index has no memory is dead before the change says so
  flush_kill,            ///< a dead item's state is written back
  fence_after_kill,      ///< and durable before its cell is free and the change ends
  kill_damaged,          ///< a damaged item whose key was set or erased is durably dead before its cell is free
  touch_what_was_read,   ///< `get_and_touch` touches the item that it has read, and no newer one
  flush_touch,           ///< a new expiry is written back
  fence_after_touch,     ///< and durable before the change ends
  flush_claimed,         ///< a reader that finds its key claimed makes what it saw durable before it answers
  look_again,            ///< a reader whose cell changed meanwhile searches again
  zero_piece,            ///< nothing that lay in the piece looks like a sequence number
  flush_zeros,           ///< the zeros are written back
  fence_after_zeros,     ///< and durable before the entry names a class
  flush_enter,           ///< the entry is written back
  fence_after_enter,     ///< and durable before an item in the piece is acknowledged
  flush_reserved,        ///< how far numbers are reserved is written back
  fence_after_reserved,  ///< and durable before one of them is used
  flush_time,            ///< the time is written back
  fence_after_time,      ///< and durable before an answer depends on it
  flush_flushed,         ///< up to which number items are flushed is written back
  fence_after_flushed,   ///< and durable before the call returns
  flush_plan,            ///< when everything will be flushed is written back
  fence_after_plan,      ///< and durable before the call returns
  flush_on_time,         ///< a planned flush is done before the time at which it is due is known
  kill_older,            ///< recovery leaves one item of a key alive, the newest
  kill_older_first,      ///< and the others are durably dead before anything runs
  count
};

}  // namespace holdfast::store

// record.hpp: the durable words of a store beside its items, in one line: reserved numbers, the time, and what `flush_all` killed.
//
// Numbers never repeat, not even after a crash: they are reserved a block at a time (an exception to rule 20). Time never runs backwards, so
// no expired item lives again: a time is durable before an answer depends on it. A crash keeps a prefix of what was stored to the
// line.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "store/protocol/step.hpp"

namespace holdfast::store {

inline constexpr std::uint64_t kReservedAtOnce = std::uint64_t{1} << 20;

/// Words of the record.
enum RecordWord : unsigned {
  kReservedWord = 0,     ///< all numbers up to it may have been used
  kTimeWord = 1,         ///< milliseconds since 1970
  kFlushedWord = 2,      ///< items with numbers up to it are dead
  kFlushAtWord = 3,      ///< when everything is flushed next; 0: not planned
  kDirectoriesWord = 4,  ///< so many directories of the heap were zeroed before anything was entered
};
inline constexpr unsigned kRecordWords = 8;  ///< the others are zero

/// Whether a store may have left these words: otherwise the record is damaged.
template <class Memory>
HOLDFAST_BOTH bool is_valid_record(const Memory& memory, const std::uint64_t* record) {
  constexpr std::uint64_t kTimes = std::uint64_t{1} << 48;
  bool valid = memory.load(record + kFlushedWord) <= memory.load(record + kReservedWord) + kReservedAtOnce &&
               memory.load(record + kTimeWord) < kTimes && memory.load(record + kFlushAtWord) < kTimes;
  for (unsigned word = kDirectoriesWord + 1; word < kRecordWords; ++word)
    valid = valid && memory.load(record + word) == 0;
  return valid;
}

namespace detail {

template <class Memory>
HOLDFAST_BOTH void keep_record(Memory& memory, const std::uint64_t* record, Step flush, Step fence) {
  if (memory.keeps(flush)) memory.flush(record, 8 * kRecordWords);
  if (memory.keeps(fence)) memory.fence();
}

}  // namespace detail

// Each is durable when it returns. One caller at a time changes a record.

/// All numbers up to `last` may be used. After a crash those above are the first that are certainly unused.
template <class Memory>
HOLDFAST_BOTH void reserve_numbers(Memory& memory, std::uint64_t* record, std::uint64_t last) {
  memory.store(record + kReservedWord, last);
  detail::keep_record(memory, record, Step::flush_reserved, Step::fence_after_reserved);
  HOLDFAST_FAILPOINT(numbers_reserved);
}

/// Answers may depend on this time.
template <class Memory>
HOLDFAST_BOTH void keep_time(Memory& memory, std::uint64_t* record, std::uint64_t now) {
  memory.store(record + kTimeWord, now);
  detail::keep_record(memory, record, Step::flush_time, Step::fence_after_time);
  HOLDFAST_FAILPOINT(time_kept);
}

/// Items with numbers up to `newest` are dead, and no flush is planned.
template <class Memory>
HOLDFAST_BOTH void flush_items(Memory& memory, std::uint64_t* record, std::uint64_t newest) {
  memory.store(record + kFlushedWord, newest);
  HOLDFAST_FAILPOINT(flush_half_written);
  memory.store(record + kFlushAtWord, 0);
  detail::keep_record(memory, record, Step::flush_flushed, Step::fence_after_flushed);
  HOLDFAST_FAILPOINT(items_flushed);
}

/// At `time` all items that there are then will be dead.
template <class Memory>
HOLDFAST_BOTH void plan_flush(Memory& memory, std::uint64_t* record, std::uint64_t time) {
  memory.store(record + kFlushAtWord, time);
  detail::keep_record(memory, record, Step::flush_plan, Step::fence_after_plan);
  HOLDFAST_FAILPOINT(flush_planned);
}

}  // namespace holdfast::store

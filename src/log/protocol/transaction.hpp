// transaction.hpp: all updates of a batch, or none. GPM §5.2, "Recovery using logs".
//
//   begin    the log is empty; the flag                       durable
//   update   what the location held, into the thread's log    durable
//            the location                                     durable
//   end      the flag, cleared                                durable: from here on the batch is there
//            the log, cleared                                 durable
//
//   recover  flag set:    each thread's updates undone, newest first: location durable, then the entry goes; then the flag
//            flag clear:  the log is cleared
//
// Recovery may be killed anywhere and begun again. Mutants: step.hpp.
#pragma once

#include "core/both.hpp"
#include "log/protocol/log.hpp"

namespace holdfast::log {

/// What an entry of a transaction's log begins with: where the location is, in words of 4 bytes, and how many it has.
inline constexpr std::uint32_t kUndoWords = 2;
inline constexpr std::uint32_t kMostUpdateWords = kMostEntryBytes / 4 - kUndoWords;

struct Undo {
  std::uint32_t words[kUndoWords];
  HOLDFAST_BOTH static Undo of(std::uint64_t offset, std::uint32_t size) {
    HOLDFAST_ASSERT(size <= kMostUpdateWords && offset >> 48 == 0);
    return {{static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32) | size << 16}};
  }
  HOLDFAST_BOTH std::uint64_t offset() const { return words[0] | std::uint64_t{words[1] & 0xffff} << 32; }
  HOLDFAST_BOTH std::uint32_t size() const { return words[1] >> 16; }
};

/// A flag is 0, or the number of the region that is updated with the check bits of a tail. Numbers above have no flag.
inline constexpr std::uint32_t kMostRegion = 0xff'ffff;
inline std::uint32_t flag_of(std::uint32_t region) {
  HOLDFAST_ASSERT(region <= kMostRegion);
  return tail_of(region);
}
inline std::uint32_t region_in(std::uint32_t flag) { return entries_in(flag); }
inline bool is_flag(std::uint32_t flag) { return flag == flag_of(region_in(flag)); }

template <LogMemory Memory>
HOLDFAST_BOTH void set_flag(Memory& memory, const View<Memory>& view, std::uint32_t value, Step fence) {
  memory.store(view.flag, value);
  if (memory.keeps(Step::flush_flag)) memory.flush(view.flag, sizeof *view.flag);
  if (memory.keeps(fence)) memory.fence();
}

/// The log is empty. Updates may follow when it returns. `flag`: not 0; says what is updated.
template <LogMemory Memory>
HOLDFAST_BOTH void begin(Memory& memory, const View<Memory>& view, std::uint32_t flag = 1) {
  set_flag(memory, view, flag, Step::fence_after_begin);
  HOLDFAST_FAILPOINT(flag_raised);
}

/// Writes `size` words at `base` + `offset`. Where the log has no place for them nothing is written.
template <LogMemory Memory>
HOLDFAST_BOTH LogStatus update(Memory& memory, const View<Memory>& view, std::uint64_t place,
                               typename Memory::Word* base, std::uint64_t offset, const std::uint32_t* value,
                               std::uint32_t size, std::uint32_t* scratch) {
  if (size + kUndoWords > view.shape.entry_words) return LogStatus::too_large;
  const Undo undo = Undo::of(offset, size);
  scratch[0] = undo.words[0];
  scratch[1] = undo.words[1];
  for (std::uint32_t k = 0; k < size; ++k) scratch[kUndoWords + k] = memory.load(base + offset + k);
  LogStatus status = LogStatus::ok;
  if (memory.keeps(Step::log_before_update)) status = insert(memory, view, place, scratch, size + kUndoWords);
  if (status != LogStatus::ok) return status;
  HOLDFAST_FAILPOINT_WITHIN(update_half_written, {
    for (std::uint32_t k = 0; k < size; k += 2) memory.store(base + offset + k, value[k]);
  });
  for (std::uint32_t k = 0; k < size; ++k) memory.store(base + offset + k, value[k]);
  if (memory.keeps(Step::flush_update)) memory.flush(base + offset, size * sizeof *base);
  if (memory.keeps(Step::fence_after_update)) memory.fence();
  HOLDFAST_FAILPOINT(location_updated);
  if (!memory.keeps(Step::log_before_update)) status = insert(memory, view, place, scratch, size + kUndoWords);
  return status;
}

/// All threads' updates have returned.
template <LogMemory Memory>
HOLDFAST_BOTH void end(Memory& memory, const View<Memory>& view) {
  set_flag(memory, view, 0, Step::fence_after_end);
  HOLDFAST_FAILPOINT(flag_cleared);
  clear_all(memory, view);
}

/// The first place with an entry that no update of a region of `words` words made, or LogShape::none(). Changes nothing.
template <LogMemory Memory>
HOLDFAST_BOTH std::uint64_t find_false_undo(Memory& memory, const View<Memory>& view, std::uint64_t words) {
  for (std::uint64_t place = 0; place < view.shape.places(); ++place) {
    for (std::uint32_t back = count(memory, view, place); back-- > 0;) {
      Undo undo = {};
      if (read(memory, view, place, undo.words, kUndoWords, back) != LogStatus::ok) return place;
      if (undo.size() == 0 || undo.size() + kUndoWords > view.shape.entry_words || undo.offset() > words ||
          undo.size() > words - undo.offset()) {
        return place;
      }
    }
  }
  return LogShape::none();
}

/// Undoes what one thread did: newest first, each durably before its entry goes.
template <LogMemory Memory>
HOLDFAST_BOTH void undo(Memory& memory, const View<Memory>& view, std::uint64_t place, typename Memory::Word* base,
                        std::uint32_t* scratch) {
  const bool newest = memory.keeps(Step::newest_first);
  for (std::uint32_t left = count(memory, view, place), n = 0; left > 0; --left, ++n) {
    const std::uint32_t back = newest ? 0 : left - 1 >= n ? left - 1 - n : 0;
    Undo undo = {};
    read(memory, view, place, undo.words, kUndoWords, back);
    read(memory, view, place, scratch, kUndoWords + undo.size(), back);
    for (std::uint32_t k = 0; k < undo.size(); ++k) memory.store(base + undo.offset() + k, scratch[kUndoWords + k]);
    if (memory.keeps(Step::flush_update)) memory.flush(base + undo.offset(), undo.size() * sizeof *base);
    if (memory.keeps(Step::fence_after_undo)) memory.fence();
    HOLDFAST_FAILPOINT(location_undone);
    remove(memory, view, place);
  }
}

/// After a crash, once the tails are loaded and find_false_undo found none. True if a batch was undone.
template <LogMemory Memory>
HOLDFAST_BOTH bool recover(Memory& memory, const View<Memory>& view, typename Memory::Word* base,
                           std::uint32_t* scratch) {
  const bool active = memory.load(view.flag) != 0;
  if (active) {
    if (!memory.keeps(Step::clear_flag_last)) set_flag(memory, view, 0, Step::fence_after_end);
    for (std::uint64_t place = 0; place < view.shape.places(); ++place) undo(memory, view, place, base, scratch);
    HOLDFAST_FAILPOINT(batch_undone);
    set_flag(memory, view, 0, Step::fence_after_end);
  }
  clear_all(memory, view);
  return active;
}

}  // namespace holdfast::log

// log.hpp: the operations of a log, for every machine and both kinds. GPM §5.2.
//
//   insert   entry   durable   behind what the tail counts: a crash leaves nothing that counts
//            tail    durable   one word of 4 bytes: from here on the entry is there
//   remove   tail    durable   one less
//
// How many entries a place has is read from a volatile copy of the tails, which follows them: nothing is read over the link.
// Mutants: step.hpp.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "holdfast/log_status.hpp"
#include "log/protocol/memory_concept.hpp"
#include "log/protocol/shape.hpp"
#include "log/protocol/step.hpp"

namespace holdfast::log {

/// A log, as it is mapped now.
template <LogMemory Memory>
struct View {
  using Word = typename Memory::Word;
  LogShape shape;
  Word* flag = nullptr;   ///< of a transaction
  Word* tails = nullptr;  ///< one a place
  Word* entries = nullptr;
  std::uint32_t* shown = nullptr;  ///< volatile: the copy of the tails
  std::uint32_t* holds = nullptr;  ///< volatile, conventional: 1 while a thread has the partition
};

/// Conventional: the partition is the caller's until the end.
template <LogMemory Memory>
class Hold {
 public:
  HOLDFAST_BOTH Hold(Memory& memory, const View<Memory>& view, std::uint64_t place)
      : memory_(memory), hold_(view.shape.kind == LogKind::conventional ? view.holds + place : nullptr) {
    HOLDFAST_ASSERT(place < view.shape.places());
    HOLDFAST_ASSERT(hold_ == nullptr || view.holds != nullptr);
    if (hold_ != nullptr && memory_.keeps(Step::hold_partition)) memory_.take(hold_);
  }
  HOLDFAST_BOTH ~Hold() {
    if (hold_ != nullptr && memory_.keeps(Step::hold_partition)) memory_.release(hold_);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  Memory& memory_;
  std::uint32_t* hold_;
};

template <LogMemory Memory>
HOLDFAST_BOTH void set_tail(Memory& memory, const View<Memory>& view, std::uint64_t place, std::uint32_t entries,
                            Step fence) {
  HOLDFAST_ASSERT(place < view.shape.places() && entries <= view.shape.capacity);
  memory.store(view.tails + place, tail_of(entries));
  if (memory.keeps(Step::flush_tail)) memory.flush(view.tails + place, sizeof *view.tails);
  if (memory.keeps(fence)) memory.fence();
  HOLDFAST_FAILPOINT(tail_stored);
  memory.show(view.shown + place, entries);
}

template <LogMemory Memory>
HOLDFAST_BOTH std::uint32_t count(Memory& memory, const View<Memory>& view, std::uint64_t place) {
  return memory.shown(view.shown + place);
}

/// Appends an entry of `words` words. Durable when it returns ok.
template <LogMemory Memory>
HOLDFAST_BOTH LogStatus insert(Memory& memory, const View<Memory>& view, std::uint64_t place,
                               const std::uint32_t* entry, std::uint32_t words) {
  if (place >= view.shape.places()) return LogStatus::no_place;
  if (words > view.shape.entry_words) return LogStatus::too_large;
  const Hold<Memory> hold(memory, view, place);
  const std::uint32_t entries = count(memory, view, place);
  if (entries >= view.shape.capacity) return LogStatus::full;
  typename Memory::Word* const first = view.entries + view.shape.first(place, entries);
  const std::uint32_t stride = view.shape.stride();
  for (std::uint32_t k = 0; k < words; ++k) memory.store(first + std::uint64_t{k} * stride, entry[k]);
  if (memory.keeps(Step::flush_entry)) memory.flush_strided(first, words, stride);
  if (memory.keeps(Step::fence_after_entry)) memory.fence();
  HOLDFAST_FAILPOINT(entry_stored);
  set_tail(memory, view, place, entries + 1, Step::fence_after_tail);
  return LogStatus::ok;
}

/// Copies an entry out, `back` before the newest.
template <LogMemory Memory>
HOLDFAST_BOTH LogStatus read(Memory& memory, const View<Memory>& view, std::uint64_t place, std::uint32_t* entry,
                             std::uint32_t words, std::uint32_t back = 0) {
  if (place >= view.shape.places()) return LogStatus::no_place;
  if (words > view.shape.entry_words) return LogStatus::too_large;
  const Hold<Memory> hold(memory, view, place);
  const std::uint32_t entries = count(memory, view, place);
  if (back >= entries) return LogStatus::empty;
  const typename Memory::Word* const first = view.entries + view.shape.first(place, entries - 1 - back);
  for (std::uint32_t k = 0; k < words; ++k) entry[k] = memory.load(first + std::uint64_t{k} * view.shape.stride());
  return LogStatus::ok;
}

/// Takes the newest entry away.
template <LogMemory Memory>
HOLDFAST_BOTH LogStatus remove(Memory& memory, const View<Memory>& view, std::uint64_t place) {
  if (place >= view.shape.places()) return LogStatus::no_place;
  const Hold<Memory> hold(memory, view, place);
  const std::uint32_t entries = count(memory, view, place);
  if (entries == 0) return LogStatus::empty;
  set_tail(memory, view, place, entries - 1, Step::fence_after_remove);
  return LogStatus::ok;
}

/// Takes all entries of a place away.
template <LogMemory Memory>
HOLDFAST_BOTH LogStatus clear(Memory& memory, const View<Memory>& view, std::uint64_t place) {
  if (place >= view.shape.places()) return LogStatus::no_place;
  const Hold<Memory> hold(memory, view, place);
  if (count(memory, view, place) != 0) set_tail(memory, view, place, 0, Step::fence_after_clear);
  return LogStatus::ok;
}

/// Empties the log, durably. One fence for all.
template <LogMemory Memory>
HOLDFAST_BOTH void clear_all(Memory& memory, const View<Memory>& view) {
  for (std::uint64_t place = 0; place < view.shape.places(); ++place) {
    if (count(memory, view, place) == 0) continue;
    memory.store(view.tails + place, 0);
    if (memory.keeps(Step::flush_tail)) memory.flush(view.tails + place, sizeof *view.tails);
    HOLDFAST_FAILPOINT(log_half_cleared);
    memory.show(view.shown + place, 0);
  }
  if (memory.keeps(Step::fence_after_truncate)) memory.fence();
}

/// Rebuilds the copy of the tails. Returns the first place with a damaged tail, or LogShape::none().
template <LogMemory Memory>
HOLDFAST_BOTH std::uint64_t load_tails(Memory& memory, const View<Memory>& view) {
  for (std::uint64_t place = 0; place < view.shape.places(); ++place) {
    const std::uint32_t tail = memory.load(view.tails + place);
    if (!is_tail(tail, view.shape)) return place;
    memory.show(view.shown + place, entries_in(tail));
  }
  return LogShape::none();
}

}  // namespace holdfast::log

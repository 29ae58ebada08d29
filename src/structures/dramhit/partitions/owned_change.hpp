// owned_change.hpp: a change by the only thread that changes a line, without branches on what the line holds. DRAMHiT §3.4 "SIMD".
//
// Whether the key is there, was erased, or is new decides by masks: the slot is the hit or else the first fresh one, both words
// come from selects, and what writes nothing stores to a spare pair instead. One branch is left, to the next line.
#pragma once

#include "structures/dramhit/protocol/change.hpp"

namespace holdfast::dramhit {

/// The kinds of change that `change_owned` knows; all others take `change`.
inline bool is_plain(const Change& change) {
  if (change.op == Op::accumulate) {
    return change.with.element == Element::u64 && change.with.how == Combine::add && change.with.scale == 1;
  }
  return change.op == Op::insert || change.op == Op::insert_or_assign || change.op == Op::assign ||
         change.op == Op::erase;
}

/// As `change`, where no other thread changes the line and nothing freezes it. `Memory` is OwnedMemory.
template <LineMemory Memory>
[[gnu::always_inline]] inline LineOutcome change_owned(const Memory& memory, Line* line, std::uint64_t want,
                                                       unsigned& reach, const Change& what, Answer& answer) {
  const auto seen = memory.look(line, want);
  const bool shifts =
      what.op == Op::erase && (seen.passed_slots() != 0 || (reach & (kErases | kErased)) != 0);  // keys may come back
  const unsigned fresh = distance(want) == 0 ? ~seen.used_slots() & ((1u << kSlots) - 1) : 0;
  const unsigned choice = seen.found() ? 1u << seen.slot() : fresh;
  if (choice == 0 || shifts || !is_plain(what)) [[unlikely]]
    return change(memory, line, want, reach, what, answer);

  Pair* const slot = line->slots + std::countr_zero(choice);
  const Pair old = *slot;  // no other thread writes it
  // A slot that is chosen holds this key or was never used: live means that the key is there. All ones, or none.
  const std::uint64_t present = -(old.word >> 1 & 1);
  static_assert(kLive == 2);
  const bool keeps = what.op == Op::insert, sums = what.op == Op::accumulate, erases = what.op == Op::erase;
  const std::uint64_t sum = (old.value & (sums ? present : 0)) + what.given;
  const std::uint64_t value = (keeps && present != 0) || erases ? old.value : sum;
  const std::uint64_t word = (old.word & ~kLive) | want | (erases ? 0 : kLive);
  const std::uint64_t writes = (what.adds() ? ~std::uint64_t{0} : present) & ~(keeps ? present : 0);

  alignas(16) Pair spare;
  memory.store(writes != 0 ? slot : &spare, {word, value});
  const Status if_present = keeps ? Status::exists : erases ? Status::erased : Status::updated;
  const Status if_absent = what.adds() ? Status::inserted : Status::not_found;
  answer.status = present != 0 ? if_present : if_absent;
  answer.value = 0;
  return LineOutcome::done;
}

}  // namespace holdfast::dramhit

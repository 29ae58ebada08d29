// steps.hpp: the rows of a batch in three steps, so that lines come from memory while other rows are worked on.
#pragma once

#include <cstddef>

#include "structures/cuckoo/cpu/line_tile.hpp"

namespace holdfast::cuckoo::cpu {

// Rows between the steps.
inline constexpr std::size_t kPrimaryAhead = 32, kOtherAhead = 16;
inline constexpr std::size_t kAhead = kPrimaryAhead + kOtherAhead;

/// For each row i from `from` on: first(i), which asks for lines; kPrimaryAhead rows later look(i), which may ask for more; kOtherAhead rows
/// later work(i). Ends where `work` returns false. One row alone is worked on at once.
template <class First, class Look, class Work>
void in_steps(std::size_t from, std::size_t rows, const First& first, const Look& look, const Work& work) {
  if (rows - from == 1) {
    work(from);
    return;
  }
  for (std::size_t at = from; at < rows + kAhead; ++at) {
    if (at < rows) first(at);
    if (at >= from + kPrimaryAhead && at - kPrimaryAhead < rows) look(at - kPrimaryAhead);
    if (at >= from + kAhead && !work(at - kAhead)) return;
  }
}

/// Asks for the lines beyond the primary bucket's that a change needs.
inline void look_ahead(const CpuMemory& memory, const Target& target, bool inserts) {
  const bool stays = inserts ? kTile.cells_with(memory, target.primary, kEmpty, true) != 0
                             : kTile.location(memory, target.primary, target.signature, true) != kNone;
  if (!stays) memory.prefetch(target.other);
  if (!stays || !inserts) memory.prefetch_group(target.primary);
}

}  // namespace holdfast::cuckoo::cpu

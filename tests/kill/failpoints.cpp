// failpoints.cpp: the table of failpoints.
#include "failpoints.hpp"

#include <initializer_list>

namespace holdfast::test::kill {
namespace {

constexpr auto kAll = [](const Round&) { return true; };
constexpr auto kNone = [](const Round&) { return false; };
constexpr auto kCells = [](const Round& round) { return has_cells(round); };
constexpr auto kFixedCells = [](const Round& round) { return has_cells(round) && !has_any_length(round); };
constexpr auto kWide = [](const Round& round) { return is_wide(round); };
constexpr auto kVariable = [](const Round& round) { return has_any_length(round); };
/// Both words of a slot say that it is occupied.
constexpr auto kTwoWords = [](const Round& round) { return has_cells(round) && !is_wide(round); };
constexpr auto kValueInSlot = [](const Round& round) { return !has_cells(round) && !is_wide(round); };
constexpr auto kInTwoSteps = [](const Round& round) { return !has_cells(round) || is_wide(round); };

constexpr FailpointFacts kFacts[] = {
    {"none", Theme::none, 1, 0, false, kNone},
    {"value_placed", Theme::slots, 1, 9, false, kCells},
    {"slot_half_written", Theme::slots, 3, 9, false, kTwoWords},
    {"value_before_key", Theme::slots, 1, 9, false, kValueInSlot},
    {"wide_key_half_written", Theme::slots, 1, 10, false, kWide},
    {"key_before_fingerprint", Theme::slots, 1, 9, false, kWide},
    {"slot_committed", Theme::slots, 1, 9, false, kAll},
    {"word_swapped", Theme::slots, 1, 8, false, kAll},
    {"slot_half_cleared", Theme::slots, 3, 7, false, kTwoWords},
    {"slot_cleared", Theme::slots, 1, 7, false, kAll},
    {"slab_entered", Theme::slots, 1, 2, true, kVariable},
    {"move_copied", Theme::moves, 4, 3, false, kAll},
    {"move_cleared", Theme::moves, 1, 3, false, kAll},
    {"level_allocated", Theme::resizes, 1, 1, false, kAll},
    {"level_added", Theme::resizes, 3, 1, false, kAll},
    {"rehash_copied", Theme::resizes, 3, 6, false, kAll},
    {"rehash_cleared", Theme::resizes, 3, 6, false, kAll},
    {"level_drained", Theme::resizes, 2, 1, false, kAll},
    {"level_released", Theme::resizes, 2, 1, false, kAll},
    {"phase_placed", Theme::phases, 1, 2, false, kCells},
    {"phase_half_written", Theme::phases, 3, 6, false, kTwoWords},
    {"phase_half_done", Theme::phases, 1, 2, false, kInTwoSteps},
    {"phase_committed", Theme::phases, 1, 2, false, kAll},
    {"heap_allocated", Theme::resizes, 1, 1, false, kFixedCells},
    {"directory_written", Theme::resizes, 1, 1, false, kAll},
    {"copy_half_written", Theme::pool, 1, 3, false, kAll},
    {"mark_cleared", Theme::pool, 1, 2, false, kAll},
    {"synced_without_mark", Theme::pool, 1, 1, false, kAll},
    {"pool_unnamed", Theme::pool, 1, 0, true, kAll},
    {"torn_half_cleared", Theme::none, 1, 0, false, kNone},
    {"copy_dropped", Theme::none, 1, 0, false, kNone},
};
static_assert(std::size(kFacts) == kFailpoints);

RecoveryFailpoints list(std::initializer_list<Failpoint> some) {
  RecoveryFailpoints all;
  for (const Failpoint at : some) all.at[all.size++] = at;
  return all;
}

}  // namespace

const FailpointFacts& facts_of(Failpoint at) { return kFacts[static_cast<unsigned>(at)]; }

const char* name_of(Kind kind) {
  constexpr const char* kNames[kKinds] = {"in_slots", "in_cells", "wide", "variable", "scored"};
  return kNames[static_cast<unsigned>(kind)];
}

RecoveryFailpoints mended_at(Failpoint at) {
  using enum Failpoint;
  switch (at) {
    case slot_half_written:
    case phase_half_written:
    case slot_half_cleared: return list({torn_half_cleared});
    case move_copied: return list({copy_dropped});
    case level_added:
    case rehash_copied:
    case rehash_cleared:
      return list({rehash_copied, rehash_cleared, level_drained, directory_written, copy_half_written, level_released});
    case level_drained: return list({directory_written, copy_half_written, level_released});
    default: return {};
  }
}

}  // namespace holdfast::test::kill

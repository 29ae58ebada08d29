// failpoints.cpp: which tables pass each failpoint.
#include "kill/table/failpoints.hpp"

#include <array>

namespace holdfast::proof::kill {
namespace {

constexpr auto kAll = [](const Round&) { return true; };
constexpr auto kNone = [](const Round&) { return false; };
constexpr auto kOneThread = [](const Round& round) { return round.threads == 1; };
constexpr auto kCells = [](const Round& round) { return has_cells(round); };
constexpr auto kFixedCells = [](const Round& round) { return has_cells(round) && !has_any_length(round); };
constexpr auto kWide = [](const Round& round) { return is_wide(round); };
constexpr auto kVariable = [](const Round& round) { return has_any_length(round); };
/// Both words of a slot say that it is occupied.
constexpr auto kTwoWords = [](const Round& round) { return has_cells(round) && !is_wide(round); };
constexpr auto kValueInSlot = [](const Round& round) { return !has_cells(round) && !is_wide(round); };
constexpr auto kInTwoSteps = [](const Round& round) { return !has_cells(round) || is_wide(round); };

constexpr FailpointFacts kFacts[] = {
    {Failpoint::value_placed, Theme::slots, 1, 9, false, kCells},
    {Failpoint::slot_half_written, Theme::slots, 3, 9, false, kTwoWords},
    {Failpoint::value_before_key, Theme::slots, 1, 9, false, kValueInSlot},
    {Failpoint::wide_key_half_written, Theme::slots, 1, 10, false, kWide},
    {Failpoint::key_before_fingerprint, Theme::slots, 1, 9, false, kWide},
    {Failpoint::slot_committed, Theme::slots, 1, 9, false, kAll},
    {Failpoint::word_swapped, Theme::slots, 1, 8, false, kAll},
    {Failpoint::slot_half_cleared, Theme::slots, 3, 7, false, kTwoWords},
    {Failpoint::slot_cleared, Theme::slots, 1, 7, false, kAll},
    {Failpoint::slab_entered, Theme::slots, 1, 2, true, kVariable},
    {Failpoint::move_copied, Theme::moves, 4, 3, false, kAll},
    {Failpoint::move_cleared, Theme::moves, 1, 3, false, kAll},
    {Failpoint::level_allocated, Theme::resizes, 1, 1, false, kAll},
    {Failpoint::level_added, Theme::resizes, 3, 1, false, kAll},
    {Failpoint::rehash_copied, Theme::resizes, 3, 6, false, kAll},
    {Failpoint::level_drained, Theme::resizes, 2, 1, false, kAll},
    {Failpoint::level_released, Theme::resizes, 2, 1, false, kAll},
    {Failpoint::phase_placed, Theme::phases, 1, 2, false, kCells},
    {Failpoint::phase_half_written, Theme::phases, 3, 6, false, kTwoWords},
    {Failpoint::phase_half_done, Theme::phases, 1, 2, false, kInTwoSteps},
    {Failpoint::phase_committed, Theme::phases, 1, 2, false, kAll},
    {Failpoint::heap_allocated, Theme::resizes, 1, 1, false, kFixedCells},
    {Failpoint::directory_written, Theme::resizes, 1, 1, false, kAll},
    {Failpoint::copy_half_written, Theme::pool, 1, 3, false, kAll},
    {Failpoint::mark_cleared, Theme::pool, 1, 2, false, kAll},
    {Failpoint::synced_without_mark, Theme::pool, 1, 1, false, kAll},
    {Failpoint::pool_unnamed, Theme::pool, 1, 0, true, kAll},
    {Failpoint::level_emptied, Theme::calls, 2, 2, false, kOneThread},
    {Failpoint::snapshot_headless, Theme::calls, 1, 1, false, kAll},
    {Failpoint::snapshot_unnamed, Theme::calls, 1, 1, false, kAll},
    {Failpoint::name_given, Theme::calls, 2, 1, false, kAll},
};

/// Failpoints that no table passes are not listed above.
constexpr auto kByNumber = [] {
  std::array<FailpointFacts, kFailpoints> all{};
  for (unsigned i = 0; i < kFailpoints; ++i) all[i] = {static_cast<Failpoint>(i), Theme::none, 1, 0, false, kNone};
  for (const FailpointFacts& facts : kFacts) all[static_cast<unsigned>(facts.at)] = facts;
  return all;
}();

}  // namespace

const FailpointFacts& facts_of(Failpoint at) { return kByNumber[static_cast<unsigned>(at)]; }

RecoveryFailpoints table_mended_at(Failpoint at) {
  using enum Failpoint;
  switch (at) {
    case slot_half_written:
    case phase_half_written:
    case slot_half_cleared: return list({torn_half_cleared});
    case move_copied: return list({copy_dropped});
    case level_added:
    case rehash_copied:
      return list({rehash_copied, level_drained, directory_written, copy_half_written, level_released});
    case level_drained: return list({directory_written, copy_half_written, level_released});
    default: return {};
  }
}

}  // namespace holdfast::proof::kill

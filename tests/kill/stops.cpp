// stops.cpp: the part of the campaign that has writers and recoveries stop at failpoints, and kills them there.
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <limits>

#include "campaign.hpp"
#include "holdfast/pool.hpp"

namespace holdfast::test::kill {
namespace {

std::uint32_t load(const std::uint32_t& word) {
  return std::atomic_ref(const_cast<std::uint32_t&>(word)).load(std::memory_order_acquire);
}

/// What a writer does beside its plan, so that it comes there.
Urge urge_to(Failpoint at, Theme theme) {
  if (theme == Theme::resizes) return Urge::grow;
  return at == Failpoint::synced_without_mark || at == Failpoint::copy_half_written ? Urge::sync : Urge::none;
}

/// A pool that is being made has no name yet, and one that is made has its table.
bool is_resizing(const std::string& path) {
  return std::filesystem::exists(path) && inspect(path).objects.at(0).table.resizing;
}

}  // namespace

Failpoint Campaign::choose_failpoint(const Round& round, bool exists) {
  const auto kind = static_cast<unsigned>(kind_of(round));
  Failpoint least = Failpoint::none;
  std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
  for (unsigned i = 1; i < kFailpoints; ++i) {
    const auto at = static_cast<Failpoint>(i);
    const FailpointFacts& facts = facts_of(at);
    if (facts.theme != round.theme || !facts.on(round) || (facts.first_life && exists)) continue;
    // Those that few were sent to, of this kind and of all; and fewer where many do not come to.
    const AtFailpoint& there = counts_.at[i];
    const std::uint64_t of_kind = 2 * there.kills[kind] + there.missed[kind];
    const std::uint64_t of_all = 2 * there.all_kills() + there.all_missed();
    const std::uint64_t tries = (64 * of_kind + 16 * of_all) / facts.weight + random_.below(16);
    if (tries >= fewest) continue;
    fewest = tries;
    least = at;
  }
  return least;
}

Failpoint Campaign::choose_mending(Failpoint at) {
  const RecoveryFailpoints there = mended_at(at);
  if (there.size == 0 || !random_.chance(30)) return Failpoint::none;
  return there.at[random_.below(there.size)];
}

void Campaign::arm(Failpoint at, std::uint32_t skipped) {
  failpoint::Page& page = shared_->failpoints;
  page.passed = page.stopped = 0;
  page.skipped = skipped;
  page.all = random_.chance(50) ? 1 : 0;
  std::atomic_ref(page.armed).store(static_cast<std::uint32_t>(at), std::memory_order_release);
}

template <class Begun>
bool Campaign::wait_for_stop(Child& child, std::uint64_t patience_us, const Begun& begun) {
  constexpr std::uint64_t kStarting = 60'000'000'000;
  std::uint64_t end = now_ns() + kStarting;
  bool has_begun = false;
  while (load(shared_->failpoints.stopped) == 0) {
    if (!has_begun && begun()) {
      has_begun = true;
      end = now_ns() + patience_us * 1000;
    }
    if (now_ns() > end || child.ended()) return false;
    usleep(20);
  }
  return true;
}

void Campaign::kill_at_failpoint(Child& writer, Failpoint at, Kind kind) {
  const bool slow = options_.device != "cpu" || shared_->round.large;
  const bool stopped = wait_for_stop(writer, slow ? 3'000'000 : 60'000, [&] { return shared_->writing.load() == 2; });
  stopped_in_resize_ = stopped && shared_->round.theme == Theme::resizes && is_resizing(shared_->path);
  if (stopped) usleep(static_cast<useconds_t>(random_.below(1u << random_.below(10))));  // the other threads go on
  writer.kill();
  AtFailpoint& there = counts_.at[static_cast<unsigned>(at)];
  ++(stopped ? there.kills : there.missed)[static_cast<unsigned>(kind)];
  counts_.at_failpoints += stopped ? 1 : 0;
}

bool Campaign::kill_mending(Failpoint at) {
  arm(at, static_cast<std::uint32_t>(random_.below(2)));
  Child recovery = start_recovery(false, true);
  const auto is_open = [&] { return shared_->stage.load() >= static_cast<std::uint32_t>(Stage::open); };
  const bool stopped = wait_for_stop(recovery, 0, is_open);
  recovery.kill();
  recovery.wait();
  if (recovery.failed()) violation("a recovery ended with " + recovery.fate() + ": " + shared_->error);
  counts_.at[static_cast<unsigned>(at)].recoveries += stopped ? 1 : 0;
  counts_.recovery_stops += stopped ? 1 : 0;
  return stopped;
}

void Campaign::prepare_stop(Failpoint at) {
  const FailpointFacts& facts = facts_of(at);
  arm(at, static_cast<std::uint32_t>(random_.below(1u << random_.below(facts.skip_bits + 1))));
  shared_->urge = urge_to(at, facts.theme);
  shared_->urge_from = static_cast<std::uint32_t>(1 + random_.below(6));
}

}  // namespace holdfast::test::kill

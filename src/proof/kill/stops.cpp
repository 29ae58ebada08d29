// stops.cpp: the part of the campaign that has writers and recoveries stop at failpoints, and kills them there.
#include <unistd.h>

#include <atomic>
#include <limits>

#include "proof/kill/campaign.hpp"

namespace holdfast::proof::kill {
namespace {

std::uint32_t load(const std::uint32_t& word) {
  return std::atomic_ref(const_cast<std::uint32_t&>(word)).load(std::memory_order_acquire);
}

}  // namespace

Stop Campaign::choose_stop(bool exists) {
  Stop least;
  std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
  for (const Stop& stop : subject_->stops(exists)) {
    // Those that few were sent to, of this kind and of all; and fewer where many do not come to.
    const AtFailpoint& there = counts_.at[static_cast<unsigned>(stop.at)];
    const std::uint64_t of_kind = 2 * there.kills[stop.kind] + there.missed[stop.kind];
    const std::uint64_t of_all = 2 * there.all_kills() + there.all_missed();
    const std::uint64_t tries = (64 * of_kind + 16 * of_all) / stop.weight + random_.below(16);
    if (tries >= fewest) continue;
    fewest = tries;
    least = stop;
  }
  return least;
}

Failpoint Campaign::choose_mending(Failpoint at) {
  const RecoveryFailpoints there = subject_->mended_at(at);
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

void Campaign::arm(const Stop& stop) {
  arm(stop.at, static_cast<std::uint32_t>(random_.below(1u << random_.below(stop.skip_bits + 1))));
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

void Campaign::kill_at_failpoint(Child& writer, const Stop& stop) {
  const bool stopped =
      wait_for_stop(writer, subject_->pace().patience_us, [&] { return shared_->writing.load() == 2; });
  if (stopped) {
    subject_->stopped();
    usleep(static_cast<useconds_t>(random_.below(1u << random_.below(10))));  // the other threads continue
  }
  writer.kill();
  AtFailpoint& there = counts_.at[static_cast<unsigned>(stop.at)];
  ++(stopped ? there.kills : there.missed)[stop.kind];
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

}  // namespace holdfast::proof::kill

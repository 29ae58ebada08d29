// campaign.cpp: the lives and deaths of writers and recoveries.
#include "campaign.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "holdfast/pool.hpp"

namespace holdfast::test::kill {
namespace {

void spin_ns(std::uint64_t ns) {
  for (const std::uint64_t end = now_ns() + ns; now_ns() < end;) {
  }
}

template <std::size_t N>
void copy_text(char (&to)[N], const std::string& from) {
  std::snprintf(to, N, "%s", from.c_str());
}

bool any_inside(const Shared& shared) {
  return std::any_of(std::begin(shared.journal), std::end(shared.journal),
                     [](const Journal& journal) { return journal.inside.load(std::memory_order_acquire) != 0; });
}

bool any_inside_large(const Shared& shared) {
  return std::any_of(std::begin(shared.journal), std::end(shared.journal), [](const Journal& journal) {
    return journal.inside.load(std::memory_order_acquire) != 0 && journal.rows.load() >= kLargeBatch;
  });
}

bool all_full(const Shared& shared) {
  return std::all_of(shared.journal, shared.journal + shared.round.threads,
                     [](const Journal& journal) { return journal.full.load(std::memory_order_acquire) != 0; });
}

Stage stage_of(const Shared& shared) { return static_cast<Stage>(shared.stage.load(std::memory_order_acquire)); }

}  // namespace

Campaign::Campaign(Options options)
    : options_(std::move(options)),
      random_(options_.seed),
      shared_(make_shared_memory(descriptor_)),
      began_ns_(now_ns()) {}

bool Campaign::over() const {
  const double seconds = static_cast<double>(now_ns() - began_ns_) / 1e9;
  if ((options_.seconds > 0 && seconds > options_.seconds) || counts_.violations.size() >= 5) return true;
  // Where the kills fall is chance, and on a busy machine often bad luck: then it takes more of them.
  return counts_.kills >= 10 * options_.kills ||
         (counts_.kills >= options_.kills && counts_.lacking(options_.kills, options_).empty());
}

void Campaign::violation(const std::string& what) {
  counts_.violations.push_back("pool seed " + std::to_string(pool_seed_) + ", life " + std::to_string(shared_->life) +
                               ", key_bytes " + std::to_string(shared_->round.key_bytes) + ", value_bytes " +
                               std::to_string(shared_->round.value_bytes) + ": " + what);
  std::fprintf(stderr, "VIOLATION %s\n", counts_.violations.back().c_str());
}

Counts Campaign::run() {
  while (!over()) run_pool(options_.seed * 1'000'003 + counts_.pools);
  counts_.seconds = static_cast<double>(now_ns() - began_ns_) / 1e9;
  return counts_;
}

Theme Campaign::next_theme() const {
  if (options_.stops == 0 || counts_.at_random * 100 < counts_.kills * (100 - options_.stops)) return Theme::none;
  const bool on_gpu = options_.device != "cpu";
  // A hundred kills on a GPU have to do for all.
  constexpr std::uint64_t kOnCpu[kThemes] = {1, 40, 20, 25, 15, 1}, kOnGpu[kThemes] = {1, 20, 30, 30, 5, 15};
  const std::uint64_t* const weights = on_gpu ? kOnGpu : kOnCpu;
  const auto share = [&](unsigned theme) {
    return std::accumulate(std::begin(kills_of_[theme]), std::end(kills_of_[theme]), std::uint64_t{0}) * 1000 /
           weights[theme];
  };
  unsigned least = 0;
  for (unsigned i = 1; i < kThemes; ++i) {
    const bool phases = static_cast<Theme>(i) == Theme::phases;
    const bool wanted = on_gpu && options_.large ? phases : on_gpu || !phases;
    if (wanted && (least == 0 || share(i) < share(least))) least = i;
  }
  return static_cast<Theme>(least);
}

Kind Campaign::next_kind(Theme theme) const {
  const auto& kills = kills_of_[static_cast<unsigned>(theme)];
  return static_cast<Kind>(std::min_element(std::begin(kills), std::end(kills)) - std::begin(kills));
}

std::uint64_t Campaign::lives_of(const Round& round) {
  if (round.theme == Theme::moves || round.theme == Theme::resizes) return 10 + random_.below(10);
  return round.grows ? 1 + random_.below(3) : 4 + random_.below(10);
}

void Campaign::run_pool(std::uint64_t seed) {
  pool_seed_ = seed;
  const Theme theme = next_theme();
  const Round round = make_round(seed, options_.large, theme, next_kind(theme));
  const bool on_disk = options_.folder.empty() && options_.device == "cpu" && random_.chance(25);
  const std::string folder = !options_.folder.empty() ? options_.folder
                             : on_disk                ? std::filesystem::temp_directory_path().string()
                                                      : "/dev/shm";
  const std::string path = folder + "/holdfast-kill-" + std::to_string(getpid()) + "-" + std::to_string(counts_.pools);
  copy_text(shared_->path, path);
  ++counts_.pools;
  counts_.on_disk += on_disk ? 1 : 0;
  Oracle oracle(round);
  bool exists = false, sound = true, has_more = true;
  const std::uint64_t lives = lives_of(round);
  for (std::uint32_t life = 0; life < lives && sound && has_more && !over(); ++life) {
    sound = run_life(round, life, oracle, exists);
    ++kills_of_[static_cast<unsigned>(theme)][static_cast<unsigned>(kind_of(round))];
    // Where there is room for all, nothing moves and nothing grows any more.
    has_more = !(round.theme == Theme::moves && shared_->found.slots > round.keys + round.keys / 4) &&
               !(round.theme == Theme::resizes && shared_->found.slots >= most_slots(round));
    if (options_.progress && counts_.kills % 20 == 0) {
      std::fprintf(stderr, "\r%llu kills, %llu recoveries", static_cast<unsigned long long>(counts_.kills),
                   static_cast<unsigned long long>(counts_.recoveries));
    }
  }
  if (exists && sound && inspect(path).medium == Medium::file) ++counts_.file_medium;
  counts_.calls += oracle.calls();
  counts_.operations += oracle.operations();
  counts_.pending_kept += oracle.pending_kept();
  counts_.pending_lost += oracle.pending_lost();
  counts_.reads_bound += oracle.reads_bound();
  if (!sound && options_.keep) return;
  std::filesystem::remove(path);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {  // what a killed creation left
    if (entry.path().string().rfind(path + ".", 0) == 0) std::filesystem::remove(entry.path());
  }
}

/// Most lives are short, since much happens early in one. A large batch takes milliseconds, and the first ones of a process
/// with a GPU far more, so lives of those are of any length.
std::uint64_t Campaign::life_us(const Round& round) {
  constexpr std::uint64_t kShort = 6'000, kLong = 200'000;
  const bool slow = round.large || options_.device != "cpu";
  const std::uint64_t longest = options_.life_us != 0 ? options_.life_us : slow ? kLong : kShort;
  return slow ? random_.below(longest) : random_.below(1u << random_.below(14)) * longest / 8192;
}

void Campaign::kill_writer(Child& writer) {
  const Round& round = shared_->round;
  const auto how = random_.below(100);
  if (how < 4) {  // anywhere from its first instruction on
    spin_ns(random_.below(4'000'000));
  } else if (how < 10) {  // while it creates or opens the pool
    while (shared_->writing.load(std::memory_order_acquire) == 0 && !writer.ended()) {
    }
    spin_ns(random_.below(1u << random_.below(20)));
  } else {
    const std::uint64_t give_up = now_ns() + 60'000'000'000;
    while (shared_->writing.load(std::memory_order_acquire) < 2 && !writer.ended() && now_ns() < give_up) usleep(50);
    usleep(static_cast<useconds_t>(life_us(round)));
    const std::uint64_t in_the_end = now_ns() + 10'000'000'000;
    while (how < 60 && !any_inside(*shared_) && !all_full(*shared_) && !writer.ended() && now_ns() < in_the_end) {
    }
    // Large batches take longer, and those of a GPU: the blow may fall anywhere in one.
    spin_ns(random_.below(1u << random_.below(round.large ? 22 : options_.device != "cpu" ? 20 : 16)));
  }
  writer.kill();
}

Child Campaign::start_recovery(bool waits, bool with_failpoints) {
  std::memset(static_cast<void*>(&shared_->found), 0, offsetof(Found, contained));
  shared_->found.check_errors[0] = 0;
  shared_->error[0] = 0;
  shared_->go = 0;
  shared_->stage = 0;
  shared_->wait = waits ? 1 : 0;
  const bool on_gpu = options_.device != "cpu" && random_.chance(50);
  copy_text(shared_->recovery_device, on_gpu ? options_.device : "cpu");
  constexpr Ending kEndings[] = {Ending::close, Ending::exit, Ending::wait_for_kill};
  shared_->ending = kEndings[random_.below(3)];
  Child child(with_failpoints ? program_with_failpoints() : this_program(), "reopen", descriptor_);
  while (waits && stage_of(*shared_) == Stage::none && !child.ended()) wait_while(shared_->stage, 0, 20);
  return child;
}

bool Campaign::kill_recovery(Child& recovery) {
  const std::uint64_t give_up = now_ns() + 60'000'000'000;
  while (stage_of(*shared_) < Stage::opening && !recovery.ended() && now_ns() < give_up) {
  }
  spin_ns(random_.below(static_cast<std::uint64_t>(recovery_ns_ * aim_) + 1));
  recovery.kill();
  recovery.wait();
  const bool in_time = stage_of(*shared_) == Stage::opening && recovery.was_killed();
  aim_ = std::clamp(aim_ * (in_time ? 1.05 : 0.85), 0.02, 1.2);
  if (recovery.failed()) violation("a recovery ended with " + recovery.fate() + ": " + shared_->error);
  return in_time;
}

void Campaign::kill_recoveries(Child& recovery, bool killed_before) {
  // A blow can come too late; then the pool was recovered, and the next process has less to do.
  const bool wanted = random_.chance(counts_.recoveries_killed * 100 < counts_.recoveries * 30 ? 70 : 20);
  bool killed = killed_before;
  counts_.recovery_kills += killed_before ? 1 : 0;
  for (int blows = 0; wanted && blows < 8 && (!killed || random_.chance(30)); ++blows) {
    const bool in_time = kill_recovery(recovery);
    counts_.recovery_kills += in_time ? 1 : 0;
    killed |= in_time;
    recovery = start_recovery(false);
  }
  ++counts_.recoveries;
  counts_.recoveries_killed += killed ? 1 : 0;
}

bool Campaign::wait_for_verified(Child& recovery) {
  const std::uint64_t give_up = now_ns() + 600'000'000'000;
  for (Stage stage = stage_of(*shared_); stage < Stage::verified; stage = stage_of(*shared_)) {
    if (recovery.ended() && stage_of(*shared_) < Stage::verified) break;
    if (now_ns() > give_up) {
      violation("a recovery hangs");
      return false;
    }
    wait_while(shared_->stage, static_cast<std::uint32_t>(stage), 20);
  }
  if (stage_of(*shared_) == Stage::verified) return true;
  recovery.wait();
  violation("a recovery failed: " + recovery.fate() + ": " + shared_->error);
  return false;
}

void Campaign::begin_life(const Round& round, std::uint32_t life, bool creates) {
  shared_->round = round;
  shared_->life = life;
  shared_->create = creates ? 1 : 0;
  shared_->again_ms = options_.again_ms;
  shared_->writing = 0;
  shared_->phased = 0;
  shared_->urge = Urge::none;
  copy_text(shared_->device, options_.device);
  for (Journal& journal : shared_->journal) {
    journal.inside = journal.full = 0;
    journal.number = journal.used = 0;
    journal.rows = 0;
  }
}

void Campaign::count_life(const Found& found, Failpoint at, Kind kind) {
  const auto took = static_cast<double>(shared_->opened_ns - shared_->opening_ns);
  recovery_ns_ = 0.9 * recovery_ns_ + 0.1 * std::min(took, 2e6);  // an outlier is not what the next will take
  counts_.max_recovery_ms = std::max(counts_.max_recovery_ms, took / 1e6);
  counts_.addresses += found.address != last_address_ ? 1 : 0;
  last_address_ = found.address;
  counts_.repaired += found.repaired;
  counts_.moved += found.moved;
  counts_.rehashed += found.rehashed;
  counts_.continued += stopped_in_resize_ ? 1 : 0;
  counts_.largest = std::max(counts_.largest, found.size);
  counts_.keys_verified += shared_->round.keys;
  ++counts_.lives[static_cast<unsigned>(kind)];
  AtFailpoint& there = counts_.at[static_cast<unsigned>(at)];
  there.repaired += found.repaired;
  there.moved += found.moved;
  there.rehashed += found.rehashed;
}

bool Campaign::run_life(const Round& round, std::uint32_t life, Oracle& oracle, bool& exists) {
  begin_life(round, life, !exists);
  const Kind kind = kind_of(round);
  const Failpoint at = round.theme == Theme::none ? Failpoint::none : choose_failpoint(round, exists);
  const bool stops = at != Failpoint::none;
  stopped_in_resize_ = false;
  const Failpoint mending = choose_mending(at);
  if (stops) prepare_stop(at);
  Child recovery;
  if (mending == Failpoint::none) recovery = start_recovery(true);
  Child writer(stops ? program_with_failpoints() : this_program(), "write", descriptor_);
  stops ? kill_at_failpoint(writer, at, kind) : kill_writer(writer);
  if (mending == Failpoint::none) set_and_wake(shared_->go, 1);  // before the dead process has wholly gone
  writer.wait();
  if (!writer.was_killed()) {
    violation("a writer ended with " + writer.fate() + ": " + shared_->error);
    return false;
  }
  ++counts_.kills;
  counts_.at_random += round.theme == Theme::none ? 1 : 0;
  counts_.inside += any_inside(*shared_) && !stops ? 1 : 0;
  counts_.inside_large += any_inside_large(*shared_) && !stops ? 1 : 0;
  counts_.phased += shared_->phased.load(std::memory_order_acquire);
  counts_.starting += shared_->writing.load() == 1 && !stops ? 1 : 0;
  const bool was_made = exists || shared_->writing.load() == 2;
  for (const std::string& what : oracle.replay(*shared_)) violation(what);

  const bool stopped = mending != Failpoint::none && kill_mending(mending);
  if (mending != Failpoint::none) recovery = start_recovery(false);
  kill_recoveries(recovery, stopped);
  if (!wait_for_verified(recovery)) return false;
  if (shared_->ending == Ending::wait_for_kill) recovery.kill();
  recovery.wait();
  if (recovery.failed()) violation("a recovery ended with " + recovery.fate() + ": " + shared_->error);

  const Found& found = shared_->found;
  if (found.missing != 0) {
    if (was_made) violation("the pool is gone");
    exists = false;
    return !was_made;
  }
  exists = true;
  count_life(found, at, kind);
  const std::size_t before = counts_.violations.size();
  if (inspect(shared_->path).objects.at(0).table.resizing) violation("a resize was left unfinished");
  for (const std::string& what : oracle.verify(found)) violation(what);
  return counts_.violations.size() == before;
}

}  // namespace holdfast::test::kill

// campaign.cpp: the lives and deaths of writers and recoveries.
#include "proof/kill/campaign.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "holdfast/pool.hpp"

namespace holdfast::proof::kill {
namespace {

void spin_ns(std::uint64_t ns) {
  for (const std::uint64_t end = now_ns() + ns; now_ns() < end;) {
  }
}

std::string role_of(const SubjectKind& kind, const char* what) { return std::string(kind.name) + "-" + what; }

Stage stage_of(const Shared& shared) { return static_cast<Stage>(shared.stage.load(std::memory_order_acquire)); }

}  // namespace

Campaign::Campaign(Options options, const SubjectKind& kind)
    : options_(std::move(options)),
      kind_(kind),
      random_(options_.seed),
      shared_(make_shared_memory(descriptor_, kind.part_bytes)),
      subject_(kind.make(options_, *shared_)),
      began_ns_(now_ns()) {}

bool Campaign::over() const {
  const double seconds = static_cast<double>(now_ns() - began_ns_) / 1e9;
  if ((options_.seconds > 0 && seconds > options_.seconds) || counts_.violations.size() >= 5) return true;
  // Where the kills fall is chance, and on a busy machine often bad luck: then it takes more of them.
  return counts_.kills >= 10 * options_.kills || (counts_.kills >= options_.kills && lacking(options_.kills).empty());
}

void Campaign::violation(const std::string& what) {
  counts_.violations.push_back(std::string(kind_.name) + ", pool seed " + std::to_string(pool_seed_) + ", life " +
                               std::to_string(shared_->life) + ", " + subject_->about() + ": " + what);
  std::fprintf(stderr, "VIOLATION %s\n", counts_.violations.back().c_str());
}

const KillCounts& Campaign::run() {
  while (!over()) run_pool(options_.seed * 1'000'003 + counts_.pools);
  counts_.seconds = static_cast<double>(now_ns() - began_ns_) / 1e9;
  return counts_;
}

void Campaign::run_pool(std::uint64_t seed) {
  pool_seed_ = seed;
  stops_ = options_.stops != 0 && counts_.at_random * 100 >= counts_.kills * (100 - options_.stops);
  const std::uint64_t lives = subject_->begin_pool(seed, stops_, random_);
  const bool on_disk = options_.folder.empty() && !options_.on_gpu() && random_.chance(25);
  const std::string folder = !options_.folder.empty() ? options_.folder
                             : on_disk                ? std::filesystem::temp_directory_path().string()
                                                      : "/dev/shm";
  const std::string path = folder + "/holdfast-kill-" + std::to_string(getpid()) + "-" + std::to_string(counts_.pools);
  copy_text(shared_->path, path);
  ++counts_.pools;
  counts_.on_disk += on_disk ? 1 : 0;
  bool exists = false, sound = true;
  for (std::uint32_t life = 0; life < lives && sound && (life == 0 || subject_->has_more()) && !over(); ++life) {
    sound = run_life(life, exists);
    if (options_.progress && counts_.kills % 20 == 0) {
      std::fprintf(stderr, "\r%s: %llu kills, %llu recoveries", kind_.name,
                   static_cast<unsigned long long>(counts_.kills), static_cast<unsigned long long>(counts_.recoveries));
    }
  }
  if (exists && sound && inspect(path).medium == Medium::file) ++counts_.file_medium;
  subject_->end_pool();
  if (sound || !options_.keep) remove_pool(path);
}

void Campaign::remove_pool(const std::string& path) {
  for (const std::string& pool : {path, snapshot_of(path)}) {
    std::filesystem::remove(pool);
    for (const std::string& name : beside(pool)) std::filesystem::remove(name);  // what a killed creation left
  }
}

/// Most lives are short, since much happens early in one. A large batch takes milliseconds, and the first ones of a process
/// with a GPU many more, so lives of those are of any length.
std::uint64_t Campaign::life_us(const Pace& pace) {
  const std::uint64_t longest = options_.life_us != 0 ? options_.life_us : pace.longest_us;
  return pace.slow ? random_.below(longest) : random_.below(1u << random_.below(14)) * longest / 8192;
}

void Campaign::kill_writer(Child& writer) {
  const Pace pace = subject_->pace();
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
    usleep(static_cast<useconds_t>(life_us(pace)));
    const std::uint64_t in_the_end = now_ns() + 10'000'000'000;
    while (how < 60 && !subject_->is_inside() && !subject_->is_full() && !writer.ended() && now_ns() < in_the_end) {
    }
    spin_ns(random_.below(1u << random_.below(pace.call_bits)));
  }
  writer.kill();
}

Child Campaign::start_recovery(bool waits, bool with_failpoints) {
  shared_->recovered = {};
  subject_->forget_found();
  shared_->error[0] = 0;
  shared_->go = 0;
  shared_->stage = 0;
  shared_->wait = waits ? 1 : 0;
  const bool on_gpu = options_.on_gpu() && random_.chance(50);
  copy_text(shared_->recovery_device, on_gpu ? options_.device : "cpu");
  constexpr Ending kEndings[] = {Ending::close, Ending::exit, Ending::wait_for_kill};
  shared_->ending = kEndings[random_.below(3)];
  Child child(with_failpoints ? program_with_failpoints() : this_program(), role_of(kind_, "reopen"), descriptor_);
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

void Campaign::begin_life(std::uint32_t life, bool creates) {
  shared_->life = life;
  shared_->create = creates ? 1 : 0;
  shared_->again_ms = options_.again_ms;
  shared_->writing = 0;
  copy_text(shared_->device, options_.device);
}

void Campaign::count_life(const Stop& stop) {
  const Recovered& recovered = shared_->recovered;
  const auto took = static_cast<double>(shared_->opened_ns - shared_->opening_ns);
  recovery_ns_ = 0.9 * recovery_ns_ + 0.1 * std::min(took, 2e6);  // an outlier is not what the next will take
  counts_.max_recovery_ms = std::max(counts_.max_recovery_ms, took / 1e6);
  counts_.addresses += recovered.address != last_address_ ? 1 : 0;
  last_address_ = recovered.address;
  const Mended mended{recovered.repaired, recovered.moved, recovered.rehashed};
  counts_.mended += mended;
  counts_.at[static_cast<unsigned>(stop.at)].mended += mended;
  ++counts_.lives[subject_->kind()];
}

Child Campaign::start_writer(bool stops) {
  return {stops ? program_with_failpoints() : this_program(), role_of(kind_, "write"), descriptor_};
}

bool Campaign::end_writer(Child& writer, const Stop& stop) {
  writer.wait();
  if (!writer.was_killed()) {
    violation("a writer ended with " + writer.fate() + ": " + shared_->error);
    return false;
  }
  const bool stops = stop.at != Failpoint::none;
  ++counts_.kills;
  counts_.at_random += stops_ ? 0 : 1;
  counts_.inside += subject_->is_inside() && !stops ? 1 : 0;
  counts_.starting += shared_->writing.load() == 1 && !stops ? 1 : 0;
  for (const std::string& what : subject_->replay(stops)) violation(what);
  return true;
}

bool Campaign::judge(const Stop& stop, bool was_made, bool& exists) {
  exists = shared_->recovered.missing == 0;
  if (!exists) {
    if (was_made) violation("the pool is gone");
    return !was_made;
  }
  const std::size_t before = counts_.violations.size();
  for (const std::string& what : subject_->verify()) violation(what);
  count_life(stop);
  for (const std::string& name : beside(shared_->path)) violation(name + " was left beside the pool");
  return counts_.violations.size() == before;
}

bool Campaign::run_life(std::uint32_t life, bool& exists) {
  begin_life(life, !exists);
  const Stop stop = stops_ ? choose_stop(exists) : Stop{};
  const bool stops = stop.at != Failpoint::none;
  const Failpoint mending = choose_mending(stop.at);
  const bool waits = mending == Failpoint::none;
  if (stops) arm(stop);
  subject_->begin_life(stop, random_);
  Child recovery;
  if (waits) recovery = start_recovery(true);
  Child writer = start_writer(stops);
  stops ? kill_at_failpoint(writer, stop) : kill_writer(writer);
  if (waits) set_and_wake(shared_->go, 1);  // before the dead process has wholly gone
  if (!end_writer(writer, stop)) return false;
  const bool was_made = exists || shared_->writing.load() == 2;

  const bool stopped = !waits && kill_mending(mending);
  if (!waits) recovery = start_recovery(false);
  kill_recoveries(recovery, stopped);
  if (!wait_for_verified(recovery)) return false;
  if (shared_->ending == Ending::wait_for_kill) recovery.kill();
  recovery.wait();
  if (recovery.failed()) violation("a recovery ended with " + recovery.fate() + ": " + shared_->error);
  return judge(stop, was_made, exists);
}

}  // namespace holdfast::proof::kill

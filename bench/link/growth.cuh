// growth.cuh: the studies `resize` and `recovery`: how long a table takes to grow, and to open after its process was killed.
#pragma once

#include <spawn.h>
#include <sys/wait.h>

#include <csignal>

#include "bench.cuh"

extern char** environ;

namespace holdfast::bench {

/// A resize of 32 M items; room for the new level is made, zeroed and registered beside.
inline Json resize_study(Setup setup) {
  setup.items = 32 * kMi;
  Json sizes = Json::array();
  std::vector<double> rehash, space;
  bool failed = false;
  for (unsigned r = 0; r < 3; ++r) {
    Bench bench(setup);
    bench.make();
    bench.load();
    const std::uint64_t slots = bench.table().slots();
    bench.table().reserve(slots + 1);
    const Stats stats = bench.table().stats();
    rehash.push_back(stats.growth.last_resize_ms);
    space.push_back(stats.growth.last_resize_alloc_ms);
    say("resize from %llu to %llu slots: %.1f ms, and %.1f ms to make room", static_cast<unsigned long long>(slots),
        static_cast<unsigned long long>(stats.space.slots), stats.growth.last_resize_ms,
        stats.growth.last_resize_alloc_ms);
    bench.find("find after the resize", bench.uniform(), 4 * kMi);
    failed |= bench.failed() || stats.growth.resizes != 1;
  }
  return {{"items", setup.items},
          {"value_bytes", setup.value_bytes},
          {"failed", failed},
          {"rehash_ms", spread(rehash)},
          {"space_ms", spread(space)}};
}
inline const Study kResize("resize", resize_study);

/// Loads a table and kills its own process: `recovery` runs it as a child.
[[noreturn]] inline Json fill_and_die(const Setup& setup) {
  Bench bench(setup);
  bench.make();
  bench.load(16 * kMi);
  if (bench.failed()) std::_Exit(1);
  raise(SIGKILL);
  std::_Exit(1);
}
inline const Study kFillAndDie("fill-and-die", fill_and_die, false);

/// Runs this program again as `fill-and-die`. True if it died by the signal it sent itself.
inline bool run_victim(const char* program, const Setup& setup) {
  const std::string items = std::to_string(setup.items), bytes = std::to_string(setup.value_bytes);
  const char* const words[] = {program,       "fill-and-die", "--items",          items.c_str(), "--value-bytes",
                               bytes.c_str(), "--pool",       setup.pool.c_str(), nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, const_cast<char**>(words), environ) != 0) return false;
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/// Opening after a kill, by size; values in their slots, so that slots are all there is.
inline Json recovery_study(Setup setup) {
  setup.value_bytes = 8;
  Json sizes = Json::array();
  bool failed = false;
  for (std::uint64_t slots = 3 * kMi; slots <= setup.most_slots; slots *= 4) {
    setup.items = slots / 4 * 3;
    if (!run_victim("holdfast-link-bench", setup)) {
      say("%s", "the process to be killed ended by itself");
      failed = true;
      break;
    }
    Bench bench(setup);
    bench.reopen();
    const Stats stats = bench.table().stats();
    failed |= stats.space.size != setup.items || stats.recovery.was_clean;
    bench.find("find after recovery", bench.uniform(), 4 * kMi);
    failed |= bench.failed();
    sizes.push_back({{"slots", stats.space.slots},
                     {"items", stats.space.size},
                     {"recovery_ms", stats.recovery.recovery_ms},
                     {"map_ms", stats.recovery.map_ms},
                     {"cached_ratio", stats.bucket_cache.ratio}});
  }
  return {{"items", setup.items}, {"value_bytes", setup.value_bytes}, {"failed", failed}, {"sizes", sizes}};
}
inline const Study kRecovery("recovery", recovery_study);

}  // namespace holdfast::bench

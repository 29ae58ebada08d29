// recovery.cpp: the study `recovery`: Table 3. A process loads a table in a pool and is killed; another opens it.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>
#include <stdexcept>

#include "frame/json.hpp"
#include "frame/keys.hpp"
#include "holdfast/structures.hpp"
#include "structures/workload.hpp"

namespace holdfast::bench::structures {
namespace {

constexpr std::uint64_t kRecoverySeed = 17;

/// What the process that loads says before it is killed.
struct Loaded {
  double seconds = 0;
  std::uint64_t items = 0;
};

Key recovery_key(std::uint64_t item) { return {key_of(item, kRecoverySeed), item}; }

/// Loads a table to half of its cells, one insert a call, and is killed. Runs in a child.
[[noreturn]] void load_and_die(const Setup& setup, unsigned bits, unsigned item_bytes, Loaded& loaded) {
  const Emulation emulation{{pool::FlushKind::clflush}, Delay::calibrated().ticks(300)};
  const EmulatedPool flushes(emulation);
  Pool pool = Pool::create(setup.pool, true);
  const std::uint64_t cells = std::uint64_t{1} << bits;
  GroupTable table =
      GroupTable::create(pool, "t", {.item_bytes = item_bytes, .cells = cells, .seed = kRecoverySeed, .flush = true});
  const auto start = Clock::now();
  for (std::uint64_t item = 0; item < cells / 2; ++item) {
    const Key key = recovery_key(item);
    if (table.insert_new(key.data(), value_of(key).data()) != Status::inserted) _exit(1);
  }
  loaded.seconds = seconds_since(start);
  loaded.items = cells / 2;
  kill(getpid(), SIGKILL);
  for (;;) pause();  // ends: it is killed
}

struct Reopened {
  double load_seconds = 0, open_ms = 0;
};
Reopened recover_once(const Setup& setup, unsigned bits, unsigned item_bytes, Loaded& loaded) {
  loaded = {};
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process can be made");
  if (child == 0) {
    try {
      load_and_die(setup, bits, item_bytes, loaded);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSIGNALED(status) || loaded.items == 0) throw std::runtime_error("the process that loads a table failed");
  Reopened recovered{loaded.seconds, 0};
  {
    Pool pool = Pool::open(setup.pool);
    const auto start = Clock::now();
    GroupTable table = GroupTable::open(pool, "t");
    recovered.open_ms = seconds_since(start) * 1e3;
    if (table.check().was_clean || table.size() != loaded.items) throw std::runtime_error("a killed table is wrong");
  }
  unlink(setup.pool.c_str());
  return recovered;
}

Json study_recovery(const Setup& setup) {
  const unsigned most_bits = setup.bits == 0 ? 26 : setup.bits;
  void* const shared = mmap(nullptr, sizeof(Loaded), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("no memory can be shared with a child");
  Loaded& loaded = *new (shared) Loaded;
  Delay::calibrated();
  Json rows = Json::array();
  for (const unsigned item_bytes : {16u, 32u}) {
    double least = 0, largest = 0;  // milliseconds of a million cells
    Json sizes = Json::array();
    for (unsigned bits = most_bits - 3; bits <= most_bits; ++bits) {
      std::vector<double> loads, opens, parts;
      for (unsigned run = 0; run < setup.runs; ++run) {
        progress("recovery: items of " + std::to_string(item_bytes) + " bytes, 2^" + std::to_string(bits) + ", run " +
                 std::to_string(run + 1));
        const Reopened one = recover_once(setup, bits, item_bytes, loaded);
        loads.push_back(one.load_seconds);
        opens.push_back(one.open_ms);
        parts.push_back(one.open_ms / one.load_seconds / 1e3);
      }
      const double per_cell = spread_of(opens).median / static_cast<double>(std::uint64_t{1} << bits) * 1e6;
      least = least == 0 ? per_cell : std::min(least, per_cell);
      largest = std::max(largest, per_cell);
      sizes.push_back({{"item_bytes", item_bytes},
                       {"bits", bits},
                       {"mib", (std::uint64_t{item_bytes} << bits) >> 20},
                       {"load_s", spread(loads)},
                       {"recovery_ms", spread(opens)},
                       {"of_load", spread(parts)}});
    }
    rows.push_back(
        {{"item_bytes", item_bytes}, {"time_per_cell_largest_over_least", rounded(largest / least)}, {"sizes", sizes}});
  }
  munmap(shared, sizeof(Loaded));
  return {{"emulated", "clflush, 300 ns"}, {"load", 0.5}, {"by_item", rows}};
}
const Study kRecovery("recovery", study_recovery);

}  // namespace
}  // namespace holdfast::bench::structures

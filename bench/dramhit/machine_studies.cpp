// machine_studies.cpp: what the machine does to such tables: limits, synchronization, messages. DRAMHiT Table 1, Figures 2, 5.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "dramhit/rounds.hpp"
#include "frame/anonymous_memory.hpp"
#include "frame/distribution.hpp"
#include "holdfast/error.hpp"
#include "memory/limits.hpp"
#include "structures/dramhit/partitions/delegation.hpp"

namespace holdfast::bench::dramhit {
namespace {

struct alignas(64) Cell {
  std::atomic<std::uint64_t> value;
  std::atomic_flag lock;
};

/// Time stamps an access, by threads that change lines drawn from a distribution.
double synchronized(Cell* cells, const Distribution& drawn, std::uint64_t lines, bool locks, const Setup& setup) {
  const std::uint64_t each = setup.operations / setup.threads / 16;
  std::vector<std::uint64_t> cycles(setup.threads, 0);
  together(setup.threads, [&](unsigned t) {
    Random random(t + 1);
    std::vector<std::uint64_t> at(4096);
    for (std::uint64_t done = 0; done < each; done += at.size()) {
      for (std::uint64_t& i : at) i = drawn.draw(random, lines, 0);
      const std::uint64_t from = ticks();
      for (const std::uint64_t i : at) {
        Cell& cell = cells[i];
        if (locks) {
          while (cell.lock.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
          cell.value.store(cell.value.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
          cell.lock.clear(std::memory_order_release);
        } else {
          cell.value.fetch_add(1, std::memory_order_relaxed);
        }
      }
      cycles[t] += ticks() - from;
    }
  });
  double sum = 0;
  const std::uint64_t rounds = (each + 4095) / 4096 * 4096;
  for (const std::uint64_t c : cycles) sum += static_cast<double>(c) / static_cast<double>(rounds);
  return sum / setup.threads;
}

double message_cycles(unsigned producers, unsigned consumers, std::uint64_t messages) {
  using namespace holdfast::dramhit;
  const Format format{8, 8, consumers};
  const Engine& engine = engine_for(format);
  Core core(format, 100'000, 9, {}, false, engine);
  Delegation delegation(engine, core, 16);
  std::vector<std::uint64_t> cycles(producers, 0);
  together(producers, [&](unsigned t) {
    Producer producer(delegation, {});
    // One key a partition: what is timed is the way, not the table.
    std::vector<std::uint64_t> hashes(consumers);
    for (unsigned c = 0; c < consumers; ++c) hashes[c] = (~std::uint64_t{0} / consumers) * c + 1000 + t;
    const std::uint64_t from = ticks();
    for (std::uint64_t i = 0; i < messages; i += consumers) {
      for (unsigned c = 0; c < consumers; ++c) static_cast<void>(producer.send(Op::accumulate, hashes[c], 1));
    }
    producer.flush();
    cycles[t] = ticks() - from;
  });
  double sum = 0;
  for (const std::uint64_t c : cycles) sum += static_cast<double>(c) / static_cast<double>(messages);
  return sum / producers;
}

/// Table 1: random lines, by threads.
Json study_limits(const Setup& setup) {
  Json runs = Json::array();
  for (const std::uint64_t mebibytes : {16, 1024, 4096}) {
    for (unsigned threads = 1; threads <= setup.threads; threads *= 2) {
      progress("limits: " + std::to_string(mebibytes) + " MiB, " + std::to_string(threads) + " threads");
      std::vector<double> read, update;
      for (unsigned i = 0; i < setup.repetitions; ++i) {
        const std::uint64_t each = setup.operations / threads;
        read.push_back(measure_limit("random_read", mebibytes << 20, each, threads, true) / 1e6);
        update.push_back(measure_limit("random_update", mebibytes << 20, each, threads, true) / 1e6);
      }
      runs.push_back({{"mebibytes", mebibytes},
                      {"threads", threads},
                      {"read_mops", spread(read)},
                      {"update_mops", spread(update)}});
    }
  }
  return {{"runs", runs}};
}
const Study kLimits("limits", study_limits);

/// Figure 2: lock and atomic increment, by skew.
Json study_locks(const Setup& setup) {
  Json runs = Json::array();
  for (const std::uint64_t mebibytes : {32, 1024}) {
    const std::uint64_t lines = (mebibytes << 20) / sizeof(Cell);
    const AnonymousMemory memory(mebibytes << 20, true);
    for (const double theta : {0.0, 0.4, 0.8, 0.99, 1.09, 1.2}) {
      const Distribution drawn(theta == 0 ? Popularity::uniform : Popularity::zipfian, lines,
                               theta == 0 ? 0.99 : theta);
      progress("locks: " + std::to_string(mebibytes) + " MiB, theta " + std::to_string(theta));
      std::vector<double> locked, added;
      for (unsigned i = 0; i < setup.repetitions; ++i) {
        locked.push_back(synchronized(memory.as<Cell>(), drawn, lines, true, setup));
        added.push_back(synchronized(memory.as<Cell>(), drawn, lines, false, setup));
      }
      runs.push_back(
          {{"mebibytes", mebibytes}, {"theta", theta}, {"lock_cycles", spread(locked)}, {"add_cycles", spread(added)}});
    }
  }
  return {{"threads", setup.threads}, {"runs", runs}};
}
const Study kLocks("locks", study_locks);

/// Figure 5: cycles a message, producers by consumers.
Json study_messages(const Setup& setup) {
  Json runs = Json::array();
  for (unsigned producers = 1; producers <= 8 && producers < std::max(setup.threads, 2u); producers *= 2) {
    for (unsigned consumers = 1; consumers <= 8 && producers + consumers <= setup.threads; consumers *= 2) {
      progress("messages: " + std::to_string(producers) + " producers, " + std::to_string(consumers) + " consumers");
      std::vector<double> cycles;
      for (unsigned i = 0; i < setup.repetitions; ++i) {
        cycles.push_back(message_cycles(producers, consumers, setup.operations / 4));
      }
      runs.push_back({{"producers", producers}, {"consumers", consumers}, {"cycles", spread(cycles)}});
    }
  }
  return {{"runs", runs}};
}
const Study kMessages("messages", study_messages);

}  // namespace
}  // namespace holdfast::bench::dramhit

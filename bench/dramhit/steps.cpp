// steps.cpp: what a change of a random slot costs: a bare loop with one instruction or another, then what a table's queue adds to it.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/hash.hpp"
#include "dramhit/rounds.hpp"
#include "frame/anonymous_memory.hpp"
#include "memory/limits.hpp"
#include "structures/dramhit/simd/tile.hpp"

namespace holdfast::bench::dramhit::steps {
namespace {

using holdfast::dramhit::high;
using holdfast::dramhit::Line;
using holdfast::dramhit::Pair;
using Slots = holdfast::dramhit::SlotMemory<holdfast::dramhit::PortableTile, false>;

enum class How { read, store, add, exchange, compare, compare_and_store, compare_pair };
enum class With { nothing, results, tasks, counts };  ///< each with what is before it

constexpr std::size_t kRows = 16384;
constexpr unsigned kDepth = 64, kRing = 128;

struct alignas(64) Task {
  Line* line = nullptr;
  std::uint64_t slot = 0, hash = 0, given = 0, id = 0, state = 0;
};
/// The memory of one thread.
struct Thread {
  std::array<Task, kRing> tasks;
  std::array<std::uint16_t, 1024> sets = {};
  std::array<std::uint64_t, 16> counts = {};
  std::vector<std::uint64_t> keys = std::vector<std::uint64_t>(kRows), ids = keys, values = keys;
  std::vector<std::uint8_t> statuses = std::vector<std::uint8_t>(kRows);
};

template <How kHow>
[[gnu::always_inline]] inline bool change(Line* line, unsigned slot, std::uint64_t value) {
  std::uint64_t* const at = &line->slots[slot].value;
  if constexpr (kHow == How::store) __atomic_store_n(at, value, __ATOMIC_RELEASE);
  if constexpr (kHow == How::add) return __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL) != value;
  if constexpr (kHow == How::exchange) return __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL) != value;
  if constexpr (kHow == How::compare || kHow == How::compare_and_store) {
    std::uint64_t* const word = kHow == How::compare ? at : &line->slots[slot].word;
    std::uint64_t seen = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    const bool done = __atomic_compare_exchange_n(word, &seen, kHow == How::compare ? value : seen | 2, false,
                                                  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (kHow == How::compare_and_store) __atomic_store_n(at, value, __ATOMIC_RELEASE);
    return done;
  }
  if constexpr (kHow == How::compare_pair) {
    const Pair seen{Slots::load_word(line, slot), __atomic_load_n(at, __ATOMIC_ACQUIRE)};
    return Slots::swap(line, slot, seen, {seen.word | 2, value});
  }
  return __atomic_load_n(at, __ATOMIC_ACQUIRE) != value;
}

template <How kHow, With kWith>
[[gnu::noinline]] std::uint64_t run(Line* lines, std::uint64_t count, Thread& mine) {
  unsigned head = 0, tail = 0;
  std::uint64_t changed = 0;
  const auto change_one = [&] {
    const std::size_t row = tail;
    Task& task = mine.tasks[tail++ % kRing];
    const bool done = change<kHow>(task.line, static_cast<unsigned>(task.slot), task.given);
    if constexpr (kWith >= With::counts) {
      std::uint16_t& set = mine.sets[task.hash % mine.sets.size()];
      set = static_cast<std::uint16_t>(set + task.state);
      ++mine.counts[done ? 1 : 2];
    }
    if constexpr (kWith >= With::results) {
      mine.ids[row] = task.id;
      mine.values[row] = 0;
      mine.statuses[row] = done ? 1 : 2;
    } else {
      changed += done;
    }
  };
  for (std::size_t row = 0; row < kRows; row += kDepth / 2) {
    for (; head - tail > kDepth / 2;) change_one();
    for (unsigned i = 0; i < kDepth / 2; ++i) {
      const std::uint64_t hash = hash_key(mine.keys[row + i], 0);
      Task& task = mine.tasks[(head + i) % kRing];
      task.line = lines + high(hash, count);
      task.slot = hash % holdfast::dramhit::kSlots;
      task.given = row + i;
      if constexpr (kWith >= With::results) task.id = row + i;
      if constexpr (kWith >= With::tasks) {
        task.hash = hash;
        task.state = 0;
      }
    }
    for (unsigned i = 0; i < kDepth / 2; ++i) {
      holdfast::dramhit::prefetch_to_change<Task>(mine.tasks[(head + i) % kRing].line);
    }
    head += kDepth / 2;
  }
  while (head != tail) change_one();
  return changed;
}

struct Step {
  const char* what;
  std::uint64_t (*run)(Line*, std::uint64_t, Thread&);
};
constexpr Step kSteps[] = {
    {"a read", run<How::read, With::nothing>},
    {"a store of 8 bytes", run<How::store, With::nothing>},
    {"an addition of 8 bytes", run<How::add, With::nothing>},
    {"an exchange of 8 bytes", run<How::exchange, With::nothing>},
    {"a compare-and-swap of 8 bytes", run<How::compare, With::nothing>},
    {"the same of the word, and a store of the value", run<How::compare_and_store, With::nothing>},
    {"a compare-and-swap of 16 bytes", run<How::compare_pair, With::nothing>},
    {"the store, and id, status and value as a result", run<How::store, With::results>},
    {"the swap of 16 bytes, and a result", run<How::compare_pair, With::results>},
    {"the store, a result, hash and state in the queue", run<How::store, With::tasks>},
    {"the swap of 16 bytes, a result, hash and state", run<How::compare_pair, With::tasks>},
    {"the store, the same, and two counts", run<How::store, With::counts>},
    {"the swap of 16 bytes, the same, and two counts", run<How::compare_pair, With::counts>},
};

/// Cycles a change, of one thread among all: the mean of their medians over rounds.
double cycles_of(const Step& step, Line* lines, std::uint64_t count, const Setup& setup) {
  const std::uint64_t rounds = std::max<std::uint64_t>(1, setup.operations / (setup.threads * kRows));
  std::vector<double> medians(setup.threads);
  together(setup.threads, [&](unsigned t) {
    const auto mine = std::make_unique<Thread>();
    Random random(t + 1);
    std::vector<double> cycles;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      for (std::uint64_t& key : mine->keys) key = random.next();
      const std::uint64_t from = ticks();
      step.run(lines, count, *mine);
      cycles.push_back(static_cast<double>(ticks() - from) / kRows);
    }
    std::nth_element(cycles.begin(), cycles.begin() + static_cast<std::ptrdiff_t>(rounds / 2), cycles.end());
    medians[t] = cycles[rounds / 2];
  });
  return std::accumulate(medians.begin(), medians.end(), 0.0) / setup.threads;
}

Json study_steps(const Setup& setup) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  const AnonymousMemory memory(kBytes, true);
  std::array<std::vector<double>, std::size(kSteps)> cycles;
  for (unsigned i = 0; i < setup.repetitions; ++i) {
    progress("steps: repetition " + std::to_string(i + 1));
    for (std::size_t s = 0; s < std::size(kSteps); ++s)
      cycles[s].push_back(cycles_of(kSteps[s], memory.as<Line>(), kBytes / sizeof(Line), setup));
  }
  Json runs = Json::array();
  for (std::size_t s = 0; s < std::size(kSteps); ++s)
    runs.push_back({{"what", kSteps[s].what}, {"cycles", spread(cycles[s])}});
  return {{"threads", setup.threads}, {"runs", runs}};
}
const Study kStudyOfSteps("steps", study_steps);

}  // namespace
}  // namespace holdfast::bench::dramhit::steps

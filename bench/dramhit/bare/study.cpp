// study.cpp: the study `bare`: `put` of keys that are there by bare loops over MemoryTable's lines, and by a handle, asked in turns.
#include "dramhit/bare/loops.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "dramhit/rounds.hpp"
#include "frame/anonymous_memory.hpp"
#include "holdfast/memory_table.hpp"
#include "memory/limits.hpp"
#include "structures/dramhit/protocol/change.hpp"
#include "structures/dramhit/simd/tile.hpp"

namespace holdfast::bench::bare {
namespace {

using dramhit::Setup;
using holdfast::dramhit::Line;
using Slots = holdfast::dramhit::SlotMemory<holdfast::dramhit::PortableTile, false>;

constexpr std::uint64_t kItems = 3 << 22;  ///< 16 Mi slots, three quarters full: 256 MiB
constexpr std::uint64_t kLines = kItems / 3;
constexpr std::uint64_t kSeed = 12345;

std::uint64_t item_key(std::uint64_t item) { return hash_key(item, kSeed); }

/// Cycles a put of one thread among all: the mean of their medians over rounds of `run(thread, round)`.
template <class Run>
double cycles_of(const Setup& setup, const Run& run) {
  const std::uint64_t rounds = std::max<std::uint64_t>(1, setup.operations / (setup.threads * kRows));
  std::vector<double> medians(setup.threads);
  together(setup.threads, [&](unsigned t) {
    const auto mine = std::make_unique<Thread>();
    std::iota(mine->rows.begin(), mine->rows.end(), 0);
    Random random(t + 1);
    std::vector<double> cycles;
    const auto once = run(*mine);
    for (std::uint64_t round = 0; round < rounds; ++round) {
      for (std::uint64_t& key : mine->keys) key = item_key(random.below(kItems));
      const std::uint64_t from = dramhit::ticks();
      once();
      cycles.push_back(static_cast<double>(dramhit::ticks() - from) / kRows);
    }
    const auto middle = cycles.begin() + static_cast<std::ptrdiff_t>(rounds / 2);
    std::nth_element(cycles.begin(), middle, cycles.end());
    medians[t] = *middle;
  });
  return std::accumulate(medians.begin(), medians.end(), 0.0) / setup.threads;
}

double cycles_of_loop(const Setup& setup, const Loop& loop, const Table& table) {
  return cycles_of(setup, [&](Thread& mine) { return [&] { loop.run(table, mine); }; });
}

double cycles_of_handle(const Setup& setup, MemoryTable& table, std::size_t call) {
  return cycles_of(setup, [&](Thread& mine) {
    const auto handle = std::make_shared<MemoryHandle>(table.handle());
    return [&mine, handle, call] {
      MemoryAnswers answers;
      answers.ids = mine.ids;
      answers.statuses = std::span(reinterpret_cast<Status*>(mine.statuses.data()), kRows);
      answers.values = std::as_writable_bytes(std::span(mine.out));
      for (std::size_t row = 0; row < kRows; row += call) {
        handle->put(mine.keys.data() + row, mine.values.data() + row, std::span(mine.rows).subspan(row, call), call,
                    answers);
      }
      handle->flush(answers);
    };
  });
}

Json study_bare(const Setup& setup) {
  if (!__builtin_cpu_supports("avx512bw")) throw Error("the study bare needs a processor with AVX-512");
  const AnonymousMemory memory((kLines + holdfast::dramhit::kMostDistance + 1) * sizeof(Line), true);
  const Table bare{memory.as<Line>(), {kLines, kSeed}};
  MemoryOptions options;
  options.capacity = kItems;
  options.populate = true;
  MemoryTable table(options);
  std::vector<std::uint64_t> keys(1 << 16), values(keys.size());
  for (std::uint64_t item = 0; item < kItems;) {
    for (std::uint64_t& key : keys) {
      key = item_key(item++);
      const auto place = bare.geometry.place(bare.geometry.hash(key));
      if (!put_moved(Slots{}, bare.lines + place.line, place.want, 0))
        throw Error("no slot for a key of the study bare");
    }
    table.insert(keys.data(), values.data(), keys.size());
  }
  const auto loops = avx512_loops();
  constexpr std::size_t kCalls[] = {16, kRows};
  std::vector<std::vector<double>> cycles(loops.size() + std::size(kCalls));
  for (unsigned i = 0; i < setup.repetitions; ++i) {
    dramhit::progress("bare: repetition " + std::to_string(i + 1));
    for (std::size_t s = 0; s < loops.size(); ++s) cycles[s].push_back(cycles_of_loop(setup, loops[s], bare));
    for (std::size_t s = 0; s < std::size(kCalls); ++s)
      cycles[loops.size() + s].push_back(cycles_of_handle(setup, table, kCalls[s]));
  }
  Json runs = Json::array();
  for (std::size_t s = 0; s < loops.size(); ++s)
    runs.push_back({{"what", loops[s].what}, {"cycles", spread(cycles[s])}});
  for (std::size_t s = 0; s < std::size(kCalls); ++s) {
    runs.push_back({{"what", "put of a handle, calls of " + std::to_string(kCalls[s]) + " rows"},
                    {"cycles", spread(cycles[loops.size() + s])}});
  }
  return {{"items", kItems}, {"threads", setup.threads}, {"runs", runs}};
}
const dramhit::Study kStudyOfBareLoops("bare", study_bare);

}  // namespace
}  // namespace holdfast::bench::bare

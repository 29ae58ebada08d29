// limits.cpp: plain loops over memory, timed.
#include "memory/limits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "core/bits.hpp"
#include "frame/keys.hpp"
#include "frame/timing.hpp"

namespace holdfast::bench {
namespace {

constexpr std::size_t kMostDepth = 256;  // a power of two, so that the ring needs no division
constexpr std::array<unsigned, 8> kDepths{8, 16, 24, 32, 48, 64, 128, 255};
struct alignas(64) Line {
  std::uint64_t words[8];
};

/// Keeps a result alive, so that the loop that made it is not left out.
void keep(std::uint64_t value) { asm volatile("" : : "r"(value) : "memory"); }

/// Asks for a line that will be changed. In assembly, since GCC takes its builtin for one that is read, unless the whole file is
/// compiled for a processor that has `prefetchw`; to others it is a `nop`.
void prefetch_to_change(Line* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*line));
#else
  __builtin_prefetch(line, 1);
#endif
}

/// `depth` lines are asked for at any moment: each that arrives makes room for the next.
template <bool kUpdate>
void random_lines(Line* lines, std::uint64_t count, std::uint64_t operations, std::uint64_t seed, std::size_t depth) {
  Random random(seed);
  std::uint64_t sum = 0;
  std::array<Line*, kMostDepth> ring;
  const auto ask = [&](std::uint64_t i) {
    Line* const line = lines + random.below(count);
    if (kUpdate) {
      prefetch_to_change(line);
    } else {
      __builtin_prefetch(line);
    }
    ring[i % kMostDepth] = line;
  };
  for (std::uint64_t i = 0; i < depth; ++i) ask(i);
  for (std::uint64_t i = 0; i < operations; ++i) {
    Line* const line = ring[i % kMostDepth];
    sum += line->words[0];
    if (kUpdate) line->words[0] = sum;
    ask(i + depth);
  }
  keep(sum);
}

void dependent_lines(const Line* lines, std::uint64_t count, std::uint64_t operations, std::uint64_t seed) {
  std::uint64_t state = seed;
  for (std::uint64_t done = 0; done < operations; ++done) {
    state = mix(state + kOdd + lines[high_product(state, count)].words[0]);
  }
  keep(state);
}

void read_all(const Line* lines, std::uint64_t count, std::uint64_t passes) {
  std::uint64_t sum = 0;
  for (std::uint64_t p = 0; p < passes; ++p) {
    for (std::uint64_t i = 0; i < count; ++i) {
      for (const std::uint64_t word : lines[i].words) sum ^= word;
    }
    keep(sum);
  }
}

}  // namespace

RandomLines::RandomLines(std::uint64_t bytes, unsigned threads, bool huge_pages)
    : memory_(bytes, huge_pages), count_(bytes / sizeof(Line)), threads_(threads) {}

double RandomLines::rate(bool changes, std::uint64_t operations, unsigned depth) const {
  Line* const lines = memory_.as<Line>();
  const std::uint64_t part = count_ / threads_;
  const double seconds = together(threads_, [&](unsigned t) {
    if (!changes) return random_lines<false>(lines, count_, operations, t + 1, depth);
    random_lines<true>(lines + t * part, part, operations, t + 1, depth);  // two may not change one word
  });
  return static_cast<double>(operations * threads_) / seconds;
}

unsigned RandomLines::best_depth(bool changes, std::uint64_t operations) const {
  const auto slower = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::array<std::pair<double, unsigned>, kDepths.size()> rates;
  std::transform(kDepths.begin(), kDepths.end(), rates.begin(),
                 [&](unsigned depth) { return std::pair(rate(changes, operations, depth), depth); });
  return std::max_element(rates.begin(), rates.end(), slower)->second;
}

double measure_limit(const std::string& what, std::uint64_t bytes, std::uint64_t operations, unsigned threads,
                     bool huge_pages) {
  if (threads == 0 || operations == 0 || bytes < 4096 * threads) {
    throw InvalidArgument("a limit needs a thread, an operation and 4096 bytes a thread");
  }
  if (what == "random_read" || what == "random_update") {
    const RandomLines lines(bytes, threads, huge_pages);
    double best = 0;
    for (const unsigned depth : kDepths) best = std::max(best, lines.rate(what == "random_update", operations, depth));
    return best;
  }
  const AnonymousMemory memory(bytes, huge_pages);
  Line* lines = memory.as<Line>();
  const std::uint64_t count = bytes / sizeof(Line), part = count / threads;
  const auto all = static_cast<double>(operations * threads), part_bytes = static_cast<double>(part * sizeof(Line));
  if (what == "dependent_read") {
    return all / together(threads, [&](unsigned t) { dependent_lines(lines, count, operations, t + 1); });
  }
  if (what == "sequential_read") {
    return all * part_bytes / together(threads, [&](unsigned t) { read_all(lines + t * part, part, operations); });
  }
  if (what == "sequential_write") {
    return all * part_bytes / together(threads, [&](unsigned t) {
             for (std::uint64_t p = 0; p < operations; ++p) {
               std::memset(lines + t * part, static_cast<int>(p), part * sizeof(Line));
             }
           });
  }
  if (what == "copy") {
    const std::uint64_t half = part / 2;
    return all * static_cast<double>(half * sizeof(Line)) / together(threads, [&](unsigned t) {
             for (std::uint64_t p = 0; p < operations; ++p) {
               std::memcpy(lines + t * part, lines + t * part + half, half * sizeof(Line));
             }
           });
  }
  throw InvalidArgument("no limit '" + what + "'");
}

}  // namespace holdfast::bench

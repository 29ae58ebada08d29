// cpu.cpp: the study `cpu`: batches on the index in host memory, and beside them random reads of one and of two lines, prefetched alike.
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

#include "cuckoo/setup.hpp"
#include "frame/json.hpp"
#include "structures/cuckoo/cpu/cpu_index.hpp"

namespace holdfast::bench::cuckoo {
namespace {

using namespace holdfast::cuckoo;
using cpu::CpuIndex;

/// Measures rates of threads that share the work, in millions a second.
class Rates {
 public:
  Rates(const Setup& setup, std::uint64_t batch) : threads_(setup.threads), batch_(batch) {}

  /// Calls `work(first, rows, thread)` for batches of items [begin, end); each thread has a range.
  template <class Work>
  double of(std::uint64_t begin, std::uint64_t end, const Work& work) const {
    const double seconds = together(threads_, [&](unsigned thread) {
      const std::uint64_t size = end - begin, from = begin + size * thread / threads_;
      const std::uint64_t to = begin + size * (thread + 1) / threads_;
      for (std::uint64_t at = from; at < to; at += batch_) work(at, std::min(batch_, to - at), thread);
    });
    return static_cast<double>(end - begin) / seconds / 1e6;
  }
  unsigned threads() const { return threads_; }
  std::uint64_t batch() const { return batch_; }

 private:
  unsigned threads_;
  std::uint64_t batch_;
};

/// The arrays of one thread.
struct Arrays {
  explicit Arrays(std::uint64_t batch) : hashes(batch), none(batch, kNone), locations(batch), outcomes(batch) {}
  std::vector<Hash> hashes;
  std::vector<Location> none, locations;
  std::vector<Outcome> outcomes;

  std::span<const Hash> items(std::uint64_t first, std::uint64_t rows, bool located) {
    for (std::uint64_t i = 0; i < rows; ++i) {
      hashes[i] = hash_of(first + i);
      if (located) locations[i] = static_cast<Location>(first + i);
    }
    return {hashes.data(), rows};
  }
};

/// Reads one or two random lines per row, as a search would, 32 rows ahead.
std::uint64_t read_lines(const std::uint64_t* lines, std::uint64_t mask, const std::vector<Hash>& hashes,
                         std::uint64_t rows, bool two) {
  constexpr std::uint64_t kAhead = 32;
  std::uint64_t sum = 0;
  const auto second = [&](Hash hash) { return (hash * kOdd >> 20 & mask) * 8; };
  for (std::uint64_t i = 0; i < rows + kAhead; ++i) {
    if (i < rows) {
      __builtin_prefetch(lines + (hashes[i] >> 20 & mask) * 8);
      if (two) __builtin_prefetch(lines + second(hashes[i]));
    }
    if (i < kAhead) continue;
    const Hash hash = hashes[i - kAhead];
    sum += lines[(hash >> 20 & mask) * 8];
    if (two) sum += lines[second(hash)];
  }
  return sum;
}

void require(bool right, const char* what) {
  if (!right) throw std::runtime_error(std::string(what) + ": wrong answers");
}

Json cpu(const Setup& setup) {
  const unsigned bits = setup.bits != 0 ? setup.bits : 23;
  const std::uint64_t cells = std::uint64_t{8} << bits, most = cells * 88 / 100, part = cells * 75 / 100;
  const Rates rates(setup, setup.batch != 0 ? setup.batch : 65'536);
  std::vector<Arrays> arrays;
  for (unsigned i = 0; i < setup.threads; ++i) arrays.emplace_back(rates.batch());
  std::atomic<std::uint64_t> wrong = 0, sum = 0;
  std::vector<double> to_75, to_88, present, absent, replaced, erased, built, one_line, two_lines;
  const dramhit::Pages memory(cells * 8, {.populate = true});
  std::fill_n(reinterpret_cast<std::uint64_t*>(memory.data()), cells, 1);
  const auto reads = [&](bool two) {
    return rates.of(0, most, [&](std::uint64_t first, std::uint64_t rows, unsigned thread) {
      arrays[thread].items(first, rows, false);
      sum += read_lines(reinterpret_cast<const std::uint64_t*>(memory.data()), cells / 8 - 1, arrays[thread].hashes,
                        rows, two);
    });
  };
  for (unsigned repetition = 0; repetition < setup.repetitions; ++repetition) {
    one_line.push_back(reads(false));
    two_lines.push_back(reads(true));
    CpuIndex index({.capacity = cells / 10 * 8, .threads = setup.threads});
    require(index.cells() == cells, "size");
    const auto insert = [&](std::uint64_t first, std::uint64_t rows, unsigned thread) {
      Arrays& a = arrays[thread];
      index.exchange(a.items(first, rows, true), {a.none.data(), rows}, {a.locations.data(), rows},
                     {a.outcomes.data(), rows});
      for (std::uint64_t i = 0; i < rows; ++i) wrong += a.outcomes[i] != Outcome::inserted;
    };
    const auto search = [&](std::uint64_t first, std::uint64_t rows, unsigned thread) {
      Arrays& a = arrays[thread];
      index.search(a.items(first, rows, false), {a.locations.data(), rows});
      const bool there = first < kAbsentItem;
      for (std::uint64_t i = 0; i < rows; ++i) {  // of 2^29 pairs, one in 2^28 has the signature of another key
        wrong += there ? a.locations[i] == kNone : a.locations[i] != kNone && i % 1024 == 0;
      }
    };
    const auto replace = [&](std::uint64_t first, std::uint64_t rows, unsigned thread) {
      Arrays& a = arrays[thread];
      const auto hashes = a.items(first, rows, true);
      index.exchange(hashes, {a.locations.data(), rows}, {a.locations.data(), rows}, {a.outcomes.data(), rows});
      for (std::uint64_t i = 0; i < rows; ++i) wrong += a.outcomes[i] != Outcome::replaced;
    };
    const auto erase = [&](std::uint64_t first, std::uint64_t rows, unsigned thread) {
      Arrays& a = arrays[thread];
      index.erase(a.items(first, rows, true), {a.locations.data(), rows}, {a.outcomes.data(), rows});
      for (std::uint64_t i = 0; i < rows; ++i) wrong += a.outcomes[i] != Outcome::erased;
    };
    to_75.push_back(rates.of(0, part, insert));
    to_88.push_back(rates.of(part, most, insert));
    present.push_back(rates.of(0, most, search));
    absent.push_back(rates.of(kAbsentItem, kAbsentItem + most, search));
    replaced.push_back(rates.of(0, most, replace));
    erased.push_back(rates.of(0, most, erase));
    require(index.size() == 0 && index.growths() == 0, "end");
  }
  require(wrong == 0, "operations");
  require(sum == setup.repetitions * most * 3, "lines");
  std::vector<Hash> hashes(most);
  std::vector<Location> locations(most);
  for (std::uint64_t i = 0; i < most; ++i) {
    hashes[i] = hash_of(i);
    locations[i] = static_cast<Location>(i);
  }
  for (unsigned repetition = 0; repetition < setup.repetitions; ++repetition) {
    CpuIndex index({.capacity = cells / 10 * 8, .threads = setup.threads});
    const auto begin = Clock::now();
    require(index.build(hashes, locations) == 0, "build");
    built.push_back(static_cast<double>(most) / seconds_since(begin) / 1e6);
    require(index.size() == most, "build");
  }
  return {{"study", "cpu"},
          {"threads", setup.threads},
          {"cells", cells},
          {"batch", rates.batch()},
          {"million_per_second",
           {{"insert_to_75", spread(to_75)},
            {"insert_75_to_88", spread(to_88)},
            {"build_to_88", spread(built)},
            {"search_present", spread(present)},
            {"search_absent", spread(absent)},
            {"replace", spread(replaced)},
            {"erase", spread(erased)},
            {"random_line", spread(one_line)},
            {"two_random_lines", spread(two_lines)}}},
          {"present_of_two_lines", spread(ratio_of(present, two_lines))}};
}

const Study kCpu("cpu", cpu);

}  // namespace
}  // namespace holdfast::bench::cuckoo

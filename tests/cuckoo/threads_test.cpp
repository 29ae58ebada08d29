// threads_test.cpp: threads that search, exchange and erase side by side while entries move and the index grows. Under ThreadSanitizer too.
#include <atomic>
#include <thread>

#include "entries.hpp"

namespace holdfast::cuckoo {
namespace {

using cpu::CpuIndex;

#if defined(HOLDFAST_SANITIZED)
constexpr unsigned kRounds = 20;
#else
constexpr unsigned kRounds = 200;
#endif

/// Keys [0, kStable) are there throughout. Each changing thread has keys of its own, some with the same signature as others'.
constexpr std::uint64_t kStable = 2000, kOwn = 1500;

/// Inserts, replaces and erases a thread's keys; each outcome is certain, since no other thread changes them.
std::uint64_t change(CpuIndex& index, unsigned thread) {
  std::uint64_t wrong = 0;
  const std::uint64_t first = kStable + thread * kOwn;
  for (unsigned round = 0; round < kRounds; ++round) {
    Batch in = inserts(first, first + kOwn);
    exchange(index, in);
    wrong += in.size() - count(in, Outcome::inserted);
    Batch next;
    for (std::uint64_t key = first; key < first + kOwn; ++key) {
      next.add(key, static_cast<Location>(key), static_cast<Location>(key + 1'000'000));
    }
    exchange(index, next);
    wrong += next.size() - count(next, Outcome::replaced);
    std::vector<Candidates> lists(next.size());
    index.candidates(next.hashes, lists);
    for (std::size_t i = 0; i < lists.size(); ++i) {
      wrong += contains(lists[i], next.locations[i]) ? 0 : 1;  // its own change is there
      wrong += contains(lists[i], next.old[i]) ? 1 : 0;        // and not what it replaced
    }
    index.erase(next.hashes, next.locations, next.outcomes);
    wrong += next.size() - count(next, Outcome::erased);
  }
  return wrong;
}

/// Looks for the keys that are always there.
std::uint64_t search_stable(const CpuIndex& index, const std::atomic<bool>& ends) {
  const Batch stable = inserts(0, kStable);
  std::uint64_t wrong = 0;
  std::vector<Candidates> lists(kStable);
  std::vector<Location> found(kStable);
  do {
    index.search(stable.hashes, found);
    index.candidates(stable.hashes, lists);
    for (std::uint64_t key = 0; key < kStable; ++key) {
      wrong += contains(lists[key], static_cast<Location>(key)) ? 0 : 1;
      wrong += found[key] == kNone ? 1 : 0;
    }
  } while (!ends.load());
  return wrong;
}

void run(const cpu::CpuOptions& options) {
  CpuIndex index(options);
  Batch stable = inserts(0, kStable);
  exchange(index, stable);
  ASSERT_EQ(count(stable, Outcome::inserted), kStable);
  std::atomic<bool> ends = false;
  std::atomic<std::uint64_t> wrong = 0;
  std::thread searcher([&] { wrong += search_stable(index, ends); });
  std::vector<std::thread> changers;
  for (unsigned i = 0; i < 3; ++i) changers.emplace_back([&, i] { wrong += change(index, i); });
  for (std::thread& thread : changers) thread.join();
  ends = true;
  searcher.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_EQ(index.size(), kStable);
  EXPECT_GT(index.moves(), 0u) << "no search ran beside a move";
}

TEST(IndexThreads, ChangesAndSearchesRunSideBySide) {
  // 6,500 entries in 8,192 cells, and all of them in few: so that entries move.
  run({.capacity = 6500, .signature_bits = 12});
}

TEST(IndexThreads, TheIndexGrowsMeanwhile) { run({.capacity = 0, .signature_bits = 16}); }

}  // namespace
}  // namespace holdfast::cuckoo

// kmer_counts_test.cpp: whole counts: several files and threads, bounds, what goes wrong, and who stops them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <thread>

#include "holdfast/kmers.hpp"
#include "kmers/naive.hpp"
#include "system/calls.hpp"

namespace holdfast {
namespace {

using test::KmerMap;
using test::Random;

#if defined(HOLDFAST_SANITIZED)  // a map of texts takes most of the time
constexpr std::size_t kBases = 2'000;
constexpr unsigned kLengths[] = {5, 11, 31};  // each makes arrays
#else
constexpr std::size_t kBases = 20'000;
constexpr unsigned kLengths[] = {4, 5, 11, 12, 13, 16, 21, 31, 32};
#endif

class Kmers : public ::testing::Test {
 protected:
  void SetUp() override {
    Random random(7);
    for (unsigned file = 0; file < 3; ++file) {
      files_.push_back(::testing::TempDir() + "kmers-" + std::to_string(getpid()) + "-" + std::to_string(file));
      std::ofstream out(files_.back());
      for (unsigned record = 0; record < 5; ++record) {
        sequences_.push_back(test::random_sequence(random, kBases, true));
        out << ">record\n" << sequences_.back() << "\n";
      }
    }
  }
  void TearDown() override {
    for (const std::string& file : files_) std::remove(file.c_str());
  }

  KmerMap naive(unsigned k, bool canonical) const {
    KmerMap counts;
    for (const std::string& sequence : sequences_) test::count_naively(sequence, k, canonical, counts);
    return counts;
  }

  static KmerMap taken(KmerCounts& counts, unsigned k, std::size_t rows = 1000) {
    std::vector<std::uint64_t> kmers(rows), numbers(rows);
    KmerMap map;
    while (const std::size_t n = counts.next(kmers, numbers)) {
      for (std::size_t i = 0; i < n; ++i) EXPECT_TRUE(map.emplace(test::text_of(kmers[i], k), numbers[i]).second);
    }
    return map;
  }

  std::vector<std::string> files_;
  std::vector<std::string> sequences_;
};

TEST_F(Kmers, AreThoseCountedNaively) {
  for (const unsigned k : kLengths) {
    for (const bool canonical : {false, true}) {
      const KmerMap right = naive(k, canonical);
      for (const unsigned threads : {1u, 5u}) {
        KmerCounts counts({.k = k, .canonical = canonical, .threads = threads});
        ASSERT_TRUE(counts.read(files_));
        EXPECT_EQ(taken(counts, k), right) << "k " << k;
        const KmerStats stats = counts.stats();
        EXPECT_EQ(stats.counted.distinct, right.size());
        EXPECT_EQ(stats.input.records, sequences_.size());
        EXPECT_EQ(stats.input.bases, sequences_.size() * kBases);
        std::uint64_t all = 0;
        for (const auto& [kmer, count] : right) all += count;
        EXPECT_EQ(stats.counted.kmers, all);
      }
    }
  }
}

TEST_F(Kmers, BoundsLeaveOutTheOthers) {
  for (const unsigned k : {9u, 15u}) {
    KmerMap right = naive(k, true);
    std::erase_if(right, [](const auto& item) { return item.second < 2 || item.second > 7; });
    KmerCounts counts({.k = k, .canonical = true, .lower = 2, .upper = 7, .threads = 2});
    ASSERT_TRUE(counts.read(files_));
    EXPECT_EQ(taken(counts, k), right);
    EXPECT_FALSE(right.empty());
  }
}

TEST_F(Kmers, TextIsALineAKmer) {
  std::string text = "before\n";
  const std::vector<std::uint64_t> kmers{0, 0b00011011, 255}, counts{1, 20, 18446744073709551615ull};
  append_kmer_text(text, kmers, counts, 4);
  EXPECT_EQ(text, "before\nAAAA 1\nACGT 20\nTTTT 18446744073709551615\n");
  for (unsigned k = kLeastK; k <= kMostK; ++k) {
    const std::uint64_t kmer = 0x0123456789ABCDEF >> (64 - 2 * k);
    std::string line;
    append_kmer_text(line, std::span(&kmer, 1), std::span(&counts[1], 1), k);
    EXPECT_EQ(line, test::text_of(kmer, k) + " 20\n");
  }
}

TEST_F(Kmers, WrongOptionsAreRefused) {
  const auto refused = [](const KmerOptions& options) { EXPECT_THROW(KmerCounts{options}, InvalidArgument); };
  refused({.k = 3});
  refused({.k = 33});
  refused({.min_quality = 94});
  refused({.lower = 3, .upper = 2});
  refused({.threads = 1000});
  std::string text;
  const std::vector<std::uint64_t> two{1, 2}, one{1};
  EXPECT_THROW(append_kmer_text(text, two, one, 5), InvalidArgument);
  EXPECT_THROW(append_kmer_text(text, one, one, 33), InvalidArgument);
  KmerCounts none({});
  EXPECT_THROW(none.read({}), InvalidArgument);
  KmerCounts little({.memory = 1 << 20});
  EXPECT_THROW(little.read(files_), InvalidArgument);
  KmerCounts much({.memory = std::uint64_t{1} << 60});
  EXPECT_THROW(much.read(files_), InvalidArgument);
  for (const unsigned threads : {2u, 60u}) {  // the arrays of many threads do not fit
    KmerCounts arrays({.k = 12, .threads = threads, .memory = std::uint64_t{2} << 30});
    if (threads == 2) {
      EXPECT_TRUE(arrays.read(files_));
    } else {
      EXPECT_THROW(arrays.read(files_), InvalidArgument);
    }
  }
  KmerCounts missing({});
  EXPECT_THROW(missing.read({files_[0], "/no/such/file"}), InputError);
  std::vector<std::uint64_t> rows(1);
  KmerCounts unread({});
  EXPECT_THROW(unread.next(rows, rows), InvalidArgument);
}

TEST_F(Kmers, ACountLeavesMemoryToThePoolThatItsCallerWrites) {
  const std::uint64_t memory = std::uint64_t{1} << 30;
  const auto taken = [&](bool into_pool) {
    KmerCounts counts({.k = 21, .threads = 1, .memory = memory, .into_pool = into_pool});
    counts.read(files_);
    return counts.stats().machine.memory;
  };
  EXPECT_EQ(taken(false), memory);
  EXPECT_LT(taken(true), memory / 2);
}

TEST_F(Kmers, WhoWaitsMayStop) {
  std::vector<std::uint64_t> rows(10), numbers(10);
  std::vector<std::string> many;  // so that it is asked while they are read
  for (unsigned i = 0; i < 100; ++i) many.insert(many.end(), files_.begin(), files_.end());
  KmerCounts stopped({.threads = 1});
  std::stop_source stopping;
  const auto stop = [&](const KmerProgress& state) {
    EXPECT_EQ(state.total, 100 * 15 * (kBases + 9));
    EXPECT_LE(state.done, state.total);
    stopping.request_stop();
  };
  EXPECT_FALSE(stopped.read(many, {.stop = stopping.get_token(), .progress = stop}));
  EXPECT_THROW(stopped.next(rows, numbers), InvalidArgument);
  KmerCounts thrown({.k = 21, .threads = 2});
  ASSERT_TRUE(thrown.read(files_));
  const auto refuse = [](const KmerProgress&) { throw std::runtime_error("stop"); };
  EXPECT_THROW(thrown.next(rows, numbers, {.progress = refuse}), std::runtime_error);
  KmerCounts left({.k = 21, .threads = 2});  // destroyed while its threads count
  ASSERT_TRUE(left.read(files_));
  EXPECT_EQ(left.next(rows, numbers), rows.size());
}

TEST_F(Kmers, WhoWaitsForAPipeMayStop) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string pipe_name = "/proc/self/fd/" + std::to_string(ends[0]);
  ASSERT_EQ(write(ends[1], ">a\nACGT", 7), 7);
  KmerCounts stopped({.threads = 2});
  unsigned asked = 0;
  std::stop_source stopping;
  const auto ask = [&](const KmerProgress&) {
    if (++asked == 3) stopping.request_stop();
  };
  EXPECT_FALSE(stopped.read({pipe_name}, {.stop = stopping.get_token(), .progress = ask}));
  close(ends[0]);
  close(ends[1]);
}

TEST_F(Kmers, TimesAreThoseOfStages) {
  KmerCounts counts({.k = 21, .threads = 2});
  ASSERT_TRUE(counts.read(files_));
  EXPECT_EQ(counts.stats().thread_time.counting, 0);
  std::vector<std::uint64_t> rows(1000), numbers(1000);
  ASSERT_EQ(counts.next(rows, numbers), rows.size());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  while (counts.next(rows, numbers) != 0) {
  }
  const KmerStats stats = counts.stats();
  EXPECT_GT(stats.thread_time.splitting, 0);
  EXPECT_GT(stats.thread_time.counting, 0);
  EXPECT_GE(stats.thread_time.writing, 0.02);
}

/// Stands for the limits of a container.
class Container : public system::Observer {
 public:
  explicit Container(std::map<std::string, std::string> files)
      : files_(std::move(files)), before_(system::observe(this)) {}
  ~Container() override { system::observe(before_); }
  void after(system::Event& event) noexcept override {
    if (event.call != system::Call::text) return;
    const auto found = files_.find(event.path);
    if (found == files_.end()) return;
    *static_cast<std::string*>(event.out) = found->second;
    event.result = event.error = 0;
  }

 private:
  const std::map<std::string, std::string> files_;
  system::Observer* const before_;
};

TEST_F(Kmers, AContainerMayHaveLessMemoryThanItsMachine) {
  const std::string folder = "/sys/fs/cgroup/memory.";
  const auto read = [&](const char* limit, const char* files) {
    const Container container({{folder + "max", limit},
                               {folder + "current", "5900000000\n"},
                               {folder + "stat", std::string("anon 1\ninactive_file ") + files + "\nactive_file 1\n"}});
    return KmerCounts({.threads = 1, .memory = std::uint64_t{2} << 30}).read(files_);
  };
  EXPECT_TRUE(read("max\n", "0"));
  EXPECT_THROW(read("6000000000\n", "0"), InvalidArgument);
  EXPECT_TRUE(read("6000000000\n", "5000000000")) << "what files take is given up";
}

/// Makes one kind of call fail.
class Failing : public system::Observer {
 public:
  Failing(system::Call call, int error) : call_(call), error_(error), before_(system::observe(this)) {}
  ~Failing() override { system::observe(before_); }
  int before(const system::Event& event) noexcept override { return event.call == call_ ? error_ : 0; }

 private:
  const system::Call call_;
  const int error_;
  system::Observer* const before_;
};

TEST_F(Kmers, FaultsOfTheSystemAreSaid) {
  {
    const Failing failing(system::Call::read, EIO);
    KmerCounts counts({.threads = 2});
    try {
      counts.read(files_);
      FAIL() << "nothing was thrown";
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()), files_[0] + ", line 1: it cannot be read: Input/output error");
    }
  }
  const Failing failing(system::Call::mmap, ENOMEM);
  KmerCounts counts({.threads = 2});
  EXPECT_THROW(counts.read(files_), NoSpace);
}

}  // namespace
}  // namespace holdfast

// memory_history_test.cpp: short histories of two to four concurrent handles of a table in memory, with operations that wait in queues, must
// be linearizable key by key. Bounded here; HOLDFAST_LONG=1 runs 10,000 in which callers met on a key.
#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include "callers.hpp"
#include "holdfast/memory_table.hpp"
#include "proof/subject.hpp"
#include "recorder.hpp"
#include "support/random.hpp"

namespace holdfast::test::linear {
namespace {

/// One caller: its handle, and its operations, which it logs when it submits them and when their answers come.
class QueueCaller {
 public:
  QueueCaller(MemoryTable& table, HistoryLog& history, CallerLog& log, std::uint64_t seed)
      : words_(table.value_bytes() / 8),
        random_(seed),
        history_(history),
        log_(log),
        combine_(static_cast<Combine>(random_.below(3))),
        handle_(table.handle({.combine = combine_, .depth = static_cast<unsigned>(random_.below(20))})),
        values_(kSpace * words_) {
    answers_.ids = ids_;
    answers_.statuses = statuses_;
    answers_.values = std::as_writable_bytes(std::span(values_));
  }

  /// Submits one to three operations, and waits for all answers, or leaves some in the queue.
  void call(bool last) {
    const std::uint32_t n = std::min<std::uint32_t>(1 + static_cast<std::uint32_t>(random_.below(3)),
                                                    kMaxRecords - log_.count.load(std::memory_order_relaxed));
    for (std::uint32_t i = 0; i < n; ++i) submit();
    if (!last && random_.chance(30)) return read();
    while (!handle_.flush(answers_)) read();
    read();
  }

 private:
  static constexpr std::size_t kSpace = 2;

  void submit() {
    constexpr Op kOperations[] = {Op::insert, Op::insert_or_assign, Op::assign,     Op::find,      Op::find,
                                  Op::erase,  Op::find_or_insert,   Op::accumulate, Op::accumulate};
    const std::uint32_t at = log_.count.load(std::memory_order_relaxed);
    Record& record = log_.records[at];
    record.key = static_cast<std::uint32_t>(random_.below(history_.keys));
    record.op = kOperations[random_.below(std::size(kOperations))];
    record.combine = combine_;
    record.given = random_.next() >> 8;
    record.after = kNone;
    for (std::uint32_t before = 0; before < at; ++before) {  // operations of one handle on a key are in order
      if (log_.records[before].key == record.key) record.after = before;
    }
    record.ended.store(kPending, std::memory_order_relaxed);
    const std::uint64_t key = history_.key[record.key], id[] = {at};
    const std::vector<std::uint64_t> given(words_, record.given);
    record.begun = history_.clock.fetch_add(1);
    log_.count.store(at + 1, std::memory_order_release);
    while (taken(record.op, key, given.data(), id) == 0) read();
  }

  std::size_t taken(Op op, const std::uint64_t& key, const std::uint64_t* given, std::span<const std::uint64_t> id) {
    switch (op) {
      case Op::insert: return handle_.insert(&key, given, id, 1, answers_);
      case Op::insert_or_assign: return handle_.put(&key, given, id, 1, answers_);
      case Op::assign: return handle_.assign(&key, given, id, 1, answers_);
      case Op::erase: return handle_.erase(&key, id, 1, answers_);
      case Op::find_or_insert: return handle_.find_or_insert(&key, given, id, 1, answers_);
      case Op::accumulate: return handle_.upsert(&key, given, id, 1, answers_);
      default: return handle_.get(&key, id, 1, answers_);
    }
  }

  void read() {
    const std::uint64_t ended = history_.clock.fetch_add(1);
    for (std::size_t i = 0; i < answers_.size; ++i) {
      Record& record = log_.records[ids_[i]];
      ASSERT_EQ(record.ended.load(std::memory_order_relaxed), kPending) << "answered twice";
      record.status = statuses_[i];
      record.found = record.status == Status::exists || record.status == Status::updated ||
                     record.status == Status::erased || record.status == Status::found;
      record.torn = false;
      record.out = number_in(&values_[i * words_], 8 * words_, record.torn);
      record.ended.store(ended, std::memory_order_release);
    }
    answers_.size = 0;
  }

  const std::size_t words_;
  Random random_;
  HistoryLog& history_;
  CallerLog& log_;
  const Combine combine_;
  MemoryHandle handle_;
  std::uint64_t ids_[kSpace] = {};
  Status statuses_[kSpace] = {};
  std::vector<std::uint64_t> values_;
  MemoryAnswers answers_;
};

/// `log` is all zero.
void run_memory_history(MemoryTable& table, std::uint64_t seed, std::uint64_t number, HistoryLog& log) {
  const std::uint64_t history_seed = mix(seed, number);
  Random random(history_seed);
  log.callers = static_cast<std::uint32_t>(2 + random.below(kMaxCallers - 1));
  log.keys = static_cast<std::uint32_t>(1 + random.below(kMaxKeys));
  for (std::uint32_t i = 0; i < log.keys; ++i) log.key[i] = mix(history_seed, i);
  if (random.chance(30)) log.key[0] = 0;
  const bool disturbs = random.chance(10);
  const std::uint64_t calls = 2 + random.below(3);
  run_callers(log, [&](std::uint32_t caller, Meeting& meeting) {
    QueueCaller own(table, log, log.caller[caller], mix(history_seed, 100 + caller));
    for (std::uint64_t i = 0; i < calls; ++i) {
      meeting.before(i);
      if (disturbs && caller == 0 && i == calls / 2) table.reserve(table.slots() + 1);  // all its lines move
      own.call(i + 1 == calls);
    }
  });
}

#if defined(HOLDFAST_SANITIZED)
constexpr std::uint64_t kFew = 100;
#else
constexpr std::uint64_t kFew = 1000;
#endif

class MemoryHistory : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, MemoryHistory, testing::Values(8, 16), testing::PrintToStringParamName());

TEST_P(MemoryHistory, ConcurrentHandlesAreLinearizable) {
  constexpr std::uint64_t kPerTable = 20;
  const std::uint64_t enough = proof::is_long() ? 10'000 : kFew / 4, least = proof::is_long() ? 10'000 : kFew;
  const auto log = std::make_unique<HistoryLog>();
  std::uint64_t overlapping = 0, done = 0, growths = 0;
  for (std::uint64_t seed = 1; done < least || overlapping < enough; ++seed) {
    ASSERT_LT(done, 100 * least) << "the callers hardly ever met";
    MemoryTable table({.value_bytes = GetParam(), .capacity = 64, .seed = seed});
    Verifier verifier;
    for (std::uint64_t number = 0; number < kPerTable; ++number, ++done) {
      std::memset(static_cast<void*>(log.get()), 0, sizeof(HistoryLog));
      run_memory_history(table, seed, number, *log);
      overlapping += overlaps(*log) ? 1 : 0;
      ASSERT_EQ(verifier.add(*log), "") << "table " << seed << ", history " << number;
    }
    const std::size_t words = GetParam() / 8;
    for (const std::uint64_t key : verifier.keys()) {
      std::vector<std::uint64_t> value(words);
      bool found = false;
      table.find(&key, value.data(), 1, &found);
      ASSERT_EQ(verifier.add_read(key, found ? State{value[0]} : State{}), "") << "table " << seed;
    }
    growths += table.stats().work.growths;
  }
  EXPECT_GT(growths, 0u);
  std::cout << done << " histories, " << overlapping << " with callers that met on a key\n";
}

/// The checker would notice: a value that was never written, in real logs.
TEST(MemoryHistory, PlantedErrorsAreCaught) {
  MemoryTable table({.capacity = 64, .seed = 7});
  const auto log = std::make_unique<HistoryLog>();
  unsigned planted = 0;
  for (std::uint64_t number = 0; number < 100 || (planted <= 10 && number < 5000); ++number) {
    std::memset(static_cast<void*>(log.get()), 0, sizeof(HistoryLog));
    run_memory_history(table, 7, number, *log);
    EXPECT_EQ(missed_plants(*log, planted), 0u);
  }
  EXPECT_GT(planted, 10u);
}

}  // namespace
}  // namespace holdfast::test::linear

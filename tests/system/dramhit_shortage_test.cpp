// dramhit_shortage_test.cpp: every allocation of an operation on a table in memory fails once, those of other threads and of growths
// among them. The program goes on, and so does the table: what was answered is there, and an error changes nothing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "holdfast/memory_table.hpp"
#include "minimum.hpp"
#include "shortage.hpp"
#include "structures/dramhit/lane.hpp"
#include "support/whole_values.hpp"
#include "system/calls.hpp"

namespace holdfast::proof {
namespace {

constexpr unsigned kWaitS = 60;  // seconds
constexpr std::uint64_t kKeys = 200;

void put_all(MemoryTable& table, std::uint64_t version) {
  MemoryAnswers answers;
  MemoryHandle handle = table.handle();
  for (std::uint64_t key = 1; key <= kKeys; ++key) {
    if (handle.put(&key, &version, {}, 1, answers) != 1) throw std::bad_alloc();
  }
  while (!handle.flush(answers)) continue;
}

TEST(DramhitShortages, OfAHandleEndNoPartition) {
  alarm(kWaitS);
  std::int64_t at = 0;
  for (bool met = true; met; ++at) {
    MemoryTable table({.capacity = 10'000, .partitions = 2});  // a new one: its partitions know of no queue yet
    {
      const Shortage shortage(at);
      try {
        put_all(table, 1);
      } catch (const std::bad_alloc&) {
      }
      met = shortage.met();
    }
    put_all(table, 2);
    ASSERT_EQ(table.size(), kKeys) << "allocation " << at;
  }
  expect_no_fewer("handle", at - 1);
  alarm(0);
}

constexpr std::uint64_t kStored = 3000,
                        kFresh = 15'000;  // keys; a batch of the new ones has several parts, and grows the table

std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t n) {
  std::vector<std::uint64_t> keys(n);
  for (std::uint64_t i = 0; i < n; ++i) keys[i] = first + i;
  return keys;
}

/// A table with the old keys, and what is known of the new ones.
struct Grown {
  Grown(std::uint32_t value_bytes, unsigned threads)
      : whole(value_bytes), table({.value_bytes = value_bytes, .capacity = 1000, .threads = threads}) {
    table.insert(old.data(), whole.of(old).data(), kStored);
  }

  /// Whether the table has exactly the old keys (unless `cleared`), and those new ones that were inserted.
  void expect_right(bool cleared) {
    const auto expect = [&](const std::vector<std::uint64_t>& keys, const auto& is_there) {
      std::vector<std::byte> values(keys.size() * whole.bytes());
      const auto found = std::make_unique<bool[]>(keys.size());
      table.find(keys.data(), values.data(), keys.size(), found.get());
      for (std::size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(found[i], is_there(i)) << keys[i];
        ASSERT_TRUE(!found[i] || whole.is_whole(keys[i], values.data() + i * whole.bytes())) << keys[i];
      }
    };
    expect(old, [&](std::size_t) { return !cleared; });
    expect(fresh, [&](std::size_t i) { return statuses[i] == Status::inserted; });
  }

  /// Whether all of it works now.
  void expect_whole() {
    const std::vector<std::byte> values = whole.of(fresh);
    ASSERT_EQ(table.insert_or_assign(fresh.data(), values.data(), kFresh).of(Status::no_space), 0u);
    table.reserve(2 * kFresh);
    std::vector<std::byte> out(values.size());
    ASSERT_EQ(table.find(fresh.data(), out.data(), kFresh).of(Status::found), kFresh);
    ASSERT_TRUE(out == values);
    table.clear();
    ASSERT_EQ(table.size(), 0u);
  }

  const std::vector<std::uint64_t> old = numbers(0, kStored), fresh = numbers(kStored, kFresh);
  const test::WholeValues whole;
  const std::vector<std::byte> values = whole.of(fresh);
  std::vector<Status> statuses = std::vector<Status>(kFresh, Status::not_run);
  MemoryTable table;
};

struct Growth {
  std::string name;
  std::uint32_t value_bytes;
  unsigned threads;
  std::int64_t least;  ///< allocations, each of which fails once
  std::function<void(Grown&)> act;
  bool inserts = false, clears = false;
};

void insert_all(Grown& grown) {
  grown.table.insert(grown.fresh.data(), grown.values.data(), kFresh, grown.statuses.data());
}

/// By a handle; who gets no memory for one has changed nothing.
void put_by_handle(Grown& grown) {
  std::vector<std::uint64_t> ids(256);
  MemoryAnswers answers;
  answers.ids = ids;
  std::vector<Status> statuses(256);
  answers.statuses = statuses;
  MemoryHandle handle = grown.table.handle();
  const auto take = [&] {
    for (std::size_t i = 0; i < answers.size; ++i) grown.statuses[ids[i]] = statuses[i];
    answers.size = 0;
  };
  for (std::uint64_t i = 0; i < kFresh;) {
    const std::uint64_t id[] = {i};
    i += handle.put(&grown.fresh[i], grown.values.data() + i * grown.whole.bytes(), id, 1, answers);
    take();
  }
  while (!handle.flush(answers)) take();
  take();
}

void export_all(Grown& grown) {
  std::vector<std::uint64_t> keys(kStored);
  for (std::uint64_t cursor = 0; cursor != ~std::uint64_t{0};) {
    grown.table.export_batch(cursor, keys.data(), nullptr, 500);
  }
}

std::vector<Growth> growths() {
  std::vector<Growth> all;
  for (const std::uint32_t bytes : {8, 32}) {
    const std::string size = std::to_string(bytes);
    all.push_back({"insert_" + size, bytes, 1, 3, insert_all, true});
    all.push_back({"threads_" + size, bytes, 3, 8, insert_all, true});
    all.push_back({"handle_" + size, bytes, 1, 6, put_by_handle, true});
    all.push_back({"reserve_" + size, bytes, 1, 4, [](Grown& grown) { grown.table.reserve(kFresh); }});
    all.push_back({"clear_" + size, bytes, 1, 4, [](Grown& grown) { grown.table.clear(); }, false, true});
    all.push_back({"export_" + size, bytes, 1, 7, export_all});
  }
  return all;
}

void PrintTo(const Growth& growth, std::ostream* out) { *out << growth.name; }

class DramhitGrowths : public testing::TestWithParam<Growth> {
 protected:
  void SetUp() override { alarm(kWaitS); }
  void TearDown() override { alarm(0); }
};
INSTANTIATE_TEST_SUITE_P(Of, DramhitGrowths, testing::ValuesIn(growths()),
                         [](const auto& info) { return info.param.name; });

TEST_P(DramhitGrowths, WithoutMemoryLoseNothing) {
  std::int64_t at = 0;
  for (bool met = true; met; ++at) {
    Grown grown(GetParam().value_bytes, GetParam().threads);
    bool failed = false;
    {
      const Shortage shortage(at);
      try {
        GetParam().act(grown);
      } catch (const std::bad_alloc&) {
        failed = true;
      } catch (const NoSpace&) {
        failed = true;
      }
      met = shortage.met();
    }
    SCOPED_TRACE("allocation " + std::to_string(at));
    const auto not_run = std::count(grown.statuses.begin(), grown.statuses.end(), Status::not_run);
    ASSERT_TRUE(static_cast<std::uint64_t>(not_run) == (failed ? kFresh : 0) || !GetParam().inserts)
        << not_run << " did not run";
    grown.expect_right(GetParam().clears && !failed);
    grown.expect_whole();
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(at - 1, GetParam().least) << "fewer allocations failed than there were";
}

TEST(DramhitShortages, OfTheFirstBatchLeaveTheTable) {
  alarm(kWaitS);
  const std::uint64_t key = 7;
  std::int64_t at = 0;
  for (bool met = true; met; ++at) {
    MemoryTable table({.capacity = 1000, .threads = 1});
    {
      const Shortage shortage(at);
      try {
        table.insert(&key, &key, 1);
      } catch (const std::bad_alloc&) {
        ASSERT_EQ(table.size(), 0u);
      }
      met = shortage.met();
    }
    table.insert(&key, &key, 1);
    ASSERT_EQ(table.size(), 1u);
  }
  EXPECT_GE(at, 4);
  alarm(0);
}

TEST_P(DramhitGrowths, WithoutThreadsAreDoneByTheCaller) {
  for (std::int64_t at = 0; at < 2; ++at) {
    Grown grown(GetParam().value_bytes, GetParam().threads);
    {
      const ThreadShortage shortage(at);
      GetParam().act(grown);
    }
    grown.expect_right(GetParam().clears);
    grown.expect_whole();
    if (HasFatalFailure()) return;
  }
}

class NoPages final : public system::Observer {
 public:
  NoPages() { system::observe(this); }
  ~NoPages() override { system::observe(nullptr); }
  int before(const system::Event& event) noexcept override { return event.call == system::Call::mmap ? ENOMEM : 0; }
};

/// An engine's mover, one of whose moves finds no slot.
class Unlucky final : public dramhit::Mover {
 public:
  Unlucky(const dramhit::Engine& engine, int which) : engine_(engine), which_(which) {}
  bool move(const dramhit::View& from, const dramhit::View* to, std::uint64_t begin, std::uint64_t end,
            std::uint64_t& items) const override {
    const bool moved = engine_.move(from, to, begin, end, items);
    return moves_++ != which_ && moved;
  }
  void thaw(const dramhit::View& view, std::uint64_t begin, std::uint64_t end) const override {
    engine_.thaw(view, begin, end);
  }

 private:
  const dramhit::Engine& engine_;
  const int which_;
  mutable std::atomic<int> moves_ = 0;
};

/// The bytes of a value, and the move that fails, of five: what is frozen then is the first lines, or all.
class DramhitUnlucky : public testing::TestWithParam<std::tuple<std::uint32_t, int>> {};
INSTANTIATE_TEST_SUITE_P(Sizes, DramhitUnlucky, testing::Combine(testing::Values(8, 32), testing::Values(0, 4)),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

// The new view of a growth is too small, and there is no memory for a larger one: the old view, which is frozen, goes on.
TEST_P(DramhitUnlucky, GrowthsWithoutMemoryLeaveTheOldView) {
  alarm(kWaitS);
  const auto& [value_bytes, unlucky] = GetParam();
  const test::WholeValues whole(value_bytes);
  const dramhit::Format format{8, value_bytes, 1};
  const dramhit::Engine& engine = dramhit::engine_for(format);
  const auto old = numbers(0, kStored), fresh = numbers(kStored, kFresh);
  std::int64_t at = 0;
  unsigned refused = 0;
  for (bool met = true; met; ++at) {
    const Unlucky mover(engine, unlucky);
    dramhit::Core core(format, 1000, 1, {}, true, mover);
    const std::unique_ptr<dramhit::Lane> lane = engine.lane(core, 8);
    const auto run = [&](Op op, const std::vector<std::uint64_t>& keys, std::byte* out) {
      const std::vector<std::byte> values = whole.of(keys);
      dramhit::Rows rows;
      rows.keys = reinterpret_cast<const std::byte*>(keys.data());
      rows.values = values.data();
      rows.end = keys.size();
      rows.op = op;
      dramhit::Results results;
      results.out = out;
      lane->submit(rows, results);
      EXPECT_TRUE(lane->flush(results));
      const Status good = op == Op::find ? Status::found : op == Op::assign ? Status::updated : Status::inserted;
      return results.count[static_cast<unsigned>(good)];
    };
    ASSERT_EQ(run(Op::insert, old, nullptr), kStored);
    {
      const Shortage shortage(at);
      try {
        core.reserve(kFresh);
      } catch (const NoSpace&) {
        ++refused;
      } catch (const std::bad_alloc&) {
        ++refused;
      }
      met = shortage.met();
    }
    {
      const NoPages none;
      ASSERT_EQ(run(Op::assign, old, nullptr), kStored) << "allocation " << at << ": it is frozen";
    }
    for (const auto* keys : {&old, &fresh}) {
      std::vector<std::byte> out(keys->size() * format.value_bytes);
      ASSERT_EQ(run(Op::insert, *keys, nullptr), keys == &old ? 0 : kFresh) << "allocation " << at;
      ASSERT_EQ(run(Op::find, *keys, out.data()), keys->size());
      ASSERT_TRUE(out == whole.of(*keys));
    }
    ASSERT_EQ(core.size(), kStored + kFresh);
  }
  EXPECT_GE(refused, 4u) << "of the new view, and of the one after it, each needs two allocations";
  alarm(0);
}

}  // namespace
}  // namespace holdfast::proof

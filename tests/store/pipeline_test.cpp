// pipeline_test.cpp: requests that their callers do not wait for: answers, order, back-pressure and the release of answers.
#include "holdfast/store_pipeline.hpp"

#include <atomic>
#include <cmath>
#include <list>
#include <map>
#include <thread>
#include <vector>

#include "holdfast/error.hpp"
#include "store/pipeline/executor.hpp"
#include "store/pipeline_fixture.hpp"
#include "support/errors.hpp"
#include "support/random.hpp"

namespace holdfast {
namespace {

using test::Random;

/// A request with its bytes.
struct Owned {
  StoreOp op = StoreOp::get;
  std::string key, value;
  ItemOptions item;
  std::uint64_t number = 0;

  StoreRequest request() const { return {op, key, value, item, number}; }
};

/// What a single call answers.
StoreAnswer call(Store& store, const Owned& it, std::optional<StoreItem>& found) {
  StoreAnswer answer;
  switch (it.op) {
    case StoreOp::get:
      found = store.get(it.key);
      answer.status = found ? StoreStatus::found : StoreStatus::not_found;
      if (found) answer = {answer.status, found->value, found->flags, found->cas, found->expiry, found->is_stale, 0};
      break;
    case StoreOp::set: answer.status = store.set(it.key, it.value, it.item); break;
    case StoreOp::add: answer.status = store.add(it.key, it.value, it.item); break;
    case StoreOp::replace: answer.status = store.replace(it.key, it.value, it.item); break;
    case StoreOp::cas: answer.status = store.cas(it.key, it.value, it.number, it.item); break;
    case StoreOp::append: answer.status = store.append(it.key, it.value); break;
    case StoreOp::prepend: answer.status = store.prepend(it.key, it.value); break;
    case StoreOp::increment: answer.status = store.increment(it.key, it.number, answer.number); break;
    case StoreOp::decrement: answer.status = store.decrement(it.key, it.number, answer.number); break;
    case StoreOp::touch: answer.status = store.touch(it.key, it.item.expiry); break;
    case StoreOp::mark_stale: answer.status = store.mark_stale(it.key, it.item.expiry); break;
    case StoreOp::erase: answer.status = store.erase(it.key, it.number); break;
  }
  return answer;
}

Owned random_request(Random& random, unsigned caller, std::uint64_t far) {
  Owned made;
  made.op = static_cast<StoreOp>(random.below(kStoreOps));
  if (random.chance(40)) made.op = StoreOp::get;
  made.key = std::to_string(caller) + "/" + std::to_string(random.below(12));
  const bool is_number = random.chance(50);
  made.value = is_number ? std::to_string(random.below(1000)) : std::string(random.below(200), 'v');
  // CAS ids of the client, so that they are the same in both stores.
  made.item = {static_cast<std::uint32_t>(random.below(9)), random.chance(20) ? far : 0, 1 + random.below(3)};
  made.number = 1 + random.below(3);
  if (made.op == StoreOp::erase && random.chance(50)) made.number = 0;
  return made;
}

INSTANTIATE_TEST_SUITE_P(Modes, StorePipelineTest,
                         testing::Values(PipelineCase{StoreMode::direct, StoreIndex::cpu},
                                         PipelineCase{StoreMode::staged, StoreIndex::cpu},
                                         PipelineCase{StoreMode::direct, StoreIndex::gpu},
                                         PipelineCase{StoreMode::staged, StoreIndex::gpu},
                                         PipelineCase{StoreMode::direct, StoreIndex::gpu, 2},
                                         PipelineCase{StoreMode::staged, StoreIndex::gpu, 2}),
                         PipelineCase::name);

TEST_P(StorePipelineTest, AnswersAsSingleCallsDo) {
  Store other = Store::create(pool_, "other", {.seed = 9});
  const std::uint64_t far = store_.now() + 1'000'000;
  constexpr unsigned kCallers = 3;
  const unsigned rounds = kSanitized ? 40 : 400;
  {
    StorePipeline pipeline(store_, with({.callers = kCallers, .pending = 4}));
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < kCallers; ++number) {
      threads.emplace_back([&, number] {
        StoreCaller caller = pipeline.caller();
        Random random(number);
        for (unsigned round = 0; round < rounds; ++round) {
          std::list<StoreBatch> batches(1 + random.below(6));  // more than may be pending
          std::vector<std::vector<Owned>> rows(batches.size());
          std::size_t at = 0;
          for (StoreBatch& batch : batches) {
            rows[at].resize(random.below(round % 20 == 0 ? 700 : 12));
            for (Owned& row : rows[at]) batch.add((row = random_request(random, number, far)).request());
            ++at;
            caller.submit(batch);
          }
          at = 0;
          for (StoreBatch& batch : batches) {
            caller.wait(batch);
            for (std::size_t row = 0; row < batch.size(); ++row) {
              std::optional<StoreItem> found;
              const StoreAnswer wanted = call(other, rows[at][row], found), got = batch.answer(row);
              ASSERT_EQ(name(got.status), name(wanted.status)) << static_cast<int>(rows[at][row].op);
              ASSERT_EQ(got.value, wanted.value);
              ASSERT_EQ(got.flags, wanted.flags);
              ASSERT_EQ(got.expiry, wanted.expiry);
              ASSERT_EQ(got.is_stale, wanted.is_stale);
              ASSERT_EQ(got.number, wanted.number);
            }
            ++at;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const auto items_of = [](const Store& store) {
    std::map<std::string, std::string> items;
    store.for_each([&](std::string_view key, const StoreItem& item) {
      items.emplace(key, item.value + "/" + std::to_string(item.flags) + "/" + std::to_string(item.expiry));
      return true;
    });
    return items;
  };
  EXPECT_EQ(items_of(store_), items_of(other));
}

TEST_P(StorePipelineTest, ACallerSeesItsOwnChanges) {
  StorePipeline pipeline(store_, with({}));
  StoreCaller caller = pipeline.caller();
  store_.set("there", "1");
  const StoreRequest rows[] = {{.key = "k"},     {.op = StoreOp::add, .key = "k", .value = "1"},
                               {.key = "k"},     {.op = StoreOp::erase, .key = "k"},
                               {.key = "k"},     {.op = StoreOp::append, .key = "there", .value = "2"},
                               {.key = "there"}, {.op = StoreOp::increment, .key = "there", .number = 5},
                               {.key = "there"}};
  StoreBatch first, second;
  for (const StoreRequest& row : rows) {
    first.add(row);
    second.add(row);
  }
  caller.submit(first);
  caller.submit(second);
  caller.wait(second);
  const char* const values[] = {"", "", "1", "", "", "", "12", "", "17"};
  const char* const later[] = {"", "", "1", "", "", "", "172", "", "177"};
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    EXPECT_EQ(first.answer(i).value, values[i]) << i;
    EXPECT_EQ(second.answer(i).value, later[i]) << i;
  }
  EXPECT_EQ(second.answer(4).status, StoreStatus::not_found);
  EXPECT_EQ(second.answer(7).number, 177u);
}

TEST_P(StorePipelineTest, AReadWaitsForAllChangesOfItsKeyThatAreUnderWay) {
  constexpr std::size_t kRounds = 64;
  StorePipelineOptions options = with({});
  options.cycle_us = 0.001;  // each submission ends a cycle
  StorePipeline pipeline(store_, options);
  StoreCaller caller = pipeline.caller();
  std::vector<std::string> values(kRounds);
  std::vector<StoreBatch> changes(kRounds), reads(kRounds);
  for (std::size_t i = 0; i < kRounds; ++i) {
    values[i] = std::to_string(i);
    changes[i].add({.op = StoreOp::set, .key = "k", .value = values[i]});
    reads[i].add({.key = "k"});
    caller.submit(changes[i]);
    if (i % 3 == 0) caller.poll();
    caller.submit(reads[i]);
  }
  for (std::size_t i = 0; i < kRounds; ++i) {
    caller.wait(changes[i]);
    caller.wait(reads[i]);
    EXPECT_EQ(reads[i].answer(0).value, values[i]);
  }
}

TEST_P(StorePipelineTest, CallersOfOneKeyLoseNothing) {
  store_.set("n", "0");
  constexpr unsigned kCallers = 4, kRounds = 50, kRows = 20;
  StorePipeline pipeline(store_, with({}));
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < kCallers; ++number) {
    threads.emplace_back([&] {
      StoreCaller caller = pipeline.caller();
      std::uint64_t last = 0;
      for (unsigned round = 0; round < kRounds; ++round) {
        StoreBatch batch;
        for (unsigned i = 0; i < kRows; ++i) batch.add({.op = StoreOp::increment, .key = "n", .number = 1});
        caller.submit(batch);
        caller.wait(batch);
        for (unsigned i = 0; i < kRows; ++i) {
          ASSERT_GT(batch.answer(i).number, last);
          last = batch.answer(i).number;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_.get("n")->value, std::to_string(kCallers * kRounds * kRows));
}

TEST_P(StorePipelineTest, ReleasesWhatIsDurable) {
  store_.set("old", "1");
  Lagging source;
  const std::uint64_t numbers = store_.get("old")->cas;
  source.durable_ = numbers;
  StorePipeline pipeline(store_, with({.durability = &source}));
  StoreCaller caller = pipeline.caller();
  StoreBatch change, reads_new, reads_old, misses;
  const Released released{source};
  change.add({.op = StoreOp::set, .key = "new", .value = "2"});
  reads_new.add({.key = "old"});
  reads_new.add({.key = "new"});
  reads_old.add({.key = "old"});
  misses.add({.key = "none"});
  caller.submit(change);
  caller.submit(reads_new);
  while (!store_.contains("new")) caller.poll();  // a single call waits for nothing
  caller.submit(misses);
  caller.submit(reads_old);
  caller.wait(reads_old);  // executed with the others, or later, and released
  EXPECT_EQ(reads_old.answer(0).value, "1");
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(change.is_done());
  EXPECT_FALSE(reads_new.is_done());
  EXPECT_FALSE(misses.is_done());
  EXPECT_THROW(reads_new.answer(1), InvalidArgument);
  const std::uint64_t number = store_.get("new")->cas;
  source.durable_ = number - 1;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_FALSE(reads_new.is_done());
  source.durable_ = number;
  for (StoreBatch* batch : {&change, &reads_new, &misses}) caller.wait(*batch);
  EXPECT_EQ(reads_new.answer(1).value, "2");
  EXPECT_EQ(change.answer(0).status, StoreStatus::inserted);
  EXPECT_EQ(misses.answer(0).status, StoreStatus::not_found);
}

TEST_P(StorePipelineTest, ManyPendingBatchesHoldTheCallerBack) {
  Lagging source;
  StorePipeline pipeline(store_, with({.pending = 3, .durability = &source}));
  StoreCaller caller = pipeline.caller();
  StoreBatch batches[3], fourth;
  const Released released{source};
  for (StoreBatch& batch : batches) {
    batch.add({.op = StoreOp::set, .key = "k", .value = "v"});
    EXPECT_TRUE(caller.try_submit(batch));
  }
  fourth.add({.key = "k"});
  EXPECT_FALSE(caller.try_submit(fourth));
  fourth.add({.key = "k"});  // it was not submitted
  std::atomic<bool> submitted = false;
  std::thread thread([&] {
    caller.submit(fourth);
    submitted = true;
    caller.wait(fourth);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(submitted);
  source.durable_ = ~std::uint64_t{0};
  thread.join();
  EXPECT_EQ(fourth.answer(1).value, "v");
}

TEST_P(StorePipelineTest, LargeValuesAndManyOfThem) {
  StorePipeline pipeline(store_, with({}));
  StoreCaller caller = pipeline.caller();
  std::vector<std::string> keys, values;
  for (unsigned i = 0; i < 300; ++i) {
    keys.push_back("key " + std::to_string(i));
    values.emplace_back(i % 50 == 0 ? 1 << 20 : 37 * i, static_cast<char>('a' + i % 26));
  }
  StoreBatch batch;
  for (unsigned i = 0; i < 300; ++i) batch.add({.op = StoreOp::set, .key = keys[i], .value = values[i]});
  for (unsigned i = 0; i < 300; ++i) batch.add({.key = keys[i]});
  caller.submit(batch);
  caller.wait(batch);
  for (unsigned i = 0; i < 300; ++i) ASSERT_EQ(batch.answer(300 + i).value, values[i]) << i;
}

TEST_P(StorePipelineTest, BadInputIsRefused) {
  EXPECT_THROW(StorePipeline(store_, {.callers = 100'000}), InvalidArgument);
  EXPECT_THROW(StorePipeline(store_, {.pending = 0}), InvalidArgument);
  for (const double wrong : {-1.0, 1e7, std::nan("")}) {
    EXPECT_THROW(StorePipeline(store_, {.mode = StoreMode::staged, .cycle_us = wrong}), InvalidArgument);
  }
  for (const double wrong : {-1.0, 1e15}) {  // no cycle is long enough for the last one
    EXPECT_THROW(StorePipeline(store_, {.mode = StoreMode::staged, .rate = wrong}), InvalidArgument);
  }
  test::expect_error<InvalidArgument>([&] { StorePipeline(store_, {.mode = StoreMode::staged, .reads = 1.5}); },
                                      "cannot have a share of reads of 1.5");
  StorePipeline pipeline(store_, with({}));
  StoreCaller caller = pipeline.caller(), other = pipeline.caller();
  const std::string long_key(65'536, 'k'), long_value((1 << 20) + 1, 'v');
  const StoreRequest bad[] = {{.key = long_key},
                              {.op = StoreOp::set, .key = "k", .value = long_value},
                              {.op = StoreOp::touch, .key = "k", .item = {.expiry = std::uint64_t{1} << 48}},
                              {.op = static_cast<StoreOp>(kStoreOps), .key = "k"}};
  for (const StoreRequest& request : bad) {
    StoreBatch batch;
    batch.add({.op = StoreOp::set, .key = "first", .value = "v"});
    batch.add(request);
    EXPECT_THROW(caller.submit(batch), InvalidArgument);
    EXPECT_FALSE(batch.is_done());
    EXPECT_THROW(batch.answer(0), InvalidArgument);
  }
  EXPECT_FALSE(store_.contains("first"));
  StoreBatch batch, empty;
  EXPECT_THROW(caller.wait(batch), InvalidArgument);
  caller.submit(empty);
  caller.wait(empty);
  EXPECT_THROW(other.wait(empty), InvalidArgument);
  EXPECT_THROW(empty.answer(0), InvalidArgument);
}

TEST_P(StorePipelineTest, ABatchThatIsBeingAnsweredIsNotTheCallers) {
  Lagging source;
  StorePipeline pipeline(store_, with({.durability = &source}));
  StoreCaller caller = pipeline.caller();
  StoreBatch batch;
  batch.add({.op = StoreOp::set, .key = "k", .value = "v"});
  caller.submit(batch);
  EXPECT_THROW(batch.add({.key = "k"}), InvalidArgument);
  EXPECT_THROW(batch.clear(), InvalidArgument);
  EXPECT_THROW(batch.on_done({}), InvalidArgument);
  EXPECT_THROW(caller.submit(batch), InvalidArgument);
  source.durable_ = ~std::uint64_t{0};
}

using StagedPipelineTest = StoreTest;

/// Mega-KV §5.1, in cycles, which last as long as they must. A thread that does not run may miss some.
TEST_F(StagedPipelineTest, AnswersWithinThreeCyclesAndChangesWithinFive) {
  Store store = make();
  StorePipeline pipeline(store, {.mode = StoreMode::staged, .cycle_us = 2000});
  StoreCaller caller = pipeline.caller();
  constexpr int kTimes = 50;
  const auto late = [&](const StoreRequest& request, std::uint64_t cycles) {
    int count = 0;
    for (int i = 0; i < kTimes; ++i) {
      StoreBatch batch;
      batch.add(request);
      std::uint64_t end = 0;
      batch.on_done([&](const StoreBatch&) { end = pipeline.stats().cycles; });
      const std::uint64_t begin = pipeline.stats().cycles;
      caller.submit(batch);
      caller.wait(batch);
      count += end - begin > cycles ? 1 : 0;
    }
    return count;
  };
  EXPECT_LE(late({.op = StoreOp::set, .key = "k", .value = "v"}, 5), kTimes / 10);
  EXPECT_LE(late({.key = "k"}, 3), kTimes / 10);
  EXPECT_EQ(pipeline.stats().cycle_us, 2000);
}

TEST_F(StagedPipelineTest, ACycleIsAsShortAsTheIndexAllows) {
  Store store = make();
  const StorePipeline pipeline(store, {.mode = StoreMode::staged});
  EXPECT_GE(pipeline.stats().cycle_us, 20);
  EXPECT_LE(pipeline.stats().cycle_us, 1'000'000);
  // Figure 10 and §7.2.1: 105.8 microseconds at least, and a rate beyond which there is none.
  const store::pipeline::BatchTime search{3.0e-3, 37.4}, change{5.6e-3, 136.9};
  EXPECT_NEAR(store::pipeline::least_cycle_us(search, change, 1, 0.95), 105.8, 0.1);
  EXPECT_NEAR(store::pipeline::least_cycle_us(search, change, 100e6, 0.95), 154.1, 0.1);
  EXPECT_NEAR(store::pipeline::least_cycle_us(search, change, 0, 0.95), 211.7, 0.1);
  EXPECT_THROW(store::pipeline::least_cycle_us(search, change, 1e9, 0.95), InvalidArgument);
}

}  // namespace
}  // namespace holdfast

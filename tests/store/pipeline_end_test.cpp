// pipeline_end_test.cpp: the end of a pipeline, of its store and of its process: what was submitted is answered, or says why not.
#include <sys/wait.h>

#include <atomic>
#include <list>
#include <map>
#include <thread>
#include <vector>

#include "holdfast/error.hpp"
#include "store/pipeline_fixture.hpp"
#include "support/child.hpp"
#include "support/errors.hpp"

namespace holdfast {
namespace {

TEST_P(StorePipelineTest, WhatWasSubmittedIsAnsweredWhenItCloses) {
  store_.set("n", "0");
  Lagging source;
  StorePipeline pipeline(store_, with({.durability = &source}));
  StoreCaller caller = pipeline.caller();
  struct Submitted {
    StoreCaller caller;
    std::list<StoreBatch> batches;
  };
  auto submitted = std::make_unique<Submitted>(std::move(caller));
  submitted->batches.resize(20);
  for (StoreBatch& batch : submitted->batches) {
    for (int i = 0; i < 100; ++i) batch.add({.op = StoreOp::increment, .key = "n", .number = 1});
    submitted->caller.submit(batch);
  }
  while (store_.get("n")->value != "2000") submitted->caller.poll();  // all are executed, and wait for their release
  std::thread closing([&] { pipeline.close(); });
  while (pipeline.is_open()) std::this_thread::yield();
  StoreBatch late;
  late.add({.key = "n"});
  EXPECT_THROW(submitted->caller.submit(late), ObjectClosed);
  EXPECT_THROW(pipeline.caller(), ObjectClosed);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(submitted->batches.front().is_done());
  source.durable_ = ~std::uint64_t{0};
  closing.join();
  for (const StoreBatch& batch : submitted->batches) {
    if (batch.is_done()) {
      EXPECT_EQ(batch.answer(99).status, StoreStatus::updated);
      continue;
    }
    static_cast<void>(submitted.release());  // their end would wait for ever
    FAIL() << "a batch was left behind";
  }
  pipeline.close();
  EXPECT_THROW(caller.submit(late), ObjectClosed);  // moved from
}

TEST_P(StorePipelineTest, ACallerAndABatchWaitAtTheirEnd) {
  StorePipeline pipeline(store_, with({.callers = 1}));
  for (int i = 0; i < 50; ++i) {
    StoreCaller caller = pipeline.caller();  // the only one there may be
    StoreBatch batch;
    batch.add({.op = StoreOp::set, .key = "k", .value = "v"});
    batch.add({.key = "k"});
    caller.submit(batch);
    if (i % 2 == 0) caller.wait(batch);
  }
  StoreCaller caller = pipeline.caller();
  test::expect_error<InvalidArgument>([&] { pipeline.caller(); }, "has 1 callers: end one");
}

TEST_P(StorePipelineTest, ABatchOutlivesThePipeline) {
  StoreBatch batch;
  batch.add({.op = StoreOp::set, .key = "k", .value = "v"});
  {
    StorePipeline pipeline(store_, with({}));
    pipeline.caller().submit(batch);
  }
  EXPECT_EQ(batch.answer(0).status, StoreStatus::inserted);
  StorePipeline another(store_, with({}));
  StoreCaller caller = another.caller();
  caller.submit(batch);
  caller.wait(batch);
  EXPECT_EQ(batch.answer(0).status, StoreStatus::updated);
}

TEST_P(StorePipelineTest, AnEndIsReportedWithItsAnswers) {
  StorePipeline pipeline(store_, with({}));
  StoreCaller caller = pipeline.caller();
  StoreBatch batch;
  std::string seen;
  batch.on_done([&](const StoreBatch& it) {
    EXPECT_FALSE(it.is_done());
    seen = it.answer(1).value;
  });
  batch.add({.op = StoreOp::set, .key = "k", .value = "v"});
  batch.add({.key = "k"});
  caller.submit(batch);
  caller.wait(batch);
  EXPECT_EQ(seen, "v");
  batch.clear();
  batch.on_done([](const StoreBatch&) { throw InvalidArgument("the callback's"); });
  batch.add({.key = "k"});
  caller.submit(batch);
  caller.wait(batch);
  EXPECT_THROW(batch.answer(0), InvalidArgument);
  batch.on_done({});
  caller.submit(batch);  // again
  caller.wait(batch);
  EXPECT_EQ(batch.answer(0).value, "v");
}

TEST_P(StorePipelineTest, AClosedStoreAnswersSo) {
  StorePipeline pipeline(store_, with({}));
  StoreCaller caller = pipeline.caller();
  std::atomic<bool> closed = false;
  std::thread thread([&] {
    store_.close();
    closed = true;
  });
  for (bool refused = false; !refused;) {
    StoreBatch batch;
    for (int i = 0; i < 500; ++i) batch.add({.op = i % 2 == 0 ? StoreOp::set : StoreOp::get, .key = "k", .value = "v"});
    try {
      caller.submit(batch);
      caller.wait(batch);
      batch.answer(499);
    } catch (const ObjectClosed&) {
      refused = true;
    }
  }
  thread.join();
  EXPECT_FALSE(pipeline.is_open());
  EXPECT_THROW(StorePipeline{store_}, ObjectClosed);
}

TEST_P(StorePipelineTest, AStoreThatIsOnlyReadRefusesChanges) {
  store_.set("k", "v");
  store_.close();
  pool_.close();
  pool_ = Pool::open(path_, {.read_only = true});
  Store store = Store::open(pool_, "s");
  StorePipeline pipeline(store, with({}));
  StoreCaller caller = pipeline.caller();
  for (int round = 0; round < 20; ++round) {
    StoreBatch reads, changes;
    reads.add({.key = "k"});
    changes.add({.op = StoreOp::set, .key = "k", .value = "w"});
    changes.add({.key = "k"});
    caller.submit(changes);
    caller.submit(reads);
    caller.wait(changes);
    caller.wait(reads);
    EXPECT_THROW(changes.answer(0), ReadOnly);
    EXPECT_THROW(changes.answer(1), ReadOnly);
    EXPECT_EQ(reads.answer(0).value, "v");
  }
}

TEST_P(StorePipelineTest, AForkedChildHasNoPipeline) {
  StorePipeline pipeline(store_, with({}));
  StoreCaller caller = pipeline.caller();
  const int status = test::in_child([&] {
    StoreBatch batch;
    batch.add({.key = "k"});
    const bool refused = test::error_of<ObjectClosed>([&] { caller.submit(batch); }) != "";
    if (refused) pipeline.close();
    return refused ? 7 : 1;
  });
  EXPECT_EQ(status, 7);
  StoreBatch batch;
  batch.add({.key = "k"});
  caller.submit(batch);
  caller.wait(batch);
  EXPECT_EQ(batch.answer(0).status, StoreStatus::not_found);
}

}  // namespace
}  // namespace holdfast

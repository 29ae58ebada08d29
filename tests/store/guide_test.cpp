// guide_test.cpp: the example of docs/store.md.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "holdfast/store.hpp"
#include "holdfast/store_pipeline.hpp"
#include "holdfast/strings.hpp"
#include "holdfast/table.hpp"

namespace {

TEST(StoreGuide, TheExampleRuns) {
  const std::string path = "/dev/shm/holdfast-store-guide-" + std::to_string(getpid());
  testing::internal::CaptureStdout();
  {
    holdfast::Pool pool = holdfast::Pool::create(path);
    holdfast::Store store = holdfast::Store::create(pool, "sessions");

    store.set("user:17", "Ada", {.expiry = store.now() + 60'000});
    const auto item = store.get("user:17");
    if (item) std::cout << item->value << " has CAS id " << item->cas << "\n";

    // Many keys at once.
    const std::vector<std::string> names = {"a", "b"}, texts = {"1", "2"};
    const holdfast::Strings keys(names), values(texts);
    std::vector<holdfast::StoreStatus> statuses(keys.size());
    store.set(keys, values, {}, statuses);
    holdfast::StoreItems items;
    store.get(keys, items);
    if (items.values.has(0)) std::cout << items.values[0] << "\n";
    holdfast::StorePipeline pipeline(store);
    holdfast::StoreCaller caller = pipeline.caller();  // one for each thread
    holdfast::StoreBatch batch;
    batch.add({.op = holdfast::StoreOp::set, .key = "user:17", .value = "Ada L."});
    batch.add({.op = holdfast::StoreOp::add, .key = "hits", .value = "41"});
    batch.add({.op = holdfast::StoreOp::increment, .key = "hits", .number = 1});
    const std::size_t row = batch.add({.key = "hits"});  // a get
    caller.submit(batch);
    caller.wait(batch);  // or caller.poll() until batch.is_done()
    std::cout << batch.answer(row).value << "\n";
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "Ada has CAS id 1\n1\n42\n");
  std::remove(path.c_str());
}

}  // namespace

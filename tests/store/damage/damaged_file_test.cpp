// damaged_file_test.cpp: what the public store does with a damaged item: it is named, counted, and never made valid.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "holdfast/error.hpp"
#include "holdfast/store_pipeline.hpp"
#include "store/store_fixture.hpp"
#include "support/errors.hpp"

namespace holdfast {
namespace {

/// A bit flips in the pool's file while the store is open, and while it is closed.
TEST_F(StoreTest, DamageIsRefusedCountedAndNamed) {
  const auto flip = [&](const std::string& text) {
    std::FILE* const file = std::fopen(path_.c_str(), "r+b");
    ASSERT_NE(file, nullptr);
    std::string bytes(4 << 20, '\0');
    long at = 0;
    std::size_t found = std::string::npos;
    for (std::size_t read; found == std::string::npos && (read = std::fread(bytes.data(), 1, bytes.size(), file)) != 0;
         at += static_cast<long>(read)) {
      found = std::string_view(bytes).substr(0, read).find(text);
      if (found != std::string::npos) at += static_cast<long>(found) - static_cast<long>(read);
    }
    ASSERT_NE(found, std::string::npos);
    std::fseek(file, at, SEEK_SET);
    std::fputc(text[0] ^ 1, file);
    std::fclose(file);
  };
  Store store = make();
  const std::string text(50, 'x');
  store.set("text", text);
  flip(text);
  EXPECT_EQ(store.get("text")->value, "y" + text.substr(1)) << "reads do not verify";
  EXPECT_NE(test::error_of([&] { store.append("text", "+"); }).find("does not match its checksum, and was not changed"),
            std::string::npos);
  EXPECT_THROW(store.prepend("text", "+"), PoolCorrupt);
  {
    StorePipeline pipeline(store);
    StoreCaller caller = pipeline.caller();
    StoreBatch batch;
    batch.add({.op = StoreOp::append, .key = "text", .value = "+"});
    caller.submit(batch);
    caller.wait(batch);
    EXPECT_EQ(batch.answer(0).status, StoreStatus::damaged);
  }
  ASSERT_EQ(store.check().errors.size(), 1u);
  EXPECT_NE(store.check().errors[0].find("the item of the key \"text\""), std::string::npos) << store.check().errors[0];
  EXPECT_EQ(store.stats().damaged_at_open, 0u);
  store.close();
  store = Store::open(pool_, "s");
  EXPECT_EQ(store.stats().damaged_at_open, 1u);
  EXPECT_EQ(store.get("text"), std::nullopt);
  EXPECT_NE(store.check().errors[0].find("key reads \"text\""), std::string::npos) << store.check().errors[0];
  EXPECT_EQ(store.set("text", text), StoreStatus::inserted);
}

}  // namespace
}  // namespace holdfast

// column_test.cpp: batches about a column of the values: the bytes outside of it stay, or are zero for a new key.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "holdfast/table.hpp"

namespace holdfast::test {
namespace {

class Columns : public testing::TestWithParam<std::uint32_t> {
 protected:
  ~Columns() override { unlink(path_.c_str()); }
  static CreateOptions options() {
    CreateOptions options;
    options.shape.value_bytes = GetParam();
    options.shape.capacity = 16;
    options.runtime.device = "cpu";
    options.runtime.threads = 2;
    options.overwrite = true;
    return options;
  }
  const std::string path_ = "/dev/shm/holdfast-column-" + std::to_string(getpid()) + ".hold";
  Table table_ = Table::create(path_, options());
};
INSTANTIATE_TEST_SUITE_P(Values, Columns, testing::Values(4u, 8u, 12u, 24u, 300u));

TEST_P(Columns, RefusesWhatLiesOutsideOfAValue) {
  const std::uint64_t key = 1;
  std::vector<char> space(GetParam());
  Batch batch;
  batch.size = 1;
  batch.op = Op::find;
  batch.keys = &key;
  batch.out = space.data();
  const std::uint32_t whole = GetParam();
  for (const auto& [column, bytes] :
       std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 0}, {0, whole + 1}, {1, whole}, {whole, 1}, {~0u, 2}}) {
    batch.column = Column{.begin = column, .bytes = bytes};
    EXPECT_THROW(table_.run(batch), InvalidArgument) << column << " " << bytes;
  }
  batch.op = Op::accumulate;
  batch.values = space.data();
  batch.column = Column{.begin = 0, .bytes = 2};
  EXPECT_THROW(table_.run(batch), InvalidArgument);
}

class TwoColumns : public Columns {};
INSTANTIATE_TEST_SUITE_P(Values, TwoColumns, testing::Values(8u, 16u));

/// Two threads, each with a column of its own of the same values: neither undoes what the other did.
TEST_P(TwoColumns, ThreadsOfTwoColumnsLoseNothing) {
  constexpr unsigned kRounds = 400, kKeys = 50;
  const std::uint32_t half = GetParam() / 2;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::uint64_t> keys(kKeys);
      std::vector<std::uint32_t> ones(kKeys * half / 4, 1);
      for (std::size_t i = 0; i < kKeys; ++i) keys[i] = i;
      Batch batch;
      batch.size = kKeys;
      batch.op = Op::accumulate;
      batch.accumulate = Accumulate{.element = Element::u32};
      batch.keys = keys.data();
      batch.values = ones.data();
      batch.column = Column{.begin = t * half, .bytes = half};
      for (unsigned i = 0; i < kRounds; ++i) table_.run(batch);
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<std::uint32_t> value(GetParam() / 4);
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    table_.find(&key, value.data(), 1);
    for (const std::uint32_t sum : value) ASSERT_EQ(sum, kRounds);
  }
}

}  // namespace
}  // namespace holdfast::test

// step_test.cpp: after every kind of end, a table with scores of steps continues with the largest step that its changes were given.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "holdfast/table.hpp"
#include "structures/gphash/table_shape.hpp"
#include "support/child.hpp"
#include "support/image.hpp"

namespace holdfast::test {
namespace {

struct Kind {
  std::uint32_t key_bytes, value_bytes;
};

class Steps : public testing::TestWithParam<Kind> {
 protected:
  ~Steps() override { std::filesystem::remove(path_); }

  CreateOptions created() const {
    CreateOptions options;
    options.shape.key_bytes = GetParam().key_bytes;
    options.shape.value_bytes = GetParam().value_bytes;
    options.shape.score = Score::step;
    options.shape.capacity = 16;
    options.runtime.device = "cpu";
    options.overwrite = true;
    return options;
  }
  Table reopened(bool read_only = false, bool salvage = false) const {
    OpenOptions options;
    options.runtime.device = "cpu";
    options.read_only = read_only;
    options.salvage = salvage;
    return Table::open(path_, options);
  }
  /// Keys first to last - 1, as changes of this step.
  static void put(Table& table, std::uint64_t first, std::uint64_t last, std::uint64_t step) {
    table.set_step(step);
    std::vector<std::byte> keys((last - first) * table.key_bytes()), values((last - first) * table.value_bytes());
    for (std::uint64_t i = 0; i < last - first; ++i) {
      const std::uint64_t key = first + i;
      std::memcpy(keys.data() + i * table.key_bytes(), &key, sizeof key);
    }
    ASSERT_EQ(table.insert_or_assign(keys.data(), values.data(), last - first).of(Status::no_space), 0u);
  }
  /// Runs `act` in a process that is then killed.
  static void killed(const std::function<void()>& act) {
    in_killed_child([&] {
      act();
      raise(SIGKILL);
    });
  }
  /// Where the table's record of its step is in the file.
  std::uint64_t record_at() const { return inspect(path_).objects.at(0).extents.at(0).offset + gphash::kStepOffset; }
  void write_record(const gphash::StepRecord& record) const {
    std::string bytes = read_file(path_);
    std::memcpy(bytes.data() + record_at(), &record, sizeof record);
    write_file(path_, bytes);
  }

  const std::string path_ = "/dev/shm/holdfast-steps-" + std::to_string(getpid()) + ".hold";
};

TEST_P(Steps, AreTheLargestAfterReopening) {
  {
    Table table = Table::create(path_, created());
    EXPECT_EQ(table.step(), 0u);
    put(table, 0, 100, 7);
    put(table, 50, 60, 9);
    put(table, 60, 70, 8);
    table.set_step(1000);  // no change has it
  }
  EXPECT_EQ(reopened().step(), 9u);
  EXPECT_EQ(reopened(true).step(), 9u);
  {
    Table table = reopened();
    put(table, 10, 11, 9);
    put(table, 200, 300, 5);  // grows
  }
  EXPECT_EQ(reopened(true).step(), 9u) << "a smaller step later makes it no smaller";
  killed([&] {
    Table table = reopened();
    put(table, 0, 5, ~std::uint64_t{0});
  });
  EXPECT_EQ(reopened(true, true).step(), ~std::uint64_t{0}) << "recovered in private memory";
  EXPECT_EQ(reopened().step(), ~std::uint64_t{0});
}

TEST_P(Steps, ARowThatIsTrainedAgainIsNotTheOldest) {
  {
    Table table = Table::create(path_, created());
    put(table, 0, 10, 100);
  }
  Table table = reopened();
  put(table, 3, 4, table.step());
  EXPECT_EQ(table.size_if({.greatest_score = 99}), 0u);
  EXPECT_EQ(table.size_if({.least_score = 100}), 10u);
}

TEST_P(Steps, AreTakenFromTheScoresWhereTheRecordDoesNotCount) {
  for (const gphash::StepRecord record : {gphash::StepRecord{0, 0}, gphash::StepRecord{77, 1}}) {
    {
      Table table = Table::create(path_, created());
      put(table, 0, 300, 3);
      put(table, 0, 1, 12);  // the reserved key
      put(table, 5, 6, 11);
    }
    write_record(record);
    EXPECT_EQ(reopened(true).step(), 12u);
    killed([&] {
      Table table = reopened();
      put(table, 1, 2, 4);
    });
    EXPECT_EQ(reopened().step(), 12u) << "a smaller step has made a record of the largest";
    Table(reopened()).clear();
    EXPECT_EQ(reopened().step(), 12u);
  }
  Table::create(path_, created()).close();
  write_record({0, 0});
  EXPECT_EQ(reopened().step(), 0u) << "it is empty";
}

TEST_P(Steps, GoWithASnapshot) {
  Table table = Table::create(path_, created());
  put(table, 0, 10, 42);
  const std::string copy = path_ + "-copy";
  table.snapshot(copy, {.overwrite = true});
  EXPECT_EQ(Table::open(copy, {.runtime = {.device = "cpu"}}).step(), 42u);
  std::filesystem::remove(copy);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Steps, testing::Values(Kind{8, 0}, Kind{8, 4}, Kind{8, 128}, Kind{32, 16}),
                         [](const auto& info) {
                           return "Keys" + std::to_string(info.param.key_bytes) + "Values" +
                                  std::to_string(info.param.value_bytes);
                         });

}  // namespace
}  // namespace holdfast::test

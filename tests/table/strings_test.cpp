// strings_test.cpp: batches over strings (strings.hpp): what they answer, and what they refuse.
#include "holdfast/strings.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/table.hpp"

namespace holdfast {
namespace {

using Texts = std::vector<std::string>;

class StringsTest : public testing::Test {
 protected:
  StringsTest()
      : table_(Table::create(path_, {.shape = {.key_bytes = kVariableBytes, .value_bytes = kVariableBytes},
                                     .runtime = {.device = "cpu"},
                                     .overwrite = true})) {}
  ~StringsTest() override { unlink(path_.c_str()); }

  const std::string path_ = "/dev/shm/holdfast-strings-" + std::to_string(getpid()) + ".hold";
  Table table_;
};

TEST_F(StringsTest, EveryOperation) {
  const Texts keys{"a", "", std::string(70, 'k'), std::string("\0x", 2)};
  std::array<Status, 4> statuses{};
  table_.insert(keys, Texts{"1", "2", "", std::string(9000, 'v')}, statuses);
  EXPECT_EQ(statuses, (std::array{Status::inserted, Status::inserted, Status::inserted, Status::inserted}));
  EXPECT_EQ(table_.insert(Texts{"a"}, Texts{"other"}).of(Status::exists), 1u);
  EXPECT_EQ(table_.assign(Texts{"", "none"}, std::array<const char*, 2>{"two", "x"}).of(Status::updated), 1u);
  EXPECT_EQ(table_.insert_or_assign(std::vector<std::string_view>{"a", "b"}, Texts{"one", "new"}).of(Status::inserted),
            1u);
  Blobs values;
  std::array<bool, 5> found{};
  table_.find(Texts{"a", "", keys[2], keys[3], "c"}, values, found);
  EXPECT_EQ(found, (std::array{true, true, true, true, false}));
  EXPECT_EQ(values[0], "one");
  EXPECT_EQ(values[1], "two");
  EXPECT_TRUE(values.has(2) && values[2].empty());
  EXPECT_EQ(values[3], std::string(9000, 'v'));
  EXPECT_FALSE(values.has(4));
  EXPECT_EQ(table_.erase(Texts{"", "c"}).of(Status::erased), 1u);
  std::array<bool, 2> there{};
  table_.contains(Texts{"", "a"}, there);
  EXPECT_EQ(there, (std::array{false, true}));
  EXPECT_EQ(table_.find(Texts{}, values).of(Status::found), 0u);
}

TEST_F(StringsTest, RefusesRowsThatDoNotFitAndTablesOfFixedLengths) {
  std::array<Status, 1> statuses{};
  std::array<bool, 3> found{};
  Blobs values;
  EXPECT_THROW(table_.insert(Texts{"a", "b"}, Texts{"1"}), InvalidArgument);
  EXPECT_THROW(table_.insert(Texts{"a", "b"}, Texts{"1", "2"}, statuses), InvalidArgument);
  EXPECT_THROW(table_.find(Texts{"a"}, values, found), InvalidArgument);
  EXPECT_THROW(table_.insert(Texts{std::string(65537, 'x')}, Texts{""}), InvalidArgument);
  EXPECT_EQ(table_.size(), 0u);
  Table numbers = Table::create(path_ + ".n", {.runtime = {.device = "cpu"}, .overwrite = true});
  EXPECT_THROW(numbers.insert(Texts{"12345678"}, Texts{"12345678"}), InvalidArgument);
  EXPECT_THROW(numbers.find(Texts{"12345678"}, values), InvalidArgument);
  numbers.close();
  unlink((path_ + ".n").c_str());
}

}  // namespace
}  // namespace holdfast

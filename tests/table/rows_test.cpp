// rows_test.cpp: batches over typed ranges (rows.hpp), for both kinds of table: what compiles, what throws, and that nothing is done then.
#include "holdfast/rows.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/memory_table.hpp"
#include "holdfast/table.hpp"

namespace holdfast {
namespace {

using Key = std::uint64_t;
using Vector = std::array<float, 4>;

template <class T, class Keys, class Values>
concept Inserts = requires(T& table, const Keys& keys, const Values& values) {
  table.insert(keys, values);
};
template <class T, class Keys, class Values>
concept Finds = requires(T& table, const Keys& keys, Values& values) {
  table.find(keys, values);
};
template <class T, class Values>
concept Sums = requires(T& table, const std::vector<Key>& keys, const Values& values) {
  table.accumulate(keys, values);
};

static_assert(Inserts<Table, std::vector<Key>, std::vector<Vector>>);
static_assert(Inserts<Table, std::array<Key, 3>, std::span<const Vector>>);
static_assert(!Inserts<Table, std::vector<int>, std::vector<Vector>>, "keys have 8 bytes, or a multiple");
static_assert(!Inserts<Table, std::vector<double>, std::vector<Vector>>, "0 and -0 are equal, and have other bytes");
static_assert(!Inserts<Table, std::vector<std::pair<std::uint32_t, Key>>, std::vector<Vector>>, "padding");
static_assert(!Inserts<Table, std::vector<std::string>, std::vector<Vector>>, "strings are no rows");
static_assert(!Inserts<Table, std::vector<std::string_view>, std::vector<Vector>>, "nor what refers to them");
static_assert(!Inserts<Table, std::vector<Key>, std::vector<std::span<float>>>);
static_assert(Inserts<Table, std::vector<std::string>, std::array<const char*, 3>>, "both strings");
static_assert(!Inserts<MemoryTable, std::vector<std::string>, std::vector<std::string>>, "there all have a length");
static_assert(!Inserts<Table, std::vector<Key>, std::vector<const char*>>, "nor are pointers");
static_assert(!Inserts<Table, std::vector<Key>, std::vector<bool>>, "nor bits");
static_assert(!Inserts<Table, std::vector<Key>, float>);
static_assert(Finds<Table, std::span<const Key>, std::vector<Vector>>);
static_assert(!Finds<Table, std::span<const Key>, const std::vector<Vector>>, "values are written");
static_assert(!Finds<Table, std::span<const Key>, std::span<const Vector>>);
static_assert(Sums<Table, std::vector<std::int32_t>> && Sums<Table, std::vector<Vector>>);
static_assert(!Sums<Table, std::vector<char>> && !Sums<Table, std::vector<std::pair<float, float>>>);
static_assert(Inserts<MemoryTable, std::vector<Key>, std::vector<Vector>>);

template <class Keys>
concept ErasesAt = requires(Table& table, Keys* keys) {
  table.erase(keys, 1);
};
static_assert(ErasesAt<const Key> && ErasesAt<const void> && ErasesAt<std::byte> && ErasesAt<std::array<Key, 16>>);
static_assert(!ErasesAt<int> && !ErasesAt<const float> && !ErasesAt<std::array<Key, 17>>);

/// A table of 8-byte keys and 16-byte values, of either kind.
template <class T>
class RowsTest : public testing::Test {
 protected:
  RowsTest() {
    if constexpr (std::is_same_v<T, Table>) {
      table_.emplace(Table::create(
          path_, {.shape = {.value_bytes = sizeof(Vector)}, .runtime = {.device = "cpu"}, .overwrite = true}));
    } else {
      table_.emplace(MemoryOptions{.value_bytes = sizeof(Vector), .capacity = 1000});
    }
  }
  ~RowsTest() override { unlink(path_.c_str()); }

  const std::string path_ = "/dev/shm/holdfast-rows-" + std::to_string(getpid()) + ".hold";
  std::optional<T> table_;
};
using Kinds = testing::Types<Table, MemoryTable>;
TYPED_TEST_SUITE(RowsTest, Kinds);

template <class Act>
std::string refusal(const Act& act) {
  try {
    act();
    return "nothing was refused";
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

TYPED_TEST(RowsTest, EveryOperation) {
  const std::vector<Key> keys{1, 2, 3};
  const std::vector<Vector> ones(3, Vector{1, 1, 1, 1});
  std::array<Status, 3> statuses{};
  this->table_->insert(keys, ones, statuses);
  EXPECT_EQ(statuses, (std::array{Status::inserted, Status::inserted, Status::inserted}));
  this->table_->insert_or_assign(std::span(keys).first(1), std::array<Vector, 1>{{{2, 2, 2, 2}}});
  EXPECT_EQ(
      this->table_->assign(std::array<Key, 2>{2, 9}, std::array{Vector{3, 3, 3, 3}, Vector{}}).of(Status::updated), 1u);
  EXPECT_EQ(this->table_->accumulate(keys, ones).of(Status::updated), 3u);
  EXPECT_EQ(this->table_->accumulate(std::array<Key, 1>{3}, std::array<Vector, 1>{{{9, 0, 9, 0}}}, Combine::max)
                .of(Status::updated),
            1u);
  EXPECT_EQ(this->table_->erase(std::array<Key, 1>{1}).of(Status::erased), 1u);
  std::vector<Vector> values(3, Vector{7, 7, 7, 7});
  std::array<bool, 3> found{}, there{};
  this->table_->find(keys, values, found);
  EXPECT_EQ(found, (std::array{false, true, true}));
  EXPECT_EQ(values, (std::vector<Vector>{{}, {4, 4, 4, 4}, {9, 2, 9, 2}}));
  this->table_->contains(keys, there);
  EXPECT_EQ(there, found);
}

TYPED_TEST(RowsTest, SizesThatDoNotFitThrowAndDoNothing) {
  auto& table = *this->table_;
  const std::vector<Key> keys{1, 2};
  const std::vector<Vector> values(2);
  EXPECT_EQ(refusal([&] { table.insert(std::vector<std::array<Key, 2>>(2), values); }),
            "keys has elements of 16 bytes, and those of the table have 8: give elements of as many, or fill a Batch");
  EXPECT_EQ(
      refusal([&] { table.insert(keys, std::vector<double>(2)); }),
      "values has elements of 8 bytes, and those of the table have 16: give elements of as many, or fill a Batch");
  EXPECT_EQ(refusal([&] { table.insert(keys, std::vector<Vector>(3)); }),
            "values has 3 rows, and keys has 2: give one for each key");
  std::array<Status, 1> statuses{};
  EXPECT_EQ(refusal([&] { table.insert(keys, values, statuses); }),
            "statuses has 1 rows, and keys has 2: give one for each key");
  std::array<bool, 3> found{};
  std::vector<Vector> out(2);
  EXPECT_EQ(refusal([&] { table.find(keys, out, found); }), "found has 3 rows, and keys has 2: give one for each key");
  EXPECT_EQ(table.size(), 0u);
}

TYPED_TEST(RowsTest, AMovedFromTableThrows) {
  auto moved = std::move(*this->table_);
  const std::vector<Key> keys{1};
  EXPECT_THROW(this->table_->insert(keys, std::vector<Vector>(1)), ObjectClosed);
  EXPECT_THROW(this->table_->size(), ObjectClosed);
  EXPECT_THROW(this->table_->stats(), ObjectClosed);
  EXPECT_EQ(moved.size(), 0u);
  *this->table_ = std::move(moved);
  EXPECT_EQ(this->table_->insert(keys, std::vector<Vector>(1)).of(Status::inserted), 1u);
}

TEST(Rows, KeysOfAnyLengthAreNoRows) {
  const std::string path = "/dev/shm/holdfast-rows-" + std::to_string(getpid()) + ".hold";
  {
    Table table = Table::create(path, {.shape = {.key_bytes = kVariableBytes, .value_bytes = kVariableBytes},
                                       .runtime = {.device = "cpu"},
                                       .overwrite = true});
    EXPECT_EQ(refusal([&] { table.insert(std::vector<Key>{1}, std::vector<Key>{1}); }),
              "keys has elements of 8 bytes, and those of the table have any number: give elements of as many, or fill "
              "a Batch");
  }
  unlink(path.c_str());
}

TEST(Rows, AMovedFromPoolThrows) {
  const std::string path = "/dev/shm/holdfast-rows-" + std::to_string(getpid()) + ".hold";
  {
    Pool pool = Pool::create(path, true);
    const Pool taken = std::move(pool);
    EXPECT_FALSE(pool.is_open());  // NOLINT(bugprone-use-after-move)
    EXPECT_THROW(pool.objects(), ObjectClosed);
    EXPECT_TRUE(taken.is_open());
  }
  unlink(path.c_str());
}

}  // namespace
}  // namespace holdfast

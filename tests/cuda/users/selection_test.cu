// selection_test.cu: selections by predicates on the GPU against the oracle, of all kinds of tables.
//
// What erase_if does to the pool is batches of erases, which the model covers (tests/model, both schedules); the kill test erases so
// too (tests/kill/in_session.cu).
#include "cuda/users/selections.cuh"

namespace holdfast::test {
namespace {

template <class Key>
class Selections {
 public:
  Selections(Shape shape, std::uint64_t capacity) : gpu(with_keys(shape), capacity), bytes(shape.value_bytes) {}

  const NumberedItems& items() const { return gpu.oracle.items(); }
  Table& table() { return gpu.table->table(); }

  void count() {
    const Divisible<Key> by_number{3};
    const FirstAndLast by_value{bytes};
    const auto right = [&](std::uint64_t, const Value& value) { return by_value.holds(value); };
    EXPECT_EQ(size_if<Key>(table(), stream.stream, by_key(Every{})), items().size());
    EXPECT_EQ(size_if<Key>(table(), stream.stream, by_key(by_number)),
              those(items(), [&](std::uint64_t number, const Value&) { return by_number.holds(number); }).size());
    EXPECT_EQ(size_if<Key>(table(), stream.stream, by_value), those(items(), right).size());
    if (bytes == 0) return;
    EXPECT_EQ(size_if<void>(table(), stream.stream, OddAndFirst{}),
              those(items(), [](std::uint64_t number, const Value& value) {
                return number % 2 == 1 && value[0] % 2 == 0;
              }).size());
    DeviceSelection part;
    for (part.column = 0; part.column < bytes; part.column += 1 + bytes / 5) {
      part.column_bytes = bytes - part.column;
      const auto holds = [&](std::uint64_t, const Value& value) {
        return (value[part.column] + value[bytes - 1]) % 3 == 0;
      };
      EXPECT_EQ(size_if<Key>(table(), stream.stream, FirstAndLast{part.column_bytes}, part),
                those(items(), holds).size())
          << "from byte " << part.column;
    }
  }

  void give() {
    const FirstAndLast by_value{bytes};
    const Divisible<Key> by_number{2};
    const NumberedItems right =
        those(items(), [&](std::uint64_t, const Value& value) { return by_value.holds(value); });
    EXPECT_EQ(exported<Key>(gpu, stream.stream, by_value, items().size(), right.size()), right);
    EXPECT_EQ(exported<Key>(gpu, stream.stream, by_value, right.size(), right.size()), right);
    for (const std::uint64_t capacity : {std::uint64_t{0}, right.size() / 2}) {
      const NumberedItems some = exported<Key>(gpu, stream.stream, by_value, capacity, right.size());
      EXPECT_TRUE(std::includes(right.begin(), right.end(), some.begin(), some.end()));
    }
    const NumberedItems even =
        those(items(), [&](std::uint64_t number, const Value&) { return by_number.holds(number); });
    EXPECT_EQ(exported<Key>(gpu, stream.stream, by_key(by_number), items().size(), even.size()), even);
    if (bytes < 2) return;
    DeviceSelection part;  // the predicate gets a part, the caller the whole
    part.column = 1;
    part.column_bytes = bytes - 1;
    const NumberedItems by_part =
        those(items(), [&](std::uint64_t, const Value& value) { return (value[1] + value[bytes - 1]) % 3 == 0; });
    EXPECT_EQ(exported<Key>(gpu, stream.stream, FirstAndLast{bytes - 1}, items().size(), by_part.size(), part),
              by_part);
  }

  /// Keys alone, and values alone.
  void give_one() {
    const std::uint64_t size = items().size();
    const OnGpu<Key> keys(size);
    EXPECT_EQ(export_if<Key>(table(), stream.stream, Every{}, keys.get(), nullptr, size).given, size);
    std::vector<Key> got(size);
    keys.copy_to(got.data());
    std::vector<std::uint64_t> numbers, right;
    for (const Key& key : got) numbers.push_back(gpu.table->number_of(&key));
    for (const auto& item : items()) right.push_back(item.first);
    std::sort(numbers.begin(), numbers.end());
    EXPECT_EQ(numbers, right);
    if (bytes == 0) return;
    const OnGpu<std::uint8_t> values(size * bytes);
    EXPECT_EQ(export_if<Key>(table(), stream.stream, by_key(Every{}), nullptr, values.get(), size).given, size);
    std::vector<std::uint8_t> all(size * bytes);
    values.copy_to(all.data());
    std::vector<Value> got_values, right_values;
    for (std::uint64_t i = 0; i < size; ++i) got_values.emplace_back(&all[i * bytes], &all[(i + 1) * bytes]);
    for (const auto& item : items()) right_values.push_back(item.second);
    std::sort(got_values.begin(), got_values.end());
    std::sort(right_values.begin(), right_values.end());
    EXPECT_EQ(got_values, right_values);
  }

  /// Keys that lie between two of the table's, as the host compares them.
  void range() {
    std::vector<std::uint64_t> numbers;
    for (const auto& item : items()) numbers.push_back(item.first);
    const std::vector<std::byte> keys = gpu.keys_of(numbers);
    Selection host;
    host.first = keys.data() + numbers.size() / 4 * sizeof(Key);
    host.last = keys.data() + numbers.size() / 2 * sizeof(Key);
    for (const bool has_last : {true, false}) {
      if (!has_last) host.last = nullptr;
      DeviceSelection selection;
      selection.first = host.first;
      selection.last = host.last;
      const std::uint64_t right = table().size_if(host);
      EXPECT_EQ(size_if<Key>(table(), stream.stream, by_key(Every{}), selection), right);
      EXPECT_EQ(size_if<Key>(table(), stream.stream, Every{}, selection), right);
    }
  }

  template <class Predicate, class Holds>
  void erase(const Predicate& predicate, const Holds& holds) {
    const NumberedItems gone = those(items(), holds);
    EXPECT_EQ(erase_if<Key>(table(), stream.stream, predicate), gone.size());
    for (const auto& item : gone) gpu.oracle.apply(Op::erase, item.first, {});
    gpu.verify();
  }

  GpuTable gpu;
  const std::uint32_t bytes;
  TestStream stream;

 private:
  static Shape with_keys(Shape shape) {
    shape.key_bytes = sizeof(Key);
    return shape;
  }
};

/// The table grows between them.
template <class Key>
void selections_against_the_oracle(const Shape& shape, std::size_t n = 400) {
  Selections<Key> selections(shape, 16);
  GpuTable& gpu = selections.gpu;
  for (unsigned turn = 1; turn <= 3; ++turn) {
    gpu.round(turn * n, 2 * turn * n, false, Op::insert_or_assign);
    if (shape.value_bytes != 0) gpu.round(n, 2 * turn * n, true, Op::find);
    if (turn == 2) gpu.table->load_cache();  // where there is one
    selections.count();
    selections.give();
    selections.give_one();
    selections.range();
    const FirstAndLast by_value{shape.value_bytes};
    const Divisible<Key> by_number{5};
    if (turn != 3 || shape.value_bytes != 0)
      selections.erase(by_key(by_number), [&](std::uint64_t number, const Value&) { return by_number.holds(number); });
    if (turn == 2) gpu.round(n, 2 * n, false, Op::insert_or_assign);
    if (shape.value_bytes != 0)
      selections.erase(by_value, [&](std::uint64_t, const Value& value) { return by_value.holds(value); });
    if (testing::Test::HasFailure()) return;
  }
  selections.erase(by_key(Every{}), [](std::uint64_t, const Value&) { return true; });
  selections.count();
  gpu.round(n, n, false, Op::insert);
  gpu.reopen("cpu");
  gpu.verify();
}

Shape of_values(std::uint32_t bytes) {
  Shape shape;
  shape.value_bytes = bytes;
  return shape;
}

TEST(GpuSelection, SmallValuesInSlotsAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  for (const std::uint32_t bytes : {8u, 3u}) selections_against_the_oracle<std::uint64_t>(of_values(bytes));
}
TEST(GpuSelection, SmallSetsAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  selections_against_the_oracle<std::uint64_t>(of_values(0));
}
TEST(GpuSelection, SmallValuesInCellsAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  for (const std::uint32_t bytes : {64u, 24u, 13u}) selections_against_the_oracle<std::uint64_t>(of_values(bytes));
}
TEST(GpuSelection, SmallWideKeysAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  selections_against_the_oracle<Words<2>>(of_values(64));
  selections_against_the_oracle<Words<4>>(of_values(8));
  selections_against_the_oracle<Words<16>>(of_values(40));
}
TEST(GpuSelection, SmallPoolWithoutCopiesAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  for (const std::uint32_t bytes : {8u, 64u}) {
    Shape shape = of_values(bytes);
    shape.gpu_memory = 0;
    selections_against_the_oracle<std::uint64_t>(shape);
    selections_against_the_oracle<Words<2>>(shape);
  }
}
TEST(GpuSelection, SmallCopiesOfSomeBucketsAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  for (const std::uint32_t bytes : {8u, 64u}) {
    Shape shape = of_values(bytes);
    shape.cache.bucket_ratio = 0.2;
    selections_against_the_oracle<std::uint64_t>(shape);
    selections_against_the_oracle<Words<2>>(shape);
  }
}
TEST(GpuSelection, SmallCopiesOfValuesAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  for (const double part : {0.3, 1.0}) {
    Shape shape = of_values(64);
    shape.cache.ratio = part;
    selections_against_the_oracle<std::uint64_t>(shape);
  }
}
TEST(GpuSelection, SmallTablesWithScoresAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  for (const std::uint32_t bytes : {8u, 16u}) {
    Shape shape = of_values(bytes);
    shape.score = Score::step;
    selections_against_the_oracle<std::uint64_t>(shape);
    selections_against_the_oracle<Words<2>>(shape);
  }
}
TEST(GpuSelection, SmallOtherConfigurationsAgainstTheOracle) {
  HOLDFAST_NEEDS_GPU();
  Shape shape = of_values(12);
  shape.levels = 4;
  shape.slots = 4;
  selections_against_the_oracle<std::uint64_t>(shape);
  shape.levels = 1;
  shape.hashes = 4;
  selections_against_the_oracle<Words<2>>(shape);
}
TEST(GpuSelection, ManyRowsAgainstTheOracle) {  // erases go in phases
  HOLDFAST_NEEDS_GPU();
  selections_against_the_oracle<std::uint64_t>(of_values(24), 30000);
  selections_against_the_oracle<Words<4>>(of_values(8), 30000);
}

template <class Value>
struct FirstWordDivisible {
  std::uint64_t by;
  __device__ bool operator()(const std::uint64_t&, const Value* value) const { return value->word[0] % by == 0; }
};

/// More slots, or more bytes of values, than one piece has.
template <class Value>
void several_pieces(std::uint64_t items) {
  const PoolPath path;
  Table table = Table::create(path.str(), options_for(sizeof(Value), items));
  const TestStream stream;
  constexpr std::uint64_t kAtOnce = 1 << 16;
  std::vector<std::uint64_t> keys(kAtOnce);
  std::vector<Value> values(kAtOnce);
  for (std::uint64_t first = 0; first < items; first += kAtOnce) {
    const std::uint64_t n = std::min(kAtOnce, items - first);
    for (std::uint64_t i = 0; i < n; ++i) keys[i] = values[i].word[0] = first + i;
    ASSERT_EQ(table.insert(keys.data(), values.data(), n).of(Status::inserted), n);
  }
  const auto times = [&](std::uint64_t by) { return (items + by - 1) / by; };
  EXPECT_EQ(size_if(table, stream.stream, by_key(Divisible<std::uint64_t>{7})), times(7));
  EXPECT_EQ((size_if<std::uint64_t, Value>(table, stream.stream, FirstWordDivisible<Value>{7})), times(7));
  EXPECT_EQ((erase_if<std::uint64_t, Value>(table, stream.stream, FirstWordDivisible<Value>{3})), times(3));
  EXPECT_EQ(table.size(), items - times(3));
  EXPECT_EQ(size_if(table, stream.stream, by_key(Divisible<std::uint64_t>{3})), 0u);
  EXPECT_EQ(erase_if(table, stream.stream, by_key(Every{})), items - times(3));
  EXPECT_EQ(table.size(), 0u);
  expect_in_order(table);
}

TEST(GpuSelection, SeveralPieces) {
  HOLDFAST_NEEDS_GPU();
  several_pieces<Words<1>>(5 << 20);
  several_pieces<Words<2>>(9 << 20);
  several_pieces<Words<512>>(80000);
}

}  // namespace
}  // namespace holdfast::test

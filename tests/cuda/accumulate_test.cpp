// accumulate_test.cpp: every element type and way to combine, on the GPU, with keys that repeat.
#include <tuple>

#include "fixture.hpp"

namespace holdfast::test {
namespace {

template <class T>
void put_elements(std::vector<std::uint8_t>& values, std::mt19937_64& random) {
  // Small whole numbers, so that sums of floats do not depend on their order.
  for (std::size_t at = 0; at + sizeof(T) <= values.size(); at += sizeof(T)) {
    const T element = static_cast<T>(static_cast<std::int64_t>(random() % 2001) - 1000);
    std::memcpy(&values[at], &element, sizeof element);
  }
}

template <class T>
void put_small(std::vector<std::uint8_t>& values, std::mt19937_64& random, T (*rounded)(float)) {
  for (std::size_t at = 0; at + sizeof(T) <= values.size(); at += sizeof(T)) {
    const T element = rounded(static_cast<float>(random() % 4001) / 1024 - 2);  // sums of them are rounded
    std::memcpy(&values[at], &element, sizeof element);
  }
}

void put_elements(std::vector<std::uint8_t>& values, Element element, std::mt19937_64& random) {
  switch (element) {
    case Element::i32: return put_elements<std::int32_t>(values, random);
    case Element::u32: return put_elements<std::uint32_t>(values, random);
    case Element::i64: return put_elements<std::int64_t>(values, random);
    case Element::u64: return put_elements<std::uint64_t>(values, random);
    case Element::f32: return put_elements<float>(values, random);
    case Element::f64: return put_elements<double>(values, random);
    case Element::f16: return put_small(values, random, to_half);
    case Element::bf16: return put_small(values, random, to_bfloat16);
  }
}

/// Values of so many bytes; one by one, or in phases from the first row on.
class GpuAccumulate : public testing::TestWithParam<std::tuple<std::uint32_t, std::uint64_t>> {};

/// Every element and combination, in three batches of `rows` rows on `keys` keys.
void check_all_elements(std::uint32_t bytes, std::uint64_t order_from, std::size_t n, std::uint64_t keys) {
  for (unsigned e = 0; e < kElements; ++e) {
    const auto element = static_cast<Element>(e);
    if (bytes % element_bytes(element) != 0) continue;
    GpuTable gpu({bytes, 2, 2, 8, order_from}, 4000);
    for (const Combine how : {Combine::add, Combine::min, Combine::max}) {
      Rows rows = gpu.some_rows(n, keys, false, Op::accumulate);
      put_elements(rows.values, element, gpu.random);
      Batch batch = rows.batch();
      batch.op = Op::accumulate;
      batch.accumulate = Accumulate{.combine = how, .element = element};
      gpu.table->run(batch);
      ASSERT_NO_FATAL_FAILURE(gpu.compare(rows, batch)) << "element " << e << " combine " << int(how);
    }
    ASSERT_NO_FATAL_FAILURE(gpu.verify());
    EXPECT_EQ(gpu.table->stats().work.phased_batches, order_from == 1 ? 3u : 0u);
  }
}

TEST_P(GpuAccumulate, SmallAllElementsAndCombinations) {
  HOLDFAST_NEEDS_GPU();
  check_all_elements(std::get<0>(GetParam()), std::get<1>(GetParam()), 300, 40);
}

TEST_P(GpuAccumulate, LongRunsOfAllElementsAndCombinations) {
  HOLDFAST_NEEDS_GPU();
  check_all_elements(std::get<0>(GetParam()), std::get<1>(GetParam()), 3000, 5);
}

INSTANTIATE_TEST_SUITE_P(Values, GpuAccumulate,
                         testing::Combine(testing::Values(2u, 4u, 6u, 8u, 12u, 16u, 128u, 1000u),
                                          testing::Values(0u, 1u)));

/// Scaled sums, of new keys and old ones, repeated and not, are to the last bit those of the CPU.
void compare_scaled_sums(std::uint64_t order_from, std::size_t n, std::uint64_t keys) {
  for (const std::uint32_t bytes : {4u, 8u, 24u, 256u}) {
    for (const Element element : {Element::f16, Element::bf16, Element::f32, Element::f64}) {
      if (bytes % element_bytes(element) != 0) continue;
      GpuTable gpu({bytes, 2, 2, 8, order_from}, 4000);
      const PoolPath path("-cpu");
      Table cpu =
          Table::create(path.str(), {.shape = {.value_bytes = bytes}, .runtime = {.device = "cpu"}, .overwrite = true});
      for (int round = 0; round < 3; ++round) {
        Rows rows = gpu.some_rows(n, keys, false, Op::accumulate);
        put_elements(rows.values, element, gpu.random);
        Batch batch = rows.batch();
        batch.op = Op::accumulate;
        batch.accumulate = Accumulate{.element = element, .scale = -0.1};
        gpu.table->run(batch);
        cpu.run(batch);
        std::vector<std::uint8_t> here(rows.values.size()), there(rows.values.size());
        gpu.table->find(rows.keys.data(), here.data(), rows.keys.size());
        cpu.find(rows.keys.data(), there.data(), rows.keys.size());
        ASSERT_EQ(here, there) << bytes << " bytes, element " << int(element);
      }
      ASSERT_EQ(gpu.table->stats().work.phased_batches, order_from == 1 ? 3u : 0u);
    }
  }
}

TEST(GpuAccumulate, ScaledSumsAreThoseOfTheCpu) {
  HOLDFAST_NEEDS_GPU();
  compare_scaled_sums(0, 500, 60);
}

TEST(GpuAccumulate, ScaledSumsInPhasesAreThoseOfTheCpu) {
  HOLDFAST_NEEDS_GPU();
  compare_scaled_sums(1, 500, 60);
}

TEST(GpuAccumulate, ScaledSumsOfLongRunsAreThoseOfTheCpu) {
  HOLDFAST_NEEDS_GPU();
  compare_scaled_sums(1, 3000, 4);
}

TEST(GpuAccumulate, ManyRowsOfOneKey) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu({16});
  const std::size_t n = 20000;
  const std::vector<std::uint64_t> keys(n, 5);
  std::vector<std::uint64_t> values(2 * n);
  for (std::size_t i = 0; i < n; ++i) values[2 * i] = i, values[2 * i + 1] = 1;
  const BatchResult result = gpu.table->accumulate(keys.data(), values.data(), n, Combine::add, Element::u64);
  EXPECT_EQ(result.of(Status::inserted), 1u);
  EXPECT_EQ(result.of(Status::updated), n - 1);
  std::uint64_t sum[2] = {};
  bool found = false;
  gpu.table->find(keys.data(), sum, 1, &found);
  EXPECT_TRUE(found);
  EXPECT_EQ(sum[0], n * (n - 1) / 2);
  EXPECT_EQ(sum[1], n);
}

}  // namespace
}  // namespace holdfast::test

// adagrad_test.cu: the step of row-wise Adagrad, bit by bit as it is written down in adagrad.hpp.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "arrays.hpp"
#include "gpu/adagrad.hpp"

namespace holdfast::gpu {
namespace {

class SmallAdagrad : public OnGpu, public testing::WithParamInterface<std::uint32_t> {};

TEST_P(SmallAdagrad, StepsAsIsWrittenDown) {
  const std::uint32_t columns = GetParam();
  constexpr std::uint64_t kRows = 1003;
  std::vector<float> rows(kRows * (columns + 1)), gradients(kRows * columns), means(kRows);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i % 97) / 31.0f;
  for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = (static_cast<float>(i % 89) - 44.0f) / 17.0f;
  for (std::size_t i = 0; i < means.size(); ++i) means[i] = static_cast<float>(i % 7) / 3.0f;
  const auto rows_there = on_gpu(rows), gradients_there = on_gpu(gradients), means_there = on_gpu(means);
  AdagradStep step{rows_there.data(), gradients_there.data(), means_there.data(), kRows, columns, 0.05f, 1e-8f};
  step_adagrad(step, nullptr);
  const auto got = on_host(rows_there.data(), rows.size());
  for (std::uint64_t row = 0; row < kRows; ++row) {
    float* const mine = rows.data() + row * (columns + 1);
    const volatile float state = mine[columns] + means[row];  // `volatile`: no two operations become one
    const volatile float below = std::sqrt(state) + step.eps;
    const volatile float reciprocal = 1.0f / below;
    const volatile float rate = reciprocal * step.lr;
    for (std::uint32_t i = 0; i < columns; ++i) {
      const volatile float change = gradients[row * columns + i] * rate;
      ASSERT_EQ(got[row * (columns + 1) + i], mine[i] - change) << row << ", " << i;
    }
    ASSERT_EQ(got[row * (columns + 1) + columns], state) << row;
  }
}

INSTANTIATE_TEST_SUITE_P(Columns, SmallAdagrad, testing::Values(1, 31, 128));

TEST_F(OnGpu, SmallAnAdagradStepOfNoRowsDoesNothing) {
  step_adagrad({}, nullptr);
  check(cudaStreamSynchronize(nullptr), "stepping");
}

}  // namespace
}  // namespace holdfast::gpu

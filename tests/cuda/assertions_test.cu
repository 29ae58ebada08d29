// assertions_test.cu: broken preconditions end a kernel of a checked build, and with it the process.
#include "support/assertions.hpp"

#include <exception>

#include "gpu/runtime.hpp"
#include "structures/gphash/cuda/change/batch.cuh"

namespace holdfast::gphash::cuda {
namespace {

__global__ void length_kernel(std::uint32_t begin, std::uint64_t end, std::uint64_t* length) {
  const std::uint32_t begins[2] = {begin, begin};
  *length = run_length(begins, 0, end);
}

void run(std::uint32_t begin, std::uint64_t end) {
  const DeviceBuffer<std::uint64_t> length(1);
  length_kernel<<<1, 1>>>(begin, end, length.data());
  if (cudaDeviceSynchronize() != cudaSuccess) std::terminate();
}

TEST(CudaAssertionDeathTest, RunsBeginAtOrBeforeTheirRows) {
  run(0, 2);
  EXPECT_ASSERTION(run(1, 2), "begin <= at");
  EXPECT_ASSERTION(run(0, 0), "at < end");
}

}  // namespace
}  // namespace holdfast::gphash::cuda

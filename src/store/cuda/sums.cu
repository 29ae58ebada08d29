// sums.cu: the sums of new values, in GPU memory, while the copy engine brings their bytes to the pool.
#include "gpu/bytes.cuh"
#include "gpu/launch.cuh"
#include "store/cuda/cuda_side.hpp"

namespace holdfast::store::cuda {

namespace {

/// A lane is a chain of multiplications, as long as its chunk: blocks of one warp spread the lanes over all multiprocessors.
constexpr unsigned kSumThreads = gpu::kWarp;

__global__ void __launch_bounds__(kSumThreads)
    sum_kernel(const SumJob* jobs, std::size_t count, const SumPart* parts, std::uint64_t* sums) {
  const std::uint64_t number = gpu::first_of_thread() / kSumLanes;
  const unsigned its = threadIdx.x % kSumLanes;
  const SumJob job = number < count ? jobs[number] : SumJob{};
  const auto tail = [](const std::byte* from, std::uint64_t bytes) { return gpu::load_user(from, bytes); };
  bool whole_words = true;  // then no load has a branch, and sixteen are under way
  for (std::uint32_t i = 0; i < job.size; ++i) whole_words = whole_words && gpu::aligned(parts[job.first + i].from, 8);
  const std::uint64_t sum =
      whole_words ? sum_lane(
                        job, parts, its,
                        [](const std::byte* from) { return *reinterpret_cast<const std::uint64_t*>(from); }, tail)
                  : sum_lane(
                        job, parts, its, [](const std::byte* from) { return gpu::load_user(from, 8); }, tail);
  std::uint64_t lanes[kSumLanes];
#pragma unroll
  for (unsigned lane = 0; lane < kSumLanes; ++lane) lanes[lane] = __shfl_sync(gpu::kAllLanes, sum, lane, kSumLanes);
  if (its != 0 || number >= count) return;
  sums[number] = join_job(
      job, parts, [&](unsigned lane) { return lanes[lane]; }, tail);
}

}  // namespace

void take_sums(const SumJob* jobs, std::size_t count, const SumPart* parts, std::uint64_t* sums, cudaStream_t stream) {
  if (count == 0) return;
  const std::uint64_t blocks = (count * kSumLanes + kSumThreads - 1) / kSumThreads;
  sum_kernel<<<static_cast<unsigned>(blocks), kSumThreads, 0, stream>>>(jobs, count, parts, sums);
  gpu::check_launch("taking checksums of values of a store");
}

}  // namespace holdfast::store::cuda

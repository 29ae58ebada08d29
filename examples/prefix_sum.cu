// prefix_sum.cu: partial sums that survive a kill: a block whose last sum is there is not computed again. GPM §5.4, figure 8.
//
//   example_prefix_sum POOL
#include <cstdint>
#include <cstdio>
#include <string>

#include "holdfast/persist.cuh"
#include "holdfast/region.hpp"

namespace {

constexpr unsigned kBlocks = 64, kThreads = 256;

/// The sums of a block are durable before its last one is stored. Zero is no sum: each value is 1 or more.
__global__ void partial_sums(const std::uint32_t* values, std::uint64_t* sums, unsigned* computed) {
  __shared__ std::uint64_t sum[kThreads];
  const unsigned at = blockIdx.x * kThreads + threadIdx.x;
  const unsigned last = blockIdx.x * kThreads + kThreads - 1;
  __shared__ bool there;
  if (threadIdx.x == 0) there = *static_cast<volatile std::uint64_t*>(sums + last) != 0;
  __syncthreads();
  if (there) return;
  sum[threadIdx.x] = values[at];
  __syncthreads();
  for (unsigned step = 1; step < kThreads; step *= 2) {
    const std::uint64_t more = threadIdx.x >= step ? sum[threadIdx.x - step] : 0;
    __syncthreads();
    sum[threadIdx.x] += more;
    __syncthreads();
  }
  if (at != last) sums[at] = sum[threadIdx.x];
  holdfast::persist_block();
  if (at != last) return;
  sums[at] = sum[threadIdx.x];
  holdfast::persist();
  atomicAdd(computed, 1u);
}

}  // namespace

int main(int count, char** words) {
  const std::string path = count > 1 ? words[1] : "/dev/shm/prefix_sum.hold";
  constexpr unsigned kAll = kBlocks * kThreads;
  std::uint32_t* values = nullptr;
  unsigned* computed = nullptr;
  if (cudaMallocManaged(&values, kAll * sizeof *values) != cudaSuccess ||
      cudaMallocManaged(&computed, sizeof *computed) != cudaSuccess) {
    std::puts("no GPU: nothing to show");
    return 0;
  }
  for (unsigned i = 0; i < kAll; ++i) values[i] = i % 10 + 1;

  holdfast::Pool::create(path, true).close();
  for (unsigned run = 0; run < 2; ++run) {  // the second begins with what the first has left
    holdfast::Pool pool = holdfast::Pool::open(path);
    holdfast::Region sums = run == 0 ? holdfast::Region::create(pool, "sums", kAll * 8, {.gpu = true})
                                     : holdfast::Region::open(pool, "sums", {.gpu = true});
    const holdfast::Section section = sums.section(holdfast::Domain::process, holdfast::Writer::gpu);
    *computed = 0;
    partial_sums<<<run == 0 ? kBlocks / 2 : kBlocks, kThreads>>>(values, section.as<std::uint64_t>().data(), computed);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    std::printf("run %u computed %u blocks of %u\n", run + 1, *computed, kBlocks);
    if (*computed != kBlocks / 2) return 1;
    std::uint64_t expected = 0;
    for (unsigned i = 0; run == 1 && i < kAll; ++i) {
      expected = i % kThreads == 0 ? values[i] : expected + values[i];
      if (sums.as<std::uint64_t>()[i] != expected) return 1;
    }
  }
  return 0;
}

// prefix_sum.cu: partial sums that survive a kill: a block whose last sum is there is not computed again. GPM §5.4, figure 8.
//
//   example_prefix_sum POOL [ROUNDS]      goes on where it was; each round sums other values
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "holdfast/persist.cuh"
#include "holdfast/region.hpp"

namespace {

constexpr unsigned kBlocks = 64, kThreads = 256, kAll = kBlocks * kThreads;

__host__ __device__ std::uint64_t value_of(std::uint64_t i, std::uint64_t round) { return (i + round) % 10 + 1; }

/// A sum has its round in its upper half. The sums of a block are durable before its last one is stored.
__global__ void partial_sums(std::uint64_t* sums, std::uint64_t round, unsigned* computed) {
  __shared__ std::uint64_t sum[kThreads];
  const unsigned at = blockIdx.x * kThreads + threadIdx.x;
  const unsigned last = blockIdx.x * kThreads + kThreads - 1;
  __shared__ bool there;
  if (threadIdx.x == 0) there = *static_cast<volatile std::uint64_t*>(sums + last) >> 32 == round;
  __syncthreads();
  if (there) return;
  sum[threadIdx.x] = value_of(at, round);
  __syncthreads();
  for (unsigned step = 1; step < kThreads; step *= 2) {
    const std::uint64_t more = threadIdx.x >= step ? sum[threadIdx.x - step] : 0;
    __syncthreads();
    sum[threadIdx.x] += more;
    __syncthreads();
  }
  if (at != last) sums[at] = round << 32 | sum[threadIdx.x];
  holdfast::persist_block();
  if (at != last) return;
  sums[at] = round << 32 | sum[threadIdx.x];
  holdfast::persist();
  atomicAdd(computed, 1u);
}

/// The last round of which there is a sum. Not all of its blocks need be there.
std::uint64_t round_in(const holdfast::Region& sums) {
  const auto all = sums.as<std::uint64_t>();
  return *std::max_element(all.begin(), all.end()) >> 32;
}

bool are_right(const holdfast::Region& sums, std::uint64_t round) {
  std::uint64_t expected = 0;
  for (unsigned i = 0; i < kAll; ++i) {
    expected = value_of(i, round) + (i % kThreads == 0 ? 0 : expected);
    if (sums.as<std::uint64_t>()[i] != (round << 32 | expected)) return false;
  }
  return true;
}

}  // namespace

int main(int count, char** words) {
  const std::string path = count > 1 ? words[1] : "/dev/shm/prefix_sum.hold";
  const std::uint64_t last = count > 2 ? std::strtoull(words[2], nullptr, 10) : 20;
  unsigned* computed = nullptr;
  if (cudaMallocManaged(&computed, sizeof *computed) != cudaSuccess) {
    std::puts("no GPU: nothing to show");
    return 0;
  }

  holdfast::Pool pool = std::filesystem::exists(path) ? holdfast::Pool::open(path) : holdfast::Pool::create(path);
  holdfast::Region sums = pool.objects().empty() ? holdfast::Region::create(pool, "sums", kAll * 8, {.gpu = true})
                                                 : holdfast::Region::open(pool, "sums", {.gpu = true});
  const std::uint64_t begun = round_in(sums);
  std::printf("begins in round %llu\n", static_cast<unsigned long long>(begun));
  const holdfast::Section section = sums.section(holdfast::Domain::process, holdfast::Writer::gpu);
  std::uint64_t* const sums_to_write = section.as<std::uint64_t>().data();
  for (std::uint64_t round = std::max(begun, std::uint64_t{1}); round <= std::max(begun, last); ++round) {
    *computed = 0;
    // Half of the last round is left to a second kernel, as by a crash.
    if (round == last) partial_sums<<<kBlocks / 2, kThreads>>>(sums_to_write, round, computed);
    partial_sums<<<kBlocks, kThreads>>>(sums_to_write, round, computed);
    if (cudaDeviceSynchronize() != cudaSuccess || !are_right(sums, round)) return 1;
    if (round == begun) std::printf("%u of %u blocks were not there\n", *computed, kBlocks);
    if (round != begun && *computed != kBlocks) return 1;
  }
  std::printf("after round %llu all sums are right\n", static_cast<unsigned long long>(round_in(sums)));
  return round_in(sums) >= last ? 0 : 1;
}

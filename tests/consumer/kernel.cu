// kernel.cu: a user's own kernel that changes a table, and predicates of theirs, from the installed package alone. That it compiles is
// the test; where there is a GPU, it must also have counted right.
#include <holdfast/device_selection.cuh>
#include <holdfast/table.hpp>
#include <holdfast/table_ref.cuh>

#include <cstdint>
#include <cstdio>

__global__ void count_remainders(holdfast::TableRef<std::uint64_t, std::uint32_t> counts, unsigned numbers) {
  const auto warp = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
  const unsigned warps = gridDim.x * warp.meta_group_size();
  for (unsigned i = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank(); i < numbers; i += warps)
    counts.accumulate(warp, i % 10, 1u);
}

struct IsSmall {
  __device__ bool operator()(const std::uint64_t& key) const { return key < 4; }
};
struct IsHundred {
  __device__ bool operator()(const std::uint64_t&, const std::uint32_t* count) const { return *count == 100; }
};

int main(int, char** argv) {
  if (holdfast::cuda_devices() == 0) {
    std::puts("compiled; there is no GPU to run it on");
    return 0;
  }
  auto table = holdfast::Table::create(
      argv[1], {.shape = {.value_bytes = 4, .capacity = 1000}, .runtime = {.device = "cuda"}, .overwrite = true});
  auto session = table.session(nullptr, 10);
  count_remainders<<<8, 128>>>(session.ref<std::uint64_t, std::uint32_t>(), 1000);
  session.commit(nullptr);
  if (cudaDeviceSynchronize() != cudaSuccess || table.size() != 10) return 1;
  for (std::uint64_t key = 0; key < 10; ++key) {
    std::uint32_t count = 0;
    table.find(&key, &count, 1);
    if (count != 100) return 1;
  }
  if (holdfast::size_if<std::uint64_t, std::uint32_t>(table, nullptr, IsHundred{}) != 10) return 1;
  if (holdfast::erase_if(table, nullptr, holdfast::by_key(IsSmall{})) != 4 || table.size() != 6) return 1;
  return 0;
}

// kernel.cu: a user's own kernel that includes Holdfast's index, from the installed package alone. That it compiles is
// the test; where there is a GPU, it must also agree with the host about where keys lie.
#include <holdfast/pool.hpp>
#include <holdfast/table.hpp>

#include <cstdint>
#include <cstdio>

#include "index/address.hpp"
#include "index/geometry.hpp"

using View = holdfast::index::View<holdfast::index::DefaultShape>;

__global__ void locate(View view, std::uint64_t* places, std::uint64_t keys) {
  const std::uint64_t key = blockIdx.x * blockDim.x + threadIdx.x;
  if (key < keys) places[key] = view.stripe_index(holdfast::hash_key(key, view.seed));
}

int main() {
  if (holdfast::cuda_devices() == 0) {
    std::puts("compiled; there is no GPU to run it on");
    return 0;
  }
  constexpr std::uint64_t kKeys = 1000;
  View view;
  view.top_level = 10;
  view.seed = 42;
  std::uint64_t* places = nullptr;
  if (cudaMallocHost(&places, kKeys * sizeof(*places)) != cudaSuccess) return 1;
  locate<<<8, 128>>>(view, places, kKeys);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    if (places[key] != view.stripe_index(holdfast::hash_key(key, view.seed))) return 1;
  }
  return cudaFreeHost(places) == cudaSuccess ? 0 : 1;
}

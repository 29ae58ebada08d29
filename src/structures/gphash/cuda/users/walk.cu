// walk.cu: puts a table's items in the order of their cells, brings their values over the link, and takes those that were chosen.
#include "structures/gphash/cuda/users/walk.hpp"

#include <algorithm>

#include "gpu/launch.cuh"
#include "structures/gphash/cuda/caches/values.cuh"
#include "structures/gphash/cuda/gather.cuh"
#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::gphash::cuda {

namespace {

using RuntimeView = View<gphash::RuntimeShape>;

__global__ void __launch_bounds__(kThreads)
    place_kernel(const __grid_constant__ CachedSlots slots, std::uint64_t size,
                 const __grid_constant__ KeyLimits limits, const __grid_constant__ ByCell to) {
  for (std::uint64_t i = first_of_thread(); i < size; i += all_threads()) {
    const std::uint64_t head = slots.keys[i], word = slots.words[i];
    if (head == 0 || word == 0 || word - 1 - to.first >= to.size) continue;
    const std::uint64_t* const key = to.wide == nullptr ? slots.keys + i : slots.wide + i * limits.words;
    if (limits.any() && !limits.hold(key)) continue;
    const std::uint64_t place = word - 1 - to.first;
    to.heads[place] = head;
    for (unsigned k = 0; to.wide != nullptr && k < limits.words; ++k) to.wide[place * limits.words + k] = key[k];
  }
}

/// A warp asks for the cells of 32 neighbours together, in the order of their addresses.
__global__ void __launch_bounds__(kThreads)
    stage_kernel(const __grid_constant__ RuntimeView view, const __grid_constant__ ValueView values,
                 const __grid_constant__ ByCell cells, std::uint32_t from, const __grid_constant__ gphash::Rows rows) {
  const WarpTile tile;
  const CudaMemory memory(nullptr, nullptr);
  const Gather<gphash::RuntimeShape> from_pool(tile, memory, view, rows, view.heap + from);
  const Gather<gphash::RuntimeShape> from_copies(tile, memory, view, rows, values.copies + from);
  for (std::uint64_t base = first_of_warp() * kWarp; base < cells.size; base += all_warps() * kWarp) {
    Wanted miss, hit;
    miss.row = hit.row = base + tile.lane();
    if (miss.row < cells.size && cells.heads[miss.row] != 0) {
      const std::uint64_t cell = cells.first + miss.row;
      const std::uint64_t copy = values.any() ? copy_of_cell(memory, values, cell) : kNoPosition;
      copy != kNoPosition ? hit.word = copy + 1 : miss.word = cell + 1;
    }
    from_pool(miss);
    if (tile.ballot(hit.word != Wanted::kNothing) != 0) from_copies(hit);
  }
}

__global__ void __launch_bounds__(kThreads)
    take_keys_kernel(const std::byte* keys, unsigned key_words, const std::uint32_t* chosen, std::uint64_t size,
                     std::byte* to) {
  const auto* const words = reinterpret_cast<const std::uint64_t*>(keys);
  for (std::uint64_t i = first_of_thread(); i < size * key_words; i += all_threads()) {
    const std::uint64_t row = i / key_words;
    store_user(to + 8 * i, words[std::uint64_t{chosen[row]} * key_words + i % key_words], 8);
  }
}

__global__ void __launch_bounds__(kThreads)
    take_words_kernel(const std::uint64_t* words, std::uint32_t value_bytes, const std::uint32_t* chosen,
                      std::uint64_t size, std::byte* to) {
  for (std::uint64_t i = first_of_thread(); i < size; i += all_threads())
    store_user(to + i * value_bytes, words[chosen[i]], value_bytes);
}

__global__ void __launch_bounds__(kThreads)
    take_values_kernel(const __grid_constant__ RuntimeView view, std::byte* values, const std::uint32_t* chosen,
                       std::uint64_t size, const __grid_constant__ gphash::Rows rows) {
  const WarpTile tile;
  const CudaMemory memory(nullptr, nullptr);
  const Gather<gphash::RuntimeShape> gather(tile, memory, view, rows, values);
  for (std::uint64_t base = first_of_warp() * kWarp; base < size; base += all_warps() * kWarp) {
    Wanted wanted;
    wanted.row = base + tile.lane();
    if (wanted.row < size) wanted.word = std::uint64_t{chosen[wanted.row]} + 1;
    gather(wanted);
  }
}

__global__ void __launch_bounds__(kThreads)
    take_scores_kernel(const std::byte* scores, std::uint64_t stride, const std::uint32_t* chosen, std::uint64_t size,
                       std::uint64_t* to) {
  for (std::uint64_t i = first_of_thread(); i < size; i += all_threads())
    to[i] = *reinterpret_cast<const std::uint64_t*>(scores + chosen[i] * stride);
}

}  // namespace

void place_by_cell(const CachedSlots& slots, std::uint64_t size, const KeyLimits& limits, const ByCell& to,
                   cudaStream_t stream) {
  place_kernel<<<blocks_for(place_kernel, size), kThreads, 0, stream>>>(slots, size, limits, to);
  check_launch("ordering items by their values");
}

void stage_values(const Layout& layout, const ValueView& values, const ByCell& cells, std::uint32_t from,
                  std::uint32_t bytes, std::byte* to, cudaStream_t stream) {
  gphash::Rows rows;
  rows.out = to;
  rows.value_bytes = bytes;
  // A quarter of the multiprocessors fill the link, and leave the others to the kernels beside.
  const unsigned blocks = std::min(blocks_for(stage_kernel, cells.size), (resident_blocks(stage_kernel) + 3) / 4);
  stage_kernel<<<blocks, kThreads, 0, stream>>>(layout, values, cells, from, rows);
  check_launch("reading values");
}

void take_keys(const std::byte* keys, std::uint32_t key_bytes, const std::uint32_t* chosen, std::uint64_t size,
               std::byte* to, cudaStream_t stream) {
  const unsigned words = key_bytes / 8;
  take_keys_kernel<<<blocks_for(take_keys_kernel, size * words), kThreads, 0, stream>>>(keys, words, chosen, size, to);
  check_launch("copying keys");
}

void take_words(const std::uint64_t* words, std::uint32_t value_bytes, const std::uint32_t* chosen, std::uint64_t size,
                std::byte* to, cudaStream_t stream) {
  take_words_kernel<<<blocks_for(take_words_kernel, size), kThreads, 0, stream>>>(words, value_bytes, chosen, size, to);
  check_launch("copying values");
}

void take_values(const Layout& layout, std::byte* values, const std::uint32_t* chosen, std::uint64_t size,
                 std::byte* to, cudaStream_t stream) {
  gphash::Rows rows;
  rows.out = to;
  rows.value_bytes = layout.value_bytes;
  take_values_kernel<<<blocks_for(take_values_kernel, size), kThreads, 0, stream>>>(layout, values, chosen, size, rows);
  check_launch("copying values");
}

void take_scores(const std::byte* scores, std::uint64_t stride, const std::uint32_t* chosen, std::uint64_t size,
                 std::uint64_t* to, cudaStream_t stream) {
  take_scores_kernel<<<blocks_for(take_scores_kernel, size), kThreads, 0, stream>>>(scores, stride, chosen, size, to);
  check_launch("copying scores");
}

}  // namespace holdfast::gphash::cuda

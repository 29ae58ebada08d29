// walk.hpp: the kernels of walks through a table (table_walk.hpp), beside those of their users.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/key_limits.hpp"
#include "structures/gphash/cuda/cache_view.hpp"
#include "structures/gphash/cuda/value_view.hpp"
#include "structures/gphash/layout.hpp"

namespace holdfast::gphash::cuda {

/// Places by cell: what stands in the slot that names cell `first` + i, at i.
struct ByCell {
  std::uint64_t first = 0, size = 0;
  std::uint64_t* heads = nullptr;  ///< (size,) 0: no slot does
  std::uint64_t* wide = nullptr;   ///< (size, key_words) wide keys
};
/// The items of `size` slots, whose words lie in arrays, to their cells, as far as limits and cells go.
void place_by_cell(const CachedSlots& slots, std::uint64_t size, const KeyLimits& limits, const ByCell& to,
                   cudaStream_t stream);

/// Copies bytes [from, from + bytes) of the cells that have a head, each to its place in `to`, bytes apart. Both are multiples of 8. `values`:
/// copies that need not come over the link.
void stage_values(const Layout& layout, const ValueView& values, const ByCell& cells, std::uint32_t from,
                  std::uint32_t bytes, std::byte* to, cudaStream_t stream);

/// Copies the keys at `chosen` places to an array, which may lie at any address.
void take_keys(const std::byte* keys, std::uint32_t key_bytes, const std::uint32_t* chosen, std::uint64_t size,
               std::byte* to, cudaStream_t stream);
/// The same of values up to 8 bytes, from words.
void take_words(const std::uint64_t* words, std::uint32_t value_bytes, const std::uint32_t* chosen, std::uint64_t size,
                std::byte* to, cudaStream_t stream);
/// The same of values at multiples of the layout's cells from `values` on.
void take_values(const Layout& layout, std::byte* values, const std::uint32_t* chosen, std::uint64_t size,
                 std::byte* to, cudaStream_t stream);
/// The same of scores, `stride` bytes apart from `scores` on.
void take_scores(const std::byte* scores, std::uint64_t stride, const std::uint32_t* chosen, std::uint64_t size,
                 std::uint64_t* to, cudaStream_t stream);

}  // namespace holdfast::gphash::cuda

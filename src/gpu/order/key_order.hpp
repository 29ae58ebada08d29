// key_order.hpp: puts the rows of a batch into runs of one key each, in array order, and the runs in the order of their keys' hashes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace holdfast::gpu {

/// The keys of a batch; all in memory that the GPU can reach, at any address.
struct BatchKeys {
  const std::byte* bytes = nullptr;        ///< (n, 8 * words); or all bytes of keys of any length
  unsigned words = 1;                      ///< of each
  const std::uint64_t* offsets = nullptr;  ///< not null: (n + 1,) of keys of any length, and where each begins
};

/// Where they are ordered; all in GPU memory.
struct KeyOrderWorkspace {
  std::uint32_t* prefixes[2] = {};   ///< (n,) of hashes
  std::uint32_t* rows[2] = {};       ///< (n,)
  std::uint64_t* ordered = nullptr;  ///< (1,)
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
};

/// Rows in order. Its arrays are in the workspace.
struct KeyOrder {
  const std::uint32_t*
      rows;  ///< (n,) those of one key together and in array order; rows that a mask takes out are none of them
  const std::uint32_t* begins;   ///< (n,) of each place the place where the run of its key begins
  const std::uint64_t* ordered;  ///< how many places there are; null: n
};

std::size_t key_order_scratch_bytes(std::uint64_t rows);
/// Orders `size` rows, but those whose `mask` is 0. Enqueues, and returns. Rows of equal keys stand together whatever the keys are.
KeyOrder order_keys(const BatchKeys& keys, std::uint64_t size, const std::uint8_t* mask, std::uint64_t seed,
                    const KeyOrderWorkspace& workspace, cudaStream_t stream);

}  // namespace holdfast::gpu

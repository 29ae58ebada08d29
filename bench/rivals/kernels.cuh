// kernels.cuh: runs a batch on a rival: each tile some operations, one after the other, all in one kernel.
#pragma once

#include "level.hpp"
#include "slabs.hpp"

namespace holdfast::bench {

/// A batch, as kernels see it.
struct Rows {
  const std::uint64_t* keys = nullptr;
  const std::uint64_t* values = nullptr;
  std::uint64_t* out = nullptr;
  Status* statuses = nullptr;
  bool* found = nullptr;
  std::uint64_t size = 0, each = 1;  ///< rows, and how many of them a warp takes at a time
  unsigned words = 0;                ///< of a value
};

inline constexpr unsigned kRivalBlocks = 132 * 8, kRivalThreads = 256;  // all that an H200 has room for
inline constexpr unsigned kRivalWarps = kRivalBlocks * kRivalThreads / 32;

template <class Tile>
__device__ void answer(const Tile& tile, const Rows& rows, std::uint64_t row, Op op, Status status) {
  if (op == Op::find && status != Status::found) {
    for (unsigned w = Tile::kThreads == 1 ? 0 : threadIdx.x % 32; w < rows.words; w += Tile::kThreads)
      rows.out[row * rows.words + w] = 0;
  }
  tile.once([&] {
    if (rows.statuses != nullptr) rows.statuses[row] = status;
    if (rows.found != nullptr) rows.found[row] = status == Status::found;
    return 0;
  });
}

template <class Tile, bool kInPlace>
__device__ Status act(const Tile& tile, const Level<kInPlace>& table, const Rows& rows, std::uint64_t row, Op op) {
  const std::uint64_t key = rows.keys[row];
  const std::uint64_t* const value = rows.values + row * rows.words;
  switch (op) {
    case Op::find: return table.find(tile, key, rows.out + row * rows.words);
    case Op::insert: return table.insert(tile, key, value);
    case Op::assign: return table.assign(tile, key, value);
    case Op::erase: return table.erase(tile, key);
    default: return Status::not_run;
  }
}

/// A thread an operation.
template <bool kInPlace, Op kOp>
__global__ void thread_kernel(Level<kInPlace> table, Rows rows) {
  for (std::uint64_t row = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; row < rows.size;
       row += std::uint64_t{gridDim.x} * blockDim.x)
    answer(Thread{}, rows, row, kOp, act(Thread{}, table, rows, row, kOp));
}

/// A warp an operation.
template <bool kInPlace, Op kOp>
__global__ void warp_kernel(Level<kInPlace> table, Rows rows) {
  const std::uint64_t warps = std::uint64_t{gridDim.x} * blockDim.x / 32;
  for (std::uint64_t row = (blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x) / 32; row < rows.size; row += warps)
    answer(Warp{}, rows, row, kOp, act(Warp{}, table, rows, row, kOp));
}

__device__ inline Status act_locked(const Slabs& table, const Rows& rows, std::uint64_t row, Op op, UndoEntry* mine) {
  const std::uint64_t key = rows.keys[row];
  const std::uint64_t* const value = rows.values + row * rows.words;
  switch (op) {
    case Op::insert: return table.insert(Warp{}, key, value, mine);
    case Op::assign: return table.assign(Warp{}, key, value, mine);
    case Op::erase: return table.erase(Warp{}, key, mine);
    default: return Status::not_run;
  }
}

/// A warp an operation; of the up to 32 that it has in hand, those wait whose bucket another warp changes.
template <Op kOp>
__global__ void slab_kernel(Slabs table, Rows rows) {
  const std::uint64_t warps = std::uint64_t{gridDim.x} * blockDim.x / 32;
  const std::uint64_t warp = (blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x) / 32;
  for (std::uint64_t first = warp * rows.each; first < rows.size; first += warps * rows.each) {
    const std::uint64_t count = min(rows.each, rows.size - first);
    std::uint32_t waiting = count == 32 ? ~0u : (1u << count) - 1;
    while (waiting != 0) {
      for (std::uint32_t left = waiting; left != 0; left &= left - 1) {
        const std::uint64_t row = first + lowest(left);
        const std::uint64_t key = rows.keys[row];
        if (kOp != Op::find && !table.lock(Warp{}, key)) continue;
        Status status;
        if constexpr (kOp == Op::find) {
          status = table.find(Warp{}, key, rows.out + row * rows.words);
        } else {
          status = act_locked(table, rows, row, kOp, table.log + warp);
          table.unlock(Warp{}, key);
        }
        answer(Warp{}, rows, row, kOp, status);
        waiting &= ~(1u << lowest(left));
      }
    }
  }
}

__global__ void number_kernel(std::uint32_t* numbers, std::uint64_t size) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
    numbers[i] = static_cast<std::uint32_t>(i);
}

}  // namespace holdfast::bench

// pair_results.hpp: what a batch of variable-length pairs reads, on its way from the GPU to the caller (pair_results.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gpu/runtime.hpp"
#include "gpu/staging.hpp"
#include "holdfast/table.hpp"
#include "structures/gphash/cuda/kernels/pair_kernels.hpp"
#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::gphash::cuda {

/// True if some of a batch's rows return bytes.
bool may_read_pairs(const Batch& batch, OpSet ops);

/// Space for what the rows of a changing batch read; all in GPU memory.
struct PairReads {
  Blob* blobs = nullptr;             ///< (n,) where it lies: in the heap, or in the batch's own arrays
  Blob* results = nullptr;           ///< (n,) where it will, in the caller's
  std::uint64_t* offsets = nullptr;  ///< (n + 1,) of it one after another
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;

  static std::size_t bytes(std::size_t rows);
  static PairReads in(Stage& stage, std::size_t rows, cudaStream_t stream);
};

std::size_t pair_search_bytes(std::size_t rows);
/// `values`: they are wanted, not only whether a key is there.
PairSearchWorkspace pair_search_workspace(Stage& stage, std::size_t rows, bool values);
inline constexpr unsigned kPairArrays = 9;  ///< of either workspace

/// Whose results: rows of a batch from `base` on.
struct ResultsOf {
  const Batch& batch;
  OpSet ops;
  std::size_t base;
};

/// Results that can be gathered part by part.
struct LaidOut {
  const std::uint64_t* offsets = nullptr;  ///< (n + 1,) where each place begins among all bytes
  std::uint64_t size = 0, bytes = 0;
  /// Some places, of so many bytes, into one piece of GPU memory.
  std::function<void(std::uint64_t first, std::uint64_t size, std::uint64_t bytes, std::byte* to)> gather;
  /// Notes where they are if that piece is at `at`.
  std::function<void(std::uint64_t first, std::uint64_t size, const std::byte* at)> finish;
};
using PinnedParts = std::vector<std::shared_ptr<std::byte[]>>;

/// What a changing batch reads while it runs.
struct ReadsOfChange {
  PairReads workspace;
  ResultsOf to;
  std::size_t size;  ///< rows
  Stage& stage;
  ReadsInEpoch epoch;                               ///< that what has been read, but not gathered, belongs to
  std::vector<DeviceBuffer<std::byte>> gathered{};  ///< results that stay in GPU memory
};

/// Blobs anywhere in GPU memory or the pool, and space to measure them.
struct Scattered {
  const Blob* blobs;       ///< (n,)
  std::uint64_t size;      ///< n
  const std::byte* begin;  ///< from here on they may be read by whole words
  std::uint64_t bytes;
  std::uint64_t* offsets;  ///< (n + 1,)
  void* scratch;
  std::size_t scratch_bytes;
};

}  // namespace holdfast::gphash::cuda

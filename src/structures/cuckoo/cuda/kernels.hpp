// kernels.hpp: the kernels of the index as functions that enqueue them. Arrays are in GPU memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "structures/cuckoo/index.hpp"

namespace holdfast::cuckoo::cuda {

/// The index, as a kernel gets it.
struct DeviceIndex {
  std::uint64_t* cells = nullptr;
  std::uint64_t* groups = nullptr;
  Geometry geometry;
};

/// Counts that kernels keep, in GPU memory.
struct Counters {
  unsigned long long entries;  ///< in the index
  unsigned long long moves;    ///< of entries, since it was made
  unsigned long long failed;   ///< rows without a cell, since it was made
  unsigned long long left;     ///< rows of the batch that the first kernel left to the second
};

struct Exchange {
  const Hash* hashes;
  const Location* old;  ///< null: all rows insert
  const Location* locations;
  Outcome* outcomes;
  std::uint32_t* left;  ///< workspace: a word per row
  std::uint64_t rows;
  bool inserts = true;  ///< false: no row does
};

/// `overlaps`, here and below: searches run beside a changing batch.
void enqueue_search(const DeviceIndex& index, bool overlaps, const Hash* hashes, Location* locations,
                    std::uint64_t rows, cudaStream_t stream);
void enqueue_candidates(const DeviceIndex& index, const Hash* hashes, Candidates* lists, std::uint64_t rows,
                        cudaStream_t stream);
/// Two kernels: the first replaces, and inserts where a bucket of the key has an empty cell; the second, if rows insert, moves entries for the others.
void enqueue_exchange(const DeviceIndex& index, bool overlaps, const Exchange& batch, Counters* counters,
                      cudaStream_t stream);
void enqueue_erase(const DeviceIndex& index, bool overlaps, const Hash* hashes, const Location* locations,
                   Outcome* outcomes, std::uint64_t rows, Counters* counters, cudaStream_t stream);
/// When nothing but this batch and others like it change the index: `replaced` for the rows whose signature another entry in their buckets has.
void enqueue_repeats(const DeviceIndex& index, const Hash* hashes, Outcome* outcomes, std::uint64_t rows,
                     cudaStream_t stream);
/// Copies all entries to an index of twice as many buckets, which is empty.
void enqueue_growth(const DeviceIndex& from, const DeviceIndex& to, cudaStream_t stream);

}  // namespace holdfast::cuckoo::cuda

// pair_kernels.hpp: what the CUDA machine asks of the code compiled for a configuration with variable-length pairs.
#pragma once

#include <exception>
#include <memory>

#include "machine/cuda/kernels.hpp"
#include "machine/cuda/slabs.hpp"

namespace holdfast::machine::cuda {

/// What a run of a batch in phases changes.
struct PairPlan {
  std::uint64_t word;      ///< to be committed
  std::uint64_t old_word;  ///< of an item that is there
  std::uint64_t hash;
  std::uint32_t at;            ///< where the run begins in the order
  index::Held held;            ///< a row whose value it gets
  std::uint32_t change, lane;  ///< as wide as they are so that nothing between them is never written
};

/// Where such a batch works; all in GPU memory.
struct PairRoom {
  PairPlan* planned = nullptr;             ///< (n,)
  std::uint32_t* slots[2] = {};            ///< (n,) the numbers of their slots; and sorted by line
  std::uint32_t* order[2] = {};            ///< (n,) which plan each is
  const index::Effect* effects = nullptr;  ///< (n,) of the rows of a run up to each
};

/// Calls enqueue work, and return.
class PairKernels : public TableKernels {
 public:
  /// The slabs, wherever their arrays have moved to.
  virtual void set_slabs(const SlabView& slabs) = 0;
  /// Notes in `rows.blobs` where values lie.
  virtual void find(const FindJob& job, cudaStream_t stream) const = 0;
  /// What an operation-by-operation `change` may need: at most, for each run.
  virtual void count_demand(const ChangeJob& job, const PairRoom& room, cudaStream_t stream) const = 0;
  // The phases (pair_phases.cuh). `plan` counts what it needs; cells are reserved after it, and changes are ordered after
  // `assign`.
  virtual void plan(const ChangeJob& job, const PairRoom& room, cudaStream_t stream) const = 0;
  virtual void assign(const ChangeJob& job, const PairRoom& room, cudaStream_t stream) const = 0;
  virtual void place(const ChangeJob& job, const PairRoom& room, cudaStream_t stream) const = 0;
  virtual void commit(const ChangeJob& job, const PairRoom& room, cudaStream_t stream) const = 0;
  virtual void publish(const ChangeJob& job, const PairRoom& room, cudaStream_t stream) const = 0;
};

std::unique_ptr<PairKernels> make_pair_kernels(const index::RuntimeShape& shape);
std::unique_ptr<PairKernels> make_default_pair_kernels();

// Results (blobs.cu): `blobs` says where the bytes of each row lie, if any.
/// Where each row begins among all bytes, and after the last: (n + 1,); and whether it has bytes, which may be none.
void measure_blobs(const Blob* blobs, std::uint64_t size, std::uint64_t* offsets, bool* present, void* scratch,
                   std::size_t scratch_bytes, cudaStream_t stream);
std::size_t measure_scratch_bytes(std::uint64_t size);
/// The bytes of rows [first, first + size), beginning at `to`. Those in the heap may be read by whole words.
void gather_blobs(const Layout& layout, const Blob* blobs, const std::uint64_t* offsets, std::uint64_t first,
                  std::uint64_t size, std::byte* to, cudaStream_t stream);
/// In `found`: the first row whose key, value or operation cannot be; all ones where there is none. What is null is not looked at.
void check_rows(const std::uint64_t* key_offsets, const std::uint64_t* value_offsets, const std::uint8_t* ops,
                std::uint64_t size, std::uint64_t* found, cudaStream_t stream);
void enter_epoch_on(DeviceState* state, std::uint64_t* epoch, cudaStream_t stream);
void leave_epoch_on(DeviceState* state, const std::uint64_t* epoch, cudaStream_t stream);

/// What is enqueued on a stream while this lives belongs to one epoch: no cell that it may read is used again.
class ReadsInEpoch {
 public:
  /// `epoch`: a word of GPU memory. Null `state`: of none.
  ReadsInEpoch(DeviceState* state, std::uint64_t* epoch, cudaStream_t stream)
      : state_(state), epoch_(epoch), stream_(stream) {
    if (state_ != nullptr) enter_epoch_on(state_, epoch_, stream_);
  }
  ~ReadsInEpoch() {
    try {
      if (state_ != nullptr) leave_epoch_on(state_, epoch_, stream_);
    } catch (const std::exception&) {
      // After an error of the GPU nothing runs any more.
    }
  }
  ReadsInEpoch(const ReadsInEpoch&) = delete;
  ReadsInEpoch& operator=(const ReadsInEpoch&) = delete;

 private:
  DeviceState* state_;
  std::uint64_t* epoch_;
  cudaStream_t stream_;
};

/// Rows of a batch in memory that the GPU can reach.
struct PairChunk {
  index::Rows rows;  ///< without blobs
  const std::byte* keys = nullptr;
  const std::uint64_t* key_offsets = nullptr;
  const std::uint8_t* mask = nullptr;
  std::uint64_t size = 0;
};

/// Where the results of a batch are measured; all in GPU memory.
struct PairResults {
  Blob* blobs = nullptr;             ///< (n,)
  std::uint64_t* offsets = nullptr;  ///< (n + 1,)
  bool* present = nullptr;           ///< (n,)
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
};

}  // namespace holdfast::machine::cuda

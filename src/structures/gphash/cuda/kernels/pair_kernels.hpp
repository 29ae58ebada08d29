// pair_kernels.hpp: what the CUDA machine asks of the code compiled for a configuration with variable-length pairs.
#pragma once

#include <exception>
#include <memory>

#include "heap/cuda/slabs.hpp"
#include "structures/gphash/cuda/jobs.hpp"
#include "structures/gphash/cuda/kernels/change_workspace.hpp"
#include "structures/gphash/cuda/kernels/table_kernels.hpp"
#include "structures/gphash/protocol/phases.hpp"

namespace holdfast::gphash::cuda {

/// What a run of a batch in phases changes.
struct PairPlan {
  std::uint64_t word;      ///< to be committed
  std::uint64_t old_word;  ///< of an item that is there
  std::uint64_t hash;
  std::uint32_t at;            ///< where the run begins in the order
  gphash::Held held;           ///< a row whose value it gets
  std::uint32_t change, lane;  ///< as wide as they are so that nothing between them is never written
};

/// Where such a batch works.
struct PairWorkspace : PhaseWorkspace {
  PairPlan* planned = nullptr;  ///< (n,) in GPU memory
};

/// Where a part of the results begins.
struct ResultPart {
  std::uint64_t first;   ///< row, or place
  std::uint64_t offset;  ///< byte
};

/// Where a search works; all in GPU memory. A *place* is where a row stands in the order of pairs.
struct PairSearchWorkspace {
  std::uint64_t* words[2] = {};  ///< (n,) of the items that rows ask for, 0: none; and in order
  std::uint32_t* rows[2] = {};   ///< (n,) whose they are
  std::uint64_t* offsets =
      nullptr;  ///< (n + 1,) of places: where the value begins among the results; null: none is wanted
  std::uint32_t* sizes = nullptr;  ///< (n,) of values, at the last place of each pair
  Blob* blobs = nullptr;           ///< (n,) results by row
  std::uint32_t* wrong = nullptr;  ///< not 0: a key is not that of the item which has its hash
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
};

/// Calls enqueue work, and return.
class PairKernels : public TableKernels {
 public:
  using Workspace = PairWorkspace;
  using Cells = SlabView;

  /// The slabs, wherever their arrays have moved to.
  virtual void set_slabs(const SlabView& slabs) = 0;
  /// The first phase of a search (pair_search.cuh): the item of each row. `exact`: keys are compared; else their hashes are.
  virtual void resolve(const FindJob& job, const PairSearchWorkspace& workspace, bool exact,
                       cudaStream_t stream) const = 0;
  /// What an operation-by-operation `change` may need: at most, for each run.
  virtual void count_demand(const ChangeJob& job, const gphash::Effect* effects, cudaStream_t stream) const = 0;
  // The phases (pair_phases.cuh). `plan` counts what it needs; cells are reserved after it, and changes are ordered after
  // `assign`.
  virtual void plan(const ChangeJob& job, const PairWorkspace& workspace, cudaStream_t stream) const = 0;
  virtual void assign(const ChangeJob& job, const PairWorkspace& workspace, cudaStream_t stream) const = 0;
  virtual void place(const ChangeJob& job, const PairWorkspace& workspace, cudaStream_t stream) const = 0;
  virtual void commit(const ChangeJob& job, const PairWorkspace& workspace, gphash::Pass pass,
                      cudaStream_t stream) const = 0;
  virtual void publish(const ChangeJob& job, const PairWorkspace& workspace, cudaStream_t stream) const = 0;
};

std::unique_ptr<PairKernels> make_pair_kernels(const gphash::RuntimeShape& shape);
std::unique_ptr<PairKernels> make_default_pair_kernels();

// The other phases of a search (pair_search.cu).
std::size_t pair_search_scratch_bytes(std::uint64_t rows);
/// Counts in `workspace.wrong`, which is 0 before, the rows whose pair is not as it was written. The rows were resolved by their hashes.
void verify_read_pairs(const PairSearchWorkspace& workspace, std::uint64_t size, const Layout& layout,
                       cudaStream_t stream);
/// Orders rows by where their pairs lie. What `words` and `rows` say first is in order from then on.
void order_pairs(PairSearchWorkspace& workspace, std::uint64_t size, std::uint64_t heap_bytes, cudaStream_t stream);
/// Where the values begin, with space for all that their pairs may hold of them.
void lay_out_pairs(const PairSearchWorkspace& workspace, const FindJob& job, cudaStream_t stream);
/// Reads the pairs of places [first, first + size): compares keys, and copies values, which begin at `to` and have `bytes` bytes in
/// all, if they are wanted.
void gather_pairs(const PairSearchWorkspace& workspace, const FindJob& job, const std::byte* heap, std::uint64_t first,
                  std::uint64_t size, std::uint64_t bytes, std::byte* to, cudaStream_t stream);
/// Then: keys that ask for one pair are compared with each other, and blobs say where the values are if the first is at `at`.
void finish_pairs(const PairSearchWorkspace& workspace, const FindJob& job, std::uint64_t first, std::uint64_t size,
                  const std::byte* at, cudaStream_t stream);

// Results of any batch (blobs.cu): `blobs` says where the bytes of each row lie, if any.
/// Where each row begins among all bytes, and after the last: (n + 1,).
void measure_blobs(const Blob* blobs, std::uint64_t size, std::uint64_t* offsets, void* scratch,
                   std::size_t scratch_bytes, cudaStream_t stream);
std::size_t measure_scratch_bytes(std::uint64_t size);
/// The bytes of rows [first, first + size), beginning at `to`. Those in [memory, memory + bytes) may be read by whole words.
void gather_blobs(const std::byte* memory, std::uint64_t bytes, const Blob* blobs, const std::uint64_t* offsets,
                  std::uint64_t first, std::uint64_t size, std::byte* to, cudaStream_t stream);
/// Then, for rows that have bytes, which may be none: `results` say where they are if the first is at `at`. And which rows have some.
/// One of both may be null.
void finish_blobs(const Blob* blobs, const std::uint64_t* offsets, std::uint64_t first, std::uint64_t size,
                  const std::byte* at, Blob* results, bool* present, cudaStream_t stream);
/// Cuts results into `parts` of `bytes` each, or a little more: where each begins, among the rows and among all bytes. (parts,)
void cut_results(const std::uint64_t* offsets, std::uint64_t size, std::uint64_t bytes, std::uint64_t parts,
                 ResultPart* begins, cudaStream_t stream);
/// In `found`: the first row whose key, value or operation cannot be; all ones where there is none. What is null is not looked at.
void check_rows(const std::uint64_t* key_offsets, const std::uint64_t* value_offsets, const std::uint8_t* ops,
                std::uint64_t size, std::uint64_t* found, cudaStream_t stream);
void enter_epoch_on(DeviceState* state, std::uint64_t* epoch, cudaStream_t stream);
void leave_epoch_on(DeviceState* state, const std::uint64_t* epoch, cudaStream_t stream);

/// What is enqueued on a stream while this lives belongs to one epoch: no cell that it may read is used again.
class ReadsInEpoch {
 public:
  /// `epoch`: a word of GPU memory.
  ReadsInEpoch(DeviceState* state, std::uint64_t* epoch, cudaStream_t stream)
      : state_(state), epoch_(epoch), stream_(stream) {
    enter();
  }
  ~ReadsInEpoch() {
    try {
      leave();
    } catch (const std::exception&) {
      // After an error of the GPU nothing runs any more.
    }
  }
  ReadsInEpoch(const ReadsInEpoch&) = delete;
  ReadsInEpoch& operator=(const ReadsInEpoch&) = delete;

  /// What comes next belongs to none, until it belongs to another.
  void leave() {
    if (inside_) leave_epoch_on(state_, epoch_, stream_);
    inside_ = false;
  }
  void enter() {
    enter_epoch_on(state_, epoch_, stream_);
    inside_ = true;
  }

 private:
  DeviceState* state_;
  std::uint64_t* epoch_;
  cudaStream_t stream_;
  bool inside_ = false;
};

/// Rows of a batch in memory that the GPU can reach.
struct PairChunk {
  gphash::Rows rows;  ///< without blobs
  const std::byte* keys = nullptr;
  const std::uint64_t* key_offsets = nullptr;
  const std::uint8_t* mask = nullptr;
  std::uint64_t size = 0;
};

}  // namespace holdfast::gphash::cuda

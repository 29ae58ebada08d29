// checkpoint.hpp: saves and restores the tensors of a program, as an object of a pool. GPM §5.3.
//
//   create or open   a checkpoint: 2 to 8 copies of a state, in one pool with tables
//   save             copies tensors into the oldest copy; `wait` of its ticket returns when that one is durable and counts
//   restore          the newest copy whose checksums are right; what it had to pass over is in `damage`
//
// After a crash at any moment the newest copy is the last that was acknowledged, or one that was being saved then.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/pool.hpp"

namespace holdfast {

/// What a tensor's elements are. The numbers are in pools.
enum class ElementType : std::uint32_t {
  boolean = 1,
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  u64,
  i64,
  f16,
  bf16,
  f32,
  f64,
  c64,
  c128,
  f8_e4m3,
  f8_e5m2,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz
};
unsigned bytes_of(ElementType element);  ///< 0: there is no such type
const char* name(ElementType element);   ///< as safetensors names it: "F32"

/// A tensor to be saved, or filled: contiguous, the last index fastest.
struct TensorView {
  std::string name;  ///< unique in a state
  ElementType element = ElementType::f32;
  std::vector<std::uint64_t> shape;  ///< empty: one element
  const void* data = nullptr;
  bool on_device = false;  ///< `data` is in the memory of a GPU; all such tensors of a state in that of one
};

/// A tensor of a saved state. `data` is in the pool, at a multiple of 128 bytes, and stays while the SavedState lives.
struct SavedTensor {
  std::string name;
  ElementType element = ElementType::f32;
  std::vector<std::uint64_t> shape;
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
};

/// A state as it was saved. While one lives its copy is not overwritten.
struct SavedState {
  std::uint64_t step = 0, sequence = 0;
  std::string text;
  std::vector<SavedTensor> tensors;
  std::vector<std::string> damage;  ///< newer copies that are damaged, and were passed over
  std::shared_ptr<const void> held;
};

/// A copy that counts, as its header says.
struct SavedCopy {
  unsigned copy = 0;
  std::uint64_t step = 0, sequence = 0, created = 0, tensors = 0, bytes = 0;
  bool newest = false;
};

/// A save under way.
class SaveTicket {
 public:
  SaveTicket() = default;
  explicit SaveTicket(std::shared_future<void> done);
  /// Returns when the save is durable, and throws what went wrong with it: then the state before stands. Throws TableClosed in a
  /// process that was forked while the save was under way.
  void wait() const;
  bool is_done() const { return done_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }

 private:
  std::shared_future<void> done_;
  unsigned process_ = 0;  ///< the one that began it
};

struct SaveOptions {
  bool wait = true;  ///< while all copies are in flight or held; else ObjectInUse
  /// Tensors of a GPU go through one staged state in GPU memory, so that `stream` need not wait for the link. Without it `stream`
  /// waits until they are in the pool, and no GPU memory is needed. A pool on an ordinary file system cannot be mapped for a GPU:
  /// there the call itself waits for the copy.
  bool stage = true;
  void* stream = nullptr;  ///< cudaStream_t: tensors of a GPU are saved as they are when it gets there
};

namespace checkpoint {
struct Layout;
}

/// Tensors that are saved again and again: checked, and laid out, once. Their memory stays where it is while this lives; what is in
/// it may change. A handle: copies are of the same group.
class TensorGroup {
 public:
  TensorGroup() = default;

 private:
  friend class Checkpoint;
  std::shared_ptr<const checkpoint::Layout> layout_;
};

struct CheckpointOptions {
  unsigned copies = 2;     ///< 2 to 8: one fewer may be in flight
  bool overwrite = false;  ///< take the place of a checkpoint of that name
  bool flush = false;      ///< flush as for domain `power` on any medium
};

/// A handle: copies are of the same checkpoint. Thread-safe. Saves take effect in the order of the calls.
class Checkpoint {
 public:
  /// Throws InvalidArgument, ObjectExists, ObjectInUse, NoSpace.
  static Checkpoint create(Pool& pool, const std::string& name, const CheckpointOptions& options = {});
  /// Throws ObjectNotFound, ObjectInUse, PoolMismatch (it is no checkpoint), PoolVersion, PoolCorrupt.
  static Checkpoint open(Pool& pool, const std::string& name, bool flush = false);

  /// Copies the tensors into the pool; a thread checks and publishes them. Those of the CPU may change when this returns, and those
  /// of a GPU by later work on the stream. `text` is kept with them. In what is saved tensors of a GPU come first. Throws NoSpace,
  /// InvalidArgument, ReadOnly, ObjectInUse, DeviceError; then nothing is lost.
  SaveTicket save(std::uint64_t step, std::span<const TensorView> tensors, std::string_view text = {},
                  const SaveOptions& options = {});
  /// Registers tensors for many saves: for 20,000 small ones a save takes less time than checking their names. Throws
  /// InvalidArgument, DeviceError.
  TensorGroup group(std::span<const TensorView> tensors) const;
  SaveTicket save(std::uint64_t step, const TensorGroup& group, std::string_view text = {},
                  const SaveOptions& options = {});
  /// The newest state that is not damaged, judged by its header and by the blocks of tensors that are `wanted` (null: all).
  /// `sequence` asks for that of `list()`, and no other. Throws ObjectNotFound where nothing was saved, or that save is not
  /// there any more; PoolCorrupt where all copies that may be given are damaged.
  SavedState restore(const std::function<bool(const SavedTensor&)>& wanted = nullptr, std::uint64_t sequence = 0) const;
  /// Fills registered tensors by name, and returns when they are full; those of a GPU after what `stream`, a cudaStream_t, has now.
  /// They are verified there as they arrive: where a copy is found damaged the one before overwrites what it gave, and after
  /// PoolCorrupt tensors of a GPU have any contents. Throws PoolMismatch where one is missing or has another type or shape; nothing
  /// of that copy is written then. Others may be saved beside them.
  SavedState restore_into(std::span<const TensorView> tensors, void* stream = nullptr) const;
  /// The same with arrays that `place` makes, given a state that is not verified yet: those that it returns are filled. Where that
  /// copy is damaged it is asked again for the one before. `sequence` as for `restore`.
  SavedState restore_to(const std::function<std::vector<TensorView>(const SavedState&)>& place, void* stream = nullptr,
                        std::uint64_t sequence = 0) const;
  /// Maps all copies for GPUs now. Without it the first save to a copy, or restore from it, of tensors of a GPU does: about a tenth
  /// of a second a GB. Throws DeviceError where this Holdfast was built without CUDA.
  void map_for_gpu() const;
  std::vector<SavedCopy> list() const;  ///< newest first
  void wait() const;                    ///< until no save is under way; errors come out of tickets
  unsigned copies() const;
  void close();  ///< after all saves; idempotent
  bool is_open() const;

 private:
  class Impl;
  explicit Checkpoint(std::shared_ptr<Impl> impl);
  Held<std::shared_ptr<Impl>> impl_;
};

}  // namespace holdfast

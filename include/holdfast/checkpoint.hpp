// checkpoint.hpp: saves and restores the tensors of a program, as an object of a pool. GPM §5.3.
//
//   create or open   a checkpoint: 2 to 8 copies of a state, in one pool with tables
//   save             copies tensors into the oldest copy; `wait` of its ticket returns when that one is durable and counts
//   restore          the newest copy whose checksums match; `damage` lists the copies it skipped
//
// After a crash at any moment the newest copy is the last acknowledged one, or one that was being saved.
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

/// The element type of a tensor. The numbers are stored in pools.
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

/// A tensor to be saved or filled: contiguous, the last index fastest.
struct TensorView {
  std::string name;  ///< unique in a state
  ElementType element = ElementType::f32;
  std::vector<std::uint64_t> shape;  ///< empty: one element
  const void* data = nullptr;
  bool on_device = false;  ///< `data` is in the memory of a GPU; all such tensors of a state in that of one
};

/// A tensor of a saved state. `data` is in the pool, at a multiple of 128 bytes, and valid while the SavedState exists.
struct SavedTensor {
  std::string name;
  ElementType element = ElementType::f32;
  std::vector<std::uint64_t> shape;
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
};

/// A saved state. While it exists its copy is not overwritten.
struct SavedState {
  std::uint64_t step = 0, sequence = 0;
  std::string text;
  std::vector<SavedTensor> tensors;
  std::vector<std::string> damage;  ///< newer copies that are damaged and were skipped
  std::shared_ptr<const void> held;
};

/// A valid copy, as its header describes it.
struct SavedCopy {
  unsigned copy = 0;
  std::uint64_t step = 0, sequence = 0, created = 0, tensors = 0, bytes = 0;
  bool newest = false;
};

/// A save in progress.
class SaveTicket {
 public:
  SaveTicket() = default;
  explicit SaveTicket(std::shared_future<void> done);
  /// Returns when the save is durable, or throws its error: then the previous state
  /// stands. Throws ObjectClosed in a process that was forked during the save.
  void wait() const;
  bool is_done() const { return done_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }

 private:
  std::shared_future<void> done_;
  unsigned process_ = 0;  ///< the one that began it
};

struct SaveOptions {
  bool wait = true;  ///< while all copies are in flight or held; else ObjectInUse
  /// Tensors of a GPU are first copied to a staged state in GPU memory, so that `stream` need not wait
  /// for the link. Otherwise `stream` waits until they are in the pool, and no GPU memory is needed. A
  /// pool on an ordinary file system cannot be mapped for a GPU: the call itself then waits for the copy.
  bool stage = true;
  void* stream = nullptr;  ///< cudaStream_t: tensors of a GPU are saved as they are at this point of it
};

namespace checkpoint {
struct Layout;
}

/// Tensors that are saved repeatedly: checked, and laid out, once. Their addresses must not
/// change while this exists; their contents may. A handle: copies refer to the same group.
class TensorGroup {
 public:
  TensorGroup() = default;

 private:
  friend class Checkpoint;
  std::shared_ptr<const checkpoint::Layout> layout_;
};

struct CheckpointOptions {
  unsigned copies = 2;     ///< 2 to 8: one fewer may be in flight
  bool overwrite = false;  ///< replace a checkpoint of that name
  bool flush = false;      ///< flush as for domain `power` on any medium
};

/// A handle: copies refer to the same checkpoint. Thread-safe. Saves take effect in the order of the calls.
class Checkpoint {
 public:
  /// Makes a checkpoint. Throws InvalidArgument, ObjectExists, ObjectInUse, NoSpace.
  static Checkpoint create(Pool& pool, const std::string& name, const CheckpointOptions& options = {});
  /// Opens a checkpoint. Throws ObjectNotFound, ObjectInUse, PoolMismatch (another kind), PoolVersion, PoolCorrupt.
  static Checkpoint open(Pool& pool, const std::string& name, bool flush = false);

  /// Copies the tensors into the pool; a thread computes checksums and publishes them. Tensors of the CPU may change when
  /// this returns, those of a GPU by later work on the stream. `text` is stored with them. Tensors of a GPU come first in
  /// the saved state. Throws NoSpace, InvalidArgument, ReadOnly, ObjectInUse, DeviceError; then nothing is lost.
  SaveTicket save(std::uint64_t step, std::span<const TensorView> tensors, std::string_view text = {},
                  const SaveOptions& options = {});
  /// Registers tensors for many saves: for 20,000 small ones, checking their
  /// names takes longer than a save. Throws InvalidArgument, DeviceError.
  TensorGroup group(std::span<const TensorView> tensors) const;
  SaveTicket save(std::uint64_t step, const TensorGroup& group, std::string_view text = {},
                  const SaveOptions& options = {});
  /// Returns the newest state that is not damaged, judged by its header and by the blocks of the tensors that
  /// are `wanted` (null: all). `sequence` requests that save of `list()`, and no other. Throws ObjectNotFound
  /// if nothing was saved, or that save no longer exists; PoolCorrupt if all candidate copies are damaged.
  SavedState restore(const std::function<bool(const SavedTensor&)>& wanted = nullptr, std::uint64_t sequence = 0) const;
  /// Fills registered tensors by name and returns when they are filled; those of a GPU after the present work of
  /// `stream`, a cudaStream_t. They are verified there on arrival: if a copy is found damaged, the previous one
  /// overwrites its data, and after PoolCorrupt tensors of a GPU have undefined contents. Throws PoolMismatch if one is
  /// missing or has another type or shape; nothing of that copy is written then. The state may contain other tensors.
  SavedState restore_into(std::span<const TensorView> tensors, void* stream = nullptr) const;
  /// Does the same with arrays that `place` returns, given a state that is not verified yet. If that
  /// copy is damaged, `place` is called again for the previous one. `sequence` as for `restore`.
  SavedState restore_to(const std::function<std::vector<TensorView>(const SavedState&)>& place, void* stream = nullptr,
                        std::uint64_t sequence = 0) const;
  /// Maps all copies for GPUs now. Otherwise the first save or restore of tensors of a GPU maps
  /// them: about a tenth of a second per GB. Throws DeviceError if Holdfast was built without CUDA.
  void map_for_gpu() const;
  std::vector<SavedCopy> list() const;  ///< newest first
  void wait() const;                    ///< until no save is in progress; tickets report errors
  unsigned copies() const;
  void close();  ///< after all saves; idempotent
  bool is_open() const;

 private:
  class Impl;
  explicit Checkpoint(std::shared_ptr<Impl> impl);
  Held<std::shared_ptr<Impl>> impl_;
};

}  // namespace holdfast

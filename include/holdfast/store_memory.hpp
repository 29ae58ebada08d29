// store_memory.hpp: values of a store in place: memory to fill before a change, and memory to read that stays. For callers, copy engines and
// kernels that move large values without a copy in between, such as a language model's cache of keys and values.
//
//   holdfast::StoreReservation blocks = store.reserve(keys, bytes);
//   blocks.copy_in(sources, stream);      // thousands of parts, from GPU memory or the host's
//   blocks.commit(row);                   // waits for the copies of the row; durable when it returns
//   holdfast::StoreLease found = store.lease(keys);
//   found.copy_out(targets, stream);      // later work of the stream sees the values
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "holdfast/store.hpp"

namespace holdfast {

namespace store {
class Transfer;
}

/// A part of a value, and memory of the caller that has as many bytes.
template <class Memory>
struct StorePart {
  std::size_t row = 0;       ///< of the reservation or the lease
  std::uint64_t offset = 0;  ///< in the value
  Memory* memory = nullptr;
  std::uint64_t bytes = 0;
  bool on_device = false;  ///< `memory` is in the memory of a GPU: all such parts of a call in that of one
};
using StoreSource = StorePart<const void>;  ///< `copy_in` reads it
using StoreTarget = StorePart<void>;        ///< `copy_out` writes it

/// The copies of a call. They end without it. Thread-safe.
class StoreTransfer {
 public:
  StoreTransfer() = default;  ///< of nothing: done
  explicit StoreTransfer(std::shared_ptr<store::Transfer> transfer) : transfer_(std::move(transfer)) {}
  /// Whether all bytes have arrived. Throws DeviceError where the GPU failed.
  bool poll() const;
  /// Returns when they have. Throws DeviceError.
  void wait() const;

 private:
  std::shared_ptr<store::Transfer> transfer_;
};

/// Memory for new values, of `Store::reserve`: row by row, a value lies in one piece up to nearly 2 MiB, and in several above. It is not cleared, and
/// has bytes of former items until the caller writes all of it. Any thread may write the bytes; with `StoreOptions::gpu` kernels may, too, at the same addresses. What is not committed is not found, counts against the limit, and
/// ends with this object, or with the process. Thread-safe, but for moves and the end. The store cannot be closed before
/// all rows have ended.
class StoreReservation {
 public:
  StoreReservation(StoreReservation&&) noexcept;
  StoreReservation& operator=(StoreReservation&&) noexcept;
  ~StoreReservation();  ///< waits for copies, and aborts what was neither committed nor aborted

  std::size_t size() const;
  /// False: there was no memory for the row.
  bool has(std::size_t row) const;
  /// The bytes of its value, with those of former items at first. Throws InvalidArgument where it has no memory, or is committed or aborted already; so
  /// do the following.
  std::span<const std::span<std::byte>> pieces(std::size_t row) const;
  /// Copies parts of values from memory of the host, before the call returns, and from that of a GPU by its copy engine: after what `stream`
  /// (a cudaStream_t) has now, and before what it gets later. Those sources must not change until the copies are done. Throws InvalidArgument
  /// (a part reaches beyond its value; a GPU's memory without `StoreOptions::gpu`); then nothing was copied. Throws DeviceError.
  StoreTransfer copy_in(std::span<const StoreSource> parts, void* stream = nullptr);
  /// Makes it a `set`, whole or absent, and durable when it returns: inserted, updated, no_space. Waits for the row's copies first, and throws
  /// DeviceError where they failed; then it is reserved as before. Other writes of its bytes have ended before. Bytes that were not written
  /// become part of the value as they are: those of former items. Throws InvalidArgument where the row was committed or aborted before.
  StoreStatus commit(std::size_t row);
  /// Waits for the row's copies, and gives its memory back. Throws InvalidArgument where the row was committed or aborted before.
  void abort(std::size_t row);

 private:
  friend class Store;
  class Impl;
  explicit StoreReservation(std::unique_ptr<Impl> impl);
  Held<std::unique_ptr<Impl>> impl_;
};

/// Values that stay as they are, of `Store::lease`: their items may be replaced or removed, but their memory is not used again before they are
/// released. Thread-safe, but for moves and the end. The store cannot be closed before all are.
class StoreLease {
 public:
  StoreLease(StoreLease&&) noexcept;
  StoreLease& operator=(StoreLease&&) noexcept;
  ~StoreLease();  ///< waits for copies, and releases all rows

  std::size_t size() const;
  /// False: the key was absent, or the row was released.
  bool has(std::size_t row) const;
  /// The bytes of its value, and what else the item had. Throws InvalidArgument where it has none.
  std::span<const std::span<const std::byte>> pieces(std::size_t row) const;
  std::uint64_t bytes(std::size_t row) const;
  std::uint32_t flags(std::size_t row) const;
  std::uint64_t cas(std::size_t row) const;
  /// Copies parts of values to memory of the host, before the call returns, and to that of a GPU as `StoreReservation::copy_in` does, with the
  /// same errors.
  StoreTransfer copy_out(std::span<const StoreTarget> parts, void* stream = nullptr);
  /// Waits for the row's copies, and ends the lease of its memory. Throws InvalidArgument where the row has no value, or was released before.
  void release(std::size_t row);

 private:
  friend class Store;
  class Impl;
  explicit StoreLease(std::unique_ptr<Impl> impl);
  Held<std::unique_ptr<Impl>> impl_;
};

}  // namespace holdfast

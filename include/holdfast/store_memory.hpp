// store_memory.hpp: values of a store in place: memory to fill before a change, and memory to read that stays. For callers, copy engines and
// kernels that move large values without a copy in between, such as a language model's cache of keys and values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "holdfast/store.hpp"

namespace holdfast {

/// Memory for new values, of `Store::reserve`: row by row, a value lies in one piece up to nearly 2 MiB, and in several above. Any thread may write
/// the bytes. What is not committed is not found, counts against the limit, and ends with this object, or with the process. Not thread-safe;
/// different objects are. The store cannot be closed meanwhile.
class StoreReservation {
 public:
  StoreReservation(StoreReservation&&) noexcept;
  StoreReservation& operator=(StoreReservation&&) noexcept;
  ~StoreReservation();  ///< aborts what was neither committed nor aborted

  std::size_t size() const;
  /// False: there was no memory for the row.
  bool has(std::size_t row) const;
  /// The bytes of its value. Throws InvalidArgument where it has no memory, or is committed or aborted already; so do the following.
  std::span<const std::span<std::byte>> pieces(std::size_t row) const;
  /// Makes it a `set`, whole or absent, and durable when it returns: inserted, updated, no_space. Every byte was written before.
  StoreStatus commit(std::size_t row);
  void abort(std::size_t row);

 private:
  friend class Store;
  class Impl;
  explicit StoreReservation(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Values that stay as they are, of `Store::lease`: their items may be replaced or removed, but their memory is not used again before they are
/// released. Not thread-safe; different objects are. The store cannot be closed meanwhile.
class StoreLease {
 public:
  StoreLease(StoreLease&&) noexcept;
  StoreLease& operator=(StoreLease&&) noexcept;
  ~StoreLease();  ///< releases all rows

  std::size_t size() const;
  /// False: the key was absent, or the row was released.
  bool has(std::size_t row) const;
  /// The bytes of its value, and what else the item had. Throws InvalidArgument where it has none.
  std::span<const std::span<const std::byte>> pieces(std::size_t row) const;
  std::uint64_t bytes(std::size_t row) const;
  std::uint32_t flags(std::size_t row) const;
  std::uint64_t cas(std::size_t row) const;
  void release(std::size_t row);

 private:
  friend class Store;
  class Impl;
  explicit StoreLease(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast

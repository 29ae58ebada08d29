// persistent_memory.hpp: what a persistent hash table asks of its memory. The CPU and the model provide it, so that one source runs on both.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace holdfast::structures {

/// The volatile lock of a group of cells: bit 0 says that a writer holds it, the bits above count the writers that have left.
using VersionLock = std::uint32_t;

/// `Step`: the steps of a protocol that the model can leave out.
template <class M, class Step>
concept PersistentMemory = requires(const M& memory, const std::uint64_t* from, std::uint64_t* to, std::uint64_t value,
                                    std::size_t bytes, VersionLock* lock, std::uint32_t version, Step step) {
  /// Whether a step is done. Shipping memories return a constant true.
  { M::keeps(step) } -> std::same_as<bool>;
  /// Attempts to read a group without its lock.
  { M::kReadAttempts } -> std::convertible_to<unsigned>;

  /// Loads a word of the pool; later accesses of the caller stay behind it.
  { memory.load(from) } -> std::same_as<std::uint64_t>;
  /// Stores a word of the pool, whole or not at all; earlier accesses of the caller stay before it. It is visible to other callers
  /// at once, and durable when a `flush` of it and a `fence` have followed.
  memory.store(to, value);
  /// Starts to write back the lines that have a byte of [from, from + bytes).
  memory.flush(from, bytes);
  /// Waits until what the caller flushed is durable.
  memory.fence();

  /// Waits until no writer holds the lock. Returns its version, for `end_read`.
  { memory.begin_read(lock) } -> std::same_as<std::uint32_t>;
  /// Whether no writer has taken the lock since.
  { memory.end_read(lock, version) } -> std::same_as<bool>;
  /// Takes the lock, after a wait for the writer that holds it.
  memory.lock(lock);
  /// Releases the lock: what was stored under it is visible to the next `begin_read`.
  memory.unlock(lock);
};

}  // namespace holdfast::structures

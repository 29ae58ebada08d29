// persistent_memory.hpp: what a persistent hash table asks of its memory. The CPU and the model provide it, so that one source runs on both.
#pragma once

#include <concepts>
#include <cstdint>

#include "pool/medium/memory_concept.hpp"

namespace holdfast::structures {

/// The volatile lock of a group of cells: bit 0 says that a writer holds it, the bits above count the writers that have left.
using VersionLock = std::uint32_t;

/// Locks of groups, which writers take and readers check.
template <class M>
concept VersionLocks = requires(const M& memory, VersionLock* lock, std::uint32_t version) {
  /// Attempts to read a group without its lock.
  { M::kReadAttempts } -> std::convertible_to<unsigned>;
  /// Waits until no writer holds the lock. Returns its version, for `end_read`.
  { memory.begin_read(lock) } -> std::same_as<std::uint32_t>;
  /// Whether no writer has taken the lock since.
  { memory.end_read(lock, version) } -> std::same_as<bool>;
  /// Takes the lock, after a wait for the writer that holds it.
  memory.lock(lock);
  /// Releases the lock: what was stored under it is visible to the next `begin_read`.
  memory.unlock(lock);
};

/// Memory that takes a hint of what is read soon.
template <class M>
concept PrefetchingMemory = requires(const M& memory, const std::uint64_t* word, const VersionLock* lock) {
  /// Asks for the line of a word of the pool, or of a lock, without a wait. It changes no result.
  memory.prefetch(word);
  memory.prefetch(lock);
};

/// Words of the pool and their locks. `Step`: the steps of a protocol that the model can leave out.
template <class M, class Step>
concept PersistentMemory =
    pool::PersistentMemory<M> && pool::SteppedMemory<M, Step> && VersionLocks<M> && PrefetchingMemory<M>;

}  // namespace holdfast::structures

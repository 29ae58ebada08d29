// memory_concept.hpp: what the protocol of logs and transactions demands of a policy `Memory`, beside what every persistent structure does
// (pool/medium/memory_concept.hpp): words of 4 bytes, `keeps` for the steps of step.hpp, and the members below.
#pragma once

#include "log/protocol/step.hpp"
#include "pool/medium/memory_concept.hpp"

namespace holdfast::log {

/// A volatile copy of the tails, by which a caller knows how many entries a place has without a read of the pool.
template <class M>
concept TailCopies = requires(const M& memory, const std::uint32_t* copy, std::uint32_t* changed,
                              std::uint32_t entries) {
  // Returns how many entries a place has. `copy` is the place's word among View::shown.
  { memory.shown(copy) } -> std::same_as<std::uint32_t>;
  // Follows a tail that is durable. For the only caller that uses the place.
  { memory.show(changed, entries) } -> std::same_as<void>;
};

/// Exclusive use of a partition of a conventional log, by a volatile word.
template <class M>
concept PartitionHolds = requires(const M& memory, std::uint32_t* hold) {
  // Waits until the partition is the caller's. Acquires. Does nothing where the caller takes partitions for whole operations itself.
  { memory.take(hold) } -> std::same_as<void>;
  // Gives it back. Releases.
  { memory.release(hold) } -> std::same_as<void>;
};

/// All that logs and transactions need. `M::Word` holds a value of 4 bytes in the pool.
template <class M>
concept LogMemory = pool::PersistentMemory<M, typename M::Word, std::uint32_t> && pool::SteppedMemory<M, Step> &&
    TailCopies<M> && PartitionHolds<M> &&
    requires(const M& memory, const typename M::Word* first, std::uint32_t words) {
  // As `flush`, of `words` words that are a stride apart (the last argument, in words): an entry of one lane.
  { memory.flush_strided(first, words, words) } -> std::same_as<void>;
};

}  // namespace holdfast::log

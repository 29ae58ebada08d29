// memory_concept.hpp: what a protocol demands of the memory that it works on: the contract of every policy `Memory`.
//
// A protocol is one source for the CPU, the GPU and the model. It reads and changes memory only through an object of a policy class,
// which each backend writes for its machine. Tests write others, which record accesses, drop some, or crash between them. These concepts
// have what any persistent structure needs; each structure adds its own members in its own folder (docs/internals/policies.md):
//
//   ReadableMemory     load                   words of the pool
//   WritableMemory     store, flush, fence
//   PersistentMemory   both
//   SteppedMemory      keeps                  which steps of the protocol run: all but the one that a test leaves out
//   VolatileWords      peek, poke, swap       words in DRAM or GPU memory by which callers arbitrate
//
// A policy is passed by const reference, and its members are const: a warp's lanes have equal copies, and a thread's state is `mutable`.
// Persistent words have no compare-and-swap: arbitration is in volatile words, because a GPU must not send atomics to host memory
// (rule 13). A crash can come between any two accesses; a kill test needs a HOLDFAST_FAILPOINT there (core/failpoint.hpp).
//
// `Word` is the type of the words that the structure addresses, `Value` that of what is stored in one. They differ only in a model that
// gives each value a separate word, so that a crash can keep any subset.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace holdfast::pool {

/// Reads the pool.
template <class M, class Word = std::uint64_t, class Value = Word>
concept ReadableMemory = requires(const M& memory, const Word* word) {
  // Returns a persistent word, never torn. If other threads store to it, the load acquires: the caller then also sees what the storing
  // thread stored before. The word may not be durable yet. Any thread may call.
  { memory.load(word) } -> std::same_as<Value>;
};

/// Writes the pool. A store is durable when a `flush` of its bytes and then a `fence` of the same thread have returned. Until then a
/// crash may keep or lose it, in any order with other such stores.
template <class M, class Word = std::uint64_t, class Value = Word>
concept WritableMemory = requires(const M& memory, Word* word, Value value, const void* address, std::size_t bytes) {
  // Stores a persistent word, never torn. Releases: a thread that loads the value sees what the caller stored before. Only one thread
  // at a time may store to a word, which the protocol's claims ensure.
  { memory.store(word, value) } -> std::same_as<void>;
  // Starts to write back all lines of [address, address + bytes), which this thread has stored to, or has read and relies on. Does
  // nothing where stores become durable without it: in domain `process`, and for what a GPU posts.
  { memory.flush(address, bytes) } -> std::same_as<void>;
  // Waits until what this thread flushed (on a GPU: stored) is durable, and orders it before the thread's later accesses. On a CPU
  // it may throw if the medium fails; a GPU's does not.
  { memory.fence() } -> std::same_as<void>;
};

template <class M, class Word = std::uint64_t, class Value = Word>
concept PersistentMemory = ReadableMemory<M, Word, Value> && WritableMemory<M, Word, Value>;

/// Leaves out steps, for mutants (rule 25). `Step` is the protocol's enumeration of them.
template <class M, class Step>
concept SteppedMemory = requires(const M& memory, Step step) {
  // Returns whether the protocol executes a step. A constant true in shipped policies, so that the branch costs nothing. Any thread.
  { memory.keeps(step) } -> std::same_as<bool>;
};

/// Words that are in DRAM or in GPU memory, and gone after a crash: claims, tags, maps of caches.
template <class M, class Word = std::uint64_t>
concept VolatileWords = requires(const M& memory, const Word* word, Word* changed, Word value) {
  // Returns a volatile word. Acquires. Any thread.
  { memory.peek(word) } -> std::same_as<Word>;
  // Stores one. Releases. For the only thread that may change the word now: the holder of a claim.
  { memory.poke(changed, value) } -> std::same_as<void>;
  // Replaces the word's value by the third argument if it is the second; returns whether it was. Acquires, and releases. Any thread.
  { memory.swap(changed, value, value) } -> std::same_as<bool>;
};

/// Reads the pool where no thread changes it meanwhile: plain loads suffice.
struct QuietMemory {
  static std::uint64_t load(const std::uint64_t* word) { return *word; }
};
static_assert(ReadableMemory<QuietMemory> && !PersistentMemory<QuietMemory>);

}  // namespace holdfast::pool

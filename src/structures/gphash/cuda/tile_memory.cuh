// tile_memory.cuh: what a GPU's tiles demand of their memory policy, beside what the protocol does (structures/gphash/protocol/memory_concept.hpp).
#pragma once

#include <vector_types.h>

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/slot.hpp"

namespace holdfast::gphash::cuda {

/// A pool some of whose slots may have copies in GPU memory. A thread's own policy remembers where it has read.
template <class M>
concept CopiedMemory = requires(const M& memory, const gphash::Slot* slot) {
  // Returns whether a slot was read since begin_look that has no copy.
  { memory.has_read_pool() } -> std::same_as<bool>;
  // Begins a look: nothing was read.
  { memory.begin_look() } -> std::same_as<void>;
  // Of a slot that was read in the pool, after a fence: returns false if it has a copy by now.
  { memory.stands(slot) } -> std::same_as<bool>;
};

/// The same for a tile of one thread, which reads both words of a slot in one request over the link.
template <class M>
concept SeenMemory = gphash::KeyMemory<M> && CopiedMemory<M> &&
    requires(const M& memory, const gphash::Slot* slot, typename M::SeenSlot seen) {
  // Returns whether a slot may have no copy.
  { memory.may_read_pool() } -> std::same_as<bool>;
  // Returns the key of a slot, and its word if both came as they were at one moment. Acquires.
  { memory.see_slot(slot) } -> std::same_as<typename M::SeenSlot>;
  { seen.key } -> std::convertible_to<std::uint64_t>;
  { seen.word } -> std::convertible_to<std::uint64_t>;
  { seen.whole } -> std::convertible_to<bool>;
};

/// Parts of cells, by the lanes of a warp. They order nothing, as the members of gphash::ValueMemory.
template <class M>
concept WideValueMemory = gphash::ValueMemory<M> &&
    requires(const M& memory, const std::uint64_t* two, std::uint64_t* written, ulonglong2 words, std::byte* to,
             std::size_t bytes) {
  // Two neighbouring words in one request; the address is a multiple of 16.
  { memory.load_values(two) } -> std::same_as<ulonglong2>;
  { memory.store_values(written, words) } -> std::same_as<void>;
  // Stores up to eight bytes, at any address. Those next to them stay as they are.
  { memory.store_part(to, words.x, bytes) } -> std::same_as<void>;
};

}  // namespace holdfast::gphash::cuda

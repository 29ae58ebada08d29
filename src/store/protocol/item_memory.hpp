// item_memory.hpp: what the store demands of the memory that its items are in, beside what every persistent structure does
// (pool/medium/memory_concept.hpp).
#pragma once

#include <concepts>

#include "pool/medium/memory_concept.hpp"
#include "store/protocol/step.hpp"

namespace holdfast::store {

template <class M>
concept ItemMemory = pool::PersistentMemory<M> && pool::SteppedMemory<M, Step> && requires(const M& memory) {
  // Returns whether a store becomes durable only by a flush and a fence, so that others may see it before. Any thread.
  { memory.flushes() } -> std::same_as<bool>;
  // Orders the caller's loads before it before those after it. Nothing where loads acquire in their order.
  { memory.order_loads() } -> std::same_as<void>;
};

}  // namespace holdfast::store

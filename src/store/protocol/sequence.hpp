// sequence.hpp: numbers that never repeat, not even after a crash: they are reserved durably, a block at a time. An exception to rule 20.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "store/protocol/step.hpp"

namespace holdfast::store {

inline constexpr std::uint64_t kReservedAtOnce = std::uint64_t{1} << 20;

/// All numbers up to `last` may be used when it returns. `word` says how far numbers are reserved; after a crash those above are the first
/// that are certainly unused. One caller at a time.
template <class Memory>
HOLDFAST_BOTH void reserve_numbers(Memory& memory, std::uint64_t* word, std::uint64_t last) {
  memory.store(word, last);
  if (memory.keeps(Step::flush_reserved)) memory.flush(word, 8);
  if (memory.keeps(Step::fence_after_reserved)) memory.fence();
}

}  // namespace holdfast::store

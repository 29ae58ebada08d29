// tile.hpp: looks at the four slots of a line at once, for one instruction set; here in plain C++.
//
// A look reads each word whole (aligned words are never torn, not even inside a wider load, which may be split, but at words).
// It promises no more than that: values are read by SlotMemory::load.
#pragma once

#include "structures/dramhit/line.hpp"

namespace holdfast::dramhit {

struct PortableTile {
  using Seen = dramhit::Seen;
  static constexpr const char* kName = "portable";

  static Seen look(const Line* line, std::uint64_t want) {
    Seen seen;
    for (unsigned i = 0; i < kSlots; ++i) {
      const std::uint64_t word = __atomic_load_n(&line->slots[i].word, __ATOMIC_ACQUIRE);
      seen.hits |= static_cast<unsigned>(holds(word, want)) << i;
      seen.used |= static_cast<unsigned>(word & kUsed) << i;
      seen.passed |= static_cast<unsigned>((word & kPassed) != 0) << i;
      seen.held |= holds(word, kReserved);
      seen.free |= static_cast<unsigned>((word & (kLive | kFrozen)) == 0) << i;
    }
    return seen;
  }

#if defined(HOLDFAST_TSAN)
  static void store(Pair* slot, Pair pair) {
    const Wide whole = static_cast<Wide>(pair.value) << 64 | pair.word;
    __atomic_store_n(reinterpret_cast<Wide*>(slot), whole, __ATOMIC_RELEASE);
  }
  static Pair load(const Pair* slot) {
    const Wide whole = __atomic_load_n(reinterpret_cast<const Wide*>(slot), __ATOMIC_ACQUIRE);
    return {static_cast<std::uint64_t>(whole), static_cast<std::uint64_t>(whole >> 64)};
  }
#endif
};
static_assert(LineTile<PortableTile> && LineMemory<SlotMemory<PortableTile, false>>);
static_assert(LineMemory<OwnedMemory<PortableTile, false>>);

}  // namespace holdfast::dramhit

// cache_map.hpp: which copy stands for a part of the pool, and how its loader, writers and readers agree. GPHash §3.3,
// Rule 15.
//
// F(x) is a word for each part x (a cell of the heap); y is a position in the cache:
//
//   NOT_CACHED → LOADING(y) → y     the loader, by compare-and-swap, before and after it copies x
//   anything → NOT_CACHED or y'     the writer of x, when that is durable and before x is reported: `remap`
//   LOADING(y) → NOT_CACHED         the same where x may be cached and stays so, and y is written too: `write_through`
//
// The loader fences between its first swap and its first look at x, the writer between its last store to x and its look at
// F(x). So the loader copies what the writer wrote, or the writer finds LOADING and takes it away, and the loader's second
// swap fails. Readers use y alone. A position that was taken out of F may still be read: it is retired like a freed cell.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/mutant.hpp"

namespace holdfast::gphash {

inline constexpr std::uint64_t kNotCached = 0;

/// F(x) as it was seen. `Word` has 32 or 64 bits, the uppermost of which says LOADING.
template <class Word>
struct Mapped {
  static constexpr Word kLoading = Word{1} << (8 * sizeof(Word) - 1);
  Word word = kNotCached;

  HOLDFAST_BOTH static constexpr Mapped at(Word position) { return {static_cast<Word>(position + 1)}; }
  HOLDFAST_BOTH static constexpr Mapped loading(Word position) {
    return {static_cast<Word>(kLoading | (position + 1))};
  }
  HOLDFAST_BOTH constexpr bool cached() const { return word != kNotCached && !being_loaded(); }
  HOLDFAST_BOTH constexpr bool being_loaded() const { return (word & kLoading) != 0; }
  HOLDFAST_BOTH constexpr Word position() const { return static_cast<Word>((word & ~kLoading) - 1); }
};

template <class Word, pool::VolatileWords<Word> Memory>
HOLDFAST_BOTH Mapped<Word> mapped(const Memory& memory, const Word* f) {
  return {memory.peek(f)};
}

/// The loader wins x for a free position. True: it may copy x now.
template <class Word, CacheMapMemory<Word> Memory>
HOLDFAST_BOTH bool begin_load(const Memory& memory, Word* f, Word position) {
  if (!memory.swap(f, Word{kNotCached}, Mapped<Word>::loading(position).word)) return false;
  if (memory.keeps(Step::fence_before_load)) memory.fence();
  return true;
}

/// The copy is complete. False: a change has written x meanwhile, and the position is the loader's again.
template <class Word, CacheMapMemory<Word> Memory>
HOLDFAST_BOTH bool end_load(const Memory& memory, Word* f, Word position) {
  if (memory.keeps(Step::swap_after_load))
    return memory.swap(f, Mapped<Word>::loading(position).word, Mapped<Word>::at(position).word);
  memory.poke(f, Mapped<Word>::at(position).word);
  return true;
}

/// For a thread that has written x and fenced: F(x) becomes `now`. What it was is for the caller to retire, if it is cached; a
/// position that was being loaded is its loader's.
template <class Word, CacheMapMemory<Word> Memory>
HOLDFAST_BOTH Mapped<Word> remap(const Memory& memory, Word* f, Mapped<Word> now) {
  if (!memory.keeps(Step::remap_after_write)) return {};
  for (;;) {
    const Mapped<Word> seen = mapped(memory, f);
    if (seen.word == now.word || memory.swap(f, seen.word, now.word)) return seen;
  }
}

/// For a thread that has written x and fenced, and writes y too if x is cached: what F(x) is now, but for LOADING, which it takes away.
template <class Word, CacheMapMemory<Word> Memory>
HOLDFAST_BOTH Mapped<Word> write_through(const Memory& memory, Word* f) {
  if (!memory.keeps(Step::remap_after_write)) return {};
  for (;;) {
    const Mapped<Word> seen = mapped(memory, f);
    if (!seen.being_loaded() || !memory.keeps(Step::end_load_after_write)) return seen;
    if (memory.swap(f, seen.word, Word{kNotCached})) return {};
  }
}

/// For a thread that has looked into x because it was not cached, while another may have been writing there, and has fenced since.
/// False: a copy is shown now that may lack what was seen in x; look again.
template <class Word, CacheMapMemory<Word> Memory>
HOLDFAST_BOTH bool read_stands(const Memory& memory, Word* f) {
  return !memory.keeps(Step::look_at_map_again) || !write_through(memory, f).cached();
}

}  // namespace holdfast::gphash

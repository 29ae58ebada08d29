// tile_avx512.hpp: looks at a line in one AVX-512 step. Include only in files compiled for AVX-512.
#pragma once

#include <immintrin.h>

#include "structures/dramhit/simd/tile.hpp"

namespace holdfast::dramhit {

struct Avx512Tile {
  static constexpr const char* kName = "avx512";

  class Seen {
   public:
    [[gnu::always_inline]] Seen(__m512i words, std::uint64_t want) : words_(words) { hits_ = hits_of(want); }
    [[gnu::always_inline]] bool found() const { return hits_ != 0; }
    [[gnu::always_inline]] unsigned slot() const { return static_cast<unsigned>(std::countr_zero(hits_)) / 2; }
    [[gnu::always_inline]] bool reserved() const { return hits_of(kReserved) != 0; }
    [[gnu::always_inline]] unsigned used_slots() const { return slots_with(kUsed); }
    [[gnu::always_inline]] unsigned passed_slots() const { return slots_with(kPassed); }
    [[gnu::always_inline]] unsigned free_slots() const { return ~slots_with(kLive | kFrozen) & 15; }

   private:
    static constexpr unsigned kWords = 0x55;  ///< the slots' first words
    [[gnu::always_inline]] unsigned hits_of(std::uint64_t want) const {
      const __m512i different = _mm512_xor_si512(words_, _mm512_set1_epi64(static_cast<long long>(want)));
      return _mm512_testn_epi64_mask(different, _mm512_set1_epi64(static_cast<long long>(kIdentity))) & kWords;
    }
    [[gnu::always_inline]] unsigned slots_with(std::uint64_t bit) const {
      return _pext_u32(_mm512_test_epi64_mask(words_, _mm512_set1_epi64(static_cast<long long>(bit))), kWords);
    }
    __m512i words_;
    unsigned hits_;
  };

  [[gnu::always_inline]] static Seen look(const Line* line, std::uint64_t want) {
    __m512i words;  // volatile: another thread may have changed the line since it was last looked at
    asm volatile("vmovdqa64 %1, %0" : "=v"(words) : "m"(*line));
    return {words, want};
  }
  static Pair load(const Pair* slot) {
    __m128i both;
    asm volatile("vmovdqa %1, %0" : "=x"(both) : "m"(*slot));
    return {static_cast<std::uint64_t>(_mm_extract_epi64(both, 0)),
            static_cast<std::uint64_t>(_mm_extract_epi64(both, 1))};
  }
  static void store(Pair* slot, Pair pair) {
    const __m128i both = _mm_set_epi64x(static_cast<long long>(pair.value), static_cast<long long>(pair.word));
    asm volatile("vmovdqa %1, %0" : "=m"(*slot) : "x"(both));
  }
};
static_assert(WholeTile<Avx512Tile> && LineMemory<SlotMemory<Avx512Tile, true>> &&
              LineMemory<OwnedMemory<Avx512Tile, true>>);

}  // namespace holdfast::dramhit

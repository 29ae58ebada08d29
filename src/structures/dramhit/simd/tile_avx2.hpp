// tile_avx2.hpp: looks at a line in two AVX2 steps. Include only in files compiled for AVX2.
#pragma once

#include <immintrin.h>

#include "structures/dramhit/simd/tile.hpp"

namespace holdfast::dramhit {

struct Avx2Tile {
  static constexpr const char* kName = "avx2";

  class Seen {
   public:
    Seen(__m256i words, std::uint64_t want) : words_(words) { hits_ = hits_of(want); }
    bool found() const { return hits_ != 0; }
    unsigned slot() const { return kOrder >> 2 * std::countr_zero(hits_) & 3; }
    bool reserved() const { return hits_of(kReserved) != 0; }
    unsigned used_slots() const { return ordered(upper_bits(_mm256_slli_epi64(words_, 63))); }
    unsigned passed_slots() const { return ordered(upper_bits(_mm256_slli_epi64(words_, 61))); }
    unsigned free_slots() const {
      const __m256i live = _mm256_slli_epi64(words_, 62), frozen = _mm256_slli_epi64(words_, 59);
      return ordered(~upper_bits(_mm256_or_si256(live, frozen)) & 15);
    }

   private:
    static constexpr unsigned kOrder = 0b11'01'10'00;  ///< words are of slots 0, 2, 1, 3
    unsigned hits_of(std::uint64_t want) const {
      const __m256i identity = _mm256_set1_epi64x(static_cast<long long>(kIdentity));
      const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(want));
      return upper_bits(_mm256_cmpeq_epi64(_mm256_and_si256(words_, identity), wanted));
    }
    static unsigned upper_bits(__m256i words) {
      return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(words)));
    }
    static unsigned ordered(unsigned mask) { return (mask & 9) | (mask & 2) << 1 | (mask & 4) >> 1; }
    __m256i words_;
    unsigned hits_;
  };

  static Seen look(const Line* line, std::uint64_t want) {
    __m256i a, b;  // volatile: another thread may have changed the line since it was last looked at
    asm volatile("vmovdqa %1, %0" : "=x"(a) : "m"(*line));
    asm volatile("vmovdqa %1, %0" : "=x"(b) : "m"(line->slots[2]), "m"(*line));
    return {_mm256_unpacklo_epi64(a, b), want};  // the words of both halves side by side
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
static_assert(WholeTile<Avx2Tile> && LineMemory<SlotMemory<Avx2Tile, true>> && LineMemory<OwnedMemory<Avx2Tile, true>>);

}  // namespace holdfast::dramhit

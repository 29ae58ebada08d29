// engine_avx512.cpp: the inner loops with vectors of 64 bytes.
#include <immintrin.h>

#include "kmers/simd/engine_impl.hpp"

namespace holdfast::kmers {

namespace {
struct Avx512 {
  static constexpr const char* kName = "avx512";
  static constexpr int kBytes = 64;  ///< of a vector

  static std::size_t changes(const std::uint32_t* words, std::size_t n, std::uint32_t* numbers) {
    std::size_t count = 0;
    __m512i at = _mm512_add_epi32(_mm512_loadu_si512(kNumbers), _mm512_set1_epi32(1));
    for (std::size_t i = 1; i < n; i += 16) {
      const __m512i here = _mm512_loadu_si512(words + i), before = _mm512_loadu_si512(words + i - 1);
      const std::size_t left = n - i;
      const auto inside = static_cast<__mmask16>(left < 16 ? (1u << left) - 1 : 0xFFFF);
      const __mmask16 changed = _mm512_mask_cmpneq_epu32_mask(inside, here, before);
      _mm512_storeu_si512(numbers + count, _mm512_maskz_compress_epi32(changed, at));
      count += static_cast<std::size_t>(__builtin_popcount(changed));
      at = _mm512_add_epi32(at, _mm512_set1_epi32(16));
    }
    return count;
  }

  template <class Ints>
  static Ints widen(const std::uint8_t* bytes) {
    return reinterpret_cast<Ints>(
        _mm512_maskz_cvtepu8_epi32(0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes))));
  }
  static void deal_fours(const std::uint8_t* from, std::uint8_t* to, std::size_t apart) {
    const __m512i all = _mm512_loadu_si512(from);
    for (unsigned row = 0; row < 4; ++row) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + row * apart),
                       _mm512_maskz_cvtepi32_epi8(0xFFFF, _mm512_maskz_srli_epi32(0xFFFF, all, 8 * row)));
    }
  }

  static constexpr std::uint32_t kNumbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
};
}  // namespace

const Engine& avx512_engine() {
  static const EngineFor<Avx512> engine;
  return engine;
}

}  // namespace holdfast::kmers

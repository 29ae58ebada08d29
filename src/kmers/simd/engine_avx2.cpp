// engine_avx2.cpp: the inner loops with vectors of 32 bytes.
#include <immintrin.h>

#include <array>

#include "kmers/simd/engine_impl.hpp"

namespace holdfast::kmers {

namespace {
struct Avx2 {
  static constexpr const char* kName = "avx2";
  static constexpr int kBytes = 32;  ///< of a vector
  static std::size_t changes(const std::uint32_t* words, std::size_t n, std::uint32_t* numbers) {
    std::size_t count = 0;
    for (std::size_t i = 1; i < n; i += 8) {
      const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + i));
      const __m256i before = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + i - 1));
      const unsigned inside = n - i < 8 ? (1u << (n - i)) - 1 : 0xFF;
      const unsigned equal =
          static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(here, before))));
      const unsigned changed = ~equal & inside;
      const __m256i bits = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(kBits[changed])));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(numbers + count),
                          _mm256_add_epi32(bits, _mm256_set1_epi32(static_cast<int>(i))));
      count += static_cast<std::size_t>(__builtin_popcount(changed));
    }
    return count;
  }

  template <class Ints>
  static Ints widen(const std::uint8_t* bytes) {
    return reinterpret_cast<Ints>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes))));
  }
  /// Byte i goes to row i % 4; the rows are `apart` bytes apart.
  static void deal_fours(const std::uint8_t* from, std::uint8_t* to, std::size_t apart) {
    const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i columns = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,  //
                                             0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m256i rows =
        _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(all, columns), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    const __m128i low = _mm256_castsi256_si128(rows), high = _mm256_extracti128_si256(rows, 1);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), low);
    _mm_storeh_pd(reinterpret_cast<double*>(to + apart), _mm_castsi128_pd(low));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 2 * apart), high);
    _mm_storeh_pd(reinterpret_cast<double*>(to + 3 * apart), _mm_castsi128_pd(high));
  }

  /// The numbers of a byte's bits that are 1, a byte each.
  static constexpr auto kBits = [] {
    std::array<std::uint64_t, 256> all{};
    for (unsigned byte = 0; byte < 256; ++byte) {
      unsigned count = 0;
      for (unsigned bit = 0; bit < 8; ++bit) {
        if (byte >> bit & 1) all[byte] |= std::uint64_t{bit} << 8 * count++;
      }
    }
    return all;
  }();
};
}  // namespace

const Engine& avx2_engine() {
  static const EngineFor<Avx2> engine;
  return engine;
}

}  // namespace holdfast::kmers

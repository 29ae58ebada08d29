// line_tile.hpp: one thread that looks at the eight cells of a bucket at once.
#pragma once

#include <cstdint>

#include "structures/cuckoo/cpu/cpu_memory.hpp"

// ThreadSanitizer sees atomic accesses only.
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
#if !defined(__has_feature)
#define HOLDFAST_CUCKOO_SSE2 1
#elif !__has_feature(thread_sanitizer)
#define HOLDFAST_CUCKOO_SSE2 1
#endif
#endif

#if defined(HOLDFAST_CUCKOO_SSE2)
#include <emmintrin.h>
#endif

namespace holdfast::cuckoo::cpu {

#if defined(HOLDFAST_CUCKOO_SSE2)

/// A look reads each cell whole: aligned words are never torn, not even inside a wider load. What it found is read again by itself.
struct LineTile : OneThread {
  template <class Memory>
  Location location(const Memory& memory, BucketNumber bucket, std::uint32_t signature, bool wanted) const {
    if (!wanted) return kNone;
    for (;;) {  // ends: it is repeated only if another caller changed the cell meanwhile
      const Halves halves(memory.line(bucket));
      const LaneMask hits = halves.upper_equal(signature);
      // An unpredictable branch would cost more than to read a cell in vain.
      const std::uint64_t entry = memory.load_cell(bucket, lowest_bit(hits | 1u << (Memory::kCells - 1)));
      const bool same = signature_of(entry) == signature;
      if (hits != 0 && !same) [[unlikely]]
        continue;
      return hits != 0 ? location_of(entry) : kNone;
    }
  }
  template <class Memory>
  LaneMask cells_with(const Memory& memory, BucketNumber bucket, std::uint64_t entry, bool wanted) const {
    if (!wanted) return 0;
    const Halves halves(memory.line(bucket));
    return halves.upper_equal(signature_of(entry)) & halves.lower_equal(location_of(entry));
  }

 private:
  /// The signatures and the locations of a line's cells.
  class Halves {
   public:
    explicit Halves(const std::uint64_t* line) {
      __m128 pairs[4];
      // Volatile: another thread may have changed the line since it was last looked at.
      for (unsigned i = 0; i < 4; ++i) {
        asm volatile("movaps %1, %0" : "=x"(pairs[i]) : "m"(*reinterpret_cast<const __m128*>(line + 2 * i)) : "memory");
      }
      for (unsigned i = 0; i < 2; ++i) {
        upper_[i] = _mm_castps_si128(_mm_shuffle_ps(pairs[2 * i], pairs[2 * i + 1], 0b11'01'11'01));
        lower_[i] = _mm_castps_si128(_mm_shuffle_ps(pairs[2 * i], pairs[2 * i + 1], 0b10'00'10'00));
      }
    }
    LaneMask upper_equal(std::uint32_t half) const { return equal(upper_, half); }
    LaneMask lower_equal(std::uint32_t half) const { return equal(lower_, half); }

   private:
    static LaneMask equal(const __m128i (&halves)[2], std::uint32_t half) {
      const __m128i wanted = _mm_set1_epi32(static_cast<int>(half));
      const __m128i words = _mm_packs_epi32(_mm_cmpeq_epi32(halves[0], wanted), _mm_cmpeq_epi32(halves[1], wanted));
      return static_cast<LaneMask>(_mm_movemask_epi8(_mm_packs_epi16(words, _mm_setzero_si128())));
    }
    __m128i upper_[2], lower_[2];
  };
};

#else
using LineTile = OneThread;
#endif

static_assert(Tile<LineTile, CpuMemory>);
inline constexpr LineTile kTile;

}  // namespace holdfast::cuckoo::cpu

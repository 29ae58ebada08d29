// tile_avx2.hpp: compares the 32 tags of the default configuration in one AVX2 instruction.
// Include only in files compiled for AVX2.
#pragma once

#include <immintrin.h>

#include "structures/gphash/cpu/simd/tile.hpp"

namespace holdfast::gphash::cpu {

struct Avx2Tile : PortableTile {
  static constexpr const char* kName = "avx2";
  using PortableTile::load_tags;
  using PortableTile::match;

  template <pool::VolatileWords Memory, class Keys>
  __m256i load_tags(const Memory& memory, const View<gphash::FixedShape<2, 2, 8, Keys>>& view,
                    const Candidates<gphash::FixedShape<2, 2, 8, Keys>>& candidates) const {
    const auto word = [&](unsigned rank, unsigned j) {
      return static_cast<long long>(memory.peek(candidates.tags(view, rank, j)));
    };
    return _mm256_set_epi64x(word(1, 1), word(1, 0), word(0, 1), word(0, 0));
  }

  template <class Keys>
  LaneMask match(const View<gphash::FixedShape<2, 2, 8, Keys>>&,
                 const Candidates<gphash::FixedShape<2, 2, 8, Keys>>& candidates, __m256i tags,
                 std::uint8_t tag) const {
    const __m256i equal = _mm256_cmpeq_epi8(tags, _mm256_set1_epi8(static_cast<char>(tag)));
    const auto mask = static_cast<LaneMask>(_mm256_movemask_epi8(equal));
    return candidates.is_reserved() ? mask & 1 : mask;
  }
};

}  // namespace holdfast::gphash::cpu

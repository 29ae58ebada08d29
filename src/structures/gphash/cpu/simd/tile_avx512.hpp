// tile_avx512.hpp: compares the 32 tags of the default configuration in one AVX-512 instruction, straight to a mask.
// Include only in files compiled for AVX-512 (BW, VL).
#pragma once

#include <immintrin.h>

#include "structures/gphash/cpu/simd/tile.hpp"

namespace holdfast::gphash::cpu {

struct Avx512Tile : PortableTile {
  static constexpr const char* kName = "avx512";
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
    const LaneMask mask = _mm256_cmpeq_epi8_mask(tags, _mm256_set1_epi8(static_cast<char>(tag)));
    return candidates.is_reserved() ? mask & 1 : mask;
  }
};

}  // namespace holdfast::gphash::cpu

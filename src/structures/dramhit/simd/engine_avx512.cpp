// engine_avx512.cpp: the table's engine, compiled for avx512 tiles.
#include "structures/dramhit/lane_impl.hpp"
#include "structures/dramhit/narrow_form.hpp"
#include "structures/dramhit/simd/tile_avx512.hpp"

namespace holdfast::dramhit {

const Engine& avx512_engine() {
  static const EngineFor<NarrowForm<SlotMemory<Avx512Tile, true>, Avx512Tile>,
                         NarrowForm<OwnedMemory<Avx512Tile, true>, Avx512Tile>>
      engine;
  return engine;
}

}  // namespace holdfast::dramhit

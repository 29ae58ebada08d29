// engine_avx2.cpp: the table's engine, compiled for avx2 tiles.
#include "structures/dramhit/lane_impl.hpp"
#include "structures/dramhit/narrow_form.hpp"
#include "structures/dramhit/simd/tile_avx2.hpp"

namespace holdfast::dramhit {

const Engine& avx2_engine() {
  static const EngineFor<NarrowForm<SlotMemory<Avx2Tile, true>, Avx2Tile>,
                         NarrowForm<OwnedMemory<Avx2Tile, true>, Avx2Tile>>
      engine;
  return engine;
}

}  // namespace holdfast::dramhit

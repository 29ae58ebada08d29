// engine_portable.cpp: the table's engine, compiled for portable tiles.
#include "structures/dramhit/lane_impl.hpp"
#include "structures/dramhit/narrow_form.hpp"
#include "structures/dramhit/simd/tile.hpp"

namespace holdfast::dramhit {

const Engine& portable_engine() {
#if defined(HOLDFAST_TSAN)
  constexpr bool kWhole = true;  // by an access that ThreadSanitizer knows
#else
  constexpr bool kWhole = false;
#endif
  static const EngineFor<NarrowForm<SlotMemory<PortableTile, kWhole>, PortableTile>,
                         NarrowForm<OwnedMemory<PortableTile, kWhole>, PortableTile>>
      engine;
  return engine;
}

}  // namespace holdfast::dramhit

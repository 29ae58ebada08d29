// driver_avx2.cpp: the CPU's driver, compiled for avx2 tiles.
#include <string>

#include "structures/gphash/cpu/driver_impl.hpp"
#include "structures/gphash/cpu/simd/tile_avx2.hpp"

namespace holdfast::machine::cpu {

std::unique_ptr<Driver> make_avx2_driver(const index::RuntimeShape& shape, const memory::Persist& persist) {
  return make_driver_for<Avx2Tile>(shape, persist);
}

}  // namespace holdfast::machine::cpu

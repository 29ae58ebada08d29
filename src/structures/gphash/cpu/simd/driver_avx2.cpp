// driver_avx2.cpp: the CPU's driver, compiled for avx2 tiles.
#include <string>

#include "structures/gphash/cpu/driver_impl.hpp"
#include "structures/gphash/cpu/simd/tile_avx2.hpp"

namespace holdfast::gphash::cpu {

std::unique_ptr<Driver> make_avx2_driver(const gphash::RuntimeShape& shape, const pool::Persist& persist) {
  return make_driver_for<Avx2Tile>(shape, persist);
}

}  // namespace holdfast::gphash::cpu

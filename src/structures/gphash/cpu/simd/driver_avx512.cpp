// driver_avx512.cpp: the CPU's driver, compiled for avx512 tiles.
#include <string>

#include "structures/gphash/cpu/driver_impl.hpp"
#include "structures/gphash/cpu/simd/tile_avx512.hpp"

namespace holdfast::gphash::cpu {

std::unique_ptr<Driver> make_avx512_driver(const gphash::RuntimeShape& shape, const pool::Persist& persist) {
  return make_driver_for<Avx512Tile>(shape, persist);
}

}  // namespace holdfast::gphash::cpu

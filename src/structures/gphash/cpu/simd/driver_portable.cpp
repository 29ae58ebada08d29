// driver_portable.cpp: the CPU's driver, compiled for portable tiles.
#include <string>

#include "structures/gphash/cpu/driver_impl.hpp"

namespace holdfast::gphash::cpu {

std::unique_ptr<Driver> make_portable_driver(const gphash::RuntimeShape& shape, const pool::Persist& persist) {
  return make_driver_for<PortableTile>(shape, persist);
}

}  // namespace holdfast::gphash::cpu

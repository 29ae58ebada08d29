// driver_portable.cpp: the CPU's driver, compiled for portable tiles.
#include <string>

#include "structures/gphash/cpu/driver_impl.hpp"

namespace holdfast::machine::cpu {

std::unique_ptr<Driver> make_portable_driver(const index::RuntimeShape& shape, const memory::Persist& persist) {
  return make_driver_for<PortableTile>(shape, persist);
}

}  // namespace holdfast::machine::cpu

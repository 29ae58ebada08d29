// driver.cpp: chooses the best tiles that this CPU has.
#include "structures/gphash/cpu/driver.hpp"

#include "threads/instruction_set.hpp"

namespace holdfast::gphash::cpu {

std::unique_ptr<Driver> make_driver(const gphash::RuntimeShape& shape, const pool::Persist& persist) {
  const auto make = threads::best_of(make_portable_driver, make_avx2_driver, make_avx512_driver);
  return make(shape, persist);
}

}  // namespace holdfast::gphash::cpu

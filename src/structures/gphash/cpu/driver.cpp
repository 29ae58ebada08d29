// driver.cpp: chooses the best tiles that this CPU has.
#include "structures/gphash/cpu/driver.hpp"

#include "threads/instruction_set.hpp"

namespace holdfast::machine::cpu {

std::unique_ptr<Driver> make_driver(const index::RuntimeShape& shape, bool variable, const memory::Persist& persist) {
  switch (threads::instruction_set()) {
    case threads::InstructionSet::avx512: return make_avx512_driver(shape, variable, persist);
    case threads::InstructionSet::avx2: return make_avx2_driver(shape, variable, persist);
    case threads::InstructionSet::portable: break;
  }
  return make_portable_driver(shape, variable, persist);
}

}  // namespace holdfast::machine::cpu

// instruction_set.hpp: which of the instruction sets that code is compiled for this processor has.
#pragma once

#include <cstdint>

namespace holdfast::threads {

enum class InstructionSet : std::uint8_t { portable, avx2, avx512 };

/// The best one of this processor. `avx2`: with BMI, BMI2 and POPCNT; `avx512`: F, BW, VL, DQ and CD as well (cmake/Library.cmake).
/// HOLDFAST_TILE=portable|avx2 in the environment asks for a lesser one.
InstructionSet instruction_set();

/// Returns that of three functions which is compiled for the best instruction set of this processor.
template <class Function>
Function* best_of(Function* portable, Function* avx2, Function* avx512) {
  switch (instruction_set()) {
    case InstructionSet::avx512: return avx512;
    case InstructionSet::avx2: return avx2;
    case InstructionSet::portable: break;
  }
  return portable;
}

}  // namespace holdfast::threads

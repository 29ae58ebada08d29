// engine.cpp: chooses the best instructions that this CPU has.
#include "kmers/engine.hpp"

#include "threads/instruction_set.hpp"

namespace holdfast::kmers {

namespace {

const Engine& best() {
#if !defined(HOLDFAST_SANITIZED) && defined(__x86_64__)
  switch (threads::instruction_set()) {
    case threads::InstructionSet::avx512: return avx512_engine();
    case threads::InstructionSet::avx2: return avx2_engine();
    case threads::InstructionSet::portable: break;
  }
#endif
  return portable_engine();
}

}  // namespace

const Engine& engine() {
  static const Engine& chosen = best();
  return chosen;
}

}  // namespace holdfast::kmers

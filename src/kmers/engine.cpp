// engine.cpp: chooses the best instructions that this CPU has.
#include "kmers/engine.hpp"

#include "threads/instruction_set.hpp"

namespace holdfast::kmers {

const Engine& engine() {
#if defined(HOLDFAST_SANITIZED) || !defined(__x86_64__)
  return portable_engine();
#else
  static const Engine& chosen = threads::best_of(portable_engine, avx2_engine, avx512_engine)();
  return chosen;
#endif
}

}  // namespace holdfast::kmers

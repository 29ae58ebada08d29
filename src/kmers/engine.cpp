// engine.cpp: chooses the best instructions that this CPU has.
#include "kmers/engine.hpp"

#include <cstdlib>
#include <string_view>

namespace holdfast::kmers {

namespace {

const Engine& best() {
#if !defined(HOLDFAST_SANITIZED) && defined(__x86_64__)
  const char* const asked = std::getenv("HOLDFAST_TILE");
  const std::string_view limit = asked ? asked : "avx512";
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq");
  if (avx512 && limit == "avx512") return avx512_engine();
  if (avx2 && limit != "portable") return avx2_engine();
#endif
  return portable_engine();
}

}  // namespace

const Engine& engine() {
  static const Engine& chosen = best();
  return chosen;
}

}  // namespace holdfast::kmers

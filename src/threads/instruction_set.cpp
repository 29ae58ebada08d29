// instruction_set.cpp: asks the processor.
#include "threads/instruction_set.hpp"

#include <cstdlib>
#include <string_view>

namespace holdfast::threads {

InstructionSet instruction_set() {
#if defined(__x86_64__)
  const char* const asked = std::getenv("HOLDFAST_TILE");
  const std::string_view limit = asked ? asked : "avx512";
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("popcnt");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512cd");
  if (avx512 && limit == "avx512") return InstructionSet::avx512;
  if (avx2 && limit != "portable") return InstructionSet::avx2;
#endif
  return InstructionSet::portable;
}

}  // namespace holdfast::threads

// driver.cpp: chooses the best tiles that this CPU has.
#include "gphash/cpu/driver.hpp"

#include <cstdlib>
#include <string_view>

namespace holdfast::machine::cpu {

std::unique_ptr<Driver> make_driver(const index::RuntimeShape& shape, bool variable, const memory::Persist& persist) {
  const char* const asked = std::getenv("HOLDFAST_TILE");
  const std::string_view limit = asked ? asked : "avx512";
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (avx512 && limit == "avx512") return make_avx512_driver(shape, variable, persist);
  if (avx2 && limit != "portable") return make_avx2_driver(shape, variable, persist);
  return make_portable_driver(shape, variable, persist);
}

}  // namespace holdfast::machine::cpu

// folklore_portable.cpp: Folklore in plain C++, and the choice.
#include <cstdlib>
#include <string_view>

#include "dramhit/folklore_impl.hpp"
#include "structures/dramhit/simd/tile.hpp"

namespace holdfast::bench {

std::unique_ptr<Folklore> portable_folklore(std::uint64_t capacity, bool populate) {
  return std::make_unique<FolkloreFor<dramhit::SlotMemory<dramhit::PortableTile, false>>>(capacity, populate);
}

std::unique_ptr<Folklore> make_folklore(std::uint64_t capacity, bool populate) {
  __builtin_cpu_init();
  const char* const asked = std::getenv("HOLDFAST_TILE");
  const bool wide = (asked == nullptr || std::string_view(asked) == "avx512") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512vl");
  return wide ? avx512_folklore(capacity, populate) : portable_folklore(capacity, populate);
}

}  // namespace holdfast::bench

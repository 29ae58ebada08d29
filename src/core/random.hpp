// random.hpp: a fast generator that is repeatable from its seed, and unpredictable bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace holdfast {

/// Spreads a 64-bit number over all 64 bits; a bijection. Successive states of splitmix64 (Steele et al. 2014).
constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9e37'79b9'7f4a'7c15;
  x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
  x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
  return x ^ (x >> 31);
}

/// xoshiro256** (Blackman and Vigna 2018): a generator for tests and workloads. Fits the standard distributions.
class Random {
 public:
  using result_type = std::uint64_t;

  explicit constexpr Random(std::uint64_t seed) {
    for (std::uint64_t i = 0; i < 4; ++i) state_[i] = splitmix64(seed + i * 0x9e37'79b9'7f4a'7c15);
  }
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }

  constexpr result_type operator()() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// A number below `bound`, which is not 0; uniform but for 2^-64 × bound.
  constexpr std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>((*this)()) * bound) >> 64);
  }

 private:
  std::uint64_t state_[4] = {};
};

/// Fills [data, data + bytes) from the operating system's generator. Throws SystemError.
void random_bytes(void* data, std::size_t bytes);

/// One random word that is not 0.
std::uint64_t random_word();

}  // namespace holdfast

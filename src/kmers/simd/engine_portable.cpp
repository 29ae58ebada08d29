// engine_portable.cpp: the inner loops with vectors of 16 bytes.
#include "kmers/simd/engine_impl.hpp"

namespace holdfast::kmers {

namespace {
struct Portable {
  static constexpr const char* kName = "portable";
  static constexpr int kBytes = 16;  ///< of a vector
  static std::size_t changes(const std::uint32_t* words, std::size_t n, std::uint32_t* numbers) {
    std::size_t count = 0;
    for (std::size_t i = 1; i < n; ++i) {
      numbers[count] = static_cast<std::uint32_t>(i);
      count += words[i] != words[i - 1];
    }
    return count;
  }
  template <class Ints>
  static Ints widen(const std::uint8_t* bytes) {
    Ints numbers;
    for (unsigned i = 0; i < kBytes / 4; ++i) numbers[i] = bytes[i];
    return numbers;
  }
  static void deal_fours(const std::uint8_t* from, std::uint8_t* to, std::size_t apart) {
    for (unsigned i = 0; i < kBytes; ++i) to[i % 4 * apart + i / 4] = from[i];
  }
};
}  // namespace

const Engine& portable_engine() {
  static const EngineFor<Portable> engine;
  return engine;
}

}  // namespace holdfast::kmers

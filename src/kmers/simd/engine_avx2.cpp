// engine_avx2.cpp: the inner loops with vectors of 32 bytes.
#include "kmers/simd/engine_impl.hpp"

namespace holdfast::kmers {

namespace {
struct Avx2 {
  static constexpr const char* kName = "avx2";
  static constexpr int kBytes = 32;  ///< of a vector
  static std::size_t changes(const std::uint32_t* words, std::size_t n, std::uint32_t* numbers) {
    return changes_one_by_one(words, n, numbers);
  }
};
}  // namespace

const Engine& avx2_engine() {
  static const EngineFor<Avx2> engine;
  return engine;
}

}  // namespace holdfast::kmers

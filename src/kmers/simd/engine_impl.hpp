// engine_impl.hpp: the engine, written once over vectors; simd/engine_*.cpp compile it. `Isa` keeps the copies apart.
#pragma once

#include "kmers/engine.hpp"
#include "kmers/simd/count_impl.hpp"
#include "kmers/simd/split_impl.hpp"
#include "kmers/simd/text_impl.hpp"

namespace holdfast::kmers {

template <class Isa>
class EngineFor final : public Engine {
 public:
  const char* name() const override { return Isa::kName; }
  std::size_t newlines(const char* text, std::size_t n) const override { return Texts<Isa>::newlines(text, n); }
  bool encode(const char* text, std::size_t n, std::uint8_t* codes) const override {
    return Texts<Isa>::encode(text, n, codes);
  }
  void split(const Splitting& how, const std::uint8_t* codes, std::size_t n, BinWriter& bins) const override {
    Splitter<Isa>(how, bins).split(codes, n);
  }
  std::uint64_t count(const std::uint8_t* data, std::size_t bytes, unsigned k, bool canonical,
                      BinTable& table) const override {
    Counter<Isa> counter(k, table);
    return canonical ? counter.template count<true>(data, bytes) : counter.template count<false>(data, bytes);
  }
};

}  // namespace holdfast::kmers

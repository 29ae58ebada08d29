// engine.hpp: the inner loops of counting, compiled once for each instruction set (simd/).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kmers/bin_table.hpp"
#include "kmers/bins.hpp"

namespace holdfast::kmers {

class Engine {
 public:
  virtual ~Engine() = default;
  virtual const char* name() const = 0;

  virtual std::size_t newlines(const char* text, std::size_t n) const = 0;

  /// The codes of `n` letters. False if some are no bases: their codes are `kNoBase` or more.
  virtual bool encode(const char* text, std::size_t n, std::uint8_t* codes) const = 0;

  /// Cuts `n` >= k bases into super-k-mers, and gives each to its bin.
  virtual void split(const Splitting& how, const std::uint8_t* codes, std::size_t n, BinWriter& bins) const = 0;

  /// Counts the k-mers of the super-k-mers in `bytes` bytes. Returns how many there were.
  virtual std::uint64_t count(const std::uint8_t* data, std::size_t bytes, unsigned k, bool canonical,
                              BinTable& table) const = 0;
};

/// The best one that this processor runs; HOLDFAST_TILE=portable or avx2 takes less.
const Engine& engine();

const Engine& portable_engine();
const Engine& avx2_engine();
const Engine& avx512_engine();

}  // namespace holdfast::kmers

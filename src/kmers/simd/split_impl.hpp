// split_impl.hpp: bases to super-k-mers: m-mers, their hashes, the smallest of each window, and where it changes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kmers/bins.hpp"
#include "kmers/simd/vectors.hpp"

namespace holdfast::kmers {

/// The numbers 1 to n - 1 of words that differ from the one before; some more words may be written behind them.
inline std::size_t changes_one_by_one(const std::uint32_t* words, std::size_t n, std::uint32_t* numbers) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < n; ++i) {
    numbers[count] = static_cast<std::uint32_t>(i);
    count += words[i] != words[i - 1];
  }
  return count;
}

template <class Isa>
class Splitter {
 public:
  Splitter(const Splitting& how, BinWriter& bins) : how_(how), bins_(bins), bin_mask_((1u << how.bin_bits) - 1) {}

  /// Pieces overlap by k - 1 bases, so that each k-mer is in one.
  void split(const std::uint8_t* codes, std::size_t n) {
    for (std::size_t at = 0; at + how_.k <= n; at += kPiece) piece(codes + at, std::min(n - at, kPiece + how_.k - 1));
  }

 private:
  using Longs = typename VectorOf<std::uint64_t, Isa::kBytes>::type;
  using SignedLongs = typename VectorOf<std::int64_t, Isa::kBytes>::type;
  using Ints = typename VectorOf<std::uint32_t, Isa::kBytes>::type;
  using HalfInts = typename VectorOf<std::uint32_t, Isa::kBytes / 2>::type;
  static constexpr std::size_t kPiece = 1024;  // k-mers
  static constexpr unsigned kLongs = Isa::kBytes / 8, kInts = Isa::kBytes / 4;
  static constexpr unsigned kAtOnce = 16;  // m-mers that begin in one word, and lie in it
  static constexpr std::size_t kMostBases = kPiece + 32;

  void piece(const std::uint8_t* codes, std::size_t n) {
    pack(codes, n);
    const std::size_t kmers = n - how_.k + 1;
    hash(n - how_.m + 1);
    minimize(kmers);
    std::size_t begins = 0;
    // Where the minimizer is another than before.
    const std::size_t starts = Isa::changes(hashes_, kmers, starts_);
    for (std::size_t i = 0; i < starts; ++i) begins = emit(begins, starts_[i]);
    emit(begins, kmers);
  }

  /// Codes to words.
  void pack(const std::uint8_t* codes, std::size_t n) {
    const std::size_t words = (n + kBasesOfWord - 1) / kBasesOfWord;
    for (std::size_t i = 0; i < words; ++i) {
      std::uint64_t word = 0;
      for (unsigned part = 0; part < 4; ++part) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, codes + i * kBasesOfWord + part * 8, sizeof eight);
        eight = __builtin_bswap64(eight) & 0x0303030303030303;
        eight = (eight | eight >> 6) & 0x000F000F000F000F;
        eight = (eight | eight >> 12) & 0x000000FF000000FF;
        word = word << 16 | ((eight | eight >> 24) & 0xFFFF);
      }
      words_[i] = word;
    }
    for (unsigned i = 0; i < 4; ++i) words_[words + i] = 0;
  }

  /// 32 bases from `base` on.
  std::uint64_t word_at(std::size_t base) const {
    const std::size_t at = base / kBasesOfWord;
    const unsigned shift = 2 * (base % kBasesOfWord);
    return words_[at] << shift | words_[at + 1] >> 1 >> (63 - shift);
  }

  /// Of each m-mer or its reverse complement, whichever is smaller.
  void hash(std::size_t mmers) {
    static const Longs numbers = iota<Longs, std::uint64_t>();
    const std::uint64_t mask = mask_of(how_.m);
    const std::uint64_t top = 64 - 2 * how_.m;
    for (std::size_t at = 0; at < mmers; at += kAtOnce) {
      const std::uint64_t forward = word_at(at), reverse = reverse_complement(forward);
      for (unsigned i = 0; i < kAtOnce; i += kLongs) {
        const Longs twice = (numbers + i) * 2;
        const Longs a = ((Longs{} + forward) >> (top - twice)) & mask;
        const Longs b = ((Longs{} + reverse) >> twice) & mask;
        const Longs least = reinterpret_cast<const SignedLongs&>(a) < reinterpret_cast<const SignedLongs&>(b) ? a : b;
        store(&hashes_[at + i], mix(__builtin_convertvector(least, HalfInts)));
      }
    }
  }

  /// Its highest bits order m-mers, and its lowest choose bins: all depend on all of an m-mer.
  static HalfInts mix(HalfInts x) {
    x *= 0x9E3779B1;
    x ^= x >> 15;
    x *= 0x85EBCA77;
    return x ^ x >> 16;
  }

  void least_of(std::size_t n, std::size_t apart) {
    for (std::size_t at = 0; at < n; at += kInts) {
      const Ints a = load<Ints>(&hashes_[at]), b = load<Ints>(&hashes_[at + apart]);
      store(&hashes_[at], Ints(a < b ? a : b));
    }
  }

  /// Each hash becomes the smallest of its window: of 2, 4, 8, … from here on, and then of two of those that cover the window.
  void minimize(std::size_t kmers) {
    const std::size_t window = how_.window();
    std::size_t covered = 1;
    for (; 2 * covered <= window; covered *= 2) least_of(kmers + window - covered, covered);
    if (covered < window) least_of(kmers, window - covered);
  }

  /// The k-mers from `begin` to `end`, in as many super-k-mers as they need.
  std::size_t emit(std::size_t begin, std::size_t end) {
    const unsigned bin = hashes_[begin] & bin_mask_;
    do {
      const auto kmers = static_cast<unsigned>(std::min<std::size_t>(end - begin, how_.most()));
      bins_.put(bin, kmers, {word_at(begin), word_at(begin + 32), word_at(begin + 64)}, (kmers + how_.k - 1 + 3) / 4);
      begin += kmers;
    } while (begin < end);
    return end;
  }

  const Splitting how_;
  BinWriter& bins_;
  const std::uint32_t bin_mask_;
  std::uint64_t words_[kMostBases / kBasesOfWord + 5];
  std::uint32_t hashes_[kMostBases + 64];
  std::uint32_t starts_[kPiece + 16];
};

}  // namespace holdfast::kmers

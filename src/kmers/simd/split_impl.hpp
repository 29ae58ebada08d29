// split_impl.hpp: bases to super-k-mers: m-mers, their hashes, the smallest of each window, and where it changes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kmers/bins.hpp"
#include "kmers/simd/vectors.hpp"

namespace holdfast::kmers {

template <class Isa>
class Splitter {
 public:
  Splitter(const Splitting& how, BinWriter& bins) : how_(how), bins_(bins), bin_mask_((1u << how.bin_bits) - 1) {}

  /// Pieces overlap by k - 1 bases, so that each k-mer is in one.
  void split(const std::uint8_t* codes, std::size_t n) {
    for (std::size_t at = 0; at + how_.k <= n; at += kPiece) piece(codes + at, std::min(n - at, kPiece + how_.k - 1));
  }

 private:
  using Words = typename VectorOf<std::uint64_t, Isa::kBytes>::type;
  using Ints = typename VectorOf<std::uint32_t, Isa::kBytes>::type;
  static constexpr std::size_t kPiece = 1024;  // k-mers
  static constexpr unsigned kInts = Isa::kBytes / 4;
  static constexpr std::size_t kMostBases = kPiece + 32;

  void piece(const std::uint8_t* codes, std::size_t n) {
    pack_fours(codes, n);
    deal_fours(n);
    const std::size_t kmers = n - how_.k + 1;
    hash(n - how_.m + 1);
    minimize(kmers);
    std::size_t begins = 0;
    // Where the minimizer is another than before; some more numbers may be written behind them.
    const std::size_t starts = Isa::changes(hashes_, kmers, starts_);
    for (std::size_t i = 0; i < starts; ++i) begins = emit(begins, starts_[i]);
    emit(begins, kmers);
  }

  /// From each base on, four bases in a byte, and their reverse complement. No code is more than two bits, so that bytes may be
  /// shifted in words.
  void pack_fours(const std::uint8_t* codes, std::size_t n) {
    const Words threes = Words{} + 0x0303030303030303;
    std::size_t at = 0;
    for (; at < n; at += Isa::kBytes) {
      const Words one = load<Words>(codes + at) & threes, next = load<Words>(codes + at + 1) & threes;
      store(twos_ + at, Words(one << 2 | next));
      store(reverse_twos_ + at, Words((one | next << 2) ^ 0x0F0F0F0F0F0F0F0F));
    }
    twos_[at] = twos_[at + 1] = 0;  // not written so far, and joined with the last two bases below
    for (at = 0; at < n; at += Isa::kBytes) {
      store(fours_ + at, Words(load<Words>(twos_ + at) << 4 | load<Words>(twos_ + at + 2)));
      store(reverse_fours_ + at, Words(load<Words>(reverse_twos_ + at) | load<Words>(reverse_twos_ + at + 2) << 4));
    }
  }

  /// The bytes of four bases that begin at 0, 4, 8, …; at 1, 5, 9, …; and so on: bases packed from any base on.
  void deal_fours(std::size_t n) {
    for (std::size_t at = 0; at < n; at += Isa::kBytes) Isa::deal_fours(fours_ + at, packed_[0] + at / 4, kPacked);
  }

  /// Of each m-mer or its reverse complement, whichever is smaller. Fours overlap where m is less than 12: they agree.
  void hash(std::size_t mmers) {
    const unsigned last = how_.m - 4, middle = std::min(last, 4u);
    for (std::size_t at = 0; at < mmers; at += kInts) {
      const auto ints = [&](const std::uint8_t* from) { return Isa::template widen<Ints>(from + at); };
      const Ints forward =
          ints(fours_) << 2 * last | ints(fours_ + middle) << 2 * (last - middle) | ints(fours_ + last);
      const Ints reverse =
          ints(reverse_fours_) | ints(reverse_fours_ + middle) << 2 * middle | ints(reverse_fours_ + last) << 2 * last;
      store(&hashes_[at], mix(forward < reverse ? forward : reverse));
    }
  }

  /// Its highest bits order m-mers, and its lowest choose bins: all depend on all of an m-mer.
  static Ints mix(Ints x) {
    x *= 0x9E3779B1;
    x ^= x >> 15;
    return x * 0x85EBCA77;
  }

  /// Of as many hashes as there are offsets, and the one from which they count.
  template <std::size_t... kOffset>
  void least_of(std::size_t n, const std::size_t* offsets, std::index_sequence<kOffset...>) {
    for (std::size_t at = 0; at < n; at += kInts) {
      Ints least = load<Ints>(&hashes_[at]);
      for (const Ints& other : {load<Ints>(&hashes_[at + offsets[kOffset]])...}) least = least < other ? least : other;
      store(&hashes_[at], least);
    }
  }

  /// Each hash becomes the smallest of its window: of 4, 16, … from here on, and then of those that cover the window.
  void minimize(std::size_t kmers) {
    const std::size_t window = how_.window();
    for (std::size_t covered = 1; covered < window;) {
      const std::size_t rest = window - covered;
      const std::size_t offsets[] = {std::min(covered, rest), std::min(2 * covered, rest), std::min(3 * covered, rest)};
      covered = std::min(4 * covered, window);
      const std::size_t n = kmers + window - covered;
      if (offsets[0] == rest) {
        least_of(n, offsets, std::make_index_sequence<1>{});
      } else {
        least_of(n, offsets, std::make_index_sequence<3>{});
      }
    }
  }

  /// The k-mers from `begin` to `end`, in as many super-k-mers as they need.
  std::size_t emit(std::size_t begin, std::size_t end) {
    const unsigned bin = hashes_[begin] & bin_mask_;
    do {
      const auto kmers = static_cast<unsigned>(std::min<std::size_t>(end - begin, how_.most()));
      bins_.put(bin, kmers, packed_[begin % 4] + begin / 4, (kmers + how_.k - 1 + 3) / 4);
      begin += kmers;
    } while (begin < end);
    return end;
  }

  const Splitting how_;
  BinWriter& bins_;
  const std::uint32_t bin_mask_;
  static constexpr std::size_t kSpare = 2 * 64;  // vectors may be read and written behind what is needed
  std::uint8_t twos_[kMostBases + kSpare], reverse_twos_[kMostBases + kSpare];
  std::uint8_t fours_[kMostBases + kSpare], reverse_fours_[kMostBases + kSpare];
  static constexpr std::size_t kPacked = (kMostBases + kSpare) / 4 + kBytesOfBases;
  std::uint8_t packed_[4][kPacked];
  std::uint32_t hashes_[kMostBases + 64];
  std::uint32_t starts_[kPiece + 16];
};

}  // namespace holdfast::kmers

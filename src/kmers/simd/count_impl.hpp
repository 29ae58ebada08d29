// count_impl.hpp: super-k-mers to k-mers to counts. K-mers wait in a queue until their slots have been fetched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kmers/bin_table.hpp"
#include "kmers/bins.hpp"
#include "kmers/simd/vectors.hpp"

namespace holdfast::kmers {

template <class Isa>
class Counter {
 public:
  Counter(unsigned k, BinTable& table) : k_(k), drop_(64 - 2 * k), table_(table) {}

  template <bool kCanonical>
  std::uint64_t count(const std::uint8_t* data, std::size_t bytes) {
    const std::uint8_t* const end = data + bytes;
    std::uint64_t total = 0;
    table_.reserve(kQueue);
    while (data < end) {
      const unsigned kmers = *data;
      unpack<kCanonical>(data + 1, kmers);
      data += 1 + (kmers + k_ - 1 + 3) / 4;
      total += kmers;
      if (waiting_ > kQueue - kMostKmersOfSuper) flush();
    }
    flush();
    return total;
  }

 private:
  using Longs = typename VectorOf<std::uint64_t, Isa::kBytes>::type;
  using Words = std::array<std::uint64_t, kWordsOfSuper + 1>;  // and a word of zeros
  static constexpr unsigned kLongs = Isa::kBytes / 8;
  static constexpr unsigned kQueue = 192;

  /// The first `n` k-mers of a sequence of bases.
  void extract(const Words& words, unsigned n, std::uint64_t* out) const {
    static const Longs numbers = iota<Longs, std::uint64_t>();
    for (unsigned at = 0; at < n; at += kLongs) {
      const unsigned word = at / kBasesOfWord;
      const Longs twice = (numbers + at % kBasesOfWord) * 2;
      const Longs high = (Longs{} + words[word]) << twice;
      const Longs low = (Longs{} + words[word + 1]) >> 1 >> (63 - twice);
      store(out + at, Longs((high | low) >> static_cast<std::uint64_t>(drop_)));
    }
  }

  /// The reverse complement of `n` bases.
  static Words reverse(const Words& words, unsigned n) {
    Words all{};
    for (unsigned i = 0; i < kWordsOfSuper; ++i) all[i] = reverse_complement(words[kWordsOfSuper - 1 - i]);
    const unsigned skipped = kWordsOfSuper * kBasesOfWord - n;
    const unsigned from = skipped / kBasesOfWord, shift = 2 * (skipped % kBasesOfWord);
    Words moved{};
    for (unsigned i = 0; i + from < kWordsOfSuper; ++i) {
      moved[i] = all[i + from] << shift | all[i + from + 1] >> 1 >> (63 - shift);
    }
    return moved;
  }

  template <bool kCanonical>
  void unpack(const std::uint8_t* bases, unsigned n) {
    Words words{};
    for (unsigned i = 0; i < kWordsOfSuper; ++i) {
      std::memcpy(&words[i], bases + 8 * i, sizeof words[i]);
      words[i] = __builtin_bswap64(words[i]);
    }
    std::uint64_t* const kmers = kmers_ + waiting_;
    extract(words, n, kmers);
    if constexpr (kCanonical) {
      std::uint64_t others[kMostKmersOfSuper + kLongs];
      extract(reverse(words, n + k_ - 1), n, others);
      for (unsigned i = 0; i < n; ++i) {
        const std::uint64_t other = others[n - 1 - i];
        kmers[i] = kmers[i] < other ? kmers[i] : other;
      }
    }
    for (unsigned i = 0; i < n; ++i) {
      const std::size_t home = table_.home(kmers[i]);
      homes_[waiting_ + i] = home;
      table_.prefetch(home);
    }
    waiting_ += n;
  }

  void flush() {
    for (unsigned i = 0; i < waiting_; ++i) table_.add(kmers_[i], homes_[i]);
    waiting_ = 0;
    table_.reserve(kQueue);
  }

  const unsigned k_, drop_;
  BinTable& table_;
  unsigned waiting_ = 0;
  std::uint64_t kmers_[kQueue + 16];
  std::size_t homes_[kQueue + 16];
};

}  // namespace holdfast::kmers

// lines.cpp: k-mers and counts as lines of text.
#include <array>
#include <charconv>
#include <cstring>

#include "holdfast/kmers.hpp"

namespace holdfast {

namespace {

/// The letters of each four bases.
constexpr auto kFour = [] {
  std::array<std::array<char, 4>, 256> all{};
  for (unsigned code = 0; code < 256; ++code) {
    for (unsigned i = 0; i < 4; ++i) all[code][i] = "ACGT"[code >> (6 - 2 * i) & 3];
  }
  return all;
}();

constexpr std::size_t kMostDigits = 20;

}  // namespace

void append_kmer_text(std::string& text, std::span<const std::uint64_t> kmers, std::span<const std::uint64_t> counts,
                      unsigned k) {
  if (k < kLeastK || k > kMostK) throw InvalidArgument("k is " + std::to_string(k) + ": give 4 to 32");
  if (kmers.size() != counts.size()) {
    throw InvalidArgument(std::to_string(kmers.size()) + " k-mers have " + std::to_string(counts.size()) +
                          " counts: give one each");
  }
  const std::size_t before = text.size();
  text.resize(before + kmers.size() * (kMostK + kMostDigits + 2));
  char* to = text.data() + before;
  for (std::size_t row = 0; row < kmers.size(); ++row) {
    const std::uint64_t word = kmers[row] << (64 - 2 * k);  // the first base highest
    for (unsigned i = 0; i < k; i += 4) std::memcpy(to + i, kFour[word >> (56 - 2 * i) & 0xFF].data(), 4);
    to += k;
    *to++ = ' ';
    to = std::to_chars(to, to + kMostDigits, counts[row]).ptr;
    *to++ = '\n';
  }
  text.resize(static_cast<std::size_t>(to - text.data()));
}

}  // namespace holdfast

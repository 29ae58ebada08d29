// naive.hpp: k-mers counted one letter after the other, to compare with; and texts to count.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/random.hpp"

namespace holdfast::test {

using KmerMap = std::map<std::string, std::uint64_t>;

inline std::string reversed(const std::string& kmer) {
  std::string other(kmer.rbegin(), kmer.rend());
  for (char& c : other) c = c == 'A' ? 'T' : c == 'C' ? 'G' : c == 'G' ? 'C' : 'A';
  return other;
}

inline void count_naively(const std::string& sequence, unsigned k, bool canonical, KmerMap& counts) {
  std::string upper = sequence;
  for (char& c : upper) c = static_cast<char>(c >= 'a' ? c - 32 : c);
  for (std::size_t at = 0; at + k <= upper.size(); ++at) {
    const std::string kmer = upper.substr(at, k);
    if (kmer.find_first_not_of("ACGT") != std::string::npos) continue;
    const std::string other = reversed(kmer);
    ++counts[canonical && other < kmer ? other : kmer];
  }
}

inline std::string text_of(std::uint64_t kmer, unsigned k) {
  std::string text(k, ' ');
  for (unsigned i = 0; i < k; ++i) text[i] = "ACGT"[kmer >> 2 * (k - 1 - i) & 3];
  return text;
}

/// Bases with runs of one base, and now and then a letter of another kind.
inline std::string random_sequence(Random& random, std::size_t size, bool ambiguous) {
  std::string sequence;
  while (sequence.size() < size) {
    const char c = "ACGTacgt"[random.below(8)];
    sequence.append(random.below(40) == 0 ? random.below(120) : 1, c);
    if (ambiguous && random.below(60) == 0) sequence += "NnRY-*."[random.below(7)];
  }
  sequence.resize(size);
  return sequence;
}

}  // namespace holdfast::test

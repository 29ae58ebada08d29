// guide_test.cpp: the example of docs/kmers.md, as it stands there (tests/python/kmers/test_kmer_guide.py compares them).
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "holdfast/kmers.hpp"

namespace {

TEST(KmerGuide, TheExampleCounts) {
  ASSERT_EQ(chdir(::testing::TempDir().c_str()), 0);
  const std::string sequence = "ACGTTGCAACGGTTAACCGGTA";  // two k-mers
  std::ofstream("two.fa") << ">a\n" << sequence << "\n>b\n" << sequence << "N" << sequence.substr(1) << "\n";

  holdfast::KmerCounts counts({.k = 21, .canonical = true});
  counts.read({"two.fa"});
  std::vector<std::uint64_t> kmers(1 << 16), numbers(1 << 16);
  std::string text;
  while (const std::size_t n = counts.next(kmers, numbers)) {
    holdfast::append_kmer_text(text, std::span(kmers).first(n), std::span(numbers).first(n), 21);
  }

  EXPECT_EQ(text.size(), 2 * (21 + 3u));
  EXPECT_NE(text.find("ACCGGTTAACCGTTGCAACGT 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("CGTTGCAACGGTTAACCGGTA 3\n"), std::string::npos) << text;
  std::remove("two.fa");
}

}  // namespace

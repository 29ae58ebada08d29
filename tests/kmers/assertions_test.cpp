// assertions_test.cpp: broken preconditions of k-mer counting end a checked build.
#include "support/assertions.hpp"

#include "kmers/bins.hpp"

namespace holdfast::kmers {
namespace {

TEST(KmerAssertionDeathTest, SuperKmersFitIntoTheirBytes) {
  Bins bins(Bins::sizes_for(4, 1, 1 << 20), ".");
  BinWriter writer(bins);
  const std::uint8_t bases[kBytesOfBases] = {};
  writer.put(0, 1, bases, kBytesOfBases);
  EXPECT_ASSERTION(writer.put(0, 0, bases, 1), "kmers != 0");
  EXPECT_ASSERTION(writer.put(0, kMostKmersOfSuper + 1, bases, 1), "kMostKmersOfSuper");
  EXPECT_ASSERTION(writer.put(0, 1, bases, kBytesOfBases + 1), "kBytesOfBases");
  writer.finish();
}

TEST(KmerAssertionDeathTest, BlocksGoToBinsThatThereAre) {
  Bins bins(Bins::sizes_for(4, 1, 1 << 20), ".");
  Bins::Filled full;
  std::vector<Block*> empty;
  bins.exchange(full, empty);
  full.emplace_back(bins.count(), empty.back());
  EXPECT_ASSERTION(bins.take(full), "bin < count");
}

}  // namespace
}  // namespace holdfast::kmers

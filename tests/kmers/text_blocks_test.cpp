// text_blocks_test.cpp: however small the blocks are that a file is cut into, their k-mers are those of the file.
#include "kmers/text/text_blocks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "holdfast/error.hpp"
#include "kmers/naive.hpp"
#include "kmers/text/records.hpp"
#include "proof/parts.hpp"

namespace holdfast::kmers {
namespace {

using test::KmerMap;
using test::Random;

constexpr std::size_t kMostBytes = 1 << 20;

class KmerText : public ::testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  ~KmerText() override { std::remove(path_.c_str()); }

  KmerMap parse(unsigned k, std::size_t block_bytes, unsigned min_quality = 0) {
    struct Sink : RunSink {
      unsigned k = 0;
      KmerMap counts;
      void run(const std::uint8_t* codes, std::size_t n) override {
        EXPECT_GE(n, k);
        std::string letters(n, ' ');
        for (std::size_t i = 0; i < n; ++i) letters[i] = "ACGT"[codes[i]];
        test::count_naively(letters, k, false, counts);
      }
    } sink;
    sink.k = k;
    TextBlocks blocks(path_, k, block_bytes, kMostBytes);
    RecordParser parser(k, min_quality, sink);
    TextBlock block;
    while (blocks.next(block)) parser.parse(block);
    records_ = parser.records();
    letters_ = parser.letters();
    bare_ = parser.bare();
    return sink.counts;
  }

  std::string fails(const std::string& text, std::size_t block_bytes = 64) {
    write(text);
    try {
      parse(5, block_bytes);
    } catch (const InputError& error) {
      const std::string what = error.what();
      EXPECT_EQ(what.rfind(path_ + ", line ", 0), 0u) << what;
      return what.substr(path_.size() + 2);
    }
    return "nothing was thrown";
  }

  const std::string path_ = ::testing::TempDir() + "kmer-text-" + std::to_string(getpid());
  std::uint64_t records_ = 0, letters_ = 0, bare_ = 0;
};

std::string fasta_of(const std::vector<std::string>& sequences, std::size_t width, const char* end) {
  std::string text;
  for (const std::string& sequence : sequences) {
    text += std::string(">a record > of ACGTACGT") + end;
    for (std::size_t at = 0; at < sequence.size(); at += width) text += sequence.substr(at, width) + end;
  }
  return text;
}

/// The end of a line, with blanks now and then.
std::string line_end(Random& random, unsigned kind) {
  std::string end;
  while (random.chance(20)) end += random.chance(50) ? ' ' : '\t';
  return end + (kind == 0   ? "\n"
                : kind == 1 ? "\r\n"
                : kind == 2 ? "\r"
                            : line_end(random, static_cast<unsigned>(random.below(3))));
}

bool has_kmer(const std::string& sequence, unsigned k) {
  KmerMap counts;
  test::count_naively(sequence, k, false, counts);
  return !counts.empty();
}

// Returns alone, returns with newlines, both in one file, and blanks behind any line.
TEST_F(KmerText, LinesEndInEveryWayInBlocksOfAnySize) {
  Random random(15);
  for (unsigned round = 0; round < 600; ++round) {
    const bool fastq = random.chance(50);
    const unsigned k = 4 + static_cast<unsigned>(random.below(29)), kind = static_cast<unsigned>(random.below(4));
    KmerMap naive;
    std::string text;
    std::uint64_t letters = 0, bare = 0;
    const std::size_t records = 1 + random.below(6);
    for (std::size_t i = 0; i < records; ++i) {
      // In a file of mixed ends, an empty line between a return and a newline would be none.
      const std::string sequence = test::random_sequence(random, (kind == 3) + random.below(120), true);
      test::count_naively(sequence, k, false, naive);
      letters += sequence.size();
      bare += !has_kmer(sequence, k);
      if (fastq) {
        text += "@a" + line_end(random, kind) + sequence + line_end(random, kind) + "+" + line_end(random, kind) +
                std::string(sequence.size(), 'F') + line_end(random, kind);
        continue;
      }
      text += ">a" + line_end(random, kind);
      for (std::size_t at = 0; at < sequence.size();) {
        const std::size_t width = 1 + random.below(60);
        text += sequence.substr(at, width) + line_end(random, kind);
        at += width;
      }
    }
    for (unsigned i = 0; random.chance(30) && i < 3; ++i) text += line_end(random, kind);
    write(text);
    const std::size_t block = 1 + random.below(random.chance(50) ? 20 : 300);
    ASSERT_EQ(parse(k, block), naive) << "k " << k << ", block " << block << "\n" << testing::PrintToString(text);
    ASSERT_EQ(records_, records) << testing::PrintToString(text);
    ASSERT_EQ(letters_, letters);
    if (fastq) {
      ASSERT_EQ(bare_, bare);
    }
  }
}

TEST_F(KmerText, FastaInBlocksOfAnySize) {
  Random random(5);
  for (unsigned round = 0; round < 300; ++round) {
    const unsigned k = 4 + static_cast<unsigned>(random.below(29));
    std::vector<std::string> sequences(1 + random.below(5));
    KmerMap naive;
    std::uint64_t letters = 0;
    for (std::string& sequence : sequences) {
      sequence = test::random_sequence(random, random.below(400), true);
      letters += sequence.size();
      test::count_naively(sequence, k, false, naive);
    }
    std::string text =
        fasta_of(sequences, 1 + random.below(random.chance(50) ? 30 : 500), random.chance(50) ? "\n" : "\r\n");
    if (random.chance(30)) text.pop_back();
    write(text);
    const std::size_t block = 1 + random.below(random.chance(50) ? 20 : 300);
    ASSERT_EQ(parse(k, block), naive) << "k " << k << ", block " << block << "\n" << text;
    ASSERT_EQ(records_, sequences.size());
    ASSERT_EQ(letters_, letters);
  }
}

TEST_F(KmerText, FastqInBlocksOfAnySizeWithoutLowQualities) {
  Random random(6);
  for (unsigned round = 0; round < 300; ++round) {
    const unsigned k = 4 + static_cast<unsigned>(random.below(29)), least = random.chance(50) ? 0 : 20;
    const char* const end = random.chance(50) ? "\n" : "\r\n";
    std::string text;
    KmerMap naive;
    const std::size_t records = 1 + random.below(8);
    for (std::size_t i = 0; i < records; ++i) {
      std::string sequence = test::random_sequence(random, random.below(120), true), quality;
      // Qualities that look like the beginnings of lines.
      for (std::size_t at = 0; at < sequence.size(); ++at) quality += random.chance(5) ? "@+>!4"[random.below(5)] : 'F';
      text +=
          "@read" + std::string(end) + sequence + end + "+" + (random.chance(50) ? "read" : "") + end + quality + end;
      for (std::size_t at = 0; at < sequence.size(); ++at) {
        if (quality[at] < static_cast<char>('!' + least)) sequence[at] = 'N';
      }
      test::count_naively(sequence, k, false, naive);
    }
    if (random.chance(30)) text += "\n\n";
    write(text);
    ASSERT_EQ(parse(k, 1 + random.below(400), least), naive) << text;
    ASSERT_EQ(records_, records);
  }
}

TEST_F(KmerText, AFileReadInPartsIsTheFile) {
  Random random(8);
  const std::string sequence = test::random_sequence(random, 60'000, true);
  KmerMap naive;
  test::count_naively(sequence, 9, false, naive);
  write(fasta_of({sequence}, 70, "\n"));
  const proof::Parts parts;
  for (const std::size_t block : {std::size_t{5'000}, kMostBytes}) {
    EXPECT_TRUE(parse(9, block) == naive) << block;
    EXPECT_EQ(letters_, sequence.size());
  }
  EXPECT_GE(parts.cut(), 5u);
}

TEST_F(KmerText, ABlockOutlivesItsFile) {
  write("@a\nACGTACGT\n+\nFFFFFFFF\nb\n");
  TextBlock block;
  {
    TextBlocks blocks(path_, 5, 1 << 20, kMostBytes);
    ASSERT_TRUE(blocks.next(block));
    TextBlock none;
    EXPECT_FALSE(blocks.next(none));
  }
  struct Nothing : RunSink {
    void run(const std::uint8_t*, std::size_t) override {}
  } nothing;
  RecordParser parser(5, 0, nothing);
  try {
    parser.parse(block);
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()), path_ + ", line 5: a FASTQ record begins with '@', and this line with 'b'");
  }
}

TEST_F(KmerText, ANewlineWhereQualitiesShouldBeIsSeen) {
  for (const std::size_t block : {std::size_t{1}, std::size_t{1} << 20}) {
    EXPECT_EQ(fails("@a\nACGTACGT\n+\nFFFFFFFF\n@b\nACGTA\n+\nFF\nFF\n", block),
              "line 8: 2 qualities for 5 bases: a record is four lines, with as many of both");
    EXPECT_EQ(fails("@b\nACGTA\n+\nFF\nFF\n@a\nACGTACGT\n+\nFFFFFFFF\nxx\n", block),
              "line 4: 2 qualities for 5 bases: a record is four lines, with as many of both");
  }
  write("@a\nACGTA\n+\nFFFFF\n@b\n\n+\n");  // the last qualities are none, and have no newline
  EXPECT_EQ(parse(5, 1 << 20).at("ACGTA"), 1u);
  EXPECT_EQ(records_, 2u);
}

TEST_F(KmerText, WhereBlocksEndDecidesNothing) {
  const std::string good = "@a\nACGTACGT\n+\nFFFFFFFF\n";
  for (std::size_t block = 1; block < 100; ++block) {
    // Empty lines may end FASTQ, and stand nowhere else.
    for (const unsigned empty : {0u, 1u, 4u, 7u}) {
      const std::string lines(empty, '\n');
      write(good + good + lines);
      EXPECT_EQ(parse(5, block).at("ACGTA"), 2u) << block << " " << empty;
      EXPECT_EQ(records_, 2u);
      if (empty == 0) continue;
      EXPECT_EQ(fails(good + lines + good, block),
                "line 5: a FASTQ record begins with '@', and this line with byte 0x0a")
          << block << " " << empty;
    }
    // A read without bases is one, and its lines are no empty ones.
    write(good + "@b\n\n+\n\n@c\n\n+\n\n");
    EXPECT_EQ(parse(5, block).size(), 4u);
    EXPECT_EQ(records_, 3u);
    // A return alone ends a line, and the column is that of the line.
    EXPECT_EQ(fails(">a\r\nACGT\r\nACGTACGT\rA\1\r\n", block), "line 4: byte 0x01 is no base, at column 2") << block;
    EXPECT_EQ(fails(">a\r\nACGT\rACG TACGT\r", block), "line 3: byte 0x20 is no base, at column 4") << block;
    EXPECT_EQ(fails(">a\nACGTACGT\1A\n", block), "line 2: byte 0x01 is no base, at column 9") << block;
  }
}

TEST_F(KmerText, WhatIsWrongIsSaidWithItsLine) {
  EXPECT_EQ(fails(""), "line 1: the file is empty: FASTA (>) or FASTQ (@), plain or gzip, was expected");
  EXPECT_EQ(fails("ACGT\n").substr(0, 34), "line 1: the file begins with 'A': ");
  EXPECT_EQ(fails(std::string("\0\1\2", 3)).substr(0, 40), "line 1: the file begins with byte 0x00: ");
  EXPECT_EQ(fails(">a\nACGT\nAC\1T\n"), "line 3: byte 0x01 is no base, at column 3");
  EXPECT_EQ(fails(">a\nAC GT\n"), "line 2: byte 0x20 is no base, at column 3");
  const std::string good = "@a\nACGTACGT\n+\nFFFFFFFF\n";
  EXPECT_EQ(fails(good + "@b\nACGT\n+\nFFF\n").substr(0, 34), "line 8: 3 qualities for 4 bases: a");
  EXPECT_EQ(fails(good + "@b\nACGT\n+\nFFFFF\n").substr(0, 34), "line 8: 5 qualities for 4 bases: a");
  EXPECT_EQ(fails(good + "@b\nACGT\n+\n").substr(0, 34), "line 8: 0 qualities for 4 bases: a");
  EXPECT_EQ(fails(good + "@b\nACGT\n"), "line 7: the FASTQ record ends too early");
  EXPECT_EQ(fails(good + "@b\nACGT"), "line 7: the FASTQ record ends too early");
  EXPECT_EQ(fails(good + "@b"), "line 6: the FASTQ record ends too early");
  EXPECT_EQ(fails(good + "b\nACGT\n+\nFFFF\n"), "line 5: a FASTQ record begins with '@', and this line with 'b'");
  EXPECT_EQ(fails(good + "@b\nACGT\nACGT\n+\nFFFFFFFF\n").substr(0, 50),
            "line 7: the third line of a FASTQ record begins wi");
  EXPECT_EQ(fails("@" + std::string(3 * kMostBytes, 'x') + "\n").substr(0, 41),
            "line 1: a FASTQ record is longer than 1 M");
}

}  // namespace
}  // namespace holdfast::kmers

// records.hpp: the sequences in a block of text, as runs of bases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kmers/text/text_blocks.hpp"

namespace holdfast::kmers {

/// What is done with the bases.
class RunSink {
 public:
  virtual ~RunSink() = default;
  /// Bases without a gap, k or more; the codes may be read `kSlack` bytes on.
  virtual void run(const std::uint8_t* codes, std::size_t n) = 0;
};

/// Where k-mers are in a block: FASTA's records continue from block to block.
struct Parsed {
  bool some = false;    ///< there are any
  bool begins = false;  ///< FASTA: a record begins in it
  bool before = false;  ///< FASTA: of the record that began in a block before, if one did
  bool after = false;   ///< FASTA: of the last record that begins in it
};

/// One thread's parser.
class RecordParser {
 public:
  RecordParser(unsigned k, unsigned min_quality, RunSink& sink) : k_(k), min_quality_(min_quality), sink_(sink) {}

  /// Throws InputError.
  void parse(const TextBlock& block);

  std::uint64_t records() const { return records_; }
  std::uint64_t letters() const { return letters_; }
  std::uint64_t bare() const { return bare_; }  ///< records without a k-mer, of those that begin and end in one block
  const Parsed& parsed() const { return parsed_; }  ///< of the last block

 private:
  struct Line {
    const char *begin, *end;
    std::size_t size() const { return static_cast<std::size_t>(end - begin); }
  };
  std::uint64_t parse_fastq(const TextBlock& block, bool skips);
  void parse_fasta(const TextBlock& block);
  void read(const TextBlock& block, const Line& sequence, const Line& quality, std::uint64_t line);

  void append(const TextBlock& block, const Line& letters, std::uint64_t line, std::uint64_t column);
  void mask_low(const Line& quality);
  void give(std::size_t kept);
  void run(const std::uint8_t* codes, std::size_t n);

  const unsigned k_, min_quality_;
  RunSink& sink_;
  std::vector<std::uint8_t> codes_;
  std::size_t size_ = 0;
  bool clean_ = true;  ///< all codes are bases
  std::uint64_t records_ = 0, letters_ = 0, bare_ = 0;
  Parsed parsed_;
  bool some_ = false;  ///< the present record has k-mers
};

}  // namespace holdfast::kmers

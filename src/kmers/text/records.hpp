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

/// One thread's parser.
class RecordParser {
 public:
  RecordParser(unsigned k, unsigned min_quality, RunSink& sink) : k_(k), min_quality_(min_quality), sink_(sink) {}

  /// Throws InputError.
  void parse(const TextBlock& block);

  std::uint64_t records() const { return records_; }
  std::uint64_t letters() const { return letters_; }

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

  const unsigned k_, min_quality_;
  RunSink& sink_;
  std::vector<std::uint8_t> codes_;
  std::size_t size_ = 0;
  bool clean_ = true;  ///< all codes are bases
  std::uint64_t records_ = 0, letters_ = 0;
};

}  // namespace holdfast::kmers

// text_blocks.hpp: cuts the text of a file into blocks that threads parse independently of each other.
//
// A block of FASTQ is whole records of four lines. A block of FASTA ends anywhere; the next one brings the last k - 1 letters
// of the sequence along, so that each k-mer is seen once. What is an error does not depend on where blocks end.
//
// Lines end with a newline, with a return and a newline, or with a return alone, which is made a newline here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kmers/bases.hpp"
#include "kmers/text/input.hpp"

namespace holdfast::kmers {

enum class Format : std::uint8_t { fasta, fastq };

struct TextBlock {
  std::vector<char> bytes;  ///< `kSlack` more than are used
  std::size_t size = 0;
  std::uint64_t line = 1;  ///< of the first byte
  std::uint64_t newlines = 0;
  Format format = Format::fasta;
  std::uint64_t column = 0;  ///< FASTA: bytes of its first line that came before it
  bool in_header = false;    ///< FASTA: that line began with >
  std::vector<char> before =
      std::vector<char>(kSlack);  ///< FASTA: the last letters of the sequence before it, and `kSlack` more
  std::string name;               ///< of the file, which may be closed before the block is parsed

  std::size_t letters_before() const { return before.size() - kSlack; }
  const char* begin() const { return bytes.data(); }
  const char* end() const { return bytes.data() + size; }
};

class TextBlocks {
 public:
  /// `stopping`: see Input.
  TextBlocks(const std::string& file, unsigned k, std::size_t block_bytes, std::size_t most_bytes,
             const std::atomic<bool>* stopping = nullptr);

  /// The next block, whose memory is reused; false at the end. Throws InputError.
  bool next(TextBlock& block);

  struct Cut {  ///< where a block may end, if not at 0, and the newlines before
    std::size_t end = 0, newlines = 0;
  };

  const Input& input() const { return input_; }
  std::uint64_t text_bytes() const { return text_bytes_; }

 private:
  void fill(TextBlock& block);
  void detect(const TextBlock& block);
  Cut cut(const TextBlock& block) const;
  void go_on_from(const TextBlock& block);
  void read(TextBlock& block);

  Input input_;
  const std::size_t overlap_, block_bytes_, most_bytes_;
  bool begun_ = false, ended_ = false;
  bool held_ = false;  ///< the last byte that was read is a return, of which the next one says what it is
  std::string rest_;   ///< text that was read, and belongs to the next block
  Format format_ = Format::fasta;
  std::uint64_t line_ = 1, text_bytes_ = 0;
  std::uint64_t column_ = 0;
  bool in_header_ = false;
  std::string before_;  ///< letters of the sequence that continues
};

/// Spaces and tabs at the end of a line are no part of it, and neither is a return.
inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// "reads.fq, line 12: why"
[[noreturn]] void fail_at(const std::string& name, std::uint64_t line, const std::string& why);

}  // namespace holdfast::kmers

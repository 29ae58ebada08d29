// text_blocks.cpp: where blocks end, and what the next one must know.
#include "kmers/text/text_blocks.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/both.hpp"
#include "holdfast/error.hpp"
#include "kmers/bases.hpp"
#include "kmers/engine.hpp"

namespace holdfast::kmers {

namespace {

constexpr unsigned kLinesOfRecord = 4;

const char* last_newline(const char* begin, const char* end) {
  return static_cast<const char*>(memrchr(begin, '\n', static_cast<std::size_t>(end - begin)));
}

/// Where the last `lines` lines begin of text that ends with a line; it has more newlines than that, or begins with them.
const char* back_by_lines(const char* begin, const char* end, std::size_t lines) {
  const char* at = end - 1;
  for (; lines > 0 && at != nullptr; --lines) at = last_newline(begin, at);
  return at == nullptr ? begin : at + 1;
}

/// Makes each return a newline that is followed by none; of the last byte, `ends` says whether nothing follows it.
void end_lines(char* begin, char* end, bool ends) {
  for (char* at = begin; at < end; ++at) {
    at = static_cast<char*>(std::memchr(at, '\r', static_cast<std::size_t>(end - at)));
    if (at == nullptr) return;
    if (at + 1 < end ? at[1] != '\n' : ends) *at = '\n';
  }
}

/// Behind the last whole record; nothing if there is none. Empty lines, which may only end a file, go with what follows them.
TextBlocks::Cut cut_fastq(const TextBlock& block) {
  const std::size_t all = engine().newlines(block.begin(), block.size);
  std::size_t lines = all - all % kLinesOfRecord;
  if (lines == 0) return {};
  const char* end = last_newline(block.begin(), block.end()) + 1;
  end = back_by_lines(block.begin(), end, all - lines);
  for (; lines > 0; lines -= kLinesOfRecord) {
    const char* const record = back_by_lines(block.begin(), end, kLinesOfRecord);
    if (*record != '\n' && !is_blank(*record)) break;
    end = record;
  }
  return {static_cast<std::size_t>(end - block.begin()), lines};
}

/// Behind the last line; a line that has no end is cut, but not in blanks, which may be at its end.
TextBlocks::Cut cut_fasta(const TextBlock& block) {
  if (const char* const newline = last_newline(block.begin(), block.end())) {
    const auto end = static_cast<std::size_t>(newline + 1 - block.begin());
    return {end, engine().newlines(block.begin(), end)};
  }
  std::size_t end = block.size;
  while (end > 0 && is_blank(block.begin()[end - 1])) --end;
  return {end, 0};
}

/// The last letters of the sequence that the block ends with, at most `most`.
std::string letters_before_end(const TextBlock& block, std::size_t most) {
  std::string letters;  // backwards
  const char* line_end = block.end();
  bool header = false;
  while (letters.size() < most) {
    const char* const newline = last_newline(block.begin(), line_end);
    const char* const line = newline == nullptr ? block.begin() : newline + 1;
    const bool first = newline == nullptr;
    header = first && block.column != 0 ? block.in_header : line < line_end && *line == '>';
    if (header) break;
    for (const char* at = line_end; at > line && letters.size() < most; --at) {
      if (!is_blank(at[-1])) letters.push_back(at[-1]);
    }
    if (first) break;
    line_end = newline;
  }
  if (!header) {  // all of the block is one sequence, which began before it
    for (std::size_t i = block.letters_before(); i > 0 && letters.size() < most; --i) letters += block.before[i - 1];
  }
  std::reverse(letters.begin(), letters.end());
  return letters;
}

std::string describe(unsigned char byte) {
  char text[40];
  std::snprintf(text, sizeof text, byte > ' ' && byte < 0x7F ? "'%c'" : "byte 0x%02x", byte);
  return text;
}

}  // namespace

void fail_at(const std::string& name, std::uint64_t line, const std::string& why) {
  throw InputError(name + ", line " + std::to_string(line) + ": " + why);
}

TextBlocks::TextBlocks(const std::string& file, unsigned k, std::size_t block_bytes, std::size_t most_bytes,
                       const std::atomic<bool>* stopping)
    : input_(file, stopping), overlap_(k - 1), block_bytes_(block_bytes), most_bytes_(most_bytes) {}

/// Fills a block, but for the end of the file, and for a return at its end, which waits for the byte behind it.
void TextBlocks::read(TextBlock& block) {
  HOLDFAST_ASSERT(block.bytes.size() >= kSlack + block.size);
  const std::size_t space = block.bytes.size() - kSlack - block.size;
  if (space == 0) return;
  char* const begin = block.bytes.data() + block.size;
  std::size_t size = 0;
  if (held_) begin[size++] = '\r';
  try {
    const std::size_t got = input_.read(begin + size, space - size);
    ended_ = got < space - size;
    text_bytes_ += got;
    size += got;
  } catch (const InputError& error) {
    size += input_.given();
    end_lines(begin, begin + size, true);
    fail_at(input_.name(), line_ + engine().newlines(block.begin(), block.size + size), error.what());
  }
  end_lines(begin, begin + size, ended_);
  held_ = size > 0 && begin[size - 1] == '\r';
  block.size += size - held_;
}

void TextBlocks::detect(const TextBlock& block) {
  const std::string wanted = "FASTA (>) or FASTQ (@), plain or gzip, was expected";
  if (block.size == 0) fail_at(input_.name(), 1, "the file is empty: " + wanted);
  const char first = *block.begin();
  if (first != '>' && first != '@') {
    fail_at(input_.name(), 1, "the file begins with " + describe(static_cast<unsigned char>(first)) + ": " + wanted);
  }
  format_ = first == '>' ? Format::fasta : Format::fastq;
  begun_ = true;
}

TextBlocks::Cut TextBlocks::cut(const TextBlock& block) const {
  if (ended_) return {block.size, engine().newlines(block.begin(), block.size)};
  return format_ == Format::fastq ? cut_fastq(block) : cut_fasta(block);
}

/// Reads until the block holds a place where it may end.
void TextBlocks::fill(TextBlock& block) {
  if (block.bytes.size() < block_bytes_ + kSlack) block.bytes.resize(block_bytes_ + kSlack);
  if (block.bytes.size() < rest_.size() + kSlack + 1) block.bytes.resize(2 * rest_.size() + kSlack);
  std::memcpy(block.bytes.data(), rest_.data(), rest_.size());
  block.size = rest_.size();
  rest_.clear();
  // ends: with the file, or with an error once the block is as large as it may be
  for (;;) {
    read(block);
    if (!begun_) detect(block);
    const Cut here = cut(block);
    HOLDFAST_ASSERT(here.end <= block.size);
    if (here.end != 0 || ended_) {
      rest_.assign(block.begin() + here.end, block.end());
      block.size = here.end;
      block.newlines = here.newlines;
      return;
    }
    if (block.size >= most_bytes_) {
      const std::string most = std::to_string(most_bytes_ >> 20) + " MiB";
      fail_at(input_.name(), line_,
              format_ == Format::fasta
                  ? "a line has more than " + most + " of spaces and tabs: remove them"
                  : "a FASTQ record is longer than " + most + ": is it FASTQ of four lines a record?");
    }
    block.bytes.resize(2 * block.bytes.size());
  }
}

void TextBlocks::go_on_from(const TextBlock& block) {
  line_ += block.newlines;
  if (format_ == Format::fastq || block.size == 0) return;
  const char* const newline = last_newline(block.begin(), block.end());
  const char* const line = newline == nullptr ? block.begin() : newline + 1;
  const std::uint64_t before = newline == nullptr ? block.column : 0;
  column_ = before + static_cast<std::uint64_t>(block.end() - line);
  in_header_ = before != 0 ? block.in_header : line < block.end() && *line == '>';
  before_ = letters_before_end(block, overlap_);
}

bool TextBlocks::next(TextBlock& block) {
  if (ended_ && rest_.empty()) return false;
  block.line = line_;
  block.name = input_.name();
  block.in_header = in_header_;
  block.column = column_;
  block.before.assign(before_.begin(), before_.end());
  block.before.resize(before_.size() + kSlack);
  fill(block);
  block.format = format_;
  go_on_from(block);
  return block.size != 0;
}

}  // namespace holdfast::kmers

// records.cpp: FASTA and FASTQ, line by line; what is none ends with an error that names the line.
#include "kmers/text/records.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "holdfast/error.hpp"
#include "kmers/bases.hpp"
#include "kmers/engine.hpp"

namespace holdfast::kmers {

namespace {

constexpr std::size_t kEnough = std::size_t{32} << 10;  ///< codes of a FASTA sequence that are given at once
constexpr char kLeastQuality = '!';

/// The end of the line that begins at `at`; `end` if it has none.
const char* newline_from(const char* at, const char* end) {
  const auto* const found = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
  return found == nullptr ? end : found;
}

/// The same, where that line is likely to have `size` bytes; a newline within these is not seen.
const char* newline_from(const char* at, const char* end, std::size_t size) {
  return size < static_cast<std::size_t>(end - at) && at[size] == '\n' ? at + size : newline_from(at, end);
}

const char* without_blanks(const char* begin, const char* end) {
  while (end > begin && is_blank(end[-1])) --end;
  return end;
}

std::string shown(char c) {
  char text[24];
  std::snprintf(text, sizeof text, c > ' ' && c < 0x7F ? "'%c'" : "byte 0x%02x", static_cast<unsigned char>(c));
  return text;
}

}  // namespace

void RecordParser::parse(const TextBlock& block) {
  parsed_ = {};
  some_ = false;
  if (block.format == Format::fasta) return parse_fasta(block);
  // Qualities are as many as bases, and not looked through. If that hid a newline, this parse fails, or has seen fewer lines
  // than the block has; then another one finds out what is wrong.
  try {
    if (parse_fastq(block, true) == block.newlines) return;
  } catch (const InputError&) {
  }
  parse_fastq(block, false);
}

void RecordParser::append(const TextBlock& block, const Line& letters, std::uint64_t line, std::uint64_t column) {
  const std::size_t n = letters.size();
  if (codes_.size() < size_ + n + kSlack) codes_.resize(2 * (size_ + n) + kSlack);
  std::uint8_t* const codes = codes_.data() + size_;
  size_ += n;
  if (engine().encode(letters.begin, n, codes)) return;
  clean_ = false;
  for (std::size_t i = 0; i < n; ++i) {
    if (kCodes[static_cast<unsigned char>(letters.begin[i])] != kWrong) continue;
    fail_at(block.name, line, shown(letters.begin[i]) + " is no base, at column " + std::to_string(column + i + 1));
  }
}

/// Gives the runs of bases; the last `kept` codes begin what is given next.
void RecordParser::give(std::size_t kept) {
  const std::uint8_t* const codes = codes_.data();
  if (clean_) {
    if (size_ >= k_) run(codes, size_);
  } else {
    for (std::size_t at = 0; at < size_;) {
      const std::size_t begin = at;
      while (at < size_ && codes[at] < kNoBase) ++at;
      if (at - begin >= k_) run(codes + begin, at - begin);
      while (at < size_ && codes[at] >= kNoBase) ++at;
    }
  }
  kept = std::min(kept, size_);
  std::copy(codes + size_ - kept, codes + size_, codes_.data());
  size_ = kept;
  clean_ = clean_ || std::none_of(codes, codes + kept, [](std::uint8_t code) { return code >= kNoBase; });
}

void RecordParser::run(const std::uint8_t* codes, std::size_t n) {
  sink_.run(codes, n);
  some_ = true;
  parsed_.some = true;
}

void RecordParser::mask_low(const Line& quality) {
  const char least = static_cast<char>(kLeastQuality + min_quality_);
  std::uint8_t* const codes = codes_.data();
  std::uint8_t low = 0;
  for (std::size_t i = 0; i < quality.size(); ++i) {
    const auto mask = static_cast<std::uint8_t>(quality.begin[i] < least ? kNoBase : 0);
    codes[i] |= mask;
    low |= mask;
  }
  if (low != 0) clean_ = false;
}

void RecordParser::read(const TextBlock& block, const Line& sequence, const Line& quality, std::uint64_t line) {
  if (sequence.size() != quality.size()) {
    fail_at(block.name, line + 3,
            std::to_string(quality.size()) + " qualities for " + std::to_string(sequence.size()) +
                " bases: a record is four lines, with as many of both");
  }
  append(block, sequence, line + 1, 0);
  if (min_quality_ != 0) mask_low(quality);
  some_ = false;
  give(0);
  ++records_;
  bare_ += !some_;
  letters_ += sequence.size();
}

/// Returns the number of newlines.
std::uint64_t RecordParser::parse_fastq(const TextBlock& block, bool skips) {
  const char* const end = block.end();
  std::uint64_t line = block.line;
  size_ = 0;
  clean_ = true;
  const char* at = block.begin();
  for (; at < end; line += 4) {
    if (*at != '@') {
      if (std::all_of(at, end, [](char c) { return c == '\n' || is_blank(c); })) {  // empty lines at the end
        return line - block.line + static_cast<std::uint64_t>(std::count(at, end, '\n'));
      }
      fail_at(block.name, line, "a FASTQ record begins with '@', and this line with " + shown(*at));
    }
    const char* ends[4];
    const char* begins[4];
    for (unsigned i = 0; i < 4; ++i) {
      if (at > end || (at == end && i != 3)) fail_at(block.name, line + i, "the FASTQ record ends too early");
      begins[i] = at;
      const char* newline = nullptr;
      if (i == 2) {
        newline = newline_from(at, end, 1);
      } else if (i == 3 && skips) {
        newline = newline_from(at, end, static_cast<std::size_t>(ends[1] - begins[1]));
      } else {
        newline = newline_from(at, end);
      }
      ends[i] = without_blanks(at, newline);
      at = newline + 1;
    }
    if (begins[2] == ends[2] || *begins[2] != '+') {
      fail_at(block.name, line + 2,
              "the third line of a FASTQ record begins with '+': sequences of several lines are not read");
    }
    read(block, {begins[1], ends[1]}, {begins[3], ends[3]}, line);
  }
  return line - block.line - (at > end);  // the last line may have none
}

void RecordParser::parse_fasta(const TextBlock& block) {
  const char* const end = block.end();
  std::uint64_t line = block.line;
  size_ = 0;
  clean_ = true;
  append(block, {block.before.data(), block.before.data() + block.letters_before()}, line, 0);
  std::uint64_t column = block.column;
  bool in_header = column != 0 && block.in_header;
  for (const char* at = block.begin(); at < end; ++line) {
    const char* const newline = newline_from(at, end);
    if (in_header) {
      in_header = false;  // its rest
    } else if (column == 0 && *at == '>') {
      give(0);
      if (!parsed_.begins) parsed_.before = some_;
      bare_ += parsed_.begins && !some_;
      parsed_.begins = true;
      some_ = false;
      clean_ = true;
      ++records_;
    } else {
      const char* const line_end = without_blanks(at, newline);
      append(block, {at, line_end}, line, column);
      letters_ += static_cast<std::size_t>(line_end - at);
      if (size_ > kEnough) give(k_ - 1);
    }
    column = 0;
    at = newline + 1;
  }
  give(0);
  (parsed_.begins ? parsed_.after : parsed_.before) = some_;
}

}  // namespace holdfast::kmers

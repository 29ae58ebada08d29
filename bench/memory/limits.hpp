// limits.hpp: what the machine's memory allows, so that a table's speed can be given as a part of it.
#pragma once

#include <cstdint>
#include <string>

#include "frame/anonymous_memory.hpp"

namespace holdfast::bench {

/// Memory whose lines of 64 bytes are read at random, or a word of each changed, each asked for ahead of its use.
class RandomLines {
 public:
  RandomLines(std::uint64_t bytes, unsigned threads, bool huge_pages);
  /// Lines a second of all threads, of which each takes `operations` and has asked for `depth` of them at any moment.
  double rate(bool changes, std::uint64_t operations, unsigned depth) const;
  /// Of the depths from 8 to 255 the one with the highest rate.
  unsigned best_depth(bool changes, std::uint64_t operations) const;

 private:
  AnonymousMemory memory_;
  std::uint64_t count_;
  unsigned threads_;
};

/// Measures `what` over an array of `bytes`, shared by `threads`; the result is a second:
///   random_read      64-byte lines read at random, asked for ahead         lines
///   random_update    the same, a word of each changed                      lines
///   dependent_read   each address from the line before                     lines
///   sequential_read, sequential_write, copy                                bytes (copy: read, and as many written)
/// Random lines are asked for as they are needed, 8 to 255 ahead: the best of these.
/// `operations` is a thread's lines, or passes over its part of the array. Throws InvalidArgument.
double measure_limit(const std::string& what, std::uint64_t bytes, std::uint64_t operations, unsigned threads,
                     bool huge_pages);

}  // namespace holdfast::bench

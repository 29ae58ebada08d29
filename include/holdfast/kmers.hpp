// kmers.hpp: counts the k-mers of FASTA and FASTQ files: how often each substring of k bases occurs.
//
// A k-mer of up to 32 bases is a number of two bits a base: A 0, C 1, G 2, T 3, its first base highest. Files are plain or gzip
// (of several members too), or standard input. A letter that is none of ACGTacgt ends a k-mer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "holdfast/error.hpp"

namespace holdfast {

inline constexpr unsigned kLeastK = 4, kMostK = 32;

struct KmerOptions {
  unsigned k = 31;           ///< kLeastK to kMostK
  bool canonical = false;    ///< a k-mer and its reverse complement are one: the smaller of the two
  unsigned min_quality = 0;  ///< a base of FASTQ with a lower Phred quality (offset 33) ends a k-mer; up to 93
  std::uint64_t lower = 1;   ///< k-mers with smaller counts are left out
  std::uint64_t upper = std::numeric_limits<std::uint64_t>::max();  ///< and those with larger ones
  unsigned threads = 0;                                             ///< 0: all processors
  /// Bytes that the process may take, with what it has already; 0: three quarters of what the system has free. What does not
  /// fit goes to a file in `folder`; of k up to 12 all must fit.
  std::uint64_t memory = 0;
  std::string folder = ".";  ///< of that file, which has no name
};

/// The progress of a count. `total` is 0 where it is not known.
struct KmerProgress {
  const char* stage = "reading";  ///< or "counting"
  std::uint64_t done = 0, total = 0;
};
/// How a count is watched, and stopped.
struct KmerWatch {
  std::stop_token stop = {};  ///< asked some times a second
  /// Called by the thread that waits before each time that `stop` is asked. What it throws ends the count, and comes out of it.
  std::function<void(const KmerProgress&)> progress = {};
};

struct KmerStats {
  std::uint64_t records = 0, bases = 0;  ///< of the input; `bases` with all letters
  std::uint64_t kmers = 0;               ///< occurrences
  std::uint64_t distinct = 0;            ///< whatever their counts
  std::uint64_t text_bytes = 0;          ///< of the input, inflated
  std::uint64_t spilled_bytes = 0;       ///< that went to the file in `folder`
  unsigned threads = 0, bins = 0;
  std::string instructions;  ///< portable, avx2 or avx512
  /// Seconds, summed over threads.
  double reading = 0, inflating = 0, splitting = 0, spilling = 0, counting = 0;
  double writing = 0;                          ///< of who takes the k-mers, between calls of `next`
  double read_seconds = 0, count_seconds = 0;  ///< of the two stages, as a clock on the wall shows them
};

/// One count: made, read into, and then taken from until nothing is left. Movable, not copyable.
class KmerCounts {
 public:
  /// Throws InvalidArgument.
  explicit KmerCounts(const KmerOptions& options);
  KmerCounts(KmerCounts&&) noexcept;
  KmerCounts& operator=(KmerCounts&&) noexcept;
  ~KmerCounts();

  /// Reads the files, "-" being standard input. Once. Returns false if `watch.stop` stopped it. Throws InputError with file and
  /// line, NoSpace, SystemError.
  bool read(const std::vector<std::string>& files, const KmerWatch& watch = {});

  /// Some of the k-mers with their counts, each k-mer once, in no order; as many as fit both arrays. 0: that was all, or `watch.stop`
  /// stopped it. Throws as `read` does.
  std::size_t next(std::span<std::uint64_t> kmers, std::span<std::uint64_t> counts, const KmerWatch& watch = {});

  KmerStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Appends a line a k-mer, "ACGT 12", as `jellyfish dump -c` does. Throws InvalidArgument for another k, or if there are not as
/// many counts.
void append_kmer_text(std::string& text, std::span<const std::uint64_t> kmers, std::span<const std::uint64_t> counts,
                      unsigned k);

}  // namespace holdfast

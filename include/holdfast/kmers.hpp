// kmers.hpp: counts the k-mers of FASTA and FASTQ files: how often each substring of k bases occurs.
//
// A k-mer of up to 32 bases is a number with two bits per base: A 0, C 1, G 2, T 3, its first base highest. Files
// are plain or gzip (also of several members), or standard input. A letter other than ACGTacgt ends a k-mer.
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
  /// Bytes that the process may use, including what it uses already; 0: three quarters of
  /// the free memory. The excess goes to a file in `folder`; for k up to 12 all must fit.
  std::uint64_t memory = 0;
  std::string folder = ".";  ///< of that file, which has no name
  /// If `memory` is given: the caller writes the k-mers to a pool while it takes them. The count then uses an eighth of
  /// the memory beyond its minimum, and leaves the remaining memory to the pool's pages (KmerStats::Machine::memory).
  bool into_pool = false;
};

/// The progress of a count. `total` is 0 where it is not known.
struct KmerProgress {
  const char* stage = "reading";  ///< or "counting"
  std::uint64_t done = 0, total = 0;
};
/// Progress and stop of a count.
struct KmerWatch {
  std::stop_token stop = {};  ///< checked several times a second
  /// Called by the waiting thread before each check of `stop`. An exception from it ends the count and is passed on.
  std::function<void(const KmerProgress&)> progress = {};
};

/// Figures about a count, by subject.
struct KmerStats {
  /// The input.
  struct Input {
    std::uint64_t records = 0;                     ///< of FASTA and FASTQ
    std::uint64_t records_without_kmers = 0;       ///< shorter than k, or with too many letters that end a k-mer
    std::vector<std::string> files_without_kmers;  ///< as they were named
    std::uint64_t bases = 0;                       ///< letters of sequences, those that end a k-mer too
    std::uint64_t text_bytes = 0;                  ///< of the files, inflated
  } input;

  /// The count until now, including k-mers that the bounds leave out.
  struct Counted {
    std::uint64_t kmers = 0;     ///< occurrences
    std::uint64_t distinct = 0;  ///< k-mers
  } counted;

  /// Its execution.
  struct Machine {
    unsigned threads = 0;      ///< that read, and then count
    std::string instructions;  ///< portable, avx2 or avx512
    std::uint64_t memory = 0;  ///< bytes that the process may use without the pages of a pool; known when it reads
  } machine;

  /// The partitions of the k-mers.
  struct Bins {
    unsigned count = 0;               ///< 0: k is small, and each k-mer has a counter
    std::uint64_t spilled_bytes = 0;  ///< that did not fit in memory, and went to the file in KmerOptions::folder
  } bins;

  /// Seconds, summed over threads.
  struct ThreadTime {
    double reading = 0;    ///< the files' bytes
    double inflating = 0;  ///< gzip
    double splitting = 0;  ///< text into k-mers
    double spilling = 0;   ///< to and from the file
    double counting = 0;   ///< and applying the bounds
    double writing = 0;    ///< of the caller, between calls of `next`
  } thread_time;

  /// Wall-clock seconds of each stage.
  struct WallTime {
    double reading = 0;   ///< `read`
    double counting = 0;  ///< from the first call of `next` to the last
  } wall_time;
};

/// One count: construct it, read files, then take k-mers until none is left. Movable, not copyable.
class KmerCounts {
 public:
  /// Throws InvalidArgument.
  explicit KmerCounts(const KmerOptions& options);
  KmerCounts(KmerCounts&&) noexcept;
  KmerCounts& operator=(KmerCounts&&) noexcept;
  ~KmerCounts();

  /// Reads the files; "-" is standard input. May be called once. Returns false if
  /// `watch.stop` stopped it. Throws InputError with file and line, NoSpace, SystemError.
  bool read(const std::vector<std::string>& files, const KmerWatch& watch = {});

  /// Returns some k-mers with their counts, each k-mer once, in no order, as many as fit
  /// both arrays. 0: that was all, or `watch.stop` stopped it. Throws as `read` does.
  std::size_t next(std::span<std::uint64_t> kmers, std::span<std::uint64_t> counts, const KmerWatch& watch = {});

  KmerStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Appends a line per k-mer, "ACGT 12", like `jellyfish dump -c`. Throws
/// InvalidArgument for an invalid k, or if the number of counts differs.
void append_kmer_text(std::string& text, std::span<const std::uint64_t> kmers, std::span<const std::uint64_t> counts,
                      unsigned k);

}  // namespace holdfast

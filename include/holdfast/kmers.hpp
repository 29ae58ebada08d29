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
  /// Where `memory` is given: the caller writes the k-mers into a pool while it takes them. The count then uses an eighth of what
  /// it could use beyond its least, and leaves what remains of `memory` to the pool's pages (KmerStats::Machine::memory).
  bool into_pool = false;
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

/// Figures about a count, by subject.
struct KmerStats {
  /// What was read.
  struct Input {
    std::uint64_t records = 0;                     ///< of FASTA and FASTQ
    std::uint64_t records_without_kmers = 0;       ///< shorter than k, or with too many letters that end a k-mer
    std::vector<std::string> files_without_kmers;  ///< as they were named
    std::uint64_t bases = 0;                       ///< letters of sequences, those that end a k-mer too
    std::uint64_t text_bytes = 0;                  ///< of the files, inflated
  } input;

  /// What has been counted up to now, with what the bounds leave out.
  struct Counted {
    std::uint64_t kmers = 0;     ///< occurrences
    std::uint64_t distinct = 0;  ///< k-mers
  } counted;

  /// What works on it.
  struct Machine {
    unsigned threads = 0;      ///< that read, and then count
    std::string instructions;  ///< portable, avx2 or avx512
    std::uint64_t memory = 0;  ///< bytes that the process may take without the pages of a pool; known when it reads
  } machine;

  /// How the k-mers are divided.
  struct Bins {
    unsigned count = 0;               ///< 0: k is small, and each k-mer has a counter of its own
    std::uint64_t spilled_bytes = 0;  ///< that did not fit in memory, and went to the file in KmerOptions::folder
  } bins;

  /// Seconds, summed over threads.
  struct ThreadTime {
    double reading = 0;    ///< the files' bytes
    double inflating = 0;  ///< gzip
    double splitting = 0;  ///< text into k-mers
    double spilling = 0;   ///< to and from the file
    double counting = 0;   ///< and leaving out what the bounds say
    double writing = 0;    ///< of who takes the k-mers, between calls of `next`
  } thread_time;

  /// Seconds of each stage, as a clock on the wall shows them.
  struct WallTime {
    double reading = 0;   ///< `read`
    double counting = 0;  ///< from the first call of `next` to the one that finds no more
  } wall_time;
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

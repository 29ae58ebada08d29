// reading.hpp: several files, read by several threads: one cuts a block off a file, and parses it while others cut theirs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kmers/crew.hpp"
#include "kmers/method.hpp"
#include "kmers/text/text_blocks.hpp"

namespace holdfast::kmers {

/// What is known of the files before they are read.
struct Expected {
  std::uint64_t bytes = 0;      ///< of all; 0 if that is not known
  std::uint64_t instances = 0;  ///< of k-mers, more or less
};
/// Throws InputError if one cannot be opened.
Expected expect(const std::vector<std::string>& files);

class Reading {
 public:
  Reading(const std::vector<std::string>& files, const KmerOptions& options);

  /// What each thread does: parses blocks until there are no more, or the crew stops.
  void work(Crew& crew, Lane& lane);

  std::uint64_t taken() const;  ///< bytes of the files
  void report(KmerStats& stats) const;

 private:
  struct Source {
    std::string file;
    std::mutex mutex;
    std::unique_ptr<TextBlocks> blocks;
    std::uint64_t cut = 0;  ///< blocks
    std::atomic<bool> done = false;
    std::atomic<std::uint64_t> taken = 0;
  };
  struct Ticket {
    bool some = false;
    std::uint64_t number = 0;  ///< in the order of files and lines
  };
  Ticket next(TextBlock& block, Crew& crew);
  Ticket next_of(std::size_t number, TextBlock& block, Crew& crew);
  void end(Source& source);

  const KmerOptions options_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::atomic<std::size_t> first_ = 0;  ///< those before are done
  mutable std::mutex mutex_;            ///< of the statistics
  KmerStats::Input input_;
  KmerStats::ThreadTime time_;
};

}  // namespace holdfast::kmers

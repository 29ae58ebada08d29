// reading.hpp: several files, read by several threads: one at a time cuts blocks off a file, and any of them parses them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kmers/method.hpp"
#include "kmers/text/text_blocks.hpp"
#include "threads/thread_group.hpp"

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

  /// What each thread does: parses blocks until there are no more, or the group stops.
  void work(threads::ThreadGroup& group, Lane& lane);

  std::uint64_t taken() const;  ///< bytes of the files
  /// When all threads have ended.
  void report(KmerStats& stats);

 private:
  struct Source {
    std::string file;
    std::uint64_t next = 0;  ///< number of its next block
    std::unique_ptr<TextBlocks> blocks;
    std::size_t ahead = 1;  ///< as many blocks may be ready
    bool cutting = false, done = false;
    std::atomic<std::uint64_t> taken = 0;
  };
  struct Ready {
    TextBlock block;
    std::uint64_t number = 0;  ///< in the order of files and lines
  };
  /// What is known of a block that was parsed.
  struct Block {
    std::uint64_t number = 0;
    Parsed parsed;
  };
  bool next(Ready& ready, threads::ThreadGroup& group);
  Source* to_cut();
  void cut(Source& source, std::unique_lock<std::mutex>& lock, threads::ThreadGroup& group);
  bool cut_block(Source& source, Ready& ready, threads::ThreadGroup& group);
  void end(Source& source);
  void find_bare();

  const KmerOptions options_;
  mutable std::mutex mutex_;  ///< of all that follows; what a source is cut with belongs to who cuts it
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::size_t first_ = 0;    ///< those before are done
  std::deque<Ready> ready_;  ///< in the order of their numbers, of each file
  std::vector<Ready> used_;  ///< for their memory
  std::vector<Block> parsed_;
  KmerStats::Input input_;
  KmerStats::ThreadTime time_;
};

}  // namespace holdfast::kmers

// chunks.hpp: counted k-mers on their way from the threads that count to the one that takes them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

namespace holdfast::kmers {

struct Chunk {
  std::vector<std::uint64_t> kmers, counts;
  std::size_t size = 0;
};

/// A queue with an end, and of bounded length.
class ChunkQueue {
 public:
  explicit ChunkQueue(std::size_t most) : most_(most) {}

  /// Waits for space. False: the reader has ended.
  bool push(Chunk&& chunk);
  Chunk empty(std::size_t rows);  ///< one that was used before, if there is one
  void give_back(Chunk&& chunk);

  enum class Got { chunk, end, nothing };
  Got pop(Chunk& chunk);  ///< waits a moment
  void end();             ///< nothing will be pushed any more
  void stop();            ///< nothing will be popped any more

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable pushed_, popped_;
  std::deque<Chunk> full_;
  std::vector<Chunk> empty_;
  bool ended_ = false, stopped_ = false;
};

/// One thread's chunk, which leaves out counts of 0, and those that are out of bounds.
class ChunkWriter {
 public:
  ChunkWriter(ChunkQueue& queue, std::size_t rows, std::uint64_t lower, std::uint64_t upper)
      : queue_(queue), rows_(rows), lower_(lower == 0 ? 1 : lower), range_(upper - lower_), chunk_(queue.empty(rows)) {}

  void put(std::uint64_t kmer, std::uint64_t count) {
    if (size_ == rows_) [[unlikely]]
      send();
    chunk_.kmers[size_] = kmer;
    chunk_.counts[size_] = count;
    size_ += count - lower_ <= range_;  // without a branch, which would be unpredictable
  }
  void finish();
  bool stopped() const { return stopped_; }
  double waited() const { return waited_; }  ///< seconds, for who takes chunks

 private:
  void send();

  ChunkQueue& queue_;
  const std::size_t rows_;
  const std::uint64_t lower_, range_;
  Chunk chunk_;
  std::size_t size_ = 0;
  bool stopped_ = false;
  double waited_ = 0;
};

}  // namespace holdfast::kmers

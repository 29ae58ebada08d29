// chunks.cpp: the queue of counted k-mers.
#include "kmers/chunks.hpp"

#include <chrono>
#include <utility>

namespace holdfast::kmers {

namespace {
constexpr auto kMoment = std::chrono::milliseconds(50);
}

bool ChunkQueue::push(Chunk&& chunk) {
  std::unique_lock lock(mutex_);
  popped_.wait(lock, [&] { return full_.size() < most_ || stopped_; });
  if (stopped_) return false;
  full_.push_back(std::move(chunk));
  pushed_.notify_one();
  return true;
}

Chunk ChunkQueue::empty(std::size_t rows) {
  {
    const std::lock_guard lock(mutex_);
    if (!empty_.empty()) {
      Chunk chunk = std::move(empty_.back());
      empty_.pop_back();
      return chunk;
    }
  }
  return {std::vector<std::uint64_t>(rows), std::vector<std::uint64_t>(rows), 0};
}

void ChunkQueue::give_back(Chunk&& chunk) {
  const std::lock_guard lock(mutex_);
  empty_.push_back(std::move(chunk));
}

ChunkQueue::Got ChunkQueue::pop(Chunk& chunk) {
  std::unique_lock lock(mutex_);
  pushed_.wait_for(lock, kMoment, [&] { return !full_.empty() || ended_; });
  if (full_.empty()) return ended_ ? Got::end : Got::nothing;
  chunk = std::move(full_.front());
  full_.pop_front();
  popped_.notify_one();
  return Got::chunk;
}

void ChunkQueue::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  pushed_.notify_all();
}

void ChunkQueue::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  popped_.notify_all();
}

void ChunkWriter::send() {
  chunk_.size = size_;
  size_ = 0;
  const auto begin = std::chrono::steady_clock::now();
  const bool pushed = !stopped_ && queue_.push(std::move(chunk_));
  waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (pushed) {
    chunk_ = queue_.empty(rows_);
  } else {
    stopped_ = true;
    if (chunk_.kmers.size() < rows_) chunk_ = queue_.empty(rows_);
  }
}

void ChunkWriter::finish() {
  if (size_ != 0) send();
}

}  // namespace holdfast::kmers

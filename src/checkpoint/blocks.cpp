// blocks.cpp: spreads blocks over threads.
#include "checkpoint/blocks.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace holdfast::checkpoint {

namespace {

constexpr std::uint64_t kMostThreads = 8;
constexpr std::uint64_t kShare = (16 << 20) / kBlock;  // blocks: fewer are done before a thread has begun

/// Calls `part(from, to)` for parts of [first, last), on several threads if it is long.
template <class Part>
void spread(std::uint64_t first, std::uint64_t last, const Part& part) {
  const std::uint64_t blocks = last - first, cores = std::max(1u, std::thread::hardware_concurrency());
  const std::uint64_t parts = std::clamp<std::uint64_t>(blocks / kShare, 1, std::min(kMostThreads, cores));
  const auto begin_of = [&](std::uint64_t i) { return first + blocks * i / parts; };
  std::vector<std::thread> threads;
  std::uint64_t given = 1;  // the first part is this thread's
  try {
    threads.reserve(parts);
    for (; given < parts; ++given) {
      threads.emplace_back([&part, from = begin_of(given), to = begin_of(given + 1)] { part(from, to); });
    }
  } catch (const std::exception&) {
    part(begin_of(given), last);  // there is no further thread, or no memory for one
  }
  part(first, begin_of(1));
  for (std::thread& thread : threads) thread.join();
}

std::uint64_t sum_of(const std::byte* data, std::uint64_t data_bytes, std::uint64_t block) {
  return block_checksum(data + block * kBlock, std::min(kBlock, data_bytes - block * kBlock));
}

}  // namespace

void sum_blocks(const std::byte* data, std::uint64_t data_bytes, std::uint64_t first, std::uint64_t last,
                std::uint64_t* sums) {
  if (first >= last) return;
  spread(first, last, [=](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t block = from; block < to; ++block) sums[block] = sum_of(data, data_bytes, block);
  });
}

std::optional<std::uint64_t> damaged_block(const std::byte* data, std::uint64_t data_bytes, std::uint64_t first,
                                           std::uint64_t last, const std::uint64_t* sums) {
  if (first >= last) return std::nullopt;
  std::atomic<std::uint64_t> damaged = last;
  spread(first, last, [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t block = from; block < to; ++block) {
      if (sum_of(data, data_bytes, block) == sums[block]) continue;
      std::uint64_t least = damaged.load();
      while (block < least && !damaged.compare_exchange_weak(least, block)) {
      }
      return;
    }
  });
  if (damaged == last) return std::nullopt;
  return damaged.load();
}

}  // namespace holdfast::checkpoint

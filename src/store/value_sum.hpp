// value_sum.hpp: the sums of new values where a GPU copies them from (protocol/cell.hpp, `sum_of`): eight threads take the lanes of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/both.hpp"
#include "store/protocol/change.hpp"

namespace holdfast::store {

/// Bytes that lie one behind the other. All parts of a job but the last are whole words.
struct SumPart {
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
};

/// Words to be summed: those of `size` parts from `first` on, one part behind the other.
struct SumJob {
  std::uint64_t words = 0;
  std::uint32_t first = 0, size = 0;
};

struct SumTable {
  std::vector<SumJob> jobs;
  std::vector<SumPart> parts;
};

/// The sum of one lane. `word(from)` loads a word, `tail(from, bytes)` one of which fewer bytes may be there.
template <class Word, class Tail>
HOLDFAST_BOTH std::uint64_t sum_lane(const SumJob& job, const SumPart* parts, unsigned lane, const Word& word,
                                     const Tail& tail) {
  constexpr unsigned kFlight = 16;  // words on their way while as many are summed: a step waits for the one before
  constexpr std::uint64_t kStride = std::uint64_t{8} * kSumLanes;
  const std::uint64_t all = words_in_lanes(job.words);
  std::uint64_t state = first_of_lane(lane), begin = 0;
  for (std::uint32_t i = job.first; i < job.first + job.size && begin < all; ++i) {
    const SumPart part = parts[i];
    const std::uint64_t words = (part.bytes + 7) / 8;
    std::uint64_t left = words < all - begin ? words : all - begin;
    const std::uint64_t skip = (lane + kSumLanes - begin % kSumLanes) % kSumLanes;
    begin += words;
    if (left <= skip) continue;
    left = (left - skip + kSumLanes - 1) / kSumLanes;  // words of this lane
    const std::byte* at = part.from + 8 * skip;
    const std::byte* const end = part.from + part.bytes;
    if (left > kFlight) {  // then the last word, which may not be whole, is not among those in flight
      std::uint64_t now[kFlight], next[kFlight];
      for (unsigned k = 0; k < kFlight; ++k) now[k] = word(at + k * kStride);
      for (; left > 2 * kFlight; left -= kFlight, at += kFlight * kStride) {
        for (unsigned k = 0; k < kFlight; ++k) next[k] = word(at + (k + kFlight) * kStride);
        for (unsigned k = 0; k < kFlight; ++k) state = checksum_step(state, now[k]);
        for (unsigned k = 0; k < kFlight; ++k) now[k] = next[k];
      }
      for (unsigned k = 0; k < kFlight; ++k) state = checksum_step(state, now[k]);
      left -= kFlight;
      at += kFlight * kStride;
    }
    for (; left > 0; --left, at += kStride) {
      state = checksum_step(state, tail(at, static_cast<std::uint64_t>(end - at)));
    }
  }
  return state;
}

/// The sum of a job, of those of its lanes.
template <class Lane, class Tail>
HOLDFAST_BOTH std::uint64_t join_job(const SumJob& job, const SumPart* parts, const Lane& lane, const Tail& tail) {
  return join_lanes(job.words, lane, [&](std::uint64_t word) {
    std::uint32_t i = job.first;
    while (word >= (parts[i].bytes + 7) / 8) word -= (parts[i++].bytes + 7) / 8;  // ends: the parts have the word
    HOLDFAST_ASSERT(i < job.first + job.size);
    return tail(parts[i].from + 8 * word, parts[i].bytes - 8 * word);
  });
}

/// The same on the CPU.
std::uint64_t sum_job(const SumTable& table, std::size_t job);

/// Adds the sums of a reserved item, whose value is in `pieces` and comes from `sources`, in their order: one job for each chunk, or one for the item.
/// All sources but the last are whole words.
void add_jobs(const NewItem& item, std::span<const std::span<std::byte>> pieces, std::span<const SumPart> sources,
              SumTable& table);

}  // namespace holdfast::store

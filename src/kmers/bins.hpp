// bins.hpp: super-k-mers in bins. All occurrences of a k-mer are in one bin, so that bins are counted one by one.
//
// A super-k-mer is a run of bases whose k-mers have the same minimizer: of their m-mers, the one with the smallest hash. It
// lies in its bin as a byte, the number of its k-mers, and its bases, four to a byte, the first highest. So a k-mer takes about a
// byte (KMC 2, Deorowicz et al. 2015). Bins are lists of blocks; each thread fills one block of each bin.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/both.hpp"
#include "kmers/bases.hpp"
#include "kmers/spill.hpp"

namespace holdfast::kmers {

inline constexpr unsigned kWordsOfSuper = 3;
inline constexpr unsigned kMostKmersOfSuper = 64;
/// A super-k-mer is written with as many bytes as the longest has, of which the next one overwrites what it does not need.
inline constexpr std::size_t kBytesOfBases = 8 * kWordsOfSuper;
inline constexpr std::size_t kSuperBytes = 1 + kBytesOfBases;

/// How bases are cut into super-k-mers.
struct Splitting {
  unsigned k = 0, m = 0;
  unsigned bin_bits = 0;

  unsigned window() const { return k - m + 1; }  ///< m-mers of a k-mer
  unsigned most() const {                        ///< k-mers of a super-k-mer
    const unsigned fit = kWordsOfSuper * kBasesOfWord - k + 1;
    return fit < kMostKmersOfSuper ? fit : kMostKmersOfSuper;
  }
};

struct Block {
  Block* next = nullptr;
  std::size_t used = 0;
  std::uint8_t* data() { return reinterpret_cast<std::uint8_t*>(this + 1); }
};

class Bins {
 public:
  struct Sizes {
    unsigned bits = 0;
    std::size_t block_bytes = 0;
    std::size_t budget = 0;  ///< bytes of all blocks
  };
  /// What fits: `wanted` bins for `threads` threads in `budget` bytes.
  static Sizes sizes_for(unsigned wanted_bits, unsigned threads, std::size_t budget);

  Bins(const Sizes& sizes, std::string folder);

  unsigned count() const { return 1u << sizes_.bits; }
  std::size_t space() const { return sizes_.block_bytes - sizeof(Block) - kSlack; }  ///< of a block

  using Filled = std::vector<std::pair<unsigned, Block*>>;
  /// Takes full blocks with their bins, and gives empty ones. Writes full blocks to the file if there are too many.
  /// Called by all threads. Throws NoSpace, SystemError.
  void exchange(Filled& full, std::vector<Block*>& empty);
  void take(Filled& full);  ///< the same, and gives none

  /// Calls `each(data, bytes)` for all parts of a bin, which may be read `kSlack` bytes on; `buffer` is the caller's. When
  /// no thread fills bins any more.
  template <class Each>
  void read(unsigned bin, std::vector<std::uint8_t>& buffer, Each each) const {
    for (const auto& run : spill_.runs(bin)) {
      buffer.resize(run.bytes + kSlack);
      spill_.read(run, buffer.data());
      each(buffer.data(), run.bytes);
    }
    for (Block* block = first_[bin]; block != nullptr; block = block->next) {
      // Blocks follow each other in no order that the processor could guess.
      const auto* const next = reinterpret_cast<const char*>(block->next);
      for (std::size_t line = 0; next != nullptr && line < kLinesAhead; ++line) __builtin_prefetch(next + 64 * line);
      each(block->data(), block->used);
    }
  }

  std::uint64_t spilled_bytes() const { return spill_.bytes(); }
  double spill_seconds() const { return spill_seconds_; }

 private:
  static constexpr std::size_t kLinesAhead = 8;

  struct Unmap {
    std::size_t bytes = 0;
    void operator()(std::byte* memory) const;
  };

  void put(Filled& full);
  Block* fresh();
  void spill();

  Sizes sizes_;
  std::mutex mutex_;  ///< of all that follows
  std::vector<std::unique_ptr<std::byte, Unmap>> slabs_;
  std::byte *at_ = nullptr, *end_ = nullptr;  ///< of the last slab, what was never a block
  std::size_t made_ = 0;                      ///< bytes of blocks
  std::vector<Block*> empty_;
  std::vector<Block*> first_;  ///< of each bin
  Spill spill_;
  double spill_seconds_ = 0;
};

/// One thread's way into the bins.
class BinWriter {
 public:
  explicit BinWriter(Bins& bins);

  /// A super-k-mer of `kmers` k-mers, whose bases are `bytes` bytes; `kBytesOfBases` of them may be read.
  void put(unsigned bin, unsigned kmers, const std::uint8_t* bases, std::size_t bytes) {
    HOLDFAST_ASSERT(kmers != 0 && kmers <= kMostKmersOfSuper && bytes <= kBytesOfBases);
    Cursor& cursor = cursors_[bin];
    if (cursor.at >= cursor.end) [[unlikely]]
      refill(bin);
    std::uint8_t* const at = cursor.at;
    at[0] = static_cast<std::uint8_t>(kmers);
    std::memcpy(at + 1, bases, kBytesOfBases);
    __builtin_prefetch(at + 2 * 64, 1);  // open blocks are more than the second cache holds
    cursor.at = at + 1 + bytes;
  }

  /// Gives all blocks to the bins.
  void finish();

 private:
  struct Cursor {
    std::uint8_t *at = nullptr, *end = nullptr;  ///< before `end`, there is space for the longest super-k-mer
  };
  void refill(unsigned bin);
  void end_block(unsigned bin);

  Bins* bins_;
  std::vector<Cursor> cursors_;
  std::vector<Block*> open_;
  std::vector<Block*> empty_;
  Bins::Filled full_;
};

}  // namespace holdfast::kmers

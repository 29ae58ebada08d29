// method.hpp: how k-mers are counted: what a thread does with runs of bases, and then the parts that are counted one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "holdfast/kmers.hpp"
#include "kmers/chunks.hpp"
#include "kmers/text/records.hpp"

namespace holdfast::kmers {

/// Where one thread's runs of bases go.
class Lane : public RunSink {
 public:
  virtual void finish() = 0;  ///< there are no more
};

struct PartResult {
  std::uint64_t kmers = 0, distinct = 0;
};

/// What one thread counts parts with.
class PartCounter {
 public:
  virtual ~PartCounter() = default;
  virtual PartResult count(unsigned part, ChunkWriter& out) = 0;
};

class Method {
 public:
  virtual ~Method() = default;
  virtual std::unique_ptr<Lane> lane() = 0;
  virtual unsigned parts() const = 0;
  virtual std::unique_ptr<PartCounter> part_counter() = 0;  ///< when all lanes are finished
  virtual void report(KmerStats& stats) const = 0;
};

/// Super-k-mers in bins, each counted in a table that the caches hold: `instances` k-mers are expected, and `budget` bytes may be used.
inline constexpr std::uint64_t kLeastBytesOfBins = std::uint64_t{16} << 20;
std::unique_ptr<Method> make_bin_method(const KmerOptions& options, unsigned threads, std::uint64_t instances,
                                        std::size_t budget);

/// A counter for every k-mer that there can be, up to kMostArrayK.
inline constexpr unsigned kMostArrayK = 12;
/// Its counters: four bytes a thread, and eight for what these cannot hold.
constexpr std::uint64_t array_bytes(unsigned k, unsigned threads) { return (std::uint64_t{threads} * 4 + 8) << 2 * k; }
/// `most`: k-mers that a lane counts in four bytes each before the counters move to those of eight; tests give less.
std::unique_ptr<Method> make_array_method(const KmerOptions& options,
                                          std::uint64_t most = std::numeric_limits<std::uint32_t>::max());

}  // namespace holdfast::kmers

// array_method.cpp: counts short k-mers in plain arrays, one a thread, with a counter for each k-mer that there can be.
#include <algorithm>
#include <limits>
#include <mutex>
#include <vector>

#include "kmers/bases.hpp"
#include "kmers/method.hpp"

namespace holdfast::kmers {

namespace {

constexpr std::size_t kPart = std::size_t{1} << 16;  ///< k-mers of a part

/// The threads' counters of 4 bytes, and those of 8 bytes that take over what they cannot hold.
struct Arrays {
  explicit Arrays(unsigned k) : size(std::size_t{1} << 2 * k) {}

  void move(std::vector<std::uint32_t>& counters) {
    const std::lock_guard lock(mutex);
    if (large.empty()) large.resize(size);
    for (std::size_t i = 0; i < size; ++i) large[i] += counters[i];
    std::fill(counters.begin(), counters.end(), 0);
  }

  std::uint64_t count(std::uint64_t kmer) const {
    std::uint64_t sum = large.empty() ? 0 : large[kmer];
    for (const auto& counters : small) sum += (*counters)[kmer];
    return sum;
  }

  const std::size_t size;
  std::mutex mutex;
  std::vector<std::unique_ptr<std::vector<std::uint32_t>>> small;
  std::vector<std::uint64_t> large;
};

class ArrayLane final : public Lane {
 public:
  ArrayLane(unsigned k, Arrays& arrays, std::vector<std::uint32_t>& counters)
      : k_(k), arrays_(arrays), counters_(counters) {}

  void run(const std::uint8_t* codes, std::size_t n) override {
    counted_ += n;
    if (counted_ > std::numeric_limits<std::uint32_t>::max()) {
      arrays_.move(counters_);
      counted_ = n;
    }
    const std::uint64_t mask = mask_of(k_);
    std::uint64_t kmer = 0;
    std::size_t at = 0;
    for (; at < k_ - 1; ++at) kmer = kmer << 2 | codes[at];
    std::uint32_t* const counters = counters_.data();
    for (; at < n; ++at) {
      kmer = (kmer << 2 | codes[at]) & mask;
      ++counters[kmer];
    }
  }
  void finish() override {}

 private:
  const unsigned k_;
  Arrays& arrays_;
  std::vector<std::uint32_t>& counters_;
  std::uint64_t counted_ = 0;  ///< at most, since the last move
};

/// Of a canonical count, both strands have been counted as they came: they are summed here.
class ArrayCounter final : public PartCounter {
 public:
  ArrayCounter(const Arrays& arrays, unsigned k, bool canonical) : arrays_(arrays), k_(k), canonical_(canonical) {}

  PartResult count(unsigned part, ChunkWriter& out) override {
    PartResult result;
    const std::size_t end = std::min(arrays_.size, (part + 1) * kPart);
    for (std::uint64_t kmer = part * kPart; kmer < end; ++kmer) {
      std::uint64_t count = arrays_.count(kmer);
      if (canonical_) {
        const std::uint64_t other = reverse_complement(kmer, k_);
        if (other < kmer) continue;
        if (other > kmer) count += arrays_.count(other);
      }
      result.kmers += count;
      result.distinct += count != 0;
      out.put(kmer, count);
    }
    return result;
  }

 private:
  const Arrays& arrays_;
  const unsigned k_;
  const bool canonical_;
};

class ArrayMethod final : public Method {
 public:
  ArrayMethod(unsigned k, bool canonical) : k_(k), canonical_(canonical), arrays_(k) {}

  std::unique_ptr<Lane> lane() override {
    auto counters = std::make_unique<std::vector<std::uint32_t>>(arrays_.size);
    const std::lock_guard lock(arrays_.mutex);
    arrays_.small.push_back(std::move(counters));
    return std::make_unique<ArrayLane>(k_, arrays_, *arrays_.small.back());
  }
  unsigned parts() const override { return static_cast<unsigned>((arrays_.size + kPart - 1) / kPart); }
  std::unique_ptr<PartCounter> part_counter() override {
    return std::make_unique<ArrayCounter>(arrays_, k_, canonical_);
  }
  void report(KmerStats&) const override {}

 private:
  const unsigned k_;
  const bool canonical_;
  Arrays arrays_;
};

}  // namespace

std::unique_ptr<Method> make_array_method(const KmerOptions& options) {
  return std::make_unique<ArrayMethod>(options.k, options.canonical);
}

}  // namespace holdfast::kmers

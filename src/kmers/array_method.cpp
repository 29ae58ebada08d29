// array_method.cpp: counts short k-mers in plain arrays, one a thread, with a counter for each k-mer that there can be.
#include <algorithm>
#include <mutex>
#include <vector>

#include "core/both.hpp"
#include "kmers/bases.hpp"
#include "kmers/method.hpp"

namespace holdfast::kmers {

namespace {

constexpr std::size_t kPart = std::size_t{1} << 16;  ///< k-mers of a part

/// The threads' counters of 4 bytes, and those of 8 bytes that take over what they cannot hold.
struct Arrays {
  Arrays(unsigned k, std::uint64_t most_counted) : size(std::size_t{1} << 2 * k), most(most_counted) {}

  void move(std::vector<std::uint32_t>& counters) {
    const std::lock_guard lock(mutex);
    if (large.empty()) large.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      HOLDFAST_ASSERT(counters[i] <= most);
      large[i] += counters[i];
    }
    std::fill(counters.begin(), counters.end(), 0);
  }

  /// Sums of [first, first + n), array by array, so that none is read but in order.
  void sum(std::size_t first, std::size_t n, std::uint64_t* sums) const {
    if (large.empty()) {
      std::fill_n(sums, n, 0);
    } else {
      std::copy_n(large.data() + first, n, sums);
    }
    for (const auto& counters : small) {
      const std::uint32_t* const counts = counters->data() + first;
      for (std::size_t i = 0; i < n; ++i) sums[i] += counts[i];
    }
  }

  const std::size_t size;
  const std::uint64_t most;  ///< that a counter of 4 bytes may hold
  std::mutex mutex;
  std::vector<std::unique_ptr<std::vector<std::uint32_t>>> small;
  std::vector<std::uint64_t> large;
};

/// `Canonical`: of both strands' k-mers the smaller one counts.
template <bool Canonical>
class ArrayLane final : public Lane {
 public:
  ArrayLane(unsigned k, Arrays& arrays, std::vector<std::uint32_t>& counters)
      : k_(k), arrays_(arrays), counters_(counters) {}

  void run(const std::uint8_t* codes, std::size_t n) override {
    HOLDFAST_ASSERT(n + 1 >= k_);
    counted_ += n;
    if (counted_ > arrays_.most) {
      arrays_.move(counters_);
      counted_ = n;
    }
    const std::uint64_t mask = mask_of(k_);
    const unsigned top = 2 * (k_ - 1);
    std::uint64_t kmer = 0, reverse = 0;
    const auto take = [&](std::uint64_t code) {
      kmer = (kmer << 2 | code) & mask;
      if constexpr (Canonical) reverse = reverse >> 2 | (3 - code) << top;
    };
    std::size_t at = 0;
    for (; at < k_ - 1; ++at) take(codes[at]);
    std::uint32_t* const counters = counters_.data();
    for (; at < n; ++at) {
      take(codes[at]);
      ++counters[Canonical ? std::min(kmer, reverse) : kmer];
    }
  }
  void finish() override {}

 private:
  const unsigned k_;
  Arrays& arrays_;
  std::vector<std::uint32_t>& counters_;
  std::uint64_t counted_ = 0;  ///< at most, since the last move
};

class ArrayCounter final : public PartCounter {
 public:
  explicit ArrayCounter(const Arrays& arrays) : arrays_(arrays), sums_(std::min(arrays.size, kPart)) {}

  PartResult count(unsigned part, ChunkWriter& out) override {
    PartResult result;
    const std::size_t first = part * kPart, n = std::min(arrays_.size - first, kPart);
    HOLDFAST_ASSERT(first < arrays_.size);
    arrays_.sum(first, n, sums_.data());
    for (std::size_t i = 0; i < n; ++i) {
      result.kmers += sums_[i];
      result.distinct += sums_[i] != 0;
      out.put(first + i, sums_[i]);
    }
    return result;
  }

 private:
  const Arrays& arrays_;
  std::vector<std::uint64_t> sums_;
};

class ArrayMethod final : public Method {
 public:
  ArrayMethod(unsigned k, bool canonical, std::uint64_t most) : k_(k), canonical_(canonical), arrays_(k, most) {}

  std::unique_ptr<Lane> lane() override {
    auto counters = std::make_unique<std::vector<std::uint32_t>>(arrays_.size);
    const std::lock_guard lock(arrays_.mutex);
    arrays_.small.push_back(std::move(counters));
    std::vector<std::uint32_t>& own = *arrays_.small.back();
    if (canonical_) return std::make_unique<ArrayLane<true>>(k_, arrays_, own);
    return std::make_unique<ArrayLane<false>>(k_, arrays_, own);
  }
  unsigned parts() const override { return static_cast<unsigned>((arrays_.size + kPart - 1) / kPart); }
  std::unique_ptr<PartCounter> part_counter() override { return std::make_unique<ArrayCounter>(arrays_); }
  void report(KmerStats&) const override {}

 private:
  const unsigned k_;
  const bool canonical_;
  Arrays arrays_;
};

}  // namespace

std::unique_ptr<Method> make_array_method(const KmerOptions& options, std::uint64_t most) {
  return std::make_unique<ArrayMethod>(options.k, options.canonical, most);
}

}  // namespace holdfast::kmers

// bin_method.cpp: counts by bins of super-k-mers.
#include <algorithm>
#include <bit>

#include "kmers/bin_table.hpp"
#include "kmers/bins.hpp"
#include "kmers/engine.hpp"
#include "kmers/method.hpp"

namespace holdfast::kmers {

namespace {

constexpr std::uint64_t kInstancesOfBin = 400'000;
constexpr unsigned kLeastBits = 6, kMostBits = 12;

/// Short m-mers are common to k-mers that do not overlap, and fill bins unevenly; long ones change often, and cut bases into
/// short super-k-mers. Measured.
constexpr unsigned minimizer_for(unsigned k) { return std::clamp(k - 12, 7u, 11u); }

unsigned bits_for(std::uint64_t instances) {
  return std::clamp(static_cast<unsigned>(std::bit_width(instances / kInstancesOfBin)), kLeastBits, kMostBits);
}

class BinLane final : public Lane {
 public:
  BinLane(const Splitting& how, Bins& bins) : how_(how), writer_(bins) {}
  void run(const std::uint8_t* codes, std::size_t n) override { engine().split(how_, codes, n, writer_); }
  void finish() override { writer_.finish(); }

 private:
  const Splitting how_;
  BinWriter writer_;
};

class BinCounter final : public PartCounter {
 public:
  BinCounter(const Bins& bins, unsigned k, bool canonical) : bins_(bins), k_(k), canonical_(canonical) {}

  PartResult count(unsigned part, ChunkWriter& out) override {
    PartResult result;
    table_.clear(expected_);
    bins_.read(part, buffer_, [&](const std::uint8_t* data, std::size_t bytes) {
      result.kmers += engine().count(data, bytes, k_, canonical_, table_);
    });
    result.distinct = table_.size();
    // The next bin is likely to be as large. An eighth more, so that few tables grow.
    expected_ = table_.size() + table_.size() / 8;
    for (const BinTable::Slot& slot : table_) out.put(slot.kmer, slot.count);
    return result;
  }

 private:
  const Bins& bins_;
  const unsigned k_;
  const bool canonical_;
  BinTable table_;
  std::size_t expected_ = 0;
  std::vector<std::uint8_t> buffer_;
};

class BinMethod final : public Method {
 public:
  BinMethod(const KmerOptions& options, const Bins::Sizes& sizes)
      : how_{options.k, minimizer_for(options.k), sizes.bits},
        canonical_(options.canonical),
        bins_(sizes, options.folder) {}

  std::unique_ptr<Lane> lane() override { return std::make_unique<BinLane>(how_, bins_); }
  unsigned parts() const override { return bins_.count(); }
  std::unique_ptr<PartCounter> part_counter() override {
    return std::make_unique<BinCounter>(bins_, how_.k, canonical_);
  }
  void report(KmerStats& stats) const override {
    stats.bins.count = bins_.count();
    stats.bins.spilled_bytes = bins_.spilled_bytes();
    stats.thread_time.spilling = bins_.spill_seconds();
  }

 private:
  const Splitting how_;
  const bool canonical_;
  Bins bins_;
};

}  // namespace

std::unique_ptr<Method> make_bin_method(const KmerOptions& options, unsigned threads, std::uint64_t instances,
                                        std::size_t budget) {
  return std::make_unique<BinMethod>(options, Bins::sizes_for(bits_for(instances), threads, budget));
}

}  // namespace holdfast::kmers

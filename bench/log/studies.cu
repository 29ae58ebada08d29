// studies.cu: holdfast-log-bench: inserts into logs by a GPU, beside a kernel that only writes. GPM §6, "HCL against conventional".
// Every entry is checked on the CPU.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "frame/gpu_timing.hpp"
#include "frame/studies.hpp"
#include "holdfast/log.cuh"

namespace holdfast::bench {
namespace {

constexpr unsigned kThreads = 256;

struct Setup {
  std::string pool = "/dev/shm/holdfast-log-bench.hold";
  unsigned most_threads = 1u << 21;
  unsigned repetitions = 7;
  unsigned rounds = 5;  ///< in which both kinds of log take turns, each in a log made anew

  void take(CLI::App& app) {
    app.add_option("--pool", pool, "the pool; it is replaced, and removed at the end")->capture_default_str();
    app.add_option("--threads", most_threads, "of the largest launch, a power of two from 32768 on")
        ->check(CLI::Range(32768, 1 << 24))
        ->capture_default_str();
    app.add_option("--repetitions", repetitions, "of each measurement beside the streaming kernel")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--rounds", rounds, "in which both kinds of log take turns")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
  }
};

template <unsigned kWords>
struct Entry {
  std::uint32_t word[kWords];
};

template <unsigned kWords>
__device__ __host__ Entry<kWords> entry_of(std::uint64_t thread) {
  Entry<kWords> entry;
  for (unsigned k = 0; k < kWords; ++k) entry.word[k] = static_cast<std::uint32_t>(thread * 2654435761u + k);
  return entry;
}

template <unsigned kWords>
__global__ void insert(LogRef log, unsigned* wrong) {
  const std::uint64_t thread = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  if (log.insert(entry_of<kWords>(thread)) != LogStatus::ok) atomicAdd(wrong, 1u);
}

/// Writes `words` words of 4 bytes, side by side, with as many threads as the log has.
__global__ void stream(std::uint32_t* to, std::uint64_t words) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * kThreads;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x; i < words; i += threads) {
    *static_cast<volatile std::uint32_t*>(to + i) = static_cast<std::uint32_t>(i);
  }
  persist();
}

/// A log made for inserts of one entry by each thread.
template <unsigned kWords>
class Inserts {
 public:
  Inserts(Pool& pool, unsigned threads, std::uint32_t partitions)
      : threads_(threads), log_(Log::create(pool, "log", options(threads, partitions))), wrong_(1) {
    gpu::check(cudaMemset(wrong_.data(), 0, sizeof(unsigned)), "preparing a counter");
  }

  /// Of one launch, in GB/s with tails.
  double rate() {
    log_.clear();
    const LogRef ref(log_.handle());
    const double seconds = gpu_seconds([&] { insert<kWords><<<threads_ / kThreads, kThreads>>>(ref, wrong_.data()); });
    return threads_ * (kWords + 1) * 4.0 / seconds / 1e9;
  }

  /// Whether the last launch left its entries, and all were accepted.
  bool right() const {
    unsigned wrong = 0;
    gpu::check(cudaMemcpy(&wrong, wrong_.data(), sizeof wrong, cudaMemcpyDeviceToHost), "reading a counter");
    bool right = wrong == 0;
    std::uint64_t entries = 0, sum = 0, wanted = 0;
    for (std::uint64_t place = 0; place < log_.places(); ++place) {
      for (std::uint32_t back = log_.count(place); back-- > 0;) {
        Entry<kWords> entry;
        right &= log_.read(place, &entry, sizeof entry, back) == LogStatus::ok;
        for (unsigned k = 1; k < kWords; ++k) right &= entry.word[k] == entry.word[0] + k;
        ++entries;
        sum += entry.word[0];
      }
    }
    for (unsigned thread = 0; thread < threads_; ++thread) wanted += entry_of<kWords>(thread).word[0];
    return right && entries == threads_ && sum == wanted;
  }

 private:
  static LogOptions options(unsigned threads, std::uint32_t partitions) {
    LogOptions options{kWords * 4, 1, threads / kThreads, kThreads, partitions, true};
    options.overwrite = true;
    if (partitions != 0) options.capacity = (threads + partitions - 1) / partitions;
    return options;
  }

  const unsigned threads_;
  Log log_;
  gpu::DeviceBuffer<unsigned> wrong_;
};

/// A hierarchical log beside the streaming kernel, a launch of each in turn; the first are not counted.
template <unsigned kWords>
Json sizes_row(const Setup& setup, Pool& pool, bool& failed) {
  std::fprintf(stderr, "log: entries of %u bytes\n", kWords * 4);
  const unsigned threads = setup.most_threads;
  const std::uint64_t words = std::uint64_t{threads} * (kWords + 1);
  Region region = Region::create(pool, "region", words * 4, {.gpu = true, .overwrite = true});
  const Section section = region.section(Domain::process, Writer::gpu);
  std::uint32_t* const to = section.as<std::uint32_t>().data();
  Inserts<kWords> log(pool, threads, 0);
  std::vector<double> streamed, inserted;
  for (unsigned i = 0; i <= setup.repetitions; ++i) {
    const double seconds = gpu_seconds([&] { stream<<<threads / kThreads, kThreads>>>(to, words); });
    const double rate = log.rate();
    if (i == 0) continue;
    streamed.push_back(words * 4.0 / seconds / 1e9);
    inserted.push_back(rate);
  }
  failed |= !log.right();
  return {{"entry_bytes", kWords * 4},
          {"threads", threads},
          {"stream_gb_s", spread(streamed)},
          {"hierarchical_gb_s", spread(inserted)},
          {"part_of_stream", spread_of(ratio_of(inserted, streamed)).median}};
}

/// Entries of 16 bytes: hierarchical, and conventional with the best number of partitions: that of the highest median. Which one it is
/// differs from run to run, and with it the rate (docs/performance.md). In each round each log is made anew, so that it lies elsewhere.
Json conventional_row(const Setup& setup, Pool& pool, unsigned threads, bool& failed) {
  constexpr unsigned kInserts = 3;  // of a round, which gives their median
  std::fprintf(stderr, "log: conventional, %u threads\n", threads);
  std::vector<std::uint32_t> partitions{0};  // hierarchical
  for (std::uint32_t some = 1u << 10; some <= std::min(1u << 20, threads); some *= 2) partitions.push_back(some);
  std::vector<std::vector<double>> rates(partitions.size());
  for (unsigned round = 0; round < setup.rounds; ++round) {
    for (std::size_t i = 0; i < partitions.size(); ++i) {
      Inserts<4> log(pool, threads, partitions[i]);
      log.rate();  // warms up
      std::vector<double> of_round;
      for (unsigned k = 0; k < kInserts; ++k) of_round.push_back(log.rate());
      rates[i].push_back(spread_of(of_round).median);
      failed |= !log.right();
    }
  }
  Json row = {{"entry_bytes", 16}, {"threads", threads}, {"partitions", Json::array()}};
  row["hierarchical_gb_s"] = spread(rates[0]);
  for (std::size_t i = 1; i < partitions.size(); ++i) {
    row["partitions"].push_back({{"partitions", partitions[i]}, {"conventional_gb_s", spread(rates[i])}});
  }
  const auto& best = *std::max_element(rates.begin() + 1, rates.end(), [](const auto& one, const auto& other) {
    return spread_of(one).median < spread_of(other).median;
  });
  row["times_conventional"] = spread_of(ratio_of(rates[0], best)).median;
  return row;
}

Json log_study(const Setup& setup) {
  Json sizes = Json::array(), conventional = Json::array();
  bool failed = false;
  double sum = 0;
  {
    Pool pool = Pool::create(setup.pool, true);
    sizes.push_back(sizes_row<1>(setup, pool, failed));
    sizes.push_back(sizes_row<2>(setup, pool, failed));
    sizes.push_back(sizes_row<4>(setup, pool, failed));
    sizes.push_back(sizes_row<8>(setup, pool, failed));
    sizes.push_back(sizes_row<16>(setup, pool, failed));
    for (unsigned threads = 1u << 15; threads <= setup.most_threads; threads *= 2) {
      conventional.push_back(conventional_row(setup, pool, threads, failed));
      sum += conventional.back()["times_conventional"].get<double>();
    }
  }
  static_cast<void>(std::remove(setup.pool.c_str()));
  const double mean = sum / static_cast<double>(conventional.size());
  return {{"sizes", std::move(sizes)},
          {"conventional", std::move(conventional)},
          {"mean_times_conventional", mean},
          {"failed", failed}};
}
const StudyOf<Setup> kLog("log", log_study);

}  // namespace
}  // namespace holdfast::bench

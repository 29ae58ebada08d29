// main.cu: holdfast-log-bench: inserts into logs by a GPU, beside a kernel that only writes. GPM §6, "HCL against conventional".
//
// Prints one JSON object to standard output, and what it does to standard error. Every entry is checked on the CPU after the clock
// has stopped; one wrong entry ends it with status 1.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "frame/json.hpp"
#include "gpu/runtime.hpp"
#include "holdfast/log.cuh"

namespace holdfast::bench {
namespace {

constexpr unsigned kThreads = 256;

struct Setup {
  std::string pool = "/dev/shm/holdfast-log-bench.hold";
  unsigned most_threads = 1u << 21;
  unsigned repetitions = 7;
  unsigned rounds = 5;  ///< in which both kinds of log take turns, each in a log made anew
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

template <class Launch>
double milliseconds(const Launch& launch) {
  cudaEvent_t begin = nullptr, end = nullptr;
  gpu::check(cudaEventCreate(&begin), "making an event");
  gpu::check(cudaEventCreate(&end), "making an event");
  gpu::check(cudaEventRecord(begin), "marking a begin");
  launch();
  gpu::check(cudaGetLastError(), "starting a kernel");
  gpu::check(cudaEventRecord(end), "marking an end");
  gpu::check(cudaEventSynchronize(end), "running a kernel");
  float took = 0;
  gpu::check(cudaEventElapsedTime(&took, begin, end), "reading a clock");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return took;
}

class Runs {
 public:
  explicit Runs(const Setup& setup) : setup_(setup), pool_(Pool::create(setup.pool, true)), wrong_(1) {
    gpu::check(cudaMemset(wrong_.data(), 0, sizeof(unsigned)), "preparing a counter");
  }

  /// Inserts of one entry by each thread, in GB/s with tails, into a log that is made for it; the first is not counted.
  template <unsigned kWords>
  std::vector<double> log(unsigned threads, std::uint32_t partitions, unsigned repetitions) {
    const unsigned blocks = threads / kThreads;
    LogOptions options{kWords * 4, 1, blocks, kThreads, partitions, true};
    options.overwrite = true;
    if (partitions != 0) options.capacity = (threads + partitions - 1) / partitions;
    Log log = Log::create(pool_, "log", options);
    std::vector<double> rates;
    for (unsigned i = 0; i <= repetitions; ++i) {
      log.clear();
      const LogRef ref(log.handle());
      const double took = milliseconds([&] { insert<kWords><<<blocks, kThreads>>>(ref, wrong_.data()); });
      if (i != 0) rates.push_back(threads * (kWords + 1) * 4.0 / took / 1e6);
    }
    check<kWords>(log, threads);
    return rates;
  }

  Json streaming(unsigned threads, unsigned words_each) {
    const std::uint64_t words = std::uint64_t{threads} * words_each;
    Region region = Region::create(pool_, "region", words * 4, {.gpu = true, .overwrite = true});
    const Section section = region.section(Domain::process, Writer::gpu);
    std::uint32_t* const to = section.as<std::uint32_t>().data();
    std::vector<double> rates;
    for (unsigned i = 0; i <= setup_.repetitions; ++i) {
      const double took = milliseconds([&] { stream<<<threads / kThreads, kThreads>>>(to, words); });
      if (i != 0) rates.push_back(words * 4.0 / took / 1e6);
    }
    return spread(rates);
  }

  bool failed() const {
    unsigned wrong = 0;
    gpu::check(cudaMemcpy(&wrong, wrong_.data(), sizeof wrong, cudaMemcpyDeviceToHost), "reading a counter");
    return failed_ || wrong != 0;
  }

 private:
  template <unsigned kWords>
  void check(const Log& log, unsigned threads) {
    std::uint64_t entries = 0, sum = 0, wanted = 0;
    for (std::uint64_t place = 0; place < log.places(); ++place) {
      for (std::uint32_t back = log.count(place); back-- > 0;) {
        Entry<kWords> entry;
        if (log.read(place, &entry, sizeof entry, back) != LogStatus::ok) failed_ = true;
        for (unsigned k = 1; k < kWords; ++k) failed_ |= entry.word[k] != entry.word[0] + k;
        ++entries;
        sum += entry.word[0];
      }
    }
    for (unsigned thread = 0; thread < threads; ++thread) wanted += entry_of<kWords>(thread).word[0];
    failed_ |= entries != threads || sum != wanted;
  }

  const Setup& setup_;
  Pool pool_;
  gpu::DeviceBuffer<unsigned> wrong_;
  bool failed_ = false;
};

template <unsigned kWords>
Json sizes_row(Runs& runs, unsigned threads, unsigned repetitions) {
  std::fprintf(stderr, "log: entries of %u bytes\n", kWords * 4);
  Json row = {{"entry_bytes", kWords * 4}, {"threads", threads}};
  row["stream_gb_s"] = runs.streaming(threads, kWords + 1);
  row["hierarchical_gb_s"] = spread(runs.log<kWords>(threads, 0, repetitions));
  row["part_of_stream"] = row["hierarchical_gb_s"]["median"].get<double>() / row["stream_gb_s"]["median"].get<double>();
  return row;
}

/// Entries of 16 bytes: hierarchical, and conventional with the best number of partitions: that of the highest median. Which one it is
/// differs from run to run, and with it the rate (docs/performance.md). In each round each log is made anew, so that it lies elsewhere.
Json conventional_row(Runs& runs, unsigned threads, unsigned rounds) {
  constexpr unsigned kInserts = 3;  // of a round, which gives their median
  std::fprintf(stderr, "log: conventional, %u threads\n", threads);
  std::vector<std::uint32_t> partitions{0};  // hierarchical
  for (std::uint32_t some = 1u << 10; some <= std::min(1u << 20, threads); some *= 2) partitions.push_back(some);
  std::vector<std::vector<double>> rates(partitions.size());
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < partitions.size(); ++i) {
      rates[i].push_back(spread_of(runs.log<4>(threads, partitions[i], kInserts)).median);
    }
  }
  Json row = {{"entry_bytes", 16}, {"threads", threads}, {"partitions", Json::array()}};
  row["hierarchical_gb_s"] = spread(rates[0]);
  double best = 0;
  for (std::size_t i = 1; i < partitions.size(); ++i) {
    Json one = spread(rates[i]);
    best = std::max(best, one["median"].get<double>());
    row["partitions"].push_back({{"partitions", partitions[i]}, {"conventional_gb_s", std::move(one)}});
  }
  row["times_conventional"] = row["hierarchical_gb_s"]["median"].get<double>() / best;
  return row;
}

int run(int count, char** words) {
  CLI::App app("Measures inserts by a GPU into logs in shared memory.");
  Setup setup;
  app.add_option("--pool", setup.pool, "the pool; it is replaced, and removed at the end")->capture_default_str();
  app.add_option("--threads", setup.most_threads, "of the largest launch, a power of two from 32768 on")
      ->check(CLI::Range(32768, 1 << 24))
      ->capture_default_str();
  app.add_option("--repetitions", setup.repetitions, "of each measurement beside the streaming kernel")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--rounds", setup.rounds, "in which both kinds of log take turns")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, count, words);
  Json result = {{"study", "log"}, {"sizes", Json::array()}, {"conventional", Json::array()}};
  {
    Runs runs(setup);
    result["sizes"].push_back(sizes_row<1>(runs, setup.most_threads, setup.repetitions));
    result["sizes"].push_back(sizes_row<2>(runs, setup.most_threads, setup.repetitions));
    result["sizes"].push_back(sizes_row<4>(runs, setup.most_threads, setup.repetitions));
    result["sizes"].push_back(sizes_row<8>(runs, setup.most_threads, setup.repetitions));
    result["sizes"].push_back(sizes_row<16>(runs, setup.most_threads, setup.repetitions));
    double sum = 0;
    for (unsigned threads = 1u << 15; threads <= setup.most_threads; threads *= 2) {
      result["conventional"].push_back(conventional_row(runs, threads, setup.rounds));
      sum += result["conventional"].back()["times_conventional"].get<double>();
    }
    result["mean_times_conventional"] = sum / static_cast<double>(result["conventional"].size());
    result["failed"] = runs.failed();
  }
  static_cast<void>(std::remove(setup.pool.c_str()));
  std::printf("%s\n", result.dump(1).c_str());
  return result["failed"].get<bool>() ? 1 : 0;
}

}  // namespace
}  // namespace holdfast::bench

int main(int count, char** words) {
  try {
    return holdfast::bench::run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "log: %s\n", error.what());
    return 1;
  }
}

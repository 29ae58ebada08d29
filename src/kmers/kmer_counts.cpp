// kmer_counts.cpp: the public KmerCounts: checks options, reads with all threads, then counts with all threads.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>

#include "core/both.hpp"
#include "core/clock.hpp"
#include "holdfast/kmers.hpp"
#include "kmers/budget.hpp"
#include "kmers/chunks.hpp"
#include "kmers/engine.hpp"
#include "kmers/method.hpp"
#include "kmers/text/reading.hpp"
#include "threads/thread_group.hpp"

namespace holdfast {

namespace {

using namespace kmers;

constexpr unsigned kMostThreads = 256, kMostQuality = 93;
constexpr std::size_t kChunkRows = std::size_t{1} << 18;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

KmerOptions checked(KmerOptions options) {
  if (options.k < kLeastK || options.k > kMostK) {
    throw InvalidArgument("k is " + std::to_string(options.k) + ": give " + std::to_string(kLeastK) + " to " +
                          std::to_string(kMostK));
  }
  if (options.min_quality > kMostQuality) {
    throw InvalidArgument("the least quality is " + std::to_string(options.min_quality) + ": give 0 to " +
                          std::to_string(kMostQuality));
  }
  if (std::max<std::uint64_t>(options.lower, 1) > options.upper) {
    throw InvalidArgument("the lower bound of counts, " + std::to_string(options.lower) + ", is above the upper one, " +
                          std::to_string(options.upper));
  }
  if (options.threads > kMostThreads) {
    throw InvalidArgument("a count has " + std::to_string(kMostThreads) + " threads at most, and " +
                          std::to_string(options.threads) + " were asked for");
  }
  if (options.threads == 0) options.threads = std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
  return options;
}

bool stops(const KmerWatch& watch, const KmerProgress& progress) {
  if (watch.progress) watch.progress(progress);
  return watch.stop.stop_requested();
}

[[noreturn]] void no_memory() {
  throw NoSpace("the system has no memory for the tables of k-mers: count with fewer threads, or on a larger machine");
}

}  // namespace

class KmerCounts::Impl {
 public:
  explicit Impl(const KmerOptions& options) : options_(checked(options)), queue_(2 * std::size_t{options_.threads}) {
    stats_.machine.threads = options_.threads;
    stats_.machine.instructions = engine().name();
  }
  ~Impl() {
    queue_.stop();
    counters_.stop();
  }

  bool read(const std::vector<std::string>& files, const KmerWatch& watch) try {
    if (method_) throw InvalidArgument("a count reads once: give it all files then, or make another");
    if (files.empty()) throw InvalidArgument("there is no file to count: name one, or - for standard input");
    const auto begin = Clock::now();
    const Expected expected = expect(files);
    method_ = make_method(expected.instances);
    Reading reading(files, options_);
    threads::ThreadGroup readers;
    readers.start(options_.threads, [&] {
      const std::unique_ptr<Lane> lane = method_->lane();
      reading.work(readers, *lane);
    });
    bool stopped = false;
    try {
      do {  // once at least, however fast it reads
        if (stops(watch, {"reading", reading.taken(), expected.bytes})) stopped = true;
        if (stopped) readers.stop();
      } while (!readers.done());
    } catch (...) {
      readers.stop();
      throw;
    }
    readers.join();
    readers.rethrow();
    reading.report(stats_);
    stats_.wall_time.reading = seconds_since(begin);
    is_read_ = !stopped;
    return !stopped;
  } catch (const std::bad_alloc&) {
    no_memory();
  }

  std::size_t next(std::span<std::uint64_t> kmers, std::span<std::uint64_t> counts, const KmerWatch& watch) try {
    if (!is_read_) throw InvalidArgument("nothing was read yet, or not all: call read first");
    if (!counting_) start();
    writing_ += seconds_since(left_);
    const std::size_t space = std::min(kmers.size(), counts.size());
    std::size_t size = 0;
    while (size < space) {
      if (at_ == chunk_.size && !refill(watch)) break;
      HOLDFAST_ASSERT(at_ < chunk_.size);
      const std::size_t n = std::min(space - size, chunk_.size - at_);
      std::copy_n(chunk_.kmers.data() + at_, n, kmers.data() + size);
      std::copy_n(chunk_.counts.data() + at_, n, counts.data() + size);
      at_ += n;
      size += n;
    }
    left_ = Clock::now();
    return size;
  } catch (const std::bad_alloc&) {
    no_memory();
  }

  KmerStats stats() const {
    KmerStats stats = stats_;
    stats.counted.kmers = kmers_;
    stats.counted.distinct = distinct_;
    stats.thread_time.counting = busy_;
    stats.thread_time.writing = writing_;
    if (method_) method_->report(stats);
    return stats;
  }

 private:
  std::unique_ptr<Method> make_method(std::uint64_t instances) {
    const bool arrays = options_.k <= kMostArrayK;
    const std::uint64_t least = arrays ? array_bytes(options_.k, options_.threads) : kLeastBytesOfBins;
    const Budget budget = budget_for(options_, least);
    stats_.machine.memory = budget.process;
    if (arrays) return make_array_method(options_);
    return make_bin_method(options_, options_.threads, instances, budget.bins);
  }

  void start() {
    begin_ = left_ = Clock::now();
    counters_.start(
        options_.threads, [this] { count(); }, [this] { queue_.end(); });
    counting_ = true;
  }

  /// What each thread does: counts parts until there are no more.
  void count() {
    const std::unique_ptr<PartCounter> counter = method_->part_counter();
    ChunkWriter out(queue_, kChunkRows, options_.lower, options_.upper);
    const unsigned parts = method_->parts();
    const auto begin = Clock::now();
    while (!counters_.stopping() && !out.stopped()) {
      const unsigned part = next_part_.fetch_add(1, std::memory_order_relaxed);
      if (part >= parts) break;
      const PartResult result = counter->count(part, out);
      kmers_.fetch_add(result.kmers, std::memory_order_relaxed);
      distinct_.fetch_add(result.distinct, std::memory_order_relaxed);
    }
    out.finish();
    busy_.fetch_add(seconds_since(begin) - out.waited(), std::memory_order_relaxed);
  }

  /// Takes the next chunk; false if there is none any more.
  bool refill(const KmerWatch& watch) {
    if (chunk_.size != 0) queue_.give_back(std::move(chunk_));
    chunk_ = Chunk{};
    at_ = 0;
    // ends: the counting threads put a chunk, or the end, into the queue
    for (;;) {
      const ChunkQueue::Got got = queue_.pop(chunk_);
      if (got == ChunkQueue::Got::end) break;
      if (stops(watch, {"counting", std::min(next_part_.load(), method_->parts()), method_->parts()})) return false;
      if (got == ChunkQueue::Got::chunk) return true;
    }
    counters_.join();
    counters_.rethrow();
    if (stats_.wall_time.counting == 0) stats_.wall_time.counting = seconds_since(begin_);
    return false;
  }

  const KmerOptions options_;
  KmerStats stats_;
  bool is_read_ = false, counting_ = false;
  std::unique_ptr<Method> method_;
  std::atomic<unsigned> next_part_ = 0;
  std::atomic<std::uint64_t> kmers_ = 0, distinct_ = 0;
  std::atomic<double> busy_ = 0;
  double writing_ = 0;
  Clock::time_point begin_, left_;
  ChunkQueue queue_;
  Chunk chunk_;
  std::size_t at_ = 0;
  threads::ThreadGroup counters_;  ///< last: its threads use what stands before
};

KmerCounts::KmerCounts(const KmerOptions& options) : impl_(std::make_unique<Impl>(options)) {}
KmerCounts::KmerCounts(KmerCounts&&) noexcept = default;
KmerCounts& KmerCounts::operator=(KmerCounts&&) noexcept = default;
KmerCounts::~KmerCounts() = default;

bool KmerCounts::read(const std::vector<std::string>& files, const KmerWatch& watch) {
  return impl_->read(files, watch);
}

std::size_t KmerCounts::next(std::span<std::uint64_t> kmers, std::span<std::uint64_t> counts, const KmerWatch& watch) {
  return impl_->next(kmers, counts, watch);
}

KmerStats KmerCounts::stats() const { return impl_->stats(); }

}  // namespace holdfast

// bench.cuh: what every study of holdfast-link-bench does: makes a table, loads it, runs batches against the clock, checks
// each answer on the GPU after the clock has stopped, and notes the rates.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "arrays.cuh"
#include "holdfast/table.hpp"

namespace holdfast::bench {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
inline constexpr std::uint64_t kMi = 1 << 20;
inline constexpr unsigned kBlocks = 132 * 8, kThreads = 256;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class... T>
void say(const char* format, T... values) {
  std::fprintf(stderr, "link: ");
  std::fprintf(stderr, format, values...);
  std::fprintf(stderr, "\n");
  std::fflush(stderr);
}

/// How the table of a study is made.
struct Setup {
  std::uint64_t items = 37'748'736;  // 0.75 of 3·2^24 slots
  std::uint32_t key_bytes = 8, value_bytes = 128;
  std::string pool = "/dev/shm/holdfast-link-bench.hold";
  std::uint64_t order_from = 0, gpu_memory = kHalfOfFree;
  CacheOptions cache;  ///< of values
  std::uint32_t levels = 2, hash_locations = 2, slots = 8;
  std::uint64_t capacity = 0;  ///< that the table is made for; 0: the items
  std::uint64_t spare = 0;     ///< cells beyond the items and a batch of updates
  bool time_phases = false;    ///< of changing batches; it slows them a little
};

/// The arrays of one batch.
struct Arrays {
  Arrays(std::uint64_t rows, unsigned words, unsigned key_words, bool mixed = false)
      : keys(rows),
        wide_keys(key_words == 1 ? 0 : rows * key_words),
        values(rows * words),
        out(rows * words),
        statuses(rows),
        found(rows),
        ops(mixed ? rows : 0) {}
  GpuArray<std::uint64_t> keys, wide_keys, values, out;  ///< of wide keys, `keys` are the first words
  GpuArray<Status> statuses;
  GpuArray<bool> found;
  GpuArray<std::uint8_t> ops;
};

inline Draw uniform_draw(std::uint64_t items) {
  Draw draw;
  draw.items = items;
  return draw;
}

inline Json spread_of(const std::vector<double>& all) {
  std::vector<double> sorted = all;
  std::sort(sorted.begin(), sorted.end());
  return {{"median", sorted[sorted.size() / 2]}, {"low", sorted.front()}, {"high", sorted.back()}, {"all", all}};
}

class Bench {
 public:
  explicit Bench(const Setup& setup)
      : setup_(setup), words_(setup.value_bytes / 8), key_words_(setup.key_bytes / 8), wrong_(1) {
    for (cudaStream_t& stream : streams_)
      must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    must(cudaMemset(wrong_.data(), 0, 8), "starting");
  }
  ~Bench() {
    table_.reset();
    unlink(setup_.pool.c_str());
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// An empty table with room for the items, and for a batch of updates.
  void make() {
    CreateOptions options;
    options.key_bytes = setup_.key_bytes;
    options.value_bytes = setup_.value_bytes;
    options.capacity = setup_.capacity != 0 ? setup_.capacity : setup_.items;
    options.levels = setup_.levels;
    options.hash_locations = setup_.hash_locations;
    options.slots = setup_.slots;
    options.time_phases = setup_.time_phases;
    options.device = "cuda";
    options.overwrite = true;
    options.order_from = setup_.order_from;
    options.gpu_memory = setup_.gpu_memory;
    options.cache = setup_.cache;
    const auto start = Clock::now();
    table_ = std::make_unique<Table>(Table::create(setup_.pool, options));
    if (setup_.spare != 0) table_->reserve(setup_.items + setup_.spare);
    say("made in %.2f s", seconds_since(start));
  }

  /// All items, in batches of `rows`; returns the rates of whole batches.
  void load(std::uint64_t rows = 4 * kMi, const char* work = "insert") {
    Arrays arrays(rows, words_, key_words_);
    std::vector<double> rates;
    for (std::uint64_t first = 0; first < setup_.items; first += rows) {
      const std::uint64_t n = std::min(rows, setup_.items - first);
      draw(each_from(first), arrays, n, false);
      fill_values(arrays, n);
      const double seconds = timed([&] { change(Op::insert, arrays, n); });
      if (n == rows) rates.push_back(static_cast<double>(n) / seconds / 1e6);
      expect_status(arrays, n, Status::inserted, Status::inserted);
    }
    require_right(work);
    if (!rates.empty()) note(work, rows, 1, rates);
  }

  /// The items from `first` on, without a clock.
  void insert_items(std::uint64_t first, std::uint64_t rows) {
    Arrays arrays(rows, words_, key_words_);
    draw(each_from(first), arrays, rows, false);
    fill_values(arrays, rows);
    change(Op::insert, arrays, rows);
    wait_all();
    expect_status(arrays, rows, Status::inserted, Status::inserted);
    require_right("insert");
  }

  /// Each repetition has fresh keys; the clock runs from the first call to the end of the last batch of the repetition.
  void find(const std::string& work, const Draw& from, std::uint64_t rows, unsigned streams = 1, bool absent = false) {
    const auto each = static_cast<unsigned>(std::clamp<std::uint64_t>(4 * kMi / rows, streams == 1 ? 1 : 4, 64));
    std::vector<std::unique_ptr<Arrays>> arrays;
    for (unsigned i = 0; i < each; ++i) arrays.push_back(std::make_unique<Arrays>(rows, words_, key_words_));
    repeat(
        work, rows, rows * each, 5, streams,
        [&] {
          for (auto& a : arrays) {
            draw(from, *a, rows, absent);
            must(cudaMemset(a->out.data(), 0xee, rows * words_ * 8), "poisoning results");
          }
        },
        [&] {
          for (unsigned i = 0; i < each; ++i) {
            Batch batch = batch_of(*arrays[i], rows, streams_[i % streams]);
            batch.op = Op::find;
            batch.out = arrays[i]->out.data();
            batch.found = arrays[i]->found.data();
            table_->run(batch);
          }
        },
        [&] {
          for (const auto& a : arrays) check(*a, a->out.data(), rows, absent);
        });
  }

  /// Searches without a clock.
  void search(const Draw& from, std::uint64_t rows, unsigned batches) {
    rate_until(from, rows, [&] { return batches-- <= 1; });
  }

  /// Searches until `ended` says so, which is asked after each batch is enqueued, and returns M/s. It waits for its own stream
  /// alone, so that whatever else the table does may go on.
  template <class Ended>
  double rate_until(const Draw& from, std::uint64_t rows, Ended ended) {
    constexpr unsigned kArrays = 4;
    std::vector<std::unique_ptr<Arrays>> arrays;
    for (unsigned i = 0; i < kArrays; ++i) {
      arrays.push_back(std::make_unique<Arrays>(rows, words_, key_words_));
      draw(from, *arrays[i], rows, false);
    }
    wait_all();
    std::uint64_t batches = 0;
    const auto start = Clock::now();
    for (bool more = true; more; ++batches) {
      const Arrays& next = *arrays[batches % kArrays];
      if (batches % kArrays == 0) must(cudaStreamSynchronize(streams_[0]), "running a batch");
      Batch batch = batch_of(next, rows, streams_[0]);
      batch.op = Op::find;
      batch.out = next.out.data();
      batch.found = next.found.data();
      table_->run(batch);
      more = !ended();
    }
    must(cudaStreamSynchronize(streams_[0]), "running a batch");
    const double seconds = seconds_since(start);
    for (unsigned i = 0; i < std::min<std::uint64_t>(kArrays, batches); ++i)
      check(*arrays[i], arrays[i]->out.data(), rows, false);
    wait_all();
    require_right("find");
    return static_cast<double>(rows * batches) / seconds / 1e6;
  }

  /// The resolution alone: no value is read.
  void contains(const std::string& work, const Draw& from, std::uint64_t rows, bool absent) {
    Arrays arrays(rows, 0, key_words_);
    repeat(
        work, rows, rows, 5, 1, [&] { draw(from, arrays, rows, absent); },
        [&] {
          Batch batch = batch_of(arrays, rows, streams_[0]);
          batch.op = Op::contains;
          batch.found = arrays.found.data();
          table_->run(batch);
        },
        [&] { check(arrays, nullptr, rows, absent); });
  }

  void update(const std::string& work, const Draw& from, std::uint64_t rows, unsigned repetitions = 3) {
    Arrays arrays(rows, words_, key_words_);
    repeat(
        work, rows, rows, repetitions, 1,
        [&] {
          draw(from, arrays, rows, false);
          ++version_;
          fill_values(arrays, rows);
        },
        [&] { change(Op::assign, arrays, rows); },
        [&] { expect_status(arrays, rows, Status::updated, Status::updated); });
  }

  /// Adds to values, and takes it away again outside the clock.
  void accumulate(const std::string& work, const Draw& from, std::uint64_t rows) {
    Arrays arrays(rows, words_, key_words_);
    GpuArray<std::uint64_t> before(rows * words_);
    const auto amounts = [&](bool less) {
      amount_kernel<<<kBlocks, kThreads>>>(arrays.values.data(), rows, words_, less);
      must(cudaGetLastError(), "making values");
    };
    repeat(
        work, rows, rows, 3, 1,
        [&] {
          draw(from, arrays, rows, false);
          read_into(before.data(), arrays, rows);
          amounts(false);
        },
        [&] { change(Op::accumulate, arrays, rows); },
        [&] {
          expect_status(arrays, rows, Status::updated, Status::updated);
          read_into(arrays.out.data(), arrays, rows);
          check_sums_kernel<<<kBlocks, kThreads>>>(before.data(), arrays.out.data(), rows, words_, wrong_.data());
          must(cudaGetLastError(), "checking answers");
          amounts(true);
          wait_all();
          change(Op::accumulate, arrays, rows);
        });
  }

  /// Of items that are all there.
  void find_or_insert(const std::string& work, const Draw& from, std::uint64_t rows) {
    Arrays arrays(rows, words_, key_words_);
    repeat(
        work, rows, rows, 3, 1,
        [&] {
          draw(from, arrays, rows, false);
          must(cudaMemset(arrays.out.data(), 0xee, rows * words_ * 8), "poisoning results");
        },
        [&] {
          Batch batch = batch_of(arrays, rows, streams_[0]);
          batch.op = Op::find_or_insert;
          batch.values = arrays.values.data();
          batch.out = arrays.out.data();
          batch.found = arrays.found.data();
          table_->run(batch);
        },
        [&] { check(arrays, arrays.out.data(), rows, false); });
  }

  /// Erases the last items of the table, `batches` batches of them.
  void erase(const std::string& work, std::uint64_t rows, unsigned batches = 2) {
    Arrays arrays(rows, words_, key_words_);
    std::vector<double> rates;
    for (unsigned r = 0; r < batches && erased_ + rows <= setup_.items; ++r) {
      draw(each_from(setup_.items - erased_ - rows), arrays, rows, false);
      rates.push_back(static_cast<double>(rows) / timed([&] { change(Op::erase, arrays, rows); }) / 1e6);
      expect_status(arrays, rows, Status::erased, Status::erased);
      erased_ += rows;
    }
    require_right(work.c_str());
    if (!rates.empty()) note(work, rows, 1, rates);
  }

  /// A mixed batch: row i reads, but for `changes_in_20` rows of every twenty, which update. YCSB A is 10, B is 1.
  void mixed(const std::string& work, const Draw& from, std::uint64_t rows, unsigned changes_in_20) {
    Arrays arrays(rows, words_, key_words_, true);
    repeat(
        work, rows, rows, 4, 1,
        [&] {
          draw(from, arrays, rows, false);
          ++version_;
          fill_values(arrays, rows);
          mix_kernel<<<kBlocks, kThreads>>>(arrays.ops.data(), rows, changes_in_20, Op::assign, seed_);
          must(cudaMemset(arrays.out.data(), 0xee, rows * words_ * 8), "poisoning results");
        },
        [&] {
          Batch batch = batch_of(arrays, rows, streams_[0]);
          batch.ops = arrays.ops.data();
          batch.values = arrays.values.data();
          batch.out = arrays.out.data();
          batch.statuses = arrays.statuses.data();
          table_->run(batch);
        },
        [&] {
          check_mixed_kernel<<<kBlocks, kThreads>>>(arrays.keys.data(), arrays.ops.data(), arrays.statuses.data(),
                                                    arrays.out.data(), rows, words_, version_, wrong_.data());
          must(cudaGetLastError(), "checking answers");
        });
  }

  /// Adds to the last run noted.
  void tell(const char* what, const Json& value) {
    runs_.back()[what] = value;
    say("    %s: %s", what, value.dump().c_str());
  }
  /// Rows of the last run, the warm-up among them.
  std::uint64_t rows_searched() const { return rows_searched_; }
  /// For the next opening.
  void cache(const CacheOptions& options) { setup_.cache = options; }

  /// Verifies every slot and cell; the count of items too.
  void verify() {
    const auto start = Clock::now();
    const CheckReport report = table_->check();
    for (const std::string& error : report.errors) say("check: %s", error.c_str());
    failed_ |= !report.errors.empty() || report.items != setup_.items - erased_;
    say("checked in %.2f s, %llu items", seconds_since(start), static_cast<unsigned long long>(report.items));
  }

  /// Closes the table, if it is open here, and opens the pool again.
  void reopen() {
    if (table_) table_->close();
    OpenOptions options;
    options.device = "cuda";
    options.order_from = setup_.order_from;
    options.gpu_memory = setup_.gpu_memory;
    options.cache = setup_.cache;
    const auto start = Clock::now();
    table_ = std::make_unique<Table>(Table::open(setup_.pool, options));
    say("opened in %.0f ms, of which recovery %.1f ms", seconds_since(start) * 1e3, table_->stats().recovery_ms);
  }

  /// Draws, runs and checks `repetitions` times after one to warm up, and notes `operations` a repetition.
  template <class Prepare, class Run, class Check>
  void repeat(const std::string& work, std::uint64_t batch, std::uint64_t operations, unsigned repetitions,
              unsigned streams, const Prepare& prepare, const Run& run, const Check& check) {
    std::vector<double> rates;
    rows_searched_ = operations * (repetitions + 1);
    for (unsigned r = 0; r <= repetitions; ++r) {
      prepare();
      wait_all();
      const double seconds = timed(run);
      if (r != 0) rates.push_back(static_cast<double>(operations) / seconds / 1e6);
      check();
      wait_all();
    }
    require_right(work.c_str());
    note(work, batch, streams, rates);
  }

  template <class Run>
  double timed(const Run& run) {
    wait_all();
    const auto start = Clock::now();
    run();
    wait_all();
    return seconds_since(start);
  }

  void note(const std::string& work, std::uint64_t batch, unsigned streams, const std::vector<double>& rates) {
    const Json mops = spread_of(rates);
    say("%-24s %9llu rows, %u streams: %8.1f M/s (%.1f to %.1f, %zu batches)", work.c_str(),
        static_cast<unsigned long long>(batch), streams, mops["median"].get<double>(), mops["low"].get<double>(),
        mops["high"].get<double>(), rates.size());
    runs_.push_back({{"work", work}, {"batch", batch}, {"streams", streams}, {"mops", mops}});
    if (setup_.time_phases) note_phases(runs_.back());
  }

  /// What each phase has taken a batch, of those since the last call.
  void note_phases(Json& run) {
    for (const PhaseTime& phase : table_->stats().phases) {
      PhaseTime& before = phases_before_[phase.phase];
      const std::uint64_t batches = phase.batches - before.batches;
      if (batches == 0) continue;
      const double ms = (phase.ms - before.ms) / static_cast<double>(batches);
      say("    %-20s %8.3f ms", phase.phase.c_str(), ms);
      run["phase_ms"][phase.phase] = ms;
      before = phase;
    }
  }

  /// What was measured, with what the table says of itself.
  Json result() const {
    const Stats stats = table_->stats();
    return {{"items", setup_.items},
            {"key_bytes", setup_.key_bytes},
            {"value_bytes", setup_.value_bytes},
            {"slots", stats.slots},
            {"cells", stats.cells},
            {"cached_ratio", stats.cached_ratio},
            {"cached_bytes", stats.cached_bytes},
            {"cached_value_ratio", stats.cached_value_ratio},
            {"cached_value_bytes", stats.cached_value_bytes},
            {"recovery_ms", stats.recovery_ms},
            {"map_ms", stats.map_ms},
            {"retries", stats.retries},
            {"runs", runs_}};
  }

  const Setup& setup() const { return setup_; }
  Table& table() { return *table_; }
  Draw uniform() const { return uniform_draw(setup_.items - erased_); }
  bool failed() const { return failed_; }
  void fail(const char* why) {
    say("%s", why);
    failed_ = true;
  }

 private:
  Draw each_from(std::uint64_t first) const {
    Draw each;
    each.each = true;
    each.first = first;
    return each;
  }

  Batch batch_of(const Arrays& arrays, std::uint64_t rows, cudaStream_t stream) const {
    Batch batch;
    batch.size = rows;
    batch.keys = key_words_ == 1 ? arrays.keys.data() : arrays.wide_keys.data();
    batch.on_device = true;
    batch.stream = stream;
    return batch;
  }

  void change(Op op, const Arrays& arrays, std::uint64_t rows) {
    Batch batch = batch_of(arrays, rows, streams_[0]);
    batch.op = op;
    if (takes_value(op)) batch.values = arrays.values.data();
    batch.statuses = arrays.statuses.data();
    table_->run(batch);
  }

  void read_into(std::uint64_t* out, const Arrays& arrays, std::uint64_t rows) {
    wait_all();
    Batch batch = batch_of(arrays, rows, streams_[0]);
    batch.op = Op::find;
    batch.out = out;
    table_->run(batch);
    wait_all();
  }

  void draw(const Draw& from, Arrays& arrays, std::uint64_t rows, bool absent) {
    Draw next = from;
    next.seed = ++seed_;
    draw_kernel<<<kBlocks, kThreads>>>(next, arrays.keys.data(), rows, absent ? kAbsentItem : 0);
    if (key_words_ > 1)
      widen_kernel<<<kBlocks, kThreads>>>(arrays.keys.data(), arrays.wide_keys.data(), rows, key_words_);
    must(cudaGetLastError(), "drawing keys");
  }

  void fill_values(Arrays& arrays, std::uint64_t rows) {
    if (words_ == 0) return;
    value_kernel<<<kBlocks, kThreads>>>(arrays.keys.data(), arrays.values.data(), rows, words_, version_);
    must(cudaGetLastError(), "making values");
  }

  void wait_all() { must(cudaDeviceSynchronize(), "running a batch"); }

  void require_right(const char* work) {
    unsigned long long wrong = 0;
    must(cudaMemcpy(&wrong, wrong_.data(), 8, cudaMemcpyDeviceToHost), "checking answers");
    if (wrong == 0) return;
    say("%llu wrong answers: %s", wrong, work);
    failed_ = true;
    must(cudaMemset(wrong_.data(), 0, 8), "checking answers");
  }

  void check(const Arrays& arrays, const std::uint64_t* out, std::uint64_t rows, bool absent) {
    check_kernel<<<kBlocks, kThreads>>>(arrays.keys.data(), out, arrays.found.data(), rows, words_, version_, absent,
                                        wrong_.data());
    must(cudaGetLastError(), "checking answers");
  }

  void expect_status(const Arrays& arrays, std::uint64_t rows, Status a, Status b) {
    status_kernel<<<kBlocks, kThreads>>>(arrays.statuses.data(), rows, a, b, wrong_.data());
    must(cudaGetLastError(), "checking answers");
  }

  Setup setup_;
  const unsigned words_, key_words_;
  GpuArray<unsigned long long> wrong_;
  cudaStream_t streams_[2] = {};
  std::unique_ptr<Table> table_;
  std::uint64_t seed_ = 0, version_ = 1, erased_ = 0, rows_searched_ = 0;
  Json runs_ = Json::array();
  std::map<std::string, PhaseTime> phases_before_;
  bool failed_ = false;
};

}  // namespace holdfast::bench

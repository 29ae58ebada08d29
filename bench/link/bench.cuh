// bench.cuh: what every study of holdfast-link-bench does: makes a table, loads it, runs batches against the clock, checks
// each answer on the GPU after the clock has stopped, and notes the rates.
#pragma once

#include <unistd.h>

#include <functional>
#include <map>
#include <memory>

#include "frame/plant.hpp"
#include "setup.cuh"

namespace holdfast::bench {

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
    options.shape.key_bytes = setup_.key_bytes;
    options.shape.value_bytes = setup_.value_bytes;
    options.shape.capacity = setup_.capacity != 0 ? setup_.capacity : setup_.items;
    options.shape.levels = setup_.levels;
    options.shape.hash_locations = setup_.hash_locations;
    options.shape.slots = setup_.slots;
    options.tuning.time_phases = setup_.time_phases;
    options.runtime.device = setup_.device;
    options.runtime.threads = setup_.threads;
    options.overwrite = true;
    options.tuning.order_from = setup_.order_from;
    options.gpu.memory = setup_.gpu_memory;
    options.gpu.cache = setup_.cache;
    table_.reset();
    phases_before_.clear();
    each_before_.clear();
    const auto start = Clock::now();
    table_ = std::make_unique<Table>(Table::create(setup_.pool, options));
    if (setup_.spare != 0) table_->reserve(setup_.items + setup_.spare);
    say("made in %.2f s", seconds_since(start));
  }

  /// All items, in batches of `rows`; returns the rates of whole batches.
  void load(std::uint64_t rows = 4 * kMi, const char* work = "insert");

  /// All items in whole batches of `rows`, on two streams in turns, all enqueued at once: the clock runs from the first to the
  /// end of the last.
  void load_on_two_streams(std::uint64_t rows, const char* work) {
    const std::uint64_t batches = setup_.items / rows;
    std::vector<std::unique_ptr<Arrays>> arrays;
    for (std::uint64_t i = 0; i < batches; ++i) {
      arrays.push_back(std::make_unique<Arrays>(rows, words_, key_words_));
      draw(each_from(i * rows), *arrays.back(), rows, false);
      fill_values(*arrays.back(), rows);
    }
    // The first two make room.
    const auto insert = [&](std::uint64_t from, std::uint64_t to) {
      for (std::uint64_t i = from; i < to; ++i) change(Op::insert, *arrays[i], rows, streams_[i % 2]);
    };
    timed([&] { insert(0, 2); });
    phases_since(phases_before_);
    const double seconds = timed([&] { insert(2, batches); });
    for (const auto& a : arrays) expect_status(*a, rows, Status::inserted, Status::inserted);
    require_right(work);
    note(work, rows, 2, {static_cast<double>((batches - 2) * rows) / seconds / 1e6}, (batches - 2) * rows);
    if (table_->size() != batches * rows) fail("items are missing");
  }

  /// The items from `first` on, without a clock.
  void insert_items(std::uint64_t first, std::uint64_t rows);

  /// Each repetition has fresh keys; the clock runs from the first call to the end of the last batch of the repetition.
  void find(const std::string& work, const Draw& from, std::uint64_t rows, unsigned streams = 1, bool absent = false);

  /// Searches without a clock.
  void search(const Draw& from, std::uint64_t rows, unsigned batches) {
    rate_until(from, rows, [&] { return batches-- <= 1; });
  }

  /// Searches until `ended` says so, which is asked after each batch is enqueued, and returns M/s. It waits for its own stream
  /// alone, so that whatever else the table does may go on.
  template <class Ended>
  double rate_until(const Draw& from, std::uint64_t rows, Ended ended);

  /// The resolution alone: no value is read.
  void contains(const std::string& work, const Draw& from, std::uint64_t rows, bool absent);

  void update(const std::string& work, const Draw& from, std::uint64_t rows, unsigned repetitions = 3);

  /// Adds to values, and takes it away again outside the clock.
  void accumulate(const std::string& work, const Draw& from, std::uint64_t rows);

  /// Of items that are all there.
  void find_or_insert(const std::string& work, const Draw& from, std::uint64_t rows);

  /// Erases the last items of the table, `batches` batches of them.
  void erase(const std::string& work, std::uint64_t rows, unsigned batches = 2);

  /// Puts erased items back.
  void insert_erased(const std::string& work, std::uint64_t rows, unsigned batches = 2);

  /// A mixed batch: row i reads, but for `changes_in_20` rows of every twenty, which update. YCSB A is 10, B is 1.
  void mixed(const std::string& work, const Draw& from, std::uint64_t rows, unsigned changes_in_20);

  /// YCSB F: reads all rows, and then updates half of them, by a batch of its own.
  void read_modify_write(const std::string& work, const Draw& from, std::uint64_t rows);

  /// Adds to the last run noted.
  void note(const char* what, const Json& value) {
    runs_.back()[what] = value;
    say("    %s: %s", what, value.dump().c_str());
  }
  /// Adds to all runs.
  void note_all(const char* what, const Json& value) {
    for (Json& run : runs_) run[what] = value;
  }
  /// Appends what was measured.
  void give_runs(Json& runs) const {
    for (const Json& run : runs_) runs.push_back(run);
  }
  /// Rows of the last run, the warm-up among them.
  std::uint64_t rows_searched() const { return rows_searched_; }
  /// For the next opening.
  void cache(const CacheOptions& options) { setup_.cache = options; }
  void open_with(std::uint64_t gpu_memory, std::uint64_t order_from) {
    setup_.gpu_memory = gpu_memory;
    setup_.order_from = order_from;
  }
  void calibrate(bool wanted) { setup_.calibrate = wanted; }
  void open_on(const std::string& device, unsigned threads) {
    setup_.device = device;
    setup_.threads = threads;
  }

  /// Whose runs these are, from now on, and who carries out the batches of them: the table, if no `runner` is given.
  void use(const std::string& by, std::function<void(const Batch&)> runner = nullptr) {
    by_ = by;
    runner_ = std::move(runner);
    say("-- %s", by.c_str());
  }

  /// Batches are about the first `bytes` bytes of each value from now on, a multiple of 8.
  void use_column(std::uint32_t bytes) {
    column_bytes_ = bytes;
    words_ = bytes / 8;
  }

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
    options.runtime.device = setup_.device;
    options.runtime.threads = setup_.threads;
    options.tuning.order_from = setup_.order_from;
    options.gpu.memory = setup_.gpu_memory;
    options.gpu.cache = setup_.cache;
    options.tuning.calibrate = setup_.calibrate;
    const auto start = Clock::now();
    table_ = std::make_unique<Table>(Table::open(setup_.pool, options));
    say("opened in %.0f ms, of which recovery %.1f ms", seconds_since(start) * 1e3,
        table_->stats().recovery.recovery_ms);
  }

  /// Draws, runs and checks `repetitions` times after one to warm up, and notes `operations` a repetition. False: there is no
  /// time left for it.
  template <class Prepare, class Run, class Check>
  bool repeat(const std::string& work, std::uint64_t batch, std::uint64_t operations, unsigned repetitions,
              unsigned streams, const Prepare& prepare, const Run& run, const Check& check) {
    std::vector<double> rates;
    if (seconds_since(kBegun) > setup_.seconds) {
      say("left out, for want of time: %s, %llu rows", work.c_str(), static_cast<unsigned long long>(batch));
      left_out_.push_back(work + (by_.empty() ? "" : ", " + by_));
      return false;
    }
    rows_searched_ = operations * (repetitions + 1);
    const auto start = Clock::now();
    for (unsigned r = 0; r <= repetitions; ++r) {
      prepare();
      wait_all();
      const double seconds = timed(run);
      if (r != 0) rates.push_back(static_cast<double>(operations) / seconds / 1e6);
      check();
      wait_all();
      if (r != 0 && seconds_since(start) > setup_.patience) break;
    }
    require_right(work.c_str());
    note(work, batch, streams, rates, operations);
    return true;
  }

  template <class Run>
  double timed(const Run& run) {
    wait_all();
    const auto start = Clock::now();
    run();
    wait_all();
    plant_delay(start);
    return seconds_since(start);
  }

  /// `operations` had each rate: where that is one batch, they say its latency too.
  void note(const std::string& work, std::uint64_t batch, unsigned streams, const std::vector<double>& rates,
            std::uint64_t operations = 0) {
    const Json mops = spread(rates);
    say("%-24s %9llu rows, %u streams: %8.1f M/s (%.1f to %.1f, %zu batches)", work.c_str(),
        static_cast<unsigned long long>(batch), streams, mops["median"].get<double>(), mops["low"].get<double>(),
        mops["high"].get<double>(), rates.size());
    runs_.push_back({{"work", work}, {"batch", batch}, {"streams", streams}, {"mops", mops}});
    if (!by_.empty()) runs_.back()["by"] = by_;
    if (operations == batch) {
      std::vector<double> latencies;
      for (const double rate : rates) latencies.push_back(static_cast<double>(batch) / rate);
      runs_.back()["latency_us"] = spread(latencies);
    }
    if (setup_.time_phases) note_phases(runs_.back());
  }

  /// What each phase has taken a batch, of those since the last call.
  Json phases_since(std::map<std::string, PhaseTime>& last) {
    Json phases = Json::object();
    for (const PhaseTime& phase : table_->stats().work.phases) {
      PhaseTime& before = last[phase.phase];
      const std::uint64_t batches = phase.batches - before.batches;
      if (batches != 0) phases[phase.phase] = (phase.ms - before.ms) / static_cast<double>(batches);
      before = phase;
    }
    return phases;
  }
  Json phases_since() { return phases_since(each_before_); }

  /// The same of the last run noted.
  void note_phases(Json& run) {
    run["phase_ms"] = phases_since(phases_before_);
    for (const auto& [phase, ms] : run["phase_ms"].items()) say("    %-24s %8.3f ms", phase.c_str(), ms.get<double>());
  }

  /// What was measured, with what the table says of itself.
  Json result() const {
    if (!table_)
      return {{"items", setup_.items}, {"value_bytes", setup_.value_bytes}, {"runs", runs_}, {"left_out", left_out_}};
    const Stats stats = table_->stats();
    return {{"items", setup_.items},
            {"key_bytes", setup_.key_bytes},
            {"value_bytes", setup_.value_bytes},
            {"slots", stats.space.slots},
            {"cells", stats.space.cells},
            {"cached_ratio", stats.bucket_cache.ratio},
            {"cached_bytes", stats.bucket_cache.bytes},
            {"cached_value_ratio", stats.value_cache.ratio},
            {"cached_value_bytes", stats.value_cache.bytes},
            {"recovery_ms", stats.recovery.recovery_ms},
            {"unordered_rows", stats.search.unordered_rows},
            {"cluster_rows", stats.search.cluster_rows},
            {"gather_share", stats.search.gather_share},
            {"calibration_ms", stats.search.calibration_ms},
            {"map_ms", stats.recovery.map_ms},
            {"retries", stats.work.retries},
            {"runs", runs_},
            {"left_out", left_out_}};
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
    batch.device = Device{.stream = stream};
    if (column_bytes_ != 0) batch.column = Column{.bytes = column_bytes_};
    return batch;
  }

  void run(const Batch& batch) {
    if (runner_) {
      runner_(batch);
    } else {
      table_->run(batch);
    }
  }

  void search_once(const Arrays& arrays, std::uint64_t rows);
  void note_latency(const Arrays& arrays, std::uint64_t rows);

  void change(Op op, const Arrays& arrays, std::uint64_t rows) { change(op, arrays, rows, streams_[0]); }
  void change(Op op, const Arrays& arrays, std::uint64_t rows, cudaStream_t stream) {
    Batch batch = batch_of(arrays, rows, stream);
    batch.op = op;
    if (takes_value(op)) batch.values = arrays.values.data();
    batch.statuses = arrays.statuses.data();
    run(batch);
  }

  void read_into(std::uint64_t* out, const Arrays& arrays, std::uint64_t rows) {
    wait_all();
    Batch batch = batch_of(arrays, rows, streams_[0]);
    batch.op = Op::find;
    batch.out = out;
    run(batch);
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
  unsigned words_;  ///< of a row of values
  const unsigned key_words_;
  std::uint32_t column_bytes_ = 0;  ///< 0: rows are whole values
  GpuArray<unsigned long long> wrong_;
  cudaStream_t streams_[2] = {};
  std::unique_ptr<Table> table_;
  std::function<void(const Batch&)> runner_;
  std::string by_;
  std::uint64_t seed_ = 0, version_ = 1, erased_ = 0, rows_searched_ = 0;
  Json runs_ = Json::array(), left_out_ = Json::array();
  std::map<std::string, PhaseTime> phases_before_, each_before_;
  bool failed_ = false;
};

}  // namespace holdfast::bench

#include "work.cuh"

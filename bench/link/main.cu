// main.cu: holdfast-link-bench: a table in shared memory, worked on by a GPU from arrays in its own memory.
//
//   holdfast-link-bench [--items N] [--value-bytes N] [--pool PATH] [--order-from N] [--gpu-memory BYTES] [--changes 0|1]
//
// Prints one JSON object to standard output, and what it does to standard error. Every answer is checked, on the GPU,
// after the clock has stopped; one wrong answer ends it with status 1. `python -m holdfast.bench link` makes a result file.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "arrays.cuh"
#include "holdfast/table.hpp"

namespace holdfast::bench {
namespace {

constexpr std::uint64_t kMi = 1 << 20;
constexpr unsigned kBlocks = 132 * 8, kThreads = 256;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Arguments {
  std::uint64_t items = 37'748'736;  // 0.75 of 3·2^24 slots
  std::uint32_t value_bytes = 128;
  std::string pool = "/dev/shm/holdfast-link-bench.hold";
  std::uint64_t order_from = 0, gpu_memory = kHalfOfFree;
  bool changes = true;  ///< after the searches, updates, erases and a second opening
};

/// The arrays of one batch.
struct Arrays {
  Arrays(std::uint64_t rows, unsigned words)
      : keys(rows), values(rows * words), out(rows * words), statuses(rows), found(rows) {}
  GpuArray<std::uint64_t> keys, values, out;
  GpuArray<Status> statuses;
  GpuArray<bool> found;
};

class Bench {
 public:
  explicit Bench(const Arguments& arguments) : arguments_(arguments), words_(arguments.value_bytes / 8), wrong_(1) {
    for (cudaStream_t& stream : streams_)
      must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    must(cudaMemset(wrong_.data(), 0, 8), "starting");
    CreateOptions options;
    options.value_bytes = arguments.value_bytes;
    options.capacity = arguments.items;
    options.device = "cuda";
    options.overwrite = true;
    options.order_from = arguments.order_from;
    options.gpu_memory = arguments.gpu_memory;
    const auto start = Clock::now();
    table_ = std::make_unique<Table>(Table::create(arguments.pool, options));
    table_->reserve(arguments.items + arguments.items / 6);  // free cells for a batch of updates
    say("made in %.2f s", seconds_since(start));
  }
  ~Bench() { unlink(arguments_.pool.c_str()); }

  int run() {
    load();
    const Draw uniform = [&] {
      Draw draw;
      draw.items = arguments_.items;
      return draw;
    }();
    for (const std::uint64_t batch : {16 * kMi, 4 * kMi, kMi, kMi / 4, kMi / 16, kMi / 64, kMi / 256}) {
      find("find", uniform, batch, 1);
    }
    find("find", uniform, 4 * kMi, 2);
    find("find", uniform, kMi, 2);
    find("find", uniform, kMi / 256, 2);
    contains(uniform, 4 * kMi, false);
    contains(uniform, 4 * kMi, true);
    find("absent", uniform, 4 * kMi, 1, true);
    const Draw skewed = zipfian(arguments_.items, 0.99);
    for (const std::uint64_t batch : {4 * kMi, kMi / 256}) find("find zipfian", skewed, batch, 1);
    if (!arguments_.changes) return finish();
    update("update", uniform, 4 * kMi);
    update("update zipfian", skewed, 4 * kMi);
    find("find after updates", uniform, 4 * kMi, 1);
    erase(4 * kMi);
    reopen();
    return finish();
  }

 private:
  template <class... T>
  void say(const char* format, T... values) {
    std::fprintf(stderr, "link: ");
    std::fprintf(stderr, format, values...);
    std::fprintf(stderr, "\n");
    std::fflush(stderr);
  }

  void note(const std::string& work, std::uint64_t batch, unsigned streams, const std::vector<double>& rates) {
    std::vector<double> sorted = rates;
    std::sort(sorted.begin(), sorted.end());
    char line[400];
    std::string all;
    for (const double rate : rates) {
      std::snprintf(line, sizeof line, "%s%.5g", all.empty() ? "" : ", ", rate);
      all += line;
    }
    std::snprintf(line, sizeof line,
                  "{\"work\": \"%s\", \"batch\": %llu, \"streams\": %u, \"mops\": {\"median\": %.5g, \"low\": %.5g, "
                  "\"high\": %.5g, \"all\": [",
                  work.c_str(), static_cast<unsigned long long>(batch), streams, sorted[sorted.size() / 2],
                  sorted.front(), sorted.back());
    lines_.push_back(line + all + "]}}");
    say("%-20s %9llu rows, %u streams: %8.1f M/s (%.1f to %.1f, %zu batches)", work.c_str(),
        static_cast<unsigned long long>(batch), streams, sorted[sorted.size() / 2], sorted.front(), sorted.back(),
        rates.size());
  }

  Batch batch_of(const Arrays& arrays, std::uint64_t rows, cudaStream_t stream) const {
    Batch batch;
    batch.size = rows;
    batch.keys = arrays.keys.data();
    batch.on_device = true;
    batch.stream = stream;
    return batch;
  }

  void draw(const Draw& from, Arrays& arrays, std::uint64_t rows, bool absent) {
    Draw next = from;
    next.seed = ++seed_;
    draw_kernel<<<kBlocks, kThreads>>>(next, arrays.keys.data(), rows, absent ? kAbsentItem : 0);
    must(cudaDeviceSynchronize(), "drawing keys");
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

  void check(const Arrays& arrays, std::uint64_t rows, bool absent) {
    check_kernel<<<kBlocks, kThreads>>>(arrays.keys.data(), arrays.out.data(), arrays.found.data(), rows, words_,
                                        version_, absent, wrong_.data());
    must(cudaGetLastError(), "checking answers");
  }

  void expect_status(const Arrays& arrays, std::uint64_t rows, Status a, Status b) {
    status_kernel<<<kBlocks, kThreads>>>(arrays.statuses.data(), rows, a, b, wrong_.data());
    must(cudaGetLastError(), "checking answers");
  }

  /// All items, in batches of 4 Mi.
  void load() {
    const std::uint64_t rows = 4 * kMi;
    Arrays arrays(rows, words_);
    std::vector<double> rates;
    for (std::uint64_t first = 0; first < arguments_.items; first += rows) {
      const std::uint64_t n = std::min(rows, arguments_.items - first);
      Draw each;
      each.each = true;
      each.first = first;
      draw(each, arrays, n, false);
      value_kernel<<<kBlocks, kThreads>>>(arrays.keys.data(), arrays.values.data(), n, words_, version_);
      wait_all();
      Batch batch = batch_of(arrays, n, streams_[0]);
      batch.op = Op::insert;
      batch.values = arrays.values.data();
      batch.statuses = arrays.statuses.data();
      const auto start = Clock::now();
      table_->run(batch);
      wait_all();
      if (n == rows) rates.push_back(static_cast<double>(n) / seconds_since(start) / 1e6);
      expect_status(arrays, n, Status::inserted, Status::inserted);
    }
    require_right("insert");
    if (!rates.empty()) note("insert", rows, 1, rates);
  }

  /// Each repetition has fresh keys; the clock runs from the first call to the end of the last batch of the repetition.
  void find(const std::string& work, const Draw& from, std::uint64_t rows, unsigned streams, bool absent = false) {
    const unsigned repetitions = 5;
    const auto each = static_cast<unsigned>(std::clamp<std::uint64_t>(4 * kMi / rows, streams == 1 ? 1 : 4, 64));
    std::vector<std::unique_ptr<Arrays>> arrays;
    for (unsigned i = 0; i < each; ++i) arrays.push_back(std::make_unique<Arrays>(rows, words_));
    std::vector<double> rates;
    for (unsigned r = 0; r <= repetitions; ++r) {  // the first warms up
      for (auto& a : arrays) {
        draw(from, *a, rows, absent);
        must(cudaMemset(a->out.data(), 0xee, rows * words_ * 8), "poisoning results");
      }
      wait_all();
      const auto start = Clock::now();
      for (unsigned i = 0; i < each; ++i) {
        Batch batch = batch_of(*arrays[i], rows, streams_[i % streams]);
        batch.op = Op::find;
        batch.out = arrays[i]->out.data();
        batch.found = arrays[i]->found.data();
        table_->run(batch);
      }
      wait_all();
      if (r != 0) rates.push_back(static_cast<double>(rows * each) / seconds_since(start) / 1e6);
      for (const auto& a : arrays) check(*a, rows, absent);
      wait_all();
    }
    require_right(work.c_str());
    note(work, rows, streams, rates);
  }

  /// The resolution alone: no value is read.
  void contains(const Draw& from, std::uint64_t rows, bool absent) {
    Arrays arrays(rows, 0);
    std::vector<double> rates;
    for (unsigned r = 0; r <= 5; ++r) {
      draw(from, arrays, rows, absent);
      Batch batch = batch_of(arrays, rows, streams_[0]);
      batch.op = Op::contains;
      batch.found = arrays.found.data();
      const auto start = Clock::now();
      table_->run(batch);
      wait_all();
      if (r != 0) rates.push_back(static_cast<double>(rows) / seconds_since(start) / 1e6);
      check_kernel<<<kBlocks, kThreads>>>(arrays.keys.data(), nullptr, arrays.found.data(), rows, 0, version_, absent,
                                          wrong_.data());
      wait_all();
    }
    require_right("contains");
    note(absent ? "contains absent" : "contains", rows, 1, rates);
  }

  void update(const std::string& work, const Draw& from, std::uint64_t rows) {
    Arrays arrays(rows, words_);
    std::vector<double> rates;
    for (unsigned r = 0; r <= 3; ++r) {
      draw(from, arrays, rows, false);
      value_kernel<<<kBlocks, kThreads>>>(arrays.keys.data(), arrays.values.data(), rows, words_, ++version_);
      wait_all();
      Batch batch = batch_of(arrays, rows, streams_[0]);
      batch.op = Op::assign;
      batch.values = arrays.values.data();
      batch.statuses = arrays.statuses.data();
      const auto start = Clock::now();
      table_->run(batch);
      wait_all();
      if (r != 0) rates.push_back(static_cast<double>(rows) / seconds_since(start) / 1e6);
      expect_status(arrays, rows, Status::updated, Status::updated);
      wait_all();
    }
    require_right(work.c_str());
    note(work, rows, 1, rates);
  }

  /// Erases the last items of the table, two batches of them.
  void erase(std::uint64_t rows) {
    Arrays arrays(rows, words_);
    std::vector<double> rates;
    for (unsigned r = 0; r < 2 && (r + 1) * rows <= arguments_.items; ++r) {
      Draw each;
      each.each = true;
      each.first = arguments_.items - (r + 1) * rows;
      draw(each, arrays, rows, false);
      Batch batch = batch_of(arrays, rows, streams_[0]);
      batch.op = Op::erase;
      batch.statuses = arrays.statuses.data();
      const auto start = Clock::now();
      table_->run(batch);
      wait_all();
      rates.push_back(static_cast<double>(rows) / seconds_since(start) / 1e6);
      expect_status(arrays, rows, Status::erased, Status::erased);
      wait_all();
      erased_ += rows;
    }
    require_right("erase");
    if (!rates.empty()) note("erase", rows, 1, rates);
  }

  /// Verifies everything, then opens the pool again, and one batch of what is left is found.
  void reopen() {
    auto start = Clock::now();
    const CheckReport report = table_->check();
    for (const std::string& error : report.errors) say("check: %s", error.c_str());
    failed_ |= !report.errors.empty() || report.items != arguments_.items - erased_;
    say("checked in %.2f s, %llu items", seconds_since(start), static_cast<unsigned long long>(report.items));
    table_->close();
    OpenOptions options;
    options.device = "cuda";
    options.order_from = arguments_.order_from;
    options.gpu_memory = arguments_.gpu_memory;
    start = Clock::now();
    table_ = std::make_unique<Table>(Table::open(arguments_.pool, options));
    const double open = seconds_since(start) * 1e3;
    recovery_ms_ = table_->stats().recovery_ms;
    say("opened in %.0f ms, of which recovery %.1f ms", open, recovery_ms_);
    Draw left;
    left.items = arguments_.items - erased_;
    find("find after reopening", left, 4 * kMi, 1);
  }

  int finish() {
    stats_ = table_->stats();
    std::printf("{\"items\": %llu, \"value_bytes\": %u, ", static_cast<unsigned long long>(arguments_.items),
                arguments_.value_bytes);
    std::printf(
        "\"slots\": %llu, \"cells\": %llu, \"cached_ratio\": %.3g, \"cached_bytes\": %llu, "
        "\"recovery_ms\": %.4g, \"map_ms\": %.4g, \"retries\": %llu, \"runs\": [\n",
        static_cast<unsigned long long>(stats_.slots), static_cast<unsigned long long>(stats_.cells),
        stats_.cached_ratio, static_cast<unsigned long long>(stats_.cached_bytes), recovery_ms_, stats_.map_ms,
        static_cast<unsigned long long>(stats_.retries));
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      std::printf("%s%s\n", lines_[i].c_str(), i + 1 < lines_.size() ? "," : "");
    }
    std::printf("]}\n");
    return failed_ ? 1 : 0;
  }

  const Arguments arguments_;
  const unsigned words_;
  GpuArray<unsigned long long> wrong_;
  cudaStream_t streams_[2] = {};
  std::unique_ptr<Table> table_;
  std::uint64_t seed_ = 0, version_ = 1, erased_ = 0;
  Stats stats_;
  double recovery_ms_ = 0;
  std::vector<std::string> lines_;
  bool failed_ = false;
};

int run(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; i += 2) {
    const std::string name = words[i];
    if (i + 1 == count) {
      std::fprintf(stderr, "link: %s needs a value\n", name.c_str());
      return 2;
    }
    const char* const value = words[i + 1];
    const std::uint64_t number = std::strtoull(value, nullptr, 10);
    if (name == "--items") {
      arguments.items = number;
    } else if (name == "--value-bytes") {
      arguments.value_bytes = static_cast<std::uint32_t>(number);
    } else if (name == "--pool") {
      arguments.pool = value;
    } else if (name == "--order-from") {
      arguments.order_from = number;
    } else if (name == "--changes") {
      arguments.changes = number != 0;
    } else if (name == "--gpu-memory") {
      arguments.gpu_memory = number;
    } else {
      std::fprintf(stderr, "link: there is no option %s\n", name.c_str());
      return 2;
    }
  }
  if (arguments.items == 0 || arguments.value_bytes % 8 != 0 || arguments.value_bytes == 0) {
    std::fprintf(stderr, "link: give --items above 0 and --value-bytes a multiple of 8\n");
    return 2;
  }
  try {
    return Bench(arguments).run();
  } catch (const Error& error) {
    std::fprintf(stderr, "link: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace holdfast::bench

int main(int count, char** words) { return holdfast::bench::run(count, words); }

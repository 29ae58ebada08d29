// select.cuh: the study `select`: size_if, export_if and erase_if by predicates on the GPU, which look at all items of a table: by
// their keys, of buckets that have copies and that have none, and by values in host memory. Beside it the same count on the host.
#pragma once

#include "bench.cuh"
#include "holdfast/device_selection.cuh"

namespace holdfast::bench {

/// One key of ten.
struct IsTenth {
  __device__ bool operator()(const std::uint64_t& key) const { return mix(key + 1) % 10 == 0; }
};
/// The same, of items whose whole value is as it was written.
struct IsRightTenth {
  unsigned words;
  std::uint64_t newest;
  bool all;  ///< not a tenth
  __device__ bool operator()(const std::uint64_t& key, const std::byte* value) const {
    return right_words(reinterpret_cast<const std::uint64_t*>(value), words, key, newest) && (all || IsTenth{}(key));
  }
};
/// Items whose value begins right.
struct BeginsRight {
  __device__ bool operator()(const std::uint64_t& key, const std::uint64_t* word) const {
    return (*word ^ first_value_word(key, 0)) <= kVersionMask;
  }
};

/// How many of the first `items` keys are a tenth.
__global__ void count_tenths(std::uint64_t items, unsigned long long* count) {
  unsigned long long mine = 0;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < items; i += gridDim.x * blockDim.x)
    mine += IsTenth{}(key_of(i, 1));
  atomicAdd(count, mine);
}

/// Counts rows that are not right.
__global__ void check_exported(const std::uint64_t* keys, const std::uint64_t* values, std::uint64_t size,
                               unsigned words, unsigned long long* wrong) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
    if (!IsTenth{}(keys[i]) || !right_words(values + i * words, words, keys[i], kVersionMask)) atomicAdd(wrong, 1ull);
  }
}

class SelectStudy {
 public:
  explicit SelectStudy(const Setup& setup)
      : bench_(setup), items_(setup.items), words_(setup.value_bytes / 8), counter_(1) {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    count_tenths<<<kBlocks, kThreads>>>(items_, zeroed());
    tenth_ = counted();
  }
  ~SelectStudy() { cudaStreamDestroy(stream_); }
  SelectStudy(const SelectStudy&) = delete;
  SelectStudy& operator=(const SelectStudy&) = delete;

  Json run() {
    bench_.make();
    bench_.load();
    const std::uint64_t slot_bytes = 16 * bench_.table().slots(), value_bytes = 8 * words_;
    const double memory = bytes_a_second();
    size_by_key("size_if by key", 0, slot_bytes);
    size_by_value(items_ * value_bytes);
    size_by_column(items_ * kLine);
    on_host();
    give("export_if by key", by_key(IsTenth{}), tenth_ * value_bytes);
    give("export_if by value", right(false), items_ * value_bytes);
    erase("erase_if by key", by_key(IsTenth{}), tenth_ * kLine);
    erase("erase_if by value", right(false), items_ * value_bytes + tenth_ * kLine);
    bench_.verify();
    Json result = bench_.result();
    bench_.open_with(0, 0);
    bench_.reopen();
    size_by_key("size_if by key, no bucket has a copy", slot_bytes, 0);
    bench_.verify();
    result["runs"] = bench_.result()["runs"];
    result["memory_bytes_a_second"] = memory;
    result["failed"] = bench_.failed();
    return result;
  }

 private:
  static constexpr std::uint64_t kLine = 64;  ///< that a request over the link costs at least
  static constexpr unsigned kRepetitions = 5;

  IsRightTenth right(bool all) const { return {words_, kVersionMask, all}; }

  unsigned long long* zeroed() {
    must(cudaMemset(counter_.data(), 0, 8), "counting");
    return counter_.data();
  }
  unsigned long long counted() {
    unsigned long long count = 0;
    must(cudaMemcpy(&count, counter_.data(), 8, cudaMemcpyDeviceToHost), "counting");
    return count;
  }

  /// Of GPU memory, read and written by a copy inside it.
  double bytes_a_second() {
    constexpr std::uint64_t kBytes = std::uint64_t{2} << 30;
    const GpuArray<std::byte> from(kBytes), to(kBytes);
    double best = 0;
    for (unsigned i = 0; i < 5; ++i) {
      const double seconds =
          bench_.timed([&] { must(cudaMemcpy(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice), "copying"); });
      best = std::max(best, 2 * static_cast<double>(kBytes) / seconds);
    }
    return best;
  }

  /// `act` looks at all items, and says whether what it found was right. `again` makes them whole again, without a clock.
  template <class Act, class Again>
  void measure(const std::string& work, std::uint64_t chosen, std::uint64_t link_bytes, std::uint64_t memory_bytes,
               unsigned repetitions, const Act& act, const Again& again) {
    std::vector<double> rates;
    for (unsigned r = 0; r <= repetitions; ++r) {
      bool right = false;
      const double seconds = bench_.timed([&] { right = act(); });
      if (r != 0 || repetitions == 0) rates.push_back(static_cast<double>(items_) / seconds / 1e6);
      if (!right) bench_.fail((work + ": wrong").c_str());
      again();
    }
    bench_.note(work, items_, 1, rates);
    bench_.note("chosen", chosen);
    bench_.note("link_bytes", link_bytes);
    bench_.note("memory_bytes", memory_bytes);
  }

  void size_by_key(const std::string& work, std::uint64_t link_bytes, std::uint64_t memory_bytes) {
    measure(
        work, tenth_, link_bytes, memory_bytes, kRepetitions,
        [&] { return size_if(bench_.table(), stream_, by_key(IsTenth{})) == tenth_; }, [] {});
  }
  void size_by_value(std::uint64_t link_bytes) {
    measure(
        "size_if by value", items_, link_bytes, 0, kRepetitions,
        [&] { return size_if(bench_.table(), stream_, right(true)) == items_; }, [] {});
  }
  void size_by_column(std::uint64_t link_bytes) {
    DeviceSelection first;
    first.column_bytes = 8;
    measure(
        "size_if by 8 bytes of the value", items_, link_bytes, 0, kRepetitions,
        [&] { return size_if<std::uint64_t, std::uint64_t>(bench_.table(), stream_, BeginsRight{}, first) == items_; },
        [] {});
  }
  void on_host() {
    Selection tenth;
    tenth.where_all = [](const void* keys, const void*, std::size_t n, bool* keep) {
      const auto* const numbers = static_cast<const std::uint64_t*>(keys);
      for (std::size_t i = 0; i < n; ++i) keep[i] = mix(numbers[i] + 1) % 10 == 0;
    };
    measure(
        "size_if by a Selection, on the host", tenth_, 0, 0, 0, [&] { return bench_.table().size_if(tenth) == tenth_; },
        [] {});
  }

  template <class Predicate>
  void give(const std::string& work, const Predicate& predicate, std::uint64_t link_bytes) {
    const GpuArray<std::uint64_t> keys(tenth_), values(tenth_ * words_);
    Chosen chosen;
    measure(
        work, tenth_, link_bytes, 0, kRepetitions,
        [&] {
          chosen = export_if(bench_.table(), stream_, predicate, keys.data(), values.data(), tenth_);
          return chosen.complete() && chosen.all == tenth_;
        },
        [&] {
          check_exported<<<kBlocks, kThreads>>>(keys.data(), values.data(), chosen.given, words_, zeroed());
          if (counted() != 0) bench_.fail("an exported item is wrong");
        });
  }

  template <class Predicate>
  void erase(const std::string& work, const Predicate& predicate, std::uint64_t link_bytes) {
    measure(
        work, tenth_, link_bytes, 0, 3,
        [&] {
          return erase_if(bench_.table(), stream_, predicate) == tenth_ && bench_.table().size() == items_ - tenth_;
        },
        [&] { put_back(); });
  }

  /// What was erased; items that are there keep their values.
  void put_back() {
    constexpr std::uint64_t kRows = 4 * kMi;
    const Arrays arrays(kRows, words_, 1);
    Draw each;
    each.each = true;
    for (; each.first < items_; each.first += kRows) {
      const std::uint64_t n = std::min(kRows, items_ - each.first);
      draw_kernel<<<kBlocks, kThreads, 0, stream_>>>(each, arrays.keys.data(), n, 0);
      value_kernel<<<kBlocks, kThreads, 0, stream_>>>(arrays.keys.data(), arrays.values.data(), n, words_, 1);
      Batch batch;
      batch.op = Op::insert;
      batch.size = n;
      batch.keys = arrays.keys.data();
      batch.values = arrays.values.data();
      batch.device = Device{.stream = stream_};
      bench_.table().run(batch);
    }
    must(cudaStreamSynchronize(stream_), "putting items back");
    if (bench_.table().size() != items_) bench_.fail("items are missing");
  }

  Bench bench_;
  const std::uint64_t items_;
  const unsigned words_;
  std::uint64_t tenth_ = 0;
  cudaStream_t stream_ = nullptr;
  GpuArray<unsigned long long> counter_;
};

inline Json select_study(const Setup& setup) { return SelectStudy(setup).run(); }
inline const Study kSelect("select", select_study);

}  // namespace holdfast::bench

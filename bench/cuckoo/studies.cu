// studies.cu: the study `gpu`: batches on the index in GPU memory, hashes made and answers checked there, with searches that overlap changes and
// without; and its making from arrays in host memory. Half a minute, and 5 GB of GPU memory, at its default size. The study `batches`: the same
// at one load, by the size of batches (Mega-KV, figure 8).
#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuckoo/setup.hpp"
#include "frame/gpu_timing.hpp"
#include "frame/json.hpp"
#include "structures/cuckoo/cuda/cuda_index.hpp"

namespace holdfast::bench::cuckoo {
namespace {

using namespace holdfast::cuckoo;
using holdfast::cuckoo::cuda::CudaIndex;

constexpr unsigned kThreads = 256;

__global__ void items_kernel(std::uint64_t first, std::uint64_t rows, Hash* hashes, Location* locations) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  if (i >= rows) return;
  hashes[i] = hash_of(first + i);
  locations[i] = static_cast<Location>(first + i);
}

/// Items drawn at random from [0, items).
__global__ void draw_kernel(std::uint64_t seed, std::uint64_t items, std::uint64_t rows, Hash* hashes,
                            Location* locations) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  if (i >= rows) return;
  const std::uint64_t item = __umul64hi(mix(seed * kOdd + i), items);
  hashes[i] = hash_of(item);
  locations[i] = static_cast<Location>(item);
}

/// Counts rows whose answer differs from what is expected.
template <class T>
__global__ void check_kernel(const T* answers, const T* expected, T same, std::uint64_t rows,
                             unsigned long long* wrong) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  if (i < rows && answers[i] != (expected != nullptr ? expected[i] : same)) atomicAdd(wrong, 1ull);
}

/// Counts rows whose list lacks the location.
__global__ void check_lists_kernel(const Candidates* lists, const Location* expected, std::uint64_t rows,
                                   unsigned long long* wrong) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  if (i >= rows) return;
  bool there = false;
  for (unsigned k = 0; k < lists[i].size; ++k) there = there || lists[i].locations[k] == expected[i];
  if (!there) atomicAdd(wrong, 1ull);
}

unsigned blocks_of(std::uint64_t rows) { return static_cast<unsigned>((rows + kThreads - 1) / kThreads); }

/// The arrays of a batch, in GPU memory.
struct Arrays {
  explicit Arrays(std::uint64_t batch)
      : hashes(batch), none(batch), locations(batch), found(batch), outcomes(batch), wrong(1) {
    gpu::check(cudaMemset(none.data(), 0xff, batch * sizeof(Location)), "filling an array");
    gpu::check(cudaMemset(wrong.data(), 0, sizeof(unsigned long long)), "filling an array");
  }
  gpu::DeviceBuffer<Hash> hashes;
  gpu::DeviceBuffer<Location> none, locations, found;
  gpu::DeviceBuffer<Outcome> outcomes;
  gpu::DeviceBuffer<unsigned long long> wrong;

  void items(std::uint64_t first, std::uint64_t rows) {
    items_kernel<<<blocks_of(rows), kThreads>>>(first, rows, hashes.data(), locations.data());
  }
  template <class T>
  void expect(const T* answers, const T* expected, T same, std::uint64_t rows) {
    check_kernel<<<blocks_of(rows), kThreads>>>(answers, expected, same, rows, wrong.data());
  }
  /// Since the last call.
  std::uint64_t wrong_answers() {
    unsigned long long count = 0;
    gpu::check(cudaMemcpy(&count, wrong.data(), sizeof count, cudaMemcpyDeviceToHost), "checking answers");
    gpu::check(cudaMemset(wrong.data(), 0, sizeof count), "checking answers");
    return count;
  }
};

/// A run: fills the index and empties it again.
class Run {
 public:
  Run(const Setup& setup, bool overlaps)
      : cells_(std::uint64_t{8} << (setup.bits != 0 ? setup.bits : 25)),
        batch_(setup.batch != 0 ? setup.batch : std::uint64_t{16} << 20),
        repetitions_(setup.repetitions),
        index_({.capacity = cells_ / 10 * 8, .overlaps = overlaps}),
        arrays_(batch_) {}

  Json all() {
    if (index_.cells() != cells_) throw std::runtime_error("the index has not the cells asked for");
    Json rates;
    for (const double load : {0.5, 0.75, 0.81, 0.88, 0.94}) {
      const std::string at = std::to_string(static_cast<int>(load * 100));
      insert_to(load, "insert_to_" + at, rates);
      if (load < 0.75) continue;
      rates["search_present_at_" + at] = search(false);
      rates["search_absent_at_" + at] = search(true);
    }
    rates["candidates_at_94"] = candidates();
    rates["replace_at_94"] = change(false);
    rates["erase_from_94"] = change(true);
    rates["entries_left"] = index_.size();
    return rates;
  }
  std::uint64_t wrong() const { return wrong_; }

 private:
  /// Billions a second.
  static double rate(std::uint64_t rows, double seconds) { return static_cast<double>(rows) / seconds / 1e9; }
  void count_wrong(std::uint64_t allowed = 0) {
    const std::uint64_t wrong = arrays_.wrong_answers();
    wrong_ += wrong > allowed ? wrong : 0;
  }

  void insert_to(double load, const std::string& name, Json& rates) {
    const auto end = static_cast<std::uint64_t>(load * static_cast<double>(cells_));
    const std::uint64_t begin = items_, before = index_.moves();
    std::vector<double> each;
    while (items_ < end) {
      const std::uint64_t rows = std::min(batch_, end - items_);
      arrays_.items(items_, rows);
      const double seconds = gpu_seconds([&] {
        index_.exchange_on(nullptr, arrays_.hashes.data(), arrays_.none.data(), arrays_.locations.data(),
                           arrays_.outcomes.data(), rows);
      });
      arrays_.expect(arrays_.outcomes.data(), static_cast<const Outcome*>(nullptr), Outcome::inserted, rows);
      if (rows == batch_) each.push_back(rate(rows, seconds));
      items_ += rows;
    }
    count_wrong();
    if (!each.empty()) rates[name] = {{"giga_per_second", spread(each)}, {"last_batch", rounded(each.back())}};
    rates[name]["moves_per_insert"] =
        rounded(static_cast<double>(index_.moves() - before) / static_cast<double>(items_ - begin));
  }

  Json search(bool absent) {
    std::vector<double> each;
    for (unsigned repetition = 0; repetition < repetitions_ + 1; ++repetition) {
      if (absent) {
        arrays_.items(kAbsentItem + repetition * batch_, batch_);
      } else {
        draw_kernel<<<blocks_of(batch_), kThreads>>>(++seed_, items_, batch_, arrays_.hashes.data(),
                                                     arrays_.locations.data());
      }
      const double seconds =
          gpu_seconds([&] { index_.search_on(nullptr, arrays_.hashes.data(), arrays_.found.data(), batch_); });
      const Location* const expected = absent ? arrays_.none.data() : arrays_.locations.data();
      arrays_.expect(arrays_.found.data(), expected, kNone, batch_);
      if (repetition != 0) each.push_back(rate(batch_, seconds));
    }
    count_wrong(16);  // another key may have the signature: of 64 Mi searches about one
    return {{"giga_per_second", spread(each)}};
  }

  Json candidates() {
    const std::uint64_t rows = std::min<std::uint64_t>(batch_, 1 << 20);
    const gpu::DeviceBuffer<Candidates> lists(rows);
    std::vector<double> each;
    for (unsigned repetition = 0; repetition < repetitions_ + 1; ++repetition) {
      draw_kernel<<<blocks_of(rows), kThreads>>>(++seed_, items_, rows, arrays_.hashes.data(),
                                                 arrays_.locations.data());
      const double seconds =
          gpu_seconds([&] { index_.candidates_on(nullptr, arrays_.hashes.data(), lists.data(), rows); });
      check_lists_kernel<<<blocks_of(rows), kThreads>>>(lists.data(), arrays_.locations.data(), rows,
                                                        arrays_.wrong.data());
      if (repetition != 0) each.push_back(rate(rows, seconds));
    }
    count_wrong();
    return {{"giga_per_second", spread(each)}};
  }

  /// Of all items, batch by batch.
  Json change(bool erases) {
    std::vector<double> each;
    for (std::uint64_t first = 0; first < items_; first += batch_) {
      const std::uint64_t rows = std::min(batch_, items_ - first);
      arrays_.items(first, rows);
      const double seconds = gpu_seconds([&] {
        if (erases) {
          index_.erase_on(nullptr, arrays_.hashes.data(), arrays_.locations.data(), arrays_.outcomes.data(), rows);
        } else {
          index_.exchange_on(nullptr, arrays_.hashes.data(), arrays_.locations.data(), arrays_.locations.data(),
                             arrays_.outcomes.data(), rows);
        }
      });
      arrays_.expect(arrays_.outcomes.data(), static_cast<const Outcome*>(nullptr),
                     erases ? Outcome::erased : Outcome::replaced, rows);
      if (rows == batch_) each.push_back(rate(rows, seconds));
    }
    count_wrong();
    return {{"giga_per_second", spread(each)}};
  }

  const std::uint64_t cells_, batch_;
  const unsigned repetitions_;
  CudaIndex index_;
  Arrays arrays_;
  std::uint64_t items_ = 0, seed_ = 0, wrong_ = 0;
};

/// Builds an index to a load of 0.75 from pageable arrays in host memory. Billions of entries a second, copies included.
Json build(const Setup& setup) {
  const std::uint64_t cells = std::uint64_t{8} << (setup.bits != 0 ? setup.bits : 25), rows = cells / 4 * 3;
  std::vector<Hash> hashes(rows);
  std::vector<Location> locations(rows);
  for (std::uint64_t i = 0; i < rows; ++i) {
    hashes[i] = hash_of(i);
    locations[i] = static_cast<Location>(i);
  }
  std::vector<double> each;
  for (unsigned repetition = 0; repetition < setup.repetitions; ++repetition) {
    CudaIndex index({.capacity = rows});
    const auto begin = Clock::now();
    if (index.build(hashes, locations) != 0) throw std::runtime_error("build: rows without a cell");
    each.push_back(static_cast<double>(rows) / seconds_since(begin) / 1e9);
    if (index.size() != rows) throw std::runtime_error("build: wrong number of entries");
  }
  return {{"rows", rows}, {"giga_per_second", spread(each)}};
}

/// Rates at a load of 0.7, to which the index returns after each measurement, by the size of batches. Billions of rows a second.
class BySize {
 public:
  explicit BySize(const Setup& setup)
      : cells_(std::uint64_t{8} << (setup.bits != 0 ? setup.bits : 25)),
        repetitions_(setup.repetitions),
        index_({.capacity = cells_ / 10 * 8, .overlaps = true}),
        arrays_(kMost) {
    for (const auto end = cells_ / 10 * 7; items_ < end;) {
      const std::uint64_t rows = std::min<std::uint64_t>(kMost, end - items_);
      insert(rows);
      items_ += rows;
    }
  }

  Json of(std::uint64_t rows) {
    std::vector<double> search, insertion, erasure, from_host;
    for (unsigned i = 0; i < repetitions_ + 1; ++i) {
      draw_kernel<<<blocks_of(rows), kThreads>>>(++seed_, items_, rows, arrays_.hashes.data(),
                                                 arrays_.locations.data());
      search.push_back(
          timed(rows, [&] { index_.search_on(nullptr, arrays_.hashes.data(), arrays_.found.data(), rows); }));
      arrays_.expect(arrays_.found.data(), static_cast<const Location*>(arrays_.locations.data()), kNone, rows);
      from_host.push_back(search_from_host(rows));
      insertion.push_back(insert(rows));
      erasure.push_back(timed(rows, [&] {
        index_.erase_on(nullptr, arrays_.hashes.data(), arrays_.locations.data(), arrays_.outcomes.data(), rows);
      }));
      arrays_.expect(arrays_.outcomes.data(), static_cast<const Outcome*>(nullptr), Outcome::erased, rows);
    }
    Json row = {{"rows", rows}};
    const std::pair<const char*, std::vector<double>*> all[] = {
        {"search", &search}, {"search_from_host", &from_host}, {"insert", &insertion}, {"erase", &erasure}};
    for (const auto& [name, each] : all) {
      each->erase(each->begin());  // the first one warms up
      row[name] = rounded(spread_of(*each).median);
    }
    return row;
  }
  std::uint64_t wrong() { return arrays_.wrong_answers(); }

 private:
  template <class Work>
  static double timed(std::uint64_t rows, const Work& work) {
    return static_cast<double>(rows) / gpu_seconds(work) / 1e9;
  }
  /// Of items that follow those there.
  double insert(std::uint64_t rows) {
    arrays_.items(items_, rows);
    const double rate = timed(rows, [&] {
      index_.exchange_on(nullptr, arrays_.hashes.data(), arrays_.none.data(), arrays_.locations.data(),
                         arrays_.outcomes.data(), rows);
    });
    arrays_.expect(arrays_.outcomes.data(), static_cast<const Outcome*>(nullptr), Outcome::inserted, rows);
    return rate;
  }
  /// Of the items drawn, with arrays in host memory.
  double search_from_host(std::uint64_t rows) {
    hashes_.resize(rows);
    found_.resize(rows);
    gpu::check(cudaMemcpy(hashes_.data(), arrays_.hashes.data(), rows * sizeof(Hash), cudaMemcpyDeviceToHost),
               "copying hashes");
    const auto begin = Clock::now();
    index_.search(hashes_, found_);
    const double seconds = seconds_since(begin);
    gpu::check(cudaMemcpy(arrays_.found.data(), found_.data(), rows * sizeof(Location), cudaMemcpyHostToDevice),
               "copying answers");
    arrays_.expect(arrays_.found.data(), static_cast<const Location*>(arrays_.locations.data()), kNone, rows);
    return static_cast<double>(rows) / seconds / 1e9;
  }

  static constexpr std::uint64_t kMost = std::uint64_t{16} << 20;
  const std::uint64_t cells_;
  const unsigned repetitions_;
  CudaIndex index_;
  Arrays arrays_;
  std::vector<Hash> hashes_;
  std::vector<Location> found_;
  std::uint64_t items_ = 0, seed_ = 0;
};

Json batches_study(const Setup& setup) {
  BySize by_size(setup);
  Json rows = Json::array();
  for (std::uint64_t size = 256; size <= std::uint64_t{16} << 20; size *= 4) rows.push_back(by_size.of(size));
  const std::uint64_t wrong = by_size.wrong();
  return {{"cells", std::uint64_t{8} << (setup.bits != 0 ? setup.bits : 25)},
          {"load", 0.7},
          {"repetitions", setup.repetitions},
          {"rows", rows},
          {"wrong", wrong},
          {"failed", wrong > 64}};  // a search finds another key with the same signature, once in 64 Mi
}

Json gpu_study(const Setup& setup) {
  const std::pair<const char*, bool> kinds[] = {{"in order", false}, {"searches beside changes", true}};
  cudaDeviceProp properties{};
  gpu::check(cudaGetDeviceProperties(&properties, 0), "asking for the GPU");
  Json runs = Json::array();
  std::uint64_t wrong = 0;
  for (const auto& [name, overlaps] : kinds) {
    Run run(setup, overlaps);
    Json rates = run.all();
    wrong += run.wrong() + rates["entries_left"].get<std::uint64_t>();
    runs.push_back({{"kernels", name}, {"rates", rates}});
    std::fprintf(stderr, "cuckoo: %s: done, %llu wrong answers\n", name, static_cast<unsigned long long>(wrong));
  }
  return {{"gpu", properties.name},
          {"cells", std::uint64_t{8} << (setup.bits != 0 ? setup.bits : 25)},
          {"batch", setup.batch != 0 ? setup.batch : std::uint64_t{16} << 20},
          {"runs", runs},
          {"build", build(setup)},
          {"wrong", wrong},
          {"failed", wrong != 0}};
}

const Study kGpu("gpu", gpu_study);
const Study kBatches("batches", batches_study);

}  // namespace
}  // namespace holdfast::bench::cuckoo

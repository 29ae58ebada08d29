// measured_choices.cpp: measures, when a pool is opened, how its searches go best: a few dozen of them, over its own cells.
//
// Which way is best depends on the GPU, its link, how much memory the pool takes, and how its cells lie. Only reads can be tried:
// from how many rows on changes go in phases stays as it is.
#include <algorithm>
#include <array>
#include <chrono>

#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/search/searches.hpp"

namespace holdfast::gphash::cuda {

namespace {

constexpr std::uint64_t kFewItems = 1 << 20;  // all ways are fast
constexpr std::uint64_t kMostRows = 1 << 16;
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;  // of values
constexpr std::array<std::uint64_t, 3> kSizes = {1 << 10, 1 << 12, kSmallSearch};
constexpr double kBetter = 0.95;  // of the time of what would be chosen else
constexpr unsigned kRounds = 4;   // the first is to warm up
constexpr std::uint64_t kSamples =
    16;  // times the rows; no search repeats one before it, since the link remembers pages

/// The time between two moments of a stream.
class Stopwatch {
 public:
  Stopwatch() {
    for (cudaEvent_t& event : events_) check(cudaEventCreate(&event), "measuring searches");
  }
  ~Stopwatch() {
    for (const cudaEvent_t event : events_) static_cast<void>(cudaEventDestroy(event));
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  void start(cudaStream_t stream) { check(cudaEventRecord(events_[0], stream), "measuring searches"); }
  double stop(cudaStream_t stream) {
    float ms = 0;
    check(cudaEventRecord(events_[1], stream), "measuring searches");
    check(cudaEventSynchronize(events_[1]), "measuring searches");
    check(cudaEventElapsedTime(&ms, events_[0], events_[1]), "measuring searches");
    return static_cast<double>(ms);
  }

 private:
  cudaEvent_t events_[2] = {};
};

}  // namespace

/// What cannot be measured stays as it is by default.
void Searches::choose_searches(std::uint64_t items) {
  choices_ = default_choices();
  const bool wanted = table_.options.calibrate && table_.options.order_from == 0 && items >= kFewItems;
  const bool in_cells = !table_.layout().in_slot() && table_.layout().value_bytes != 0;
  if (!wanted || table_.memory.pairs() || !table_.memory.cache().view().resident() || !in_cells ||
      table_.memory.values().view().any())
    return;
  const auto start = std::chrono::steady_clock::now();
  const SearchChoices before = choices_;
  try {
    measure();
  } catch (const DeviceError&) {  // no memory to measure in; an error that lasts is met again by the next call
    choices_ = before;
    return;
  }
  choices_.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void Searches::measure() {
  const std::uint64_t rows = std::clamp<std::uint64_t>(kMostBytes / table_.layout().value_bytes, kSizes[0], kMostRows);
  const DeviceBuffer<std::byte> keys(kSamples * rows * table_.layout().key_bytes()),
      out(rows * table_.layout().value_bytes);
  SearchWorkspaces::Workspace workspace(rows, is_wide(table_.layout().cells));
  sample_keys(table_.memory.cache().view(), table_.layout().buckets(0) * table_.layout().shape.slots(), keys.data(),
              kSamples * rows, table_.stream);
  Stopwatch watch;
  gphash::Rows answers;
  answers.op = Op::find;
  answers.value_bytes = table_.layout().value_bytes;
  answers.out = out.data();
  const SearchChoices before = choices_;
  std::uint64_t from = 0;
  const auto time_of = [&](std::uint64_t size, const SearchChoices& choices) {
    choices_ = choices;
    std::array<double, kRounds - 1> times{};
    for (unsigned round = 0; round < kRounds; ++round) {
      if (from + size > kSamples * rows) from = 0;
      watch.start(table_.stream);
      const FindJob job = table_.find_job(answers, keys.data() + from * table_.layout().key_bytes(), nullptr, size);
      search_cells(job, path_of(facts_of(job)), workspace, table_.stream);
      const double ms = watch.stop(table_.stream);
      from += size;
      if (round != 0) times[round - 1] = ms;
    }
    choices_ = before;
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  };

  SearchChoices chosen = before;
  chosen.unordered_rows = chosen.cluster_rows = 0;
  bool unordered_is_best = true, cluster_is_best = before.cluster_rows != 0;
  for (const std::uint64_t size : kSizes) {
    if (size > rows) break;
    SearchChoices unordered = before, cluster = before, phases = before;
    unordered.unordered_rows = size;
    cluster.unordered_rows = phases.unordered_rows = phases.cluster_rows = 0;
    const double in_none = time_of(size, unordered), in_phases = time_of(size, phases);
    const double in_cluster = cluster_is_best ? time_of(size, cluster) : in_phases;
    unordered_is_best = unordered_is_best && in_none < kBetter * std::min(in_phases, in_cluster);
    cluster_is_best = cluster_is_best && kBetter * in_cluster <= in_phases;
    if (unordered_is_best) chosen.unordered_rows = size;
    if (cluster_is_best) chosen.cluster_rows = size;
  }
  SearchChoices shares = before;
  shares.unordered_rows = shares.cluster_rows = 0;
  double best = kBetter * time_of(rows, shares);
  for (const unsigned share : {1u, 2u, 8u}) {
    shares.gather_share = share;
    const double ms = time_of(rows, shares);
    if (ms >= best) continue;
    best = ms;
    chosen.gather_share = share;
  }
  choices_ = chosen;
}

}  // namespace holdfast::gphash::cuda

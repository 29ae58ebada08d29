// pairs.cuh: the study `pairs`: keys and values of any length, from arrays of GPU memory. Keys have 8 bytes; values have 8, so that
// a pair with its header has 32, or 1 to 600, or 1 to 4080. What is read comes back to host memory, or stays in that of the GPU; it is
// checked there.
#pragma once

#include "bench.cuh"

namespace holdfast::bench {

/// The bytes of an item's value.
__host__ __device__ inline std::uint64_t pair_size(std::uint64_t key, std::uint32_t most) {
  return most == 8 ? 8 : 1 + mix(key + 1) % most;
}

__global__ void pair_size_kernel(const std::uint64_t* keys, std::uint64_t* offsets, std::uint64_t size,
                                 std::uint32_t most) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
    offsets[i] = pair_size(keys[i], most);
}

__host__ __device__ inline std::uint8_t pair_byte(std::uint64_t key, std::uint64_t version, std::uint64_t at) {
  return static_cast<std::uint8_t>(mix(key + version + at / 8) >> (at % 8 * 8));
}

__global__ void pair_value_kernel(const std::uint64_t* keys, const std::uint64_t* offsets, std::byte* values,
                                  std::uint64_t size, std::uint64_t version) {
  for (std::uint64_t row = blockIdx.x; row < size; row += gridDim.x) {
    const std::uint64_t begin = offsets[row], end = offsets[row + 1];
    for (std::uint64_t at = threadIdx.x; begin + at < end; at += blockDim.x)
      values[begin + at] = static_cast<std::byte>(pair_byte(keys[row], version, at));
  }
}

__global__ void check_blob_kernel(const std::uint64_t* keys, const std::uint64_t* offsets, const std::byte* values,
                                  std::uint64_t size, std::uint64_t version, std::uint32_t most,
                                  unsigned long long* wrong) {
  for (std::uint64_t row = blockIdx.x; row < size; row += gridDim.x) {
    const std::uint64_t begin = offsets[row], end = offsets[row + 1];
    if (threadIdx.x == 0 && end - begin != pair_size(keys[row], most)) atomicAdd(wrong, 1ull);
    for (std::uint64_t at = threadIdx.x; begin + at < end; at += blockDim.x) {
      if (values[begin + at] != static_cast<std::byte>(pair_byte(keys[row], version, at))) atomicAdd(wrong, 1ull);
    }
  }
}

/// Batches of one operation after another on a table of such pairs.
class PairBench {
 public:
  PairBench(const Setup& setup, std::uint32_t most, std::uint64_t items)
      : most_(most),
        items_(items),
        path_(setup.pool),
        table_(make(setup, items)),
        keys_(kMi),
        values_(space()),
        key_offsets_(kMi + 1),
        value_offsets_(kMi + 1),
        statuses_(kMi),
        wrong_(1) {
    must(cudaMemset(wrong_.data(), 0, 8), "starting");
    std::vector<std::uint64_t> eights(kMi + 1);
    for (std::uint64_t i = 0; i <= kMi; ++i) eights[i] = 8 * i;
    must(cudaMemcpy(key_offsets_.data(), eights.data(), 8 * (kMi + 1), cudaMemcpyHostToDevice), "starting");
  }
  ~PairBench() {
    table_.close();
    unlink(path_.c_str());
  }

  /// Where the values go that are read.
  enum class To : std::uint8_t { host, gpu };

  /// `count` batches of `rows` rows: the items from `first` on, or any.
  void run(const char* work, Op op, std::uint64_t rows, unsigned count, std::uint64_t first, bool each, Status expected,
           std::uint64_t version, To to = To::host) {
    std::vector<double> rates;
    std::uint64_t bytes = 0;
    for (unsigned b = 0; b < count; ++b) {
      Draw draw;
      draw.items = items_;
      draw.each = each;
      draw.first = first + b * rows;
      draw.seed = 1000 * rows + b;
      bytes += fill(draw, rows, version);
      const auto start = Clock::now();
      table_.run(batch(op, rows, to));
      rates.push_back(static_cast<double>(rows) / 1e6 / seconds_since(start));
      status_kernel<<<256, 256>>>(statuses_.data(), rows, expected, expected, wrong_.data());
      if (op == Op::find && to == To::host) check_blobs(rows, version);
      if (op == Op::find && to == To::gpu) check_device_blobs(rows, version);
    }
    unsigned long long wrong = 0;
    must(cudaMemcpy(&wrong, wrong_.data(), 8, cudaMemcpyDeviceToHost), "checking answers");
    failed_ |= wrong != 0;
    const Json mops = spread(rates);
    say("%-16s %7llu rows of values up to %4u: %8.2f M/s, %llu wrong", work, static_cast<unsigned long long>(rows),
        most_, mops["median"].get<double>(), wrong);
    runs_.push_back({{"work", work},
                     {"batch", rows},
                     {"mops", mops},
                     {"value_bytes", static_cast<double>(bytes) / static_cast<double>(rows * count)}});
    note_phases(runs_.back());
  }

  bool failed() const { return failed_; }
  Json runs() const { return runs_; }
  Table& table() { return table_; }

 private:
  static Table make(const Setup& setup, std::uint64_t items) {
    CreateOptions options;
    options.shape.key_bytes = options.shape.value_bytes = kVariableBytes;
    options.shape.capacity = items;
    options.runtime.device = "cuda";
    options.overwrite = true;
    options.tuning.time_phases = true;
    return Table::create(setup.pool, options);
  }
  std::uint64_t space() const { return most_ == 8 ? 8 * kMi : (std::uint64_t{most_} / 2 + 16) * kMi; }

  /// The arrays of a batch. Returns the bytes of its values.
  std::uint64_t fill(const Draw& draw, std::uint64_t rows, std::uint64_t version) {
    draw_kernel<<<1024, 256>>>(draw, keys_.data(), rows, 0);
    pair_size_kernel<<<1024, 256>>>(keys_.data(), value_offsets_.data(), rows, most_);
    std::vector<std::uint64_t> offsets(rows + 1);
    must(cudaMemcpy(offsets.data(), value_offsets_.data(), 8 * rows, cudaMemcpyDeviceToHost), "drawing a batch");
    std::uint64_t at = 0;
    for (std::uint64_t& offset : offsets) at += std::exchange(offset, at);
    at = offsets[rows];
    if (at > values_.size()) {
      say("a batch of %llu bytes has no room", static_cast<unsigned long long>(at));
      std::exit(1);
    }
    must(cudaMemcpy(value_offsets_.data(), offsets.data(), 8 * (rows + 1), cudaMemcpyHostToDevice), "drawing a batch");
    pair_value_kernel<<<4096, 128>>>(keys_.data(), value_offsets_.data(), values_.data(), rows, version);
    must(cudaDeviceSynchronize(), "drawing a batch");
    return at;
  }

  Batch batch(Op op, std::uint64_t rows, To to) {
    Batch batch;
    batch.size = rows;
    batch.op = op;
    batch.device = Device{};
    batch.keys = keys_.data();
    batch.variable = VariableLength{.key_offsets = key_offsets_.data(), .value_offsets = value_offsets_.data()};
    batch.values = values_.data();
    batch.statuses = statuses_.data();
    if (op == Op::find && to == To::host) batch.variable->blobs = &blobs_;
    if (op == Op::find && to == To::gpu) batch.variable->device_blobs = &device_blobs_;
    return batch;
  }

  void check_blobs(std::uint64_t rows, std::uint64_t version) {
    std::vector<std::uint64_t> keys(rows);
    must(cudaMemcpy(keys.data(), keys_.data(), 8 * rows, cudaMemcpyDeviceToHost), "checking answers");
    for (std::uint64_t row = 0; row < rows; ++row) {
      const std::uint64_t size = pair_size(keys[row], most_);
      bool right = blobs_.has(row) && blobs_[row].size() == size;
      for (std::uint64_t at = 0; right && at < size; at += 1 + size / 16)
        right = static_cast<std::uint8_t>(blobs_[row][at]) == pair_byte(keys[row], version, at);
      failed_ |= !right;
    }
  }

  void check_device_blobs(std::uint64_t rows, std::uint64_t version) {
    failed_ |= device_blobs_.size() != rows;
    if (failed_) return;
    check_blob_kernel<<<4096, 128>>>(keys_.data(), device_blobs_.offsets(), device_blobs_.bytes(), rows, version, most_,
                                     wrong_.data());
    must(cudaDeviceSynchronize(), "checking answers");
  }

  /// What each phase has taken a batch, of those since the last call.
  void note_phases(Json& run) {
    for (const PhaseTime& phase : table_.stats().work.phases) {
      PhaseTime& before = before_[phase.phase];
      const std::uint64_t batches = phase.batches - before.batches;
      if (batches != 0) run["phase_us"][phase.phase] = 1000 * (phase.ms - before.ms) / static_cast<double>(batches);
      before = phase;
    }
  }

  std::uint32_t most_;
  std::uint64_t items_;
  std::string path_;
  Table table_;
  GpuArray<std::uint64_t> keys_;
  GpuArray<std::byte> values_;
  GpuArray<std::uint64_t> key_offsets_, value_offsets_;
  GpuArray<Status> statuses_;
  GpuArray<unsigned long long> wrong_;
  Blobs blobs_;
  DeviceBlobs device_blobs_;
  std::map<std::string, PhaseTime> before_;
  Json runs_ = Json::array();
  bool failed_ = false;
};

inline Json pairs_study(const Setup& setup) {
  Json all = Json::array();
  bool failed = false;
  using To = PairBench::To;
  for (const std::uint32_t most : {8u, 600u, 4080u}) {
    const unsigned batches = most == 8 ? 8 : most == 600 ? 4 : 2;
    const std::uint64_t items = batches * kMi, middle = 64 << 10, small = 4096, few = 64;
    const auto count_of = [&](std::uint64_t rows) -> unsigned {
      return rows < kMi ? few : most == 8 ? 5 : most == 600 ? 3 : 2;
    };
    PairBench bench(setup, most, items + small * few);
    bench.run("insert", Op::insert, kMi, batches, 0, true, Status::inserted, 1);
    bench.run("insert", Op::insert, small, few, items, true, Status::inserted, 1);
    for (const std::uint64_t rows : {kMi, middle, small}) {
      const unsigned count = count_of(rows);
      if (rows == kMi) bench.run("first find", Op::find, rows, 1, 0, false, Status::found, 1);
      bench.run("find", Op::find, rows, count, 0, false, Status::found, 1);
      bench.run("find, values stay on the GPU", Op::find, rows, count, 0, false, Status::found, 1, To::gpu);
      bench.run("contains", Op::contains, rows, count, 0, false, Status::found, 1);
    }
    for (const std::uint64_t rows : {kMi, small})
      bench.run("update", Op::assign, rows, count_of(rows), 0, true, Status::updated, 2);
    bench.run("erase", Op::erase, kMi, batches, 0, true, Status::erased, 2);
    bench.run("erase", Op::erase, small, few, items, true, Status::erased, 2);
    failed |= bench.failed() || bench.table().size() != 0 || !bench.table().check().errors.empty();
    all.push_back({{"most_value_bytes", most}, {"runs", bench.runs()}});
  }
  return {{"failed", failed}, {"pairs", all}};
}
inline const Study kPairs("pairs", pairs_study);

}  // namespace holdfast::bench

// heaps.cuh: the studies `heap` and `large`: what the state and the size of the value heap cost.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cub/device/device_radix_sort.cuh>

#include "bench.cuh"

namespace holdfast::bench {

__global__ void cells_kernel(std::uint64_t* cells, std::uint64_t size, std::uint64_t of, std::uint64_t seed) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
    cells[i] = __umul64hi(mix(seed * kOdd + i), of);
}

/// Eight lanes a cell of 128 bytes, 16 bytes each, in the order given.
__global__ void gather_kernel(const ulonglong2* heap, const std::uint64_t* cells, std::uint64_t size, ulonglong2* out) {
  const std::uint64_t all = size * 8, step = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
  for (; i + 3 * step < all; i += 4 * step) {
    ulonglong2 part[4];
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) part[k] = heap[cells[(i + k * step) / 8] * 8 + i % 8];
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) out[i + k * step] = part[k];
  }
  for (; i < all; i += step) out[i] = heap[cells[i / 8] * 8 + i % 8];
}

/// The file of a pool, mapped a second time and registered: what lies in it can be read as bare memory.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat about {};
    if (file < 0 || fstat(file, &about) != 0) throw SystemError("link: cannot open " + path + " a second time");
    bytes_ = static_cast<std::size_t>(about.st_size);
    data_ = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (data_ == MAP_FAILED) throw SystemError("link: cannot map " + path + " a second time");
    must(cudaHostRegister(data_, bytes_, cudaHostRegisterMapped | cudaHostRegisterReadOnly), "registering the pool");
  }
  ~MappedFile() {
    cudaHostUnregister(data_);
    munmap(data_, bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  const void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

inline constexpr const char* kBareGather = "ordered gather, bare memory";

/// The ordered gather that a find of 128-byte values cannot beat: random cells of the pool's bytes, sorted, read by address.
inline void bare_gather(Bench& bench, const MappedFile& file, std::uint64_t last_bytes, std::uint64_t rows) {
  const std::uint64_t cells = last_bytes / 128;
  const auto* const heap =
      static_cast<const ulonglong2*>(file.data()) + (file.bytes() - last_bytes) / sizeof(ulonglong2);
  GpuArray<std::uint64_t> drawn(rows), sorted(rows);
  GpuArray<ulonglong2> out(rows * 8);
  std::size_t bytes = 0;
  must(cub::DeviceRadixSort::SortKeys(nullptr, bytes, drawn.data(), sorted.data(), rows), "sorting");
  GpuArray<std::byte> scratch(bytes);
  std::uint64_t seed = 0;
  bench.repeat(
      kBareGather, rows, rows, 5, 1,
      [&] {
        cells_kernel<<<kBlocks, kThreads>>>(drawn.data(), rows, cells, ++seed);
        must(cub::DeviceRadixSort::SortKeys(scratch.data(), bytes, drawn.data(), sorted.data(), rows), "sorting");
      },
      [&] { gather_kernel<<<kBlocks, kThreads>>>(heap, sorted.data(), rows, out.data()); }, [] {});
}

/// 50.3 M items in 3·2^25 slots: a heap as the load left it, then one whose free cells lie at random over 8 GiB.
inline Json heap_study(Setup setup) {
  setup.items = 50'331'648;
  setup.spare = (std::uint64_t{8} << 30) / setup.value_bytes - setup.items;
  Bench bench(setup);
  bench.make();
  bench.load();
  const Draw uniform = bench.uniform();
  bench.find("find, fresh heap", uniform, kMi);
  bench.find("find, fresh heap", uniform, 4 * kMi);
  // Each batch of updates frees cells at random and takes the longest free: 8 GiB of updates turn over every cell.
  bench.update("update, heap being churned", uniform, 4 * kMi, 32);
  {
    const MappedFile file(setup.pool);
    for (const std::uint64_t rows : {kMi, 4 * kMi})
      bare_gather(bench, file, bench.table().stats().space.cells * setup.value_bytes, rows);
  }
  bench.find("find, churned heap", uniform, kMi);
  bench.find("find, churned heap", uniform, 4 * kMi);
  bench.erase("erase, churned heap", 4 * kMi);
  bench.verify();
  Json result = bench.result();
  result["failed"] = bench.failed();
  return result;
}
inline const Study kHeap("heap", heap_study);

/// 48 GiB of values. The gather beside it reads the last 48 GiB of the same file, which the GPU can map but once: it comes first.
inline Json large_study(Setup setup) {
  constexpr const char* kFind = "find, 48 GiB of values";
  const std::uint64_t bytes = std::uint64_t{48} << 30;
  setup.value_bytes = 128;
  setup.items = bytes / setup.value_bytes;
  Bench bench(setup);
  bench.make();
  bench.load();
  bench.table().close();
  {
    const MappedFile file(setup.pool);
    for (const std::uint64_t rows : {16 * kMi, 4 * kMi}) bare_gather(bench, file, bytes, rows);
  }
  bench.reopen();
  for (const std::uint64_t rows : {16 * kMi, 4 * kMi}) bench.find(kFind, bench.uniform(), rows);
  Json result = bench.result();
  for (const std::uint64_t rows : {16 * kMi, 4 * kMi}) {
    const Json& runs = result["runs"];
    const std::vector<double> ratios = ratio_of(rates_of(runs, kFind, rows), rates_of(runs, kBareGather, rows));
    result["of_gather"].push_back(100 * spread_of(ratios).median);  // %
  }
  result["failed"] = bench.failed();
  return result;
}
inline const Study kLarge("large", large_study);

}  // namespace holdfast::bench

// log_test.cu: regions, logs and transactions in kernels: every lane's entry, other launches, graphs, and a kill in mid-kernel.
#include "holdfast/log.cuh"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "gpu/runtime.hpp"

namespace holdfast::test {
namespace {

struct Entry {
  std::uint32_t thread, number, again[3];
};

__global__ void insert_two(LogRef log, unsigned* wrong) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned i = 0; i < 2; ++i) {
    const Entry entry{thread, i, {thread, i, thread}};
    if (log.insert(entry) != LogStatus::ok) atomicAdd(wrong, 1u);
  }
}

__global__ void remove_odd(LogRef log) {
  if (threadIdx.x % 2 == 1) log.remove();
}

/// With any launch: counts entries, and those that are not as they were inserted.
__global__ void read_all(LogRef log, unsigned* found, unsigned* wrong) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t place = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; place < log.places();
       place += step) {
    for (unsigned back = 0; back < log.count_at(place); ++back) {
      Entry entry;
      if (log.read_at(place, entry, back) != LogStatus::ok) atomicAdd(wrong, 1u);
      if (entry.again[0] != entry.thread || entry.again[1] != entry.number || entry.again[2] != entry.thread)
        atomicAdd(wrong, 1u);
      atomicAdd(found, 1u);
    }
  }
}

__global__ void update_all(TransactionRef batch, std::uint64_t* values, std::uint64_t value, unsigned* wrong) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (batch.update(values + thread, value + thread) != LogStatus::ok) atomicAdd(wrong, 1u);
}

__global__ void store_all(std::uint64_t* values, std::uint64_t value) {
  values[blockIdx.x * blockDim.x + threadIdx.x] = value;
  persist();
}

class CudaLogs : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU";
    std::string name = "/dev/shm/holdfast-log-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    path = folder + "/a.hold";
    ASSERT_EQ(cudaMallocManaged(&counts, 3 * sizeof(unsigned)), cudaSuccess);
    counts[0] = counts[1] = counts[2] = 0;
  }
  void TearDown() override {
    if (counts != nullptr) cudaFree(counts);
    if (!folder.empty()) std::filesystem::remove_all(folder);
  }
  static void wait() {
    gpu::check(cudaGetLastError(), "starting a test's kernel");
    gpu::check(cudaDeviceSynchronize(), "running a test's kernel");
  }
  std::string folder, path;
  unsigned* counts = nullptr;
};

TEST_F(CudaLogs, KeepWhatEveryThreadInsertedForAnyOtherLaunch) {
  constexpr unsigned kBlocks = 37, kThreads = 200;
  for (const std::uint32_t partitions : {0u, 64u}) {
    const std::uint32_t capacity = partitions == 0 ? 2 : 1000;
    {
      Pool pool = Pool::create(path, true);
      Log log = Log::create(pool, "l", {sizeof(Entry), capacity, kBlocks, kThreads, partitions, true});
      insert_two<<<kBlocks, kThreads>>>(LogRef(log.handle()), counts);
      wait();
      EXPECT_EQ(counts[0], 0u);
      if (partitions == 0) {
        insert_two<<<1, 32>>>(LogRef(log.handle()), counts);  // full
        insert_two<<<kBlocks + 1, 32>>>(LogRef(log.handle()), counts);
        wait();
        EXPECT_EQ(counts[0], 64u + (kBlocks + 1) * 64u);
        remove_odd<<<kBlocks, kThreads>>>(LogRef(log.handle()));
        wait();
      }
    }
    Pool pool = Pool::open(path);
    Log log = Log::open(pool, "l", {.gpu = true});
    counts[1] = counts[2] = 0;
    read_all<<<5, 96>>>(LogRef(log.handle()), counts + 1, counts + 2);
    wait();
    EXPECT_EQ(counts[1], partitions == 0 ? kBlocks * kThreads * 3 / 2 : kBlocks * kThreads * 2);
    EXPECT_EQ(counts[2], 0u);
    Entry entry;
    EXPECT_EQ(log.read(0, &entry, sizeof entry), LogStatus::ok);
    log.clear();
    counts[1] = 0;
    read_all<<<5, 96>>>(LogRef(log.handle()), counts + 1, counts + 2);
    wait();
    EXPECT_EQ(counts[1], 0u);
    counts[0] = 0;
  }
}

TEST_F(CudaLogs, UndoBatchesOfKernelsAndKeepCommittedOnes) {
  constexpr unsigned kBlocks = 8, kThreads = 256, kAll = kBlocks * kThreads;
  Pool pool = Pool::create(path);
  Region region = Region::create(pool, "r", kAll * 8, {.gpu = true});
  Log log = Log::create(pool, "l", {16, 1, kBlocks, kThreads, 0, true});
  for (const bool commits : {true, false}) {
    Transaction batch(log, region, Domain::process, Writer::gpu);
    auto* const values = reinterpret_cast<std::uint64_t*>(batch.handle().region);
    update_all<<<kBlocks, kThreads>>>(TransactionRef(batch.handle()), values, commits ? 100 : 5000, counts);
    wait();
    if (commits) batch.commit();
  }
  EXPECT_EQ(counts[0], 0u);
  for (unsigned i = 0; i < kAll; ++i) ASSERT_EQ(region.as<std::uint64_t>()[i], 100u + i);
}

TEST_F(CudaLogs, RefuseADomainThatAGpuDoesNotHave) {
  Pool pool = Pool::create(path);
  Region region = Region::create(pool, "r", 64, {.gpu = true, .eadr = true});
  EXPECT_THROW(region.section(Domain::power, Writer::gpu), MediumError);
  Log log = Log::create(pool, "l", {.entry_bytes = 4, .gpu = true});
  EXPECT_THROW(log.handle(Domain::power), MediumError);
}

TEST_F(CudaLogs, TakeKernelsOfAGraph) {
  Pool pool = Pool::create(path);
  Region region = Region::create(pool, "r", 64 * 8, {.gpu = true});
  Section section = region.section(Domain::process, Writer::gpu);
  const gpu::Stream stream;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launched = nullptr;
  gpu::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
  store_all<<<2, 32, 0, stream>>>(section.as<std::uint64_t>().data(), 7);
  gpu::check(cudaStreamEndCapture(stream, &graph), "capturing");
  gpu::check(cudaGraphInstantiate(&launched, graph, 0), "making a graph");
  gpu::check(cudaGraphLaunch(launched, stream), "launching a graph");
  stream.wait("running a graph");
  cudaGraphExecDestroy(launched);
  cudaGraphDestroy(graph);
  for (const std::uint64_t value : region.as<std::uint64_t>()) ASSERT_EQ(value, 7u);
}

}  // namespace
}  // namespace holdfast::test

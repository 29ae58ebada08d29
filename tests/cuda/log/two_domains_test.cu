// two_domains_test.cu: persistent memory that the CPU and kernels write in turn, kills and restarts, with the public calls; and each call
// by which kernels would change an object that is open for reading. The medium is emulated: files of a tmpfs, which are said to be DAX.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gpu/runtime.hpp"
#include "holdfast/log.cuh"
#include "holdfast/persist.cuh"
#include "holdfast/table.hpp"
#include "holdfast/table_ref.cuh"
#include "proof/recorder.hpp"
#include "support/image.hpp"

namespace holdfast::test {
namespace {

constexpr unsigned kThreads = 64;

__global__ void store_words(std::uint64_t* words, std::uint64_t value) {
  words[threadIdx.x] = value + threadIdx.x;
  persist();
}

__global__ void update_words(TransactionRef batch, std::uint64_t* words, std::uint64_t value, unsigned* wrong) {
  if (batch.update(words + threadIdx.x, value + threadIdx.x) != LogStatus::ok) atomicAdd(wrong, 1u);
}

/// A machine with persistent memory, and which run of it this is.
class Machine {
 public:
  explicit Machine(unsigned boot) : pretender_({.on_disk = true, .boot = boot, .direct = true}), watch_(pretender_) {}

 private:
  proof::Pretender pretender_;
  const proof::Watch watch_;
};

class CudaDomains : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU";
    std::string name = "/dev/shm/holdfast-domains-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    machine_.emplace(1);
    ASSERT_EQ(cudaMallocManaged(&wrong_, sizeof *wrong_), cudaSuccess);
    *wrong_ = 0;
  }
  void TearDown() override {
    if (wrong_ != nullptr) cudaFree(wrong_);
    machine_.reset();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  static void wait() {
    gpu::check(cudaGetLastError(), "starting a test's kernel");
    gpu::check(cudaDeviceSynchronize(), "running a test's kernel");
  }
  std::string path() const { return folder_ + "/a.hold"; }
  ObjectInfo object(const std::string& name) const {
    for (const ObjectInfo& found : inspect(path()).objects) {
      if (found.name == name) return found;
    }
    return {};
  }
  /// What a kill leaves now comes back when all is closed: `leave` before, `come_back` after.
  void leave() { left_ = read_file(path()); }
  void come_back(bool restarted) {
    write_file(path(), left_);
    if (!restarted) return;
    machine_.reset();
    machine_.emplace(++boot_);
  }
  static void store(Region& region, Domain domain, Writer writer, std::uint64_t value) {
    const Section section = region.section(domain, writer);
    if (writer == Writer::gpu) {
      store_words<<<1, kThreads>>>(section.as<std::uint64_t>().data(), value);
      wait();
      return;
    }
    for (unsigned i = 0; i < kThreads; ++i) section.as<std::uint64_t>()[i] = value + i;
    section.persist();
  }
  static void expect_words(const Region& region, std::uint64_t value) {
    for (unsigned i = 0; i < kThreads; ++i) ASSERT_EQ(region.as<std::uint64_t>()[i], value + i);
  }

  std::optional<Machine> machine_;
  unsigned boot_ = 1;
  std::string folder_, left_;
  unsigned* wrong_ = nullptr;
};

TEST_F(CudaDomains, APageSaysWhatTheKernelsWordsSurvive) {
  {
    Pool pool = Pool::create(path());
    Region region = Region::create(pool, "r", kThreads * 8, {.gpu = true});
    EXPECT_EQ(region.domain(Writer::cpu), Domain::power);
    EXPECT_EQ(region.domain(Writer::gpu), Domain::process);
    store(region, Domain::power, Writer::cpu, 100);
    EXPECT_EQ(object("r").domain, Domain::power);
    {
      const Section section = region.section(Domain::power);
      EXPECT_THROW(region.section(Domain::process, Writer::gpu), InvalidArgument);
    }
    EXPECT_THROW(region.section(Domain::power, Writer::gpu), MediumError);
    store(region, Domain::process, Writer::gpu, 200);
    EXPECT_EQ(object("r").domain, Domain::process);
    leave();
  }
  come_back(false);
  {
    Pool pool = Pool::open(path());
    Region region = Region::open(pool, "r", {.gpu = true});
    expect_words(region, 200);
    store(region, Domain::process, Writer::cpu, 300);
    EXPECT_EQ(object("r").domain, Domain::process) << "the kernel's words are not synced";
    leave();
    store(region, Domain::power, Writer::cpu, 400);
    EXPECT_EQ(object("r").domain, Domain::power);
  }
  come_back(true);
  {
    Pool pool = Pool::open(path());
    EXPECT_THROW(Region::open(pool, "r"), PowerLost);
  }
  machine_.reset();
  machine_.emplace(boot_ = 1);
  come_back(false);
  {
    Pool pool = Pool::open(path());
    Region region = Region::open(pool, "r", {.gpu = true});
    store(region, Domain::power, Writer::cpu, 500);
    leave();
  }
  come_back(true);
  Pool pool = Pool::open(path());
  expect_words(Region::open(pool, "r"), 500);
}

TEST_F(CudaDomains, ATransactionOfKernelsIsUndoneByTheCpu) {
  {
    Pool pool = Pool::create(path());
    Region region = Region::create(pool, "r", kThreads * 8, {.gpu = true});
    Log log = Log::create(pool, "u", {.entry_bytes = 16, .threads = kThreads, .gpu = true});
    Transaction batch(log, region, Domain::process, Writer::gpu);
    const TransactionHandle handle = batch.handle();
    auto* const words = reinterpret_cast<std::uint64_t*>(handle.region);
    update_words<<<1, kThreads>>>(TransactionRef(handle), words, 100, wrong_);
    wait();
    EXPECT_EQ(*wrong_, 0u);
    for (const char* const name : {"r", "u"}) EXPECT_EQ(object(name).domain, Domain::process) << name;
    leave();
    batch.commit();
  }
  come_back(false);
  {
    Pool pool = Pool::open(path());
    Region region = Region::open(pool, "r");
    Log log = Log::open(pool, "u");
    EXPECT_TRUE(Transaction::recover(log, region));
    for (unsigned i = 0; i < kThreads; ++i) EXPECT_EQ(region.as<std::uint64_t>()[i], 0u);
    Transaction batch(log, region, Domain::power);
    for (unsigned i = 0; i < kThreads; ++i) batch.update(i, 8 * i, std::uint64_t{500} + i);
    batch.commit();
    leave();
  }
  come_back(true);
  Pool pool = Pool::open(path());
  Region region = Region::open(pool, "r");
  Log log = Log::open(pool, "u");
  EXPECT_FALSE(Transaction::recover(log, region));
  expect_words(region, 500);
}

TEST_F(CudaDomains, ATableIsWrittenByBothInTurn) {
  const std::uint64_t keys[] = {1, 2, 3, 4}, values[] = {10, 20, 30, 40};
  const auto options = [](const char* device) { return Runtime{.device = device}; };
  const auto expect_items = [&](Table& table, std::size_t items) {
    std::uint64_t found[4] = {};
    bool is_there[4] = {};
    table.find(keys, found, 4, is_there);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(is_there[i], i < items) << i;
      if (i < items) EXPECT_EQ(found[i], values[i]);
    }
    EXPECT_TRUE(table.check().errors.empty());
  };
  {
    Table table = Table::create(path(), {.shape = {.capacity = 64}, .runtime = options("cpu")});
    table.insert(keys, values, 1);
    EXPECT_EQ(object(kTableName).domain, Domain::power);
    leave();
  }
  come_back(true);
  {
    Table table = Table::open(path(), {.runtime = options("cuda")});
    EXPECT_EQ(table.stats().place.domain, Domain::process);
    table.insert(keys + 1, values + 1, 1);
    EXPECT_EQ(object(kTableName).domain, Domain::process);
    leave();
  }
  come_back(false);
  const std::string by_gpu = left_;
  {
    Table table = Table::open(path(), {.runtime = options("cpu")});
    EXPECT_EQ(table.stats().place.domain, Domain::power);
    table.insert(keys + 2, values + 2, 1);
    EXPECT_EQ(object(kTableName).domain, Domain::power);
    leave();
  }
  come_back(true);
  {
    Table table = Table::open(path(), {.runtime = options("cuda")});
    expect_items(table, 3);
    table.insert(keys + 3, values + 3, 1);
    table.sync();
    leave();
  }
  come_back(true);
  {
    Table table = Table::open(path(), {.runtime = options("cpu")});
    expect_items(table, 4);
  }
  left_ = by_gpu;
  come_back(true);
  EXPECT_THROW(Table::open(path(), {.runtime = options("cpu")}), PowerLost);
}

/// Objects that are open for reading: nothing that a kernel could change them by is given out.
TEST_F(CudaDomains, NothingIsGivenToKernelsThatMayNotChangeIt) {
  {
    Pool pool = Pool::create(path());
    Region::create(pool, "r", kThreads * 8);
    Log::create(pool, "u", {.entry_bytes = 16, .threads = kThreads});
    CreateOptions small{.shape = {.capacity = 64}, .runtime = {.device = "cpu"}};
    Table table = pool.create_table("t", small);
    const std::uint64_t key = 1, value = 2;
    table.insert(&key, &value, 1);
  }
  const std::string before = read_file(path());
  for (const bool salvage : {false, true}) {
    SCOPED_TRACE(salvage);
    Pool pool = Pool::open(path(), {.read_only = true, .salvage = salvage});
    Region region = Region::open(pool, "r", {.gpu = true});
    Log log = Log::open(pool, "u", {.gpu = true});
    EXPECT_THROW(region.section(Domain::process, Writer::gpu), ReadOnly);
    EXPECT_THROW(log.handle(), ReadOnly);
    EXPECT_THROW(Transaction(log, region, Domain::process, Writer::gpu), ReadOnly);
    EXPECT_TRUE(read_file(path()) == before);
  }
  Pool pool = Pool::open(path());
  Table table = pool.table("t", {.runtime = {.device = "cuda"}, .read_only = true});
  EXPECT_THROW(table.session(nullptr, 10), ReadOnly);
  EXPECT_THROW(table.session(nullptr, 0), ReadOnly);
  EXPECT_THROW(table.clear(), ReadOnly);
  table.close();
  EXPECT_TRUE(object("t").clean);
}

}  // namespace
}  // namespace holdfast::test

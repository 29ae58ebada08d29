// selection_end_test.cu: selections beside searches and changes, of tables that have none, and by predicates that fault.
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "cuda/users/selections.cuh"

namespace holdfast::test {
namespace {

std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t n) {
  std::vector<std::uint64_t> keys(n);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

Table table_with(const std::string& path, std::uint64_t n, std::uint32_t value_bytes = 8) {
  Table table = Table::create(path, options_for(value_bytes, n));
  const auto keys = numbers(0, n);
  const std::vector<std::byte> values(n * value_bytes);
  EXPECT_EQ(table.insert(keys.data(), values.data(), n).of(Status::inserted), n);
  return table;
}

/// As users write it.
std::uint64_t erase_above(Table& table, cudaStream_t stream, std::uint64_t limit) {
  return erase_if(table, stream, by_key([=] __device__(const std::uint64_t& key) { return key > limit; }));
}
std::uint64_t erase_whose_first(Table& table, cudaStream_t stream, std::uint64_t first) {
  return erase_if<std::uint64_t, Words<8>>(
      table, stream, [=] __device__(const std::uint64_t&, const Words<8>* value) { return value->word[0] == first; });
}

TEST(GpuSelection, SmallLambdas) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  const TestStream stream;
  Table table = table_with(path.str(), 1000, 64);
  EXPECT_EQ(erase_above(table, stream.stream, 899), 100u);
  const auto keys = numbers(0, 10);
  std::vector<Words<8>> values(10);
  for (Words<8>& value : values) value.word[0] = 77;
  EXPECT_EQ(table.assign(keys.data(), values.data(), 10).of(Status::updated), 10u);
  EXPECT_EQ(erase_whose_first(table, stream.stream, 77), 10u);
  EXPECT_EQ(erase_whose_first(table, stream.stream, 77), 0u);
  EXPECT_EQ(table.size(), 890u);
  expect_in_order(table);
}

TEST(GpuSelection, SmallErrors) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path, other("-other");
  const TestStream stream;
  Table table = table_with(path.str(), 100, 24);
  const auto every = by_key(Every{});
  std::vector<std::uint64_t> host(100);
  const OnGpu<std::uint64_t> keys(100);
  EXPECT_THROW((size_if<Words<2>>(table, stream.stream, every)), PoolMismatch);
  EXPECT_THROW((size_if<std::uint64_t, Words<2>>(table, stream.stream, Every{})), PoolMismatch);
  EXPECT_EQ((size_if<std::uint64_t, Words<3>>(table, stream.stream, Every{})), 100u);
  EXPECT_EQ((size_if<void>(table, stream.stream, every)), 100u);
  DeviceSelection part;
  part.column = 16;
  part.column_bytes = 9;
  EXPECT_THROW((size_if(table, stream.stream, Every{}, part)), InvalidArgument);
  part.column_bytes = 8;
  EXPECT_EQ((size_if<std::uint64_t, Words<1>>(table, stream.stream, Every{}, part)), 100u);
  part.column = 12;
  EXPECT_THROW((size_if<std::uint64_t, Words<1>>(table, stream.stream, Every{}, part)), InvalidArgument);
  EXPECT_THROW(export_if(table, stream.stream, every, host.data(), nullptr, 100), InvalidArgument);
  {
    Session session = table.session(stream.stream, 10);
    EXPECT_THROW(size_if(table, stream.stream, every), InvalidArgument);  // this thread would wait for itself
    EXPECT_THROW(erase_if(table, stream.stream, every), InvalidArgument);
    session.commit(stream.stream);
  }
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream.stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_THROW(size_if(table, stream.stream, every), InvalidArgument);
  EXPECT_THROW(erase_if(table, stream.stream, every), InvalidArgument);
  ASSERT_EQ(cudaStreamEndCapture(stream.stream, &graph), cudaSuccess);
  cudaGraphDestroy(graph);
  EXPECT_EQ(export_if(table, nullptr, every, keys.get(), nullptr, 100).given, 100u);  // nobody has the turn
  expect_in_order(table);
  table.close();
  EXPECT_THROW(size_if(table, stream.stream, every), ObjectClosed);
  CreateOptions options = options_for(8, 1000);
  options.runtime.device = "cpu";
  Table on_cpu = Table::create(other.str(), options);
  EXPECT_THROW(size_if(on_cpu, stream.stream, every), InvalidArgument);
  EXPECT_THROW(erase_if(on_cpu, stream.stream, every), InvalidArgument);
  on_cpu.close();
  options.runtime.device = "cuda";
  options.shape.key_bytes = options.shape.value_bytes = kVariableBytes;
  Table pairs = Table::create(other.str(), options);
  EXPECT_THROW(size_if<void>(pairs, stream.stream, every), InvalidArgument);
}

/// What is salvaged into private memory is read-only, on a GPU too.
TEST(GpuSelection, SmallReadOnly) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  const TestStream stream;
  table_with(path.str(), 1000, 64).close();
  OpenOptions options;
  options.runtime.device = "cuda";
  options.read_only = options.salvage = true;
  Table table = Table::open(path.str(), options);
  const OnGpu<std::uint64_t> keys(1000);
  EXPECT_EQ(size_if(table, stream.stream, Every{}), 1000u);
  EXPECT_EQ(export_if(table, stream.stream, by_key(Divisible<std::uint64_t>{10}), keys.get(), nullptr, 1000).all, 100u);
  EXPECT_THROW(erase_if(table, stream.stream, Every{}), ReadOnly);
  EXPECT_EQ(table.size(), 1000u);
}

/// Others add, move and erase keys meanwhile, and the table grows: those that are there throughout are met once each.
TEST(GpuSelection, EachKeyOnceBesideChanges) {
  HOLDFAST_NEEDS_GPU();
  for (const std::uint32_t bytes : {8u, 64u}) {
    const PoolPath path;
    constexpr std::uint64_t kStay = 20000, kOthers = std::uint64_t{1} << 32;
    Table table = table_with(path.str(), kStay, bytes);
    std::atomic<bool> ended{false};
    std::thread changes([&] {
      const std::vector<std::byte> values(4096 * bytes);
      for (std::uint64_t round = 0; !ended; ++round) {
        const auto keys = numbers(kOthers + round % 24 * 4096, 4096);
        round % 32 < 24 ? table.insert(keys.data(), values.data(), 4096) : table.erase(keys.data(), 4096);
      }
    });
    std::thread searches([&] {
      const auto keys = numbers(0, kStay);
      const auto found = std::make_unique<bool[]>(kStay);
      while (!ended) table.contains(keys.data(), kStay, found.get());
    });
    const TestStream stream;
    DeviceSelection stay;
    const std::uint64_t last = kStay - 1;
    stay.last = &last;
    const OnGpu<std::uint64_t> keys(kStay);
    for (int i = 0; i < 30; ++i) {
      EXPECT_EQ(size_if(table, stream.stream, by_key(Every{}), stay), kStay);
      EXPECT_EQ(size_if(table, stream.stream, Every{}, stay), kStay);
      ASSERT_EQ(export_if(table, stream.stream, Every{}, keys.get(), nullptr, kStay, stay).all, kStay);
      std::vector<std::uint64_t> got(kStay);
      keys.copy_to(got.data());
      std::sort(got.begin(), got.end());
      EXPECT_EQ(got, numbers(0, kStay));
    }
    std::uint64_t others = kOthers;
    stay.first = &others;
    stay.last = nullptr;
    for (int i = 0; i < 10; ++i) erase_if(table, stream.stream, Every{}, stay);
    ended = true;
    changes.join();
    searches.join();
    EXPECT_EQ(table.size() - size_if(table, stream.stream, by_key(Every{}), stay), kStay);
    expect_in_order(table);
  }
}

struct Fault {
  __device__ bool operator()(const std::uint64_t& key, const std::byte*) const {
    if (key == 50) __trap();
    return true;
  }
};

/// The GPU is lost for the process, as the error says, and nothing of the pool is.
TEST(GpuSelection, FaultingPredicate) {
  HOLDFAST_NEEDS_GPU();
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the child is a process of its own
  constexpr const char* kVariable = "HOLDFAST_TEST_FAULT_POOL";
  const PoolPath mine("-fault");
  const char* const of_parent = std::getenv(kVariable);
  const std::string path = of_parent != nullptr ? of_parent : mine.str();
  setenv(kVariable, path.c_str(), 1);
  EXPECT_EXIT(
      {
        Table table = table_with(path, 100, 64);
        try {
          erase_if(table, nullptr, Fault{});
        } catch (const DeviceError& error) {
          std::fputs(error.what(), stderr);
          std::_Exit(7);
        }
        std::_Exit(1);
      },
      testing::ExitedWithCode(7), "open the pool in a new process");
  unsetenv(kVariable);
  Table table = Table::open(path);
  EXPECT_EQ(table.size(), 100u);
  expect_in_order(table);
}

}  // namespace
}  // namespace holdfast::test

// pair_search_test.cpp: searches of variable-length pairs on the GPU: keys that share a hash, results of several parts, results that
// stay in GPU memory.
#include <numeric>

#include "core/hash.hpp"
#include "device_arrays.hpp"
#include "fixture.hpp"
#include "pair_rows.hpp"

namespace holdfast::test {
namespace {

/// How searches go: ordered or not, by threads of resident buckets or by warps in the pool.
struct SearchWay {
  const char* name;
  std::uint64_t order_from, gpu_memory;
};

class GpuPairSearch : public testing::TestWithParam<SearchWay> {
 protected:
  Table create(std::uint64_t capacity) const {
    const auto& [name, order_from, gpu_memory] = GetParam();
    return Table::create(path_.str(), pair_options(capacity, order_from, gpu_memory));
  }
  PoolPath path_;
};

INSTANTIATE_TEST_SUITE_P(All, GpuPairSearch,
                         testing::Values(SearchWay{"ordered", 1, kHalfOfFree},
                                         SearchWay{"unordered", kNeverOrdered, kHalfOfFree},
                                         SearchWay{"uncached", 1, 0}),
                         [](const auto& info) { return std::string(info.param.name); });

std::string key_of(std::uint64_t first, std::uint64_t second) {
  std::string key(16, '\0');
  std::memcpy(key.data(), &first, 8);
  std::memcpy(key.data() + 8, &second, 8);
  return key;
}

/// Another key of 16 bytes with the same hash in tables of this seed.
std::string twin_of(std::uint64_t first, std::uint64_t second, std::uint64_t other, std::uint64_t seed) {
  const std::uint64_t begin = mix(seed ^ 16);
  return key_of(other, mix(begin + first) + second - mix(begin + other));
}

TEST_P(GpuPairSearch, KeysThatShareAHash) {
  HOLDFAST_NEEDS_GPU();
  Table table = create(100);
  const std::string key = key_of(1, 2), twin = twin_of(1, 2, 77, kSeed), third = twin_of(1, 2, 78, kSeed);
  PairRows stored;
  stored.add(key, "the value of the first");
  EXPECT_EQ(table.run(stored.batch(Op::insert)).of(Status::inserted), 1u);
  const auto found = [&](const std::vector<std::string>& keys) {
    PairRows asked;
    for (const std::string& one : keys) asked.add(one);
    Blobs blobs;
    Batch batch = asked.batch(Op::find);
    batch.variable->blobs = &blobs;
    table.run(batch);
    PairRows again;
    for (const std::string& one : keys) again.add(one);
    table.run(again.batch(Op::contains));
    EXPECT_EQ(again.statuses, asked.statuses);
    std::vector<std::string> values;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(blobs.has(i), asked.statuses[i] == Status::found);
      values.push_back(blobs.has(i) ? std::string(blobs[i]) : "absent");
    }
    return values;
  };
  using Values = std::vector<std::string>;
  const std::string first = "the value of the first";
  EXPECT_EQ(found({key}), Values{first});
  EXPECT_EQ(found({twin}), Values{"absent"}) << "its hash is there";
  EXPECT_EQ(found({key, twin, key, third}), (Values{first, "absent", first, "absent"}));
  EXPECT_EQ(found({twin, key}), (Values{"absent", first}));
  PairRows more;
  more.add(twin, "another");
  EXPECT_EQ(table.run(more.batch(Op::insert)).of(Status::inserted), 1u);
  EXPECT_EQ(found({twin, key, third, twin, key}), (Values{"another", first, "absent", "another", first}));
  EXPECT_TRUE(table.check().errors.empty());
}

/// Keys and values of all lengths modulo 8, some of them long, in more than two parts of results; and rows that repeat.
TEST_P(GpuPairSearch, ResultsOfSeveralParts) {
  HOLDFAST_NEEDS_GPU();
  Table table = create(5000);
  std::mt19937_64 random(9);
  std::vector<std::string> keys, values;
  PairRows stored;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; bytes < std::uint64_t{80} << 20; ++i) {
    std::string key = std::to_string(i) + std::string(i % 9, 'k');
    std::string value(i % 4 == 0 ? random() % 100 : 20000 + random() % 45537, '\0');
    for (char& byte : value) byte = static_cast<char>(random());
    bytes += value.size();
    keys.push_back(key);
    values.push_back(value);
    stored.add(key, value);
  }
  EXPECT_EQ(table.run(stored.batch(Op::insert)).of(Status::inserted), keys.size());
  PairRows asked;
  std::vector<std::size_t> whose;
  for (std::size_t row = 0; row < keys.size() + keys.size() / 4; ++row) {
    whose.push_back(row % 7 == 0 ? random() % (1 + keys.size() / 100) : random() % (keys.size() + keys.size() / 20));
    asked.add(whose.back() < keys.size() ? keys[whose.back()] : "absent " + std::to_string(row));
  }
  Blobs blobs;
  Batch batch = asked.batch(Op::find);
  batch.variable->blobs = &blobs;
  for (int repetition = 0; repetition < 2; ++repetition) {  // the second in memory that the first had
    table.run(batch);
    for (std::size_t row = 0; row < whose.size(); ++row) {
      ASSERT_EQ(blobs.has(row), whose[row] < keys.size()) << row;
      if (blobs.has(row)) {
        ASSERT_TRUE(blobs[row] == values[whose[row]]) << row << " of " << values[whose[row]].size() << " bytes";
      }
    }
  }
  // Reads of a batch that changes come the other way.
  Batch mixed = asked.batch(Op::insert_and_find);
  Blobs read;
  mixed.variable->blobs = &read;
  table.run(mixed);
  for (std::size_t row = 0; row < whose.size(); ++row)
    ASSERT_TRUE(read.has(row) && read[row] == (whose[row] < keys.size() ? values[whose[row]] : std::string())) << row;
  table.close();
  EXPECT_TRUE(blobs[0] == values[whose[0]] || whose[0] >= keys.size()) << "results outlive the table";
}

/// What has been left in GPU memory.
std::vector<std::string> contents(const DeviceBlobs& blobs, std::vector<bool>& present) {
  std::vector<std::uint64_t> offsets(blobs.size() + 1);
  const auto there = std::make_unique<bool[]>(blobs.size());
  std::string bytes(blobs.total_bytes(), '\0');
  EXPECT_EQ(cudaMemcpy(offsets.data(), blobs.offsets(), 8 * offsets.size(), cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(there.get(), blobs.present(), blobs.size(), cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(bytes.data(), blobs.bytes(), bytes.size(), cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(offsets.back(), bytes.size());
  std::vector<std::string> rows;
  present.assign(there.get(), there.get() + blobs.size());
  for (std::size_t i = 0; i < blobs.size(); ++i) rows.push_back(bytes.substr(offsets[i], offsets[i + 1] - offsets[i]));
  return rows;
}

TEST_P(GpuPairSearch, ResultsStayInGpuMemory) {
  HOLDFAST_NEEDS_GPU();
  Table table = create(3000);
  PairRows rows;
  const std::size_t n = 3000;
  const auto value = [](std::size_t i) { return std::string(i * 7 % 500, static_cast<char>('a' + i % 26)); };
  for (std::size_t i = 0; i < n; ++i) rows.add("key " + std::to_string(i), value(i));
  const OnGpu<std::byte> keys(rows.keys.bytes.data(), rows.keys.bytes.size());
  const OnGpu<std::byte> values(rows.values.bytes.data(), rows.values.bytes.size());
  const OnGpu<std::uint64_t> key_offsets(rows.keys.offsets), value_offsets(rows.values.offsets);
  const OnGpu<Status> statuses(n);
  const TestStream stream;
  Batch batch;
  batch.size = n;
  batch.device = Device{.stream = stream.stream};
  batch.keys = keys.get();
  batch.variable = VariableLength{.key_offsets = key_offsets.get(), .value_offsets = value_offsets.get()};
  batch.values = values.get();
  batch.statuses = statuses.get();
  batch.op = Op::insert;
  std::vector<std::uint8_t> half(n);
  for (std::size_t i = 0; i < n; ++i) half[i] = i % 2 == 0;
  const OnGpu<std::uint8_t> mask(half);
  batch.mask = mask.get();
  table.run(batch);
  EXPECT_EQ(table.size(), n / 2);

  batch.mask = nullptr;
  batch.op = Op::find;
  DeviceBlobs blobs;
  batch.variable->device_blobs = &blobs;
  table.run(batch);
  std::vector<bool> present;
  std::vector<std::string> read = contents(blobs, present);
  ASSERT_EQ(read.size(), n);
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(present[i], i % 2 == 0) << i;
    ASSERT_EQ(read[i], i % 2 == 0 ? value(i) : "") << i;
  }
  batch.op = Op::find_or_insert;  // of a changing batch, half of which reads what it stores
  DeviceBlobs all;
  batch.variable->device_blobs = &all;
  table.run(batch);
  EXPECT_EQ(table.size(), n);
  batch.variable->device_blobs = nullptr;
  batch.op = Op::erase;
  table.run(batch);
  const CheckReport report = table.check();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
  table.close();
  read = contents(all, present);  // which outlives the items, and the table
  ASSERT_EQ(read.size(), n);
  for (std::size_t i = 0; i < n; ++i) ASSERT_TRUE(present[i] && read[i] == value(i)) << i;
}

TEST_P(GpuPairSearch, RefusesResultsThatCannotStay) {
  HOLDFAST_NEEDS_GPU();
  Table table = create(10);
  PairRows rows;
  rows.add("key");
  Batch batch = rows.batch(Op::find);
  DeviceBlobs blobs;
  batch.variable->device_blobs = &blobs;
  EXPECT_THROW(table.run(batch), InvalidArgument) << "arrays of the host";
  Blobs both;
  batch.device = Device{};
  batch.variable->blobs = &both;
  EXPECT_THROW(table.run(batch), InvalidArgument);
}

}  // namespace
}  // namespace holdfast::test

// fixture.hpp: a table on the GPU and its oracle, for the tests of the CUDA machine. They skip where there is no GPU.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "holdfast/table.hpp"
#include "support/numbers.hpp"
#include "table/oracle.hpp"

namespace holdfast::test {

/// Skips a test with the reason why there is no GPU.
#define HOLDFAST_NEEDS_GPU() \
  if (std::string why; holdfast::cuda_devices(&why) == 0) GTEST_SKIP() << why

inline constexpr std::uint64_t kNeverOrdered = ~std::uint64_t{0};

struct Shape {
  std::uint32_t value_bytes = 8, levels = 2, hashes = 2, slots = 8;
  std::uint64_t order_from = 0;            ///< 0: few rows in one kernel, many in phases; 1: all in phases
  std::uint64_t gpu_memory = kHalfOfFree;  ///< 0: no bucket is cached
  std::uint32_t key_bytes = 8;             ///< of wide keys, those of 2m and 2m + 1 share a hash (support/numbers.hpp)
  CacheOptions cache = {};                 ///< of values
  Score score = Score::none;
};

inline constexpr std::uint64_t kSeed = 77;  ///< of every table's hash

/// The arrays of a batch, in host memory.
struct Rows {
  Rows(std::size_t n, std::uint32_t value_bytes)
      : keys(n),
        ops(n),
        mask(n, 1),
        values(n * value_bytes + 1),
        out(n * value_bytes + 1, 0xee),
        statuses(n),
        found(std::make_unique<bool[]>(n)) {}
  std::vector<std::uint64_t> keys;
  std::vector<std::uint8_t> ops, mask, values, out;
  std::vector<Status> statuses;
  std::unique_ptr<bool[]> found;

  Batch batch() {
    Batch batch;
    batch.size = keys.size();
    batch.keys = keys.data();
    batch.values = values.data();
    batch.out = out.data();
    batch.statuses = statuses.data();
    batch.found = found.get();
    batch.mask = mask.data();
    return batch;
  }
};

/// A pool in /dev/shm that goes with the test.
class PoolPath {
 public:
  explicit PoolPath(const std::string& name = "")
      : path_("/dev/shm/holdfast-cuda-" + std::to_string(getpid()) + name + ".hold") {}
  ~PoolPath() { unlink(path_.c_str()); }
  const std::string& str() const { return path_; }

 private:
  std::string path_;
};

class GpuTable {
 public:
  explicit GpuTable(const Shape& shape, std::uint64_t capacity = 16) : shape_(shape), oracle(shape.value_bytes) {
    CreateOptions options;
    options.shape.key_bytes = shape.key_bytes;
    options.shape.seed = kSeed;
    options.shape.score = shape.score;
    options.shape.value_bytes = shape.value_bytes;
    options.shape.levels = shape.levels;
    options.shape.hash_locations = shape.hashes;
    options.shape.slots = shape.slots;
    options.shape.capacity = capacity;
    options.runtime.device = "cuda";
    options.overwrite = true;
    options.shape.max_bytes = std::uint64_t{1} << 32;
    options.tuning.order_from = shape.order_from;
    options.gpu.memory = shape.gpu_memory;
    options.gpu.cache = shape.cache;
    table = std::make_unique<NumberedTable>(Table::create(path.str(), options), kSeed);
  }

  void reopen(const std::string& device) {
    table->close();
    OpenOptions options;
    options.runtime.device = device;
    options.tuning.order_from = shape_.order_from;
    options.gpu.memory = shape_.gpu_memory;
    options.gpu.cache = shape_.cache;
    table = std::make_unique<NumberedTable>(Table::open(path.str(), options), kSeed);
  }

  std::uint64_t some_key(std::uint64_t range) {
    const std::uint64_t k = random() % range;
    return k == 1 && shape_.key_bytes == 8 ? ~std::uint64_t{0} : k;  // 0 and all ones among them
  }

  /// Fills in random rows: keys repeat, some are masked.
  Rows some_rows(std::size_t n, std::uint64_t key_range, bool mixed, Op op) {
    Rows rows(n, shape_.value_bytes);
    for (std::size_t i = 0; i < n; ++i) {
      rows.keys[i] = some_key(key_range);
      rows.ops[i] = static_cast<std::uint8_t>(mixed ? random() % kOps : static_cast<unsigned>(op));
      if (shape_.value_bytes % 4 != 0 && rows.ops[i] == static_cast<unsigned>(Op::accumulate)) rows.ops[i] = 0;
      rows.mask[i] = random() % 16 != 0;
    }
    for (std::uint8_t& byte : rows.values) byte = static_cast<std::uint8_t>(random());
    return rows;
  }

  /// Compares what a batch answered with the oracle, which then has seen it.
  void compare(const Rows& rows, const Batch& batch) {
    const std::uint32_t bytes = shape_.value_bytes;
    const Accumulate how = batch.accumulate.value_or(Accumulate{});
    for (std::size_t i = 0; i < rows.keys.size(); ++i) {
      if (batch.mask && !rows.mask[i]) {
        ASSERT_EQ(rows.statuses[i], Status::not_run) << "row " << i;
        if (batch.ops || reads_value(batch.op)) {
          ASSERT_EQ(Value(&rows.out[i * bytes], &rows.out[(i + 1) * bytes]), Value(bytes, 0)) << "row " << i;
        }
        continue;
      }
      const bool was_there = oracle.items().count(rows.keys[i]) != 0;
      const Op op = batch.ops ? static_cast<Op>(rows.ops[i]) : batch.op;
      const Expected expected = oracle.apply(op, rows.keys[i], &rows.values[i * bytes], how.combine, how.element);
      ASSERT_EQ(rows.statuses[i], expected.status) << "row " << i << " op " << int(op) << " key " << rows.keys[i];
      ASSERT_EQ(rows.found[i], was_there) << "row " << i;
      if (expected.out.empty()) continue;
      ASSERT_EQ(std::memcmp(&rows.out[i * bytes], expected.out.data(), bytes), 0) << "row " << i << " op " << int(op);
    }
  }

  /// One batch from host memory, of one kind of operation or of all.
  void round(std::size_t n, std::uint64_t key_range, bool mixed, Op op) {
    Rows rows = some_rows(n, key_range, mixed, op);
    Batch batch = rows.batch();
    batch.op = static_cast<Op>(rows.ops[0]);
    batch.ops = mixed ? rows.ops.data() : nullptr;
    if (!mixed) std::fill(rows.ops.begin(), rows.ops.end(), rows.ops[0]);
    batch.accumulate =
        Accumulate{.combine = static_cast<Combine>(random() % 3),
                   .element = random() % 2 == 0 || shape_.value_bytes % 8 != 0 ? Element::u32 : Element::i64};
    const BatchResult result = table->run(batch);
    std::uint64_t counted = 0;
    for (const std::uint64_t count : result.count) counted += count;
    EXPECT_EQ(counted, n);
    compare(rows, batch);
  }

  /// The table holds exactly what the oracle does, and every slot and cell is in order.
  void verify() {
    ASSERT_EQ(table->size(), oracle.items().size());
    const std::uint32_t bytes = shape_.value_bytes;
    std::vector<std::uint64_t> keys(100);
    std::vector<std::uint8_t> values(100 * bytes + 1);
    std::map<std::uint64_t, Value> exported;
    for (std::uint64_t cursor = 0; cursor != ~std::uint64_t{0};) {
      const std::size_t n = table->export_batch(cursor, keys.data(), values.data(), keys.size());
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_TRUE(exported.emplace(keys[i], Value(&values[i * bytes], &values[(i + 1) * bytes])).second)
            << "key " << keys[i] << " exported twice";
      }
    }
    ASSERT_EQ(exported, oracle.items());
    const CheckReport report = table->check();
    ASSERT_TRUE(report.errors.empty()) << report.errors.front();
    ASSERT_EQ(report.items, oracle.items().size());
  }

  /// As the table takes them.
  std::vector<std::byte> keys_of(const std::vector<std::uint64_t>& keys) const {
    return test::keys_of(keys.data(), keys.size(), shape_.key_bytes, kSeed);
  }

 private:
  Shape shape_;

 public:
  PoolPath path;
  Oracle oracle;
  std::unique_ptr<NumberedTable> table;
  std::mt19937_64 random{42};
};

}  // namespace holdfast::test

// fixture.hpp: a table on the GPU and its oracle, for the tests of the CUDA machine. They skip where there is no GPU.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "conformance/checked.hpp"
#include "holdfast/table.hpp"
#include "support/numbers.hpp"

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

inline CreateOptions create_options(const Shape& shape, std::uint64_t capacity = 16) {
  CreateOptions options;
  options.shape.key_bytes = shape.key_bytes;
  options.shape.seed = kSeed;
  options.shape.score = shape.score;
  options.shape.value_bytes = shape.value_bytes;
  options.shape.levels = shape.levels;
  options.shape.hash_locations = shape.hashes;
  options.shape.slots = shape.slots;
  options.shape.capacity = capacity;
  options.shape.max_bytes = std::uint64_t{1} << 32;
  options.runtime.device = "cuda";
  options.overwrite = true;
  options.tuning.order_from = shape.order_from;
  options.gpu.memory = shape.gpu_memory;
  options.gpu.cache = shape.cache;
  return options;
}
inline OpenOptions open_options(const Shape& shape, const std::string& device) {
  OpenOptions options;
  options.runtime.device = device;
  options.tuning.order_from = shape.order_from;
  options.gpu.memory = shape.gpu_memory;
  options.gpu.cache = shape.cache;
  return options;
}

/// A table on the GPU that is compared with an oracle.
class GpuTable : public Checked<Table> {
 public:
  explicit GpuTable(const Shape& shape, std::uint64_t capacity = 16)
      : Checked({shape.key_bytes, shape.value_bytes, kSeed, shape.score}), shape_(shape) {
    table = std::make_unique<NumberedTable>(Table::create(path.str(), create_options(shape, capacity)), kSeed);
  }

  void reopen(const std::string& device) {
    table->close();
    table = std::make_unique<NumberedTable>(Table::open(path.str(), open_options(shape_, device)), kSeed);
    if (shape_.score == Score::step) begin_with_step(table->table().step());
  }

  void round(std::size_t n, std::uint64_t key_range, bool mixed, Op op, std::uint32_t unit = 0) {
    Checked::round(table->table(), n, key_range, mixed, op, unit);
  }
  void rounds(std::size_t n, std::uint64_t key_range, std::uint32_t unit = 0) {
    Checked::rounds(table->table(), n, key_range, unit);
  }
  void verify() { Checked::verify(table->table()); }
  void set_step(std::uint64_t step) { Checked::set_step(table->table(), step); }

 private:
  Shape shape_;

 public:
  PoolPath path;
  std::unique_ptr<NumberedTable> table;
};

}  // namespace holdfast::test

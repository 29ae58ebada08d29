// checks.cpp: the arguments of tables and batches, checked before anything happens.
#include "table/checks.hpp"

#include <algorithm>
#include <cmath>

#include "index/geometry.hpp"
#include "memory/superblock.hpp"

namespace holdfast::table {

namespace {

constexpr std::uint64_t kMostItems = std::uint64_t{1} << 40;

[[noreturn]] void refuse(const std::string& what) { throw InvalidArgument(what); }

std::uint64_t slots_of(const memory::PoolShape& shape) {
  const std::uint64_t top = std::uint64_t{1} << shape.top_level;
  return (2 * top - (top >> (shape.levels - 1))) * shape.slots;
}

}  // namespace

memory::PoolShape shape_for(const CreateOptions& options) {
  if (!memory::is_key_bytes(options.key_bytes)) {
    refuse("key_bytes is " + std::to_string(options.key_bytes) +
           ": keys have 8 bytes, or another multiple of 8 up to 128; pad shorter ones");
  }
  if (options.value_bytes > 65536) {
    refuse("value_bytes is " + std::to_string(options.value_bytes) + ": give 0 to 65536");
  }
  const std::uint64_t lanes = std::uint64_t{options.levels} * options.hash_locations * options.slots;
  if (lanes == 0 || lanes > index::kMaxLanes || options.levels > index::kMaxLevels) {
    refuse("levels × hash_locations × slots is " + std::to_string(options.levels) + " × " +
           std::to_string(options.hash_locations) + " × " + std::to_string(options.slots) +
           ": each must be at least 1, levels at most " + std::to_string(index::kMaxLevels) +
           ", and their product at most " + std::to_string(index::kMaxLanes));
  }
  if (options.capacity > kMostItems) {
    refuse("capacity is " + std::to_string(options.capacity) + ": give at most 2^40; the table grows by itself");
  }
  memory::PoolShape shape;
  shape.key_bytes = options.key_bytes;
  shape.value_bytes = options.value_bytes;
  shape.levels = options.levels;
  shape.hash_locations = options.hash_locations;
  shape.slots = options.slots;
  shape.top_level = options.levels;
  while (slots_of(shape) * 9 / 10 < options.capacity) ++shape.top_level;
  shape.cells = options.value_bytes > 8 ? options.capacity + options.capacity / 32 + 64 : 0;
  shape.seed = options.seed;
  shape.max_bytes = options.max_bytes;
  return shape;
}

void check_cache(const CacheOptions& options) {
  if (!(options.ratio >= 0 && options.ratio <= 1)) {
    refuse("value_cache is " + std::to_string(options.ratio) + ": give the part of all values, 0 (none) to 1 (all)");
  }
  if (options.policy > CachePolicy::random) {
    refuse("cache_policy is number " + std::to_string(static_cast<unsigned>(options.policy)) +
           ": give lfu, lru or random");
  }
}

bool changes(const Batch& batch) {
  if (!batch.ops) return holdfast::changes(batch.op);
  if (batch.on_device) return true;  // the codes are not for the host to read
  return std::any_of(batch.ops, batch.ops + batch.size,
                     [](std::uint8_t op) { return holdfast::changes(static_cast<Op>(op)); });
}

namespace {

/// The bytes of a row of values.
std::uint32_t row_bytes(const Batch& batch, std::uint32_t value_bytes) {
  if (batch.column == 0 && batch.column_bytes == 0) return value_bytes;
  if (batch.column_bytes == 0 || std::uint64_t{batch.column} + batch.column_bytes > value_bytes) {
    refuse("the column is bytes " + std::to_string(batch.column) + " to " +
           std::to_string(std::uint64_t{batch.column} + batch.column_bytes) + " of values of " +
           std::to_string(value_bytes) + " bytes: give some that lie in them");
  }
  return batch.column_bytes;
}

}  // namespace

void check_batch(const Batch& batch, std::uint32_t whole_value_bytes) {
  const std::uint32_t value_bytes = row_bytes(batch, whole_value_bytes);
  if (batch.size == 0) return;
  if (!batch.keys) refuse("the batch has no keys: give an array of " + std::to_string(batch.size) + " keys");
  if (static_cast<unsigned>(batch.op) >= kOps) {
    refuse("op is " + std::to_string(static_cast<unsigned>(batch.op)) + ": give the code of an operation, 0 to " +
           std::to_string(kOps - 1));
  }
  bool takes = !batch.ops && takes_value(batch.op);
  bool accumulates = !batch.ops && batch.op == Op::accumulate;
  if (batch.ops && !batch.on_device) {
    for (std::size_t i = 0; i < batch.size; ++i) {
      if (batch.ops[i] >= kOps) {
        refuse("ops[" + std::to_string(i) + "] is " + std::to_string(batch.ops[i]) +
               ": give codes of operations, 0 to " + std::to_string(kOps - 1));
      }
      takes |= takes_value(static_cast<Op>(batch.ops[i]));
      accumulates |= static_cast<Op>(batch.ops[i]) == Op::accumulate;
    }
  }
  if (takes && value_bytes != 0 && !batch.values) {
    refuse("the batch has no values: give an array of " + std::to_string(batch.size) + " × " +
           std::to_string(value_bytes) + " bytes");
  }
  if (batch.combine > Combine::max || static_cast<unsigned>(batch.element) >= kElements) {
    refuse("combine or element is a code that none has: give add, min or max, and the type of the elements");
  }
  if (accumulates && value_bytes % element_bytes(batch.element) != 0) {
    refuse("accumulate: a value of " + std::to_string(value_bytes) + " bytes is not an array of elements of " +
           std::to_string(element_bytes(batch.element)) + " bytes");
  }
  if (batch.scale == 1) return;
  if (!std::isfinite(batch.scale)) refuse("scale is " + std::to_string(batch.scale) + ": give a finite number");
  if (batch.combine != Combine::add || !is_float(batch.element)) {
    refuse("scale is " + std::to_string(batch.scale) +
           ": only sums of floating-point elements are scaled; leave it at 1");
  }
}

}  // namespace holdfast::table

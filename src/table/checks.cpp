// checks.cpp: the arguments of tables and batches, checked before anything happens.
#include "table/checks.hpp"

#include <algorithm>
#include <cmath>

#include "core/batch_operations.hpp"
#include "structures/gphash/protocol/pair.hpp"
#include "structures/gphash/table_shape.hpp"

namespace holdfast::table {

namespace {

constexpr std::uint64_t kMostItems = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostDeviceBlobs = std::uint64_t{1} << 30;

[[noreturn]] void refuse(const std::string& what) { throw InvalidArgument(what); }

/// `offsets` rise, by no more than a part may have.
void check_offsets(const std::uint64_t* offsets, const void* bytes, std::size_t n, const char* what) {
  for (std::size_t i = 0; i < n; ++i) {
    if (offsets[i + 1] - offsets[i] <= gphash::kMaxPart) continue;
    if (offsets[i + 1] < offsets[i]) {
      refuse(std::string("the offsets of ") + what + "s fall from " + std::to_string(offsets[i]) + " to " +
             std::to_string(offsets[i + 1]) + " at row " + std::to_string(i));
    }
    refuse(std::string(what) + " " + std::to_string(i) + " has " + std::to_string(offsets[i + 1] - offsets[i]) +
           " bytes: a " + what + " has at most " + std::to_string(gphash::kMaxPart));
  }
  if (!bytes && offsets[n] != offsets[0]) refuse(std::string("the batch has offsets of ") + what + "s, but no bytes");
}

void check_parts(const Batch& batch, bool takes, bool accumulates) {
  const VariableLength parts = batch.variable.value_or(VariableLength{});
  if (batch.column) refuse("values of any length have no columns: give whole ones");
  if (accumulates) refuse("accumulate: values of any length have no elements; find, combine and assign them");
  if (batch.out) refuse("values of any length do not go to `out`: give `blobs`");
  if (parts.device_blobs) {
    if (!batch.device) refuse("`device_blobs` are for arrays in GPU memory (`device`): give `blobs`");
    if (parts.blobs) refuse("the batch has `blobs` and `device_blobs`: give one of them");
    if (batch.size > kMostDeviceBlobs)
      refuse("the batch has " + std::to_string(batch.size) + " rows: give at most 2^30 with `device_blobs`");
  }
  if (!parts.key_offsets) refuse("keys of this table are of any length: give `key_offsets`, where each begins");
  if (!batch.device) check_offsets(parts.key_offsets, batch.keys, batch.size, "key");
  if (!takes) return;
  if (!parts.value_offsets) refuse("values of this table are of any length: give `value_offsets`, where each begins");
  if (!batch.device) check_offsets(parts.value_offsets, batch.values, batch.size, "value");
}

}  // namespace

gphash::TableShape shape_for(const TableProperties& wanted) {
  if (!gphash::is_key_bytes(wanted.key_bytes)) {
    refuse("key_bytes is " + std::to_string(wanted.key_bytes) +
           ": keys have 8 bytes, or another multiple of 8 up to 128; pad shorter ones");
  }
  if ((wanted.key_bytes == kVariableBytes) != (wanted.value_bytes == kVariableBytes)) {
    refuse("one of keys and values is of any length, the other of " +
           std::to_string(std::min(wanted.key_bytes, wanted.value_bytes)) +
           " bytes: in this version both are of any length, or neither is");
  }
  if (wanted.value_bytes > 65536 && wanted.value_bytes != kVariableBytes) {
    refuse("value_bytes is " + std::to_string(wanted.value_bytes) + ": give 0 to 65536");
  }
  if (static_cast<unsigned>(wanted.score) >= kScores) {
    refuse("score is number " + std::to_string(static_cast<unsigned>(wanted.score)) +
           ": give none, step, time or frequency");
  }
  if (wanted.score != Score::none && wanted.key_bytes == kVariableBytes) {
    refuse(std::string("score is \"") + name(wanted.score) +
           "\", and keys and values are of any length, with which none is kept in this version: give both a length");
  }
  const std::uint64_t lanes = std::uint64_t{wanted.levels} * wanted.hash_locations * wanted.slots;
  if (lanes == 0 || lanes > gphash::kMaxLanes || wanted.levels > gphash::kMaxLevels) {
    refuse("levels × hash_locations × slots is " + std::to_string(wanted.levels) + " × " +
           std::to_string(wanted.hash_locations) + " × " + std::to_string(wanted.slots) +
           ": each must be at least 1, levels at most " + std::to_string(gphash::kMaxLevels) +
           ", and their product at most " + std::to_string(gphash::kMaxLanes));
  }
  if (wanted.capacity > kMostItems) {
    refuse("capacity is " + std::to_string(wanted.capacity) + ": give at most 2^40; the table grows by itself");
  }
  gphash::TableShape shape;
  shape.key_bytes = wanted.key_bytes;
  shape.value_bytes = wanted.value_bytes;
  shape.levels = wanted.levels;
  shape.hash_locations = wanted.hash_locations;
  shape.slots = wanted.slots;
  shape.score = wanted.score;
  gphash::size_for(shape, wanted.capacity);
  shape.seed = wanted.seed;
  shape.max_bytes = wanted.max_bytes;
  return shape;
}

void check_verify(const Runtime& runtime, std::uint32_t value_bytes, const std::string& what) {
  if (!runtime.verify || value_bytes == kVariableBytes) return;
  refuse("verify is set, and " + what +
         " has keys and values of fixed sizes, which have no checksum to compare with: " +
         "leave verify out, or keep keys and values of any length, which have one");
}

void check_cache(const CacheOptions& options) {
  if (!(options.ratio >= 0 && options.ratio <= 1)) {
    refuse("value_cache is " + std::to_string(options.ratio) + ": give the part of all values, 0 (none) to 1 (all)");
  }
  if (!(options.bucket_ratio >= 0 && options.bucket_ratio <= 1)) {
    refuse("bucket_cache is " + std::to_string(options.bucket_ratio) +
           ": give the part of all buckets, 0 (none) to 1 (all that fit the GPU memory allowed)");
  }
  if (options.policy > CachePolicy::random) {
    refuse("cache_policy is number " + std::to_string(static_cast<unsigned>(options.policy)) +
           ": give lfu, lru or random");
  }
}

OpSet operations_of(const Batch& batch) {
  if (batch.ops && batch.device) return OpSet::all();  // the codes are not for the host to read
  return holdfast::operations_of(batch, [](std::optional<std::size_t> row, unsigned code) {
    const std::string last = std::to_string(kOps - 1), is = " is " + std::to_string(code);
    if (!row) refuse("op" + is + ": give the code of an operation, 0 to " + last);
    refuse("ops[" + std::to_string(*row) + "]" + is + ": give codes of operations, 0 to " + last);
  });
}

namespace {

/// The bytes of a row of values.
std::uint32_t row_bytes(const Batch& batch, std::uint32_t value_bytes) {
  if (!batch.column) return value_bytes;
  const auto [begin, bytes] = *batch.column;
  if (bytes == 0 || std::uint64_t{begin} + bytes > value_bytes) {
    refuse("the column is bytes " + std::to_string(begin) + " to " + std::to_string(std::uint64_t{begin} + bytes) +
           " of values of " + std::to_string(value_bytes) + " bytes: give some that lie in them");
  }
  return bytes;
}

/// Checks where a stopped batch continues.
void check_from(const Batch& batch, bool variable) {
  if (batch.from == 0) return;
  if (batch.from > batch.size) {
    refuse("the batch begins at row " + std::to_string(batch.from) + " of " + std::to_string(batch.size) +
           ": give the `next` of the result that it continues from");
  }
  if (batch.device) refuse("a batch of arrays in GPU memory is never stopped: begin it at row 0");
  if (variable && batch.variable && batch.variable->blobs && batch.variable->blobs->size() != batch.size) {
    refuse("`blobs` has " + std::to_string(batch.variable->blobs->size()) + " rows, and the batch " +
           std::to_string(batch.size) + ": continue with those that the batch began with");
  }
}

}  // namespace

void check_batch(const Batch& batch, OpSet ops, std::uint32_t key_bytes, std::uint32_t whole_value_bytes) {
  const bool variable = key_bytes == kVariableBytes;
  const std::uint32_t value_bytes = variable ? whole_value_bytes : row_bytes(batch, whole_value_bytes);
  check_from(batch, variable);
  if (batch.size == 0) return;
  const std::uint64_t* const key_offsets = batch.variable ? batch.variable->key_offsets : nullptr;
  const bool may_be_empty = variable && key_offsets;  // arrays of a GPU are looked at there
  if (!batch.keys && !(may_be_empty && (batch.device || key_offsets[batch.size] == 0)))
    refuse("the batch has no keys: give an array of " + std::to_string(batch.size) + " keys");
  const bool known = !batch.ops || !batch.device;  // codes in GPU memory are looked at there
  const bool takes = known && ops.takes_values(), accumulates = known && ops.has(Op::accumulate);
  if (variable) return check_parts(batch, takes, accumulates);
  if (batch.variable) {
    refuse("the batch has offsets, but keys and values of this table are of fixed length: give arrays of them");
  }
  if (takes && value_bytes != 0 && !batch.values) {
    refuse("the batch has no values: give an array of " + std::to_string(batch.size) + " × " +
           std::to_string(value_bytes) + " bytes");
  }
  const Accumulate how = batch.accumulate.value_or(Accumulate{});
  if (how.combine > Combine::max || static_cast<unsigned>(how.element) >= kElements) {
    refuse("combine or element is a code that none has: give add, min or max, and the type of the elements");
  }
  if (accumulates && value_bytes % element_bytes(how.element) != 0) {
    refuse("accumulate: a value of " + std::to_string(value_bytes) + " bytes is not an array of elements of " +
           std::to_string(element_bytes(how.element)) + " bytes");
  }
  if (how.scale == 1) return;
  if (!std::isfinite(how.scale)) refuse("scale is " + std::to_string(how.scale) + ": give a finite number");
  if (how.combine != Combine::add || !is_float(how.element)) {
    refuse("scale is " + std::to_string(how.scale) +
           ": only sums of floating-point elements are scaled; leave it at 1");
  }
}

}  // namespace holdfast::table

// checks.cpp: the arguments of tables in memory and of their batches, checked before anything happens.
#include <string>

#include "core/batch_operations.hpp"
#include "structures/dramhit/table_impl.hpp"

namespace holdfast::dramhit {
namespace {

constexpr std::uint32_t kMostBytes = 64;
constexpr unsigned kMostThreads = 1024;  // of a batch, or one a partition

[[noreturn]] void refuse(const std::string& what) { throw InvalidArgument(what); }

void check_accumulate(const Batch& batch, const Format& format) {
  const Accumulate how = batch.accumulate.value_or(Accumulate{});
  if (static_cast<unsigned>(how.element) >= kElements || how.combine > Combine::max) {
    refuse("accumulate: no element type or combination has the number given");
  }
  if (format.value_bytes % element_bytes(how.element) != 0) {
    refuse("accumulate: values of " + std::to_string(format.value_bytes) +
           " bytes hold no whole number of elements of " + std::to_string(element_bytes(how.element)) +
           " bytes: give an element type that divides them");
  }
  if (how.scale != 1 && (how.combine != Combine::add || !is_float(how.element))) {
    refuse("scale is for sums of floating-point elements: leave it 1 for others");
  }
}

}  // namespace

void check_options(const MemoryOptions& options) {
  if (options.key_bytes % 8 != 0 || options.key_bytes == 0 || options.key_bytes > kMostBytes) {
    refuse("key_bytes is " + std::to_string(options.key_bytes) +
           ": keys have 8 bytes, or another multiple of 8 up to 64; pad or hash others");
  }
  if (options.value_bytes > kMostBytes) {
    refuse("value_bytes is " + std::to_string(options.value_bytes) +
           ": a table in memory has values of 0 to 64 bytes; keep larger ones elsewhere, and their places here");
  }
  if (options.partitions != 0 && (options.key_bytes > 8 || options.value_bytes > 8)) {
    refuse("partitions are for keys of 8 bytes and values of up to 8: leave them 0 for larger items");
  }
  if (options.partitions > kMostThreads) {
    refuse("partitions is " + std::to_string(options.partitions) +
           ": give one a processor that only changes the table, " + std::to_string(kMostThreads) + " at most");
  }
  if (options.threads > kMostThreads) {
    refuse("threads is " + std::to_string(options.threads) + ": give at most " + std::to_string(kMostThreads) +
           ", or 0 for as many as there are processors, 8 at most");
  }
  check_depth(options.depth);
}

void check_depth(unsigned depth) {
  if (depth < kMostDepth) return;
  refuse("depth is " + std::to_string(depth) + ": give at most " + std::to_string(kMostDepth - 1) +
         " lines, or 0 for as many as were measured to be best");
}

OpSet check_batch(const Batch& batch, const Format& format) {
  if (batch.device) refuse("a table in memory takes no arrays in GPU memory: copy them to the host");
  if (batch.column) refuse("a table in memory has no columns: give whole values");
  if (batch.scores) refuse("a table in memory keeps no scores");
  if (batch.variable) refuse("keys and values of a table in memory have fixed lengths: give no offsets and no blobs");
  if (batch.from > batch.size) {
    refuse("the batch begins at row " + std::to_string(batch.from) + " of " + std::to_string(batch.size) +
           ": give the `next` of the result that it continues from");
  }
  if (batch.size == 0) return {};
  if (!batch.keys) refuse("the batch has no keys: give an array of " + std::to_string(batch.size) + " keys");
  const OpSet ops = operations_of(batch, [](std::optional<std::size_t> row, unsigned code) {
    if (!row) refuse("no operation has the number " + std::to_string(code));
    refuse("row " + std::to_string(*row) + " asks for operation " + std::to_string(code) + ", which is none");
  });
  if (ops.takes_values() && !batch.values && format.value_bytes != 0) {
    refuse("the batch has no values: give an array of " + std::to_string(batch.size) + " values of " +
           std::to_string(format.value_bytes) + " bytes");
  }
  if (ops.has(Op::accumulate)) check_accumulate(batch, format);
  return ops;
}

}  // namespace holdfast::dramhit

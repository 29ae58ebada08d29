// single_calls_test.cpp: tables on the CPU whose every operation is a call of its own, through an epoch, under the conformance suite.
#include <unistd.h>

#include <cstring>

#include "conformance/suite.hpp"
#include "holdfast/epoch.hpp"

namespace holdfast::test {
namespace {

/// Splits a batch into calls with one row. Those without a column, codes or scores are the calls of Epoch.
class SingleCalls {
 public:
  explicit SingleCalls(Table&& table) : table_(std::move(table)) {}

  BatchResult run(const Batch& batch) {
    BatchResult result;
    if (batch.variable && batch.variable->blobs) batch.variable->blobs->reset(batch.size);
    Epoch epoch(table_);
    for (std::size_t i = 0; i < batch.size; ++i) {
      const Status status = run_row(epoch, batch, i);
      if (batch.statuses) batch.statuses[i] = status;
      ++result.count[static_cast<unsigned>(status)];
    }
    result.next = batch.size;
    return result;
  }

  std::size_t export_batch(std::uint64_t& cursor, void* keys, void* values, std::size_t n,
                           std::uint64_t* scores = nullptr) {
    return table_.export_batch(cursor, keys, values, n, scores);
  }
  std::size_t export_pairs(std::uint64_t& cursor, Blobs* keys, Blobs* values, std::size_t n) {
    return table_.export_pairs(cursor, keys, values, n);
  }
  std::uint64_t size() const { return table_.size(); }
  std::uint64_t slots() const { return table_.slots(); }
  std::uint32_t key_bytes() const { return table_.key_bytes(); }
  std::uint32_t value_bytes() const { return table_.value_bytes(); }
  void clear() { table_.clear(); }
  void reserve(std::uint64_t items) { table_.reserve(items); }
  CheckReport check() { return table_.check(); }

 private:
  Status run_row(Epoch& epoch, const Batch& batch, std::size_t i) {
    Batch row = batch;
    Status status = Status::not_run;
    row.size = 1;
    row.statuses = &status;
    const std::size_t bytes = batch.column ? batch.column->bytes : any_length() ? 0 : value_bytes();
    const auto* const keys = static_cast<const std::byte*>(batch.keys);
    const auto* const values = static_cast<const std::byte*>(batch.values);
    auto* const out = static_cast<std::byte*>(batch.out);
    if (batch.found) row.found = batch.found + i;
    if (batch.mask) row.mask = batch.mask + i;
    if (batch.ops) row.ops = batch.ops + i;
    Blobs read;
    if (any_length()) {
      row.variable->key_offsets += i;
      if (row.variable->value_offsets) row.variable->value_offsets += i;
      if (row.variable->blobs) row.variable->blobs = &read;
    } else {
      row.keys = keys + i * key_bytes();
      if (values) row.values = values + i * bytes;
      if (out) row.out = out + i * bytes;
      if (!batch.mask && !batch.ops && !batch.column && answer_by_name(epoch, row, status)) return status;
    }
    epoch.run(row);
    if (any_length() && batch.variable->blobs && read.size() != 0 && read.has(0)) {
      std::byte* const copy = batch.variable->blobs->arena().take(read[0].size());
      std::memcpy(copy, read[0].data(), read[0].size());
      batch.variable->blobs->rows()[i] = {copy, static_cast<std::uint32_t>(read[0].size())};
    }
    return status;
  }

  /// By the method of Epoch, if it has one for the operation.
  static bool answer_by_name(Epoch& epoch, const Batch& row, Status& status) {
    bool was_there = false;
    switch (row.op) {
      case Op::insert: status = epoch.insert(row.keys, row.values); break;
      case Op::insert_or_assign: status = epoch.insert_or_assign(row.keys, row.values); break;
      case Op::assign: status = epoch.assign(row.keys, row.values); break;
      case Op::erase: status = epoch.erase(row.keys); break;
      case Op::find: status = epoch.find(row.keys, row.out) ? Status::found : Status::not_found; break;
      case Op::contains: status = epoch.contains(row.keys) ? Status::found : Status::not_found; break;
      case Op::find_or_insert: status = epoch.find_or_insert(row.keys, row.values, row.out); break;
      default: return false;
    }
    was_there =
        status == Status::exists || status == Status::updated || status == Status::found || status == Status::erased;
    if (row.found) *row.found = was_there;
    return true;
  }

  bool any_length() const { return key_bytes() == kVariableBytes; }

  Table table_;
};
static_assert(PairTable<SingleCalls> && SelfChecking<SingleCalls>);

ConformanceSubject<SingleCalls> subject_of(std::uint32_t key_bytes, std::uint32_t value_bytes, bool flush) {
  const std::string path = "/dev/shm/holdfast-single-calls-" + std::to_string(getpid()) + ".hold";
  CreateOptions options;
  options.shape = {.key_bytes = key_bytes, .value_bytes = value_bytes, .capacity = 16};
  options.shape.seed = 7;
  options.runtime.device = "cpu";
  options.tuning.flush = flush;
  options.overwrite = true;
  OpenOptions again;
  again.runtime = options.runtime;
  again.tuning.flush = flush;
  struct Removed {
    std::string path;
    ~Removed() { unlink(path.c_str()); }
  };
  const auto removed = std::make_shared<Removed>(path);
  const bool pairs = key_bytes == kVariableBytes;
  return {.name = (pairs ? "pairs" : "key" + std::to_string(key_bytes) + "_value" + std::to_string(value_bytes)) +
                  std::string(flush ? "_power" : ""),
          .create = [removed, options] { return std::make_unique<SingleCalls>(Table::create(removed->path, options)); },
          .reopen = [removed, again] { return std::make_unique<SingleCalls>(Table::open(removed->path, again)); },
          .seed = 7,
          .columns = !pairs && value_bytes >= 4,
          .dense = !pairs};
}

const Conformance<SingleCalls> single_calls_registered("SingleCalls",
                                                       {subject_of(8, 0, false), subject_of(8, 4, false),
                                                        subject_of(8, 8, false), subject_of(8, 8, true),
                                                        subject_of(8, 24, true), subject_of(16, 8, false),
                                                        subject_of(kVariableBytes, kVariableBytes, true)});

}  // namespace
}  // namespace holdfast::test

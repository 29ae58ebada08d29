// run.cpp: Table::run: a batch passes the table's gates, and leaves them where it is stopped.
#include <algorithm>
#include <cstring>

#include "core/both.hpp"
#include "holdfast/table.hpp"
#include "table/checks.hpp"
#include "table/impl.hpp"
#include "table/predicate_thread.hpp"

namespace holdfast {

namespace {

/// Whether it may change anything: the host looks at no mask in GPU memory.
bool may_change(const Batch& batch, OpSet ops) {
  if (!ops.changes()) return false;
  if (batch.mask == nullptr || batch.device) return true;
  return std::any_of(batch.mask + batch.from, batch.mask + batch.size, [](std::uint8_t byte) { return byte != 0; });
}

/// What its machine runs it as, and so whether an open session keeps it out. A GPU's search kernels read no operation per row, so there a
/// batch with `ops` counts as one that does anything, even if all its rows read.
OpSet runs_as(const Batch& batch, OpSet ops, const table::Choice& choice) {
  return batch.ops != nullptr && choice.device >= 0 ? OpSet::all() : ops;
}

/// What rows that have not run read, from `from` on: nothing.
void read_nothing(const Batch& batch, std::size_t from, std::uint32_t value_bytes) {
  HOLDFAST_ASSERT(from <= batch.size);
  const std::size_t rest = batch.size - from;
  if (batch.found) std::fill_n(batch.found + from, rest, false);
  if (batch.scores) std::fill_n(batch.scores + from, rest, 0);
  if (batch.variable && batch.variable->blobs) std::fill_n(batch.variable->blobs->rows() + from, rest, Blob{});
  if (!batch.out) return;
  const std::size_t bytes = batch.column ? batch.column->bytes : value_bytes;
  for (std::size_t row = from; row < batch.size; ++row) {
    if (!reads_value(batch.ops ? static_cast<Op>(batch.ops[row]) : batch.op)) continue;
    std::memset(static_cast<std::byte*>(batch.out) + row * bytes, 0, bytes);
  }
}

}  // namespace

void Table::Impl::check_batch(const Batch& batch, OpSet ops) const {
  table::check_batch(batch, ops, key_bytes, value_bytes);
  if (batch.device && !machine_->on_gpu()) {
    throw InvalidArgument("the arrays are in GPU memory, but " + path +
                          " is worked on by the CPU: copy them to the host, or open the table with device=\"cuda\"");
  }
  if (batch.scores) {
    require_scores();
    if (ops.changes())
      throw InvalidArgument("scores are read by batches that only search: submit the changes as another batch");
  }
  if (ops.changes()) require_writable();
}

std::size_t Table::Impl::run_few(const Batch& batch, OpSet ops, bool stays, BatchResult& result) {
  using Kind = threads::CallSlots::Kind;
  if (choice_.device >= 0 || batch.size > gphash::kFewRows || in_pieces(batch)) return batch.from;
  if (forked()) throw ObjectClosed(inherited());
  if (ops.changes()) PredicateThread::refuse(pool_name, path);
  const threads::ShortCall call(gates_.calls, ops.changes() ? Kind::change : Kind::search, stays);
  if (!call) return batch.from;
  must_be_open();
  check_batch(batch, ops);
  if (batch.from == batch.size) return batch.size;
  const bool changes = may_change(batch, ops);
  if (changes) about_to_change(batch.size - batch.from);
  const std::size_t next = machine_->run_few(batch, ops, changes ? score_now() : 0, batch.from, result);
  HOLDFAST_ASSERT(batch.from <= next && next <= batch.size);
  must_be_whole();
  return next;
}

Status Table::Impl::change_one(const gphash::OneRow& row, unsigned number) {
  if (!runs_single_rows_ || forked()) return Status::not_run;
  PredicateThread::refuse(pool_name, path);
  if (!gates_.calls.enter(number, threads::CallSlots::Kind::change)) return Status::not_run;
  if (machine_ == nullptr || row.key == nullptr) return Status::not_run;
  if (takes_value(row.op) && row.value == nullptr && value_bytes != 0) return Status::not_run;
  about_to_change(1);
  const Status status = machine_->change_one(row, number, score_now());
  must_be_whole();
  return status;
}

BatchResult Table::Impl::run(const Batch& batch, bool stays) {
  const OpSet ops = table::operations_of(batch), run_as = runs_as(batch, ops, choice_);
  BatchResult result;
  const std::size_t from = run_few(batch, ops, stays, result);
  result.next = batch.size;
  if (from == batch.size && from != batch.from) return result;
  {
    Change use;
    if (run_as.changes()) {
      use = change();
    } else {
      use.open = this->use();
    }
    check_batch(batch, ops);
    if (from == batch.size) return result;
    const bool changes = may_change(batch, ops);
    if (changes) about_to_change(batch.size - from);
    const std::uint64_t score = changes ? score_now() : 0;
    result.next = machine_->run(batch, run_as, score, from, result);
    HOLDFAST_ASSERT(from <= result.next && result.next <= batch.size);
    must_be_whole();
  }
  if (result.next == batch.size) return result;
  if (batch.statuses) std::fill(batch.statuses + result.next, batch.statuses + batch.size, Status::not_run);
  read_nothing(batch, result.next, value_bytes);
  result.count[static_cast<unsigned>(Status::not_run)] += batch.size - result.next;
  result.stopped = true;
  return result;
}

BatchResult Table::run(const Batch& batch) { return impl_->run(batch, false); }

std::size_t Table::try_run(const Batch& batch, BatchResult& result) {
  return impl_->run_few(batch, table::operations_of(batch), false, result);
}

}  // namespace holdfast

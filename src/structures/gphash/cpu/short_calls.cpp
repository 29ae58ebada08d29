// short_calls.cpp: calls with few keys, which neither wait for a gate nor write a word that other callers write.
//
// The calling thread has announced itself (threads/call_slots.hpp), which excludes whatever a batch excludes by the gates `layout` and
// `slots`, and keeps what it reads from reuse as an epoch does. What it counts stands in its own entry.
#include <algorithm>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <utility>

#include "structures/gphash/batch_rows.hpp"
#include "structures/gphash/cpu/cpu_machine.hpp"
#include "structures/gphash/pair_check.hpp"

namespace holdfast::gphash::cpu {

namespace {
constexpr std::size_t kRetired = 64;  // changes after which a caller hands over the cells that it retired
}

/// What the calls of one thread have counted and the cells that it keeps: written by that thread alone, or by one that holds `geometry_`
/// alone. The counts are read by all.
struct alignas(64) CpuMachine::Caller {
  explicit Caller(heap::CellSet& free) : cells(free) { cells.prepare(kRetired + kFewRows); }

  std::atomic<std::int64_t> items{0}, left{0};
  std::atomic<std::uint64_t> moves{0}, claim_misses{0}, retries{0};
  heap::ThreadCells cells;
  std::size_t retired = 0;  ///< cells that it may have retired since it handed some over

  template <class Count>
  static void add(std::atomic<Count>& count, Count more) {
    if (more != 0) count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  void add(const Tally& tally) {
    add(items, tally.items);
    add(left, tally.left);
    add(moves, tally.moves);
    add(claim_misses, tally.claim_misses);
    add(retries, tally.retries);
  }
};

/// The entry of this thread, which has a number; null if there is no memory for it.
CpuMachine::Caller* CpuMachine::this_caller() {
  std::atomic<Caller*>& entry = callers_[threads::thread_number()];
  Caller* caller = entry.load(std::memory_order_relaxed);
  if (caller == nullptr) {
    try {
      caller = new Caller(*cells_);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    entry.store(caller, std::memory_order_release);
  }
  return caller;
}

/// The sums of what callers have counted.
Tally CpuMachine::tally_of_callers() const {
  Tally sum;
  for (const std::atomic<Caller*>& entry : callers_) {
    const Caller* const caller = entry.load(std::memory_order_acquire);
    if (caller == nullptr) continue;
    sum.items += caller->items.load(std::memory_order_relaxed);
    sum.left += caller->left.load(std::memory_order_relaxed);
    sum.moves += caller->moves.load(std::memory_order_relaxed);
    sum.claim_misses += caller->claim_misses.load(std::memory_order_relaxed);
    sum.retries += caller->retries.load(std::memory_order_relaxed);
  }
  return sum;
}

/// How the heap is used. Cells that callers keep for their next calls are free.
heap::HeapUse CpuMachine::heap_use() const {
  heap::HeapUse use = cells_->use();
  for (const std::atomic<Caller*>& entry : callers_) {
    const Caller* const caller = entry.load(std::memory_order_acquire);
    if (caller == nullptr) continue;
    const std::uint64_t unused =
        std::min(caller->cells.unused(), use.used_cells);  // it may have taken some since `use`
    use.free_cells += unused;
    use.used_cells -= unused;
    use.used_bytes -= std::min(caller->cells.unused_bytes(), use.used_bytes);
  }
  return use;
}

/// Takes the cells of all callers back. The caller holds `geometry_` alone.
void CpuMachine::settle_callers() {
  for (std::atomic<Caller*>& entry : callers_) {
    Caller* const caller = entry.load(std::memory_order_acquire);
    if (caller == nullptr) continue;
    caller->cells.settle(true);
    caller->retired = 0;
  }
}

/// Hands over what this thread has retired by calls with few keys. It is in no epoch, since it may have to wait for others to leave theirs.
void CpuMachine::settle_this_caller() {
  const unsigned number = threads::thread_number();
  if (number >= threads::kThreadNumbers) return;
  const std::shared_lock lock(geometry_);
  Caller* const caller = callers_[number].load(std::memory_order_relaxed);
  if (caller == nullptr || caller->retired == 0) return;
  caller->cells.settle(false);
  caller->retired = 0;
}

std::uint64_t CpuMachine::size() const {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, items_.load() + tally_of_callers().items));
}

/// The table has been emptied, or ends. The caller holds `geometry_` alone.
void CpuMachine::forget_callers() {
  for (std::atomic<Caller*>& entry : callers_) delete entry.exchange(nullptr);
}

std::size_t CpuMachine::run_few(const Batch& batch, OpSet ops, std::uint64_t score, std::size_t from,
                                BatchResult& result) {
  require_whole();
  const bool changes = ops.changes();
  // Moves are reported where an export wants them.
  if (batch.size > kFewRows || (changes && exports_.want_moves())) return from;
  Caller* const caller = this_caller();
  if (caller == nullptr) return from;
  const bool takes_cells = changes && !layout().in_slot();
  // In a full heap a batch knows who else has cells (await_cells); and it may wait to hand over what was retired.
  if (takes_cells && (heap_is_full_.load(std::memory_order_relaxed) || caller->retired >= kRetired)) return from;
  Blobs* const blobs = parts_of(batch).blobs;
  if (from == 0 && blobs != nullptr) blobs->reset(batch.size);
  Status scratch[kFewRows];
  Work work = work_of(batch, ops, score);
  if (batch.statuses == nullptr) work.rows.statuses = scratch;
  work.size = batch.size;
  Arena none;
  work.rows.arena = blobs != nullptr ? &blobs->arena() : &none;
  Tally tally;
  std::size_t next;
  if (batch.size == 1 && batch.mask == nullptr && batch.ops == nullptr) {
    next = driver_->run_one(work, caller->cells, tally) == gphash::Outcome::done ? 1 : 0;
  } else {
    next = driver_->run(work, from, batch.size, caller->cells, tally).next;
  }
  caller->add(tally);
  for (std::size_t row = from; row < next; ++row) {
    const Status status = work.rows.statuses[row];
    ++result.count[static_cast<unsigned>(status)];
    if (takes_cells && (status == Status::updated || status == Status::erased)) ++caller->retired;
  }
  if (takes_cells || blobs != nullptr) caller->cells.require_memory();
  if (tally.damaged != 0) throw_damaged(pool_.path(), tally.damaged);
  return next;
}

Status CpuMachine::find_one(const void* key, void* out, unsigned number) {
  if (unfinished_) return Status::not_run;
  Caller* const caller = callers_[number].load(std::memory_order_relaxed);
  if (caller == nullptr) return Status::not_run;  // `run_few` makes it
  return driver_->find_one(static_cast<const std::byte*>(key), static_cast<std::byte*>(out), value_bytes_,
                           caller->cells);
}

Status CpuMachine::change_one(const OneRow& row, unsigned number, std::uint64_t score) {
  if (unfinished_ || exports_.want_moves()) return Status::not_run;
  Caller* const caller = callers_[number].load(std::memory_order_relaxed);
  if (caller == nullptr) return Status::not_run;
  if (has_cells_ && (heap_is_full_.load(std::memory_order_relaxed) || caller->retired >= kRetired))
    return Status::not_run;
  Status status = Status::not_run;
  Tally tally;
  const bool is_done =
      driver_->change_one(row, value_bytes_, score, status, caller->cells, tally) == gphash::Outcome::done;
  caller->add(tally);
  if (has_cells_) {
    if (is_done && (status == Status::updated || status == Status::erased)) ++caller->retired;
    caller->cells.require_memory();
  }
  return is_done ? status : Status::not_run;
}

}  // namespace holdfast::gphash::cpu

// cuda_machine.cpp: the machine itself: its parts, its beginning and its end, and what it says of itself.
#include "structures/gphash/cuda/machine/cuda_machine.hpp"

#include <algorithm>

#include "gpu/capture.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/users/table_walk.hpp"

namespace holdfast::gphash::cuda {

namespace {

/// An erase may be counted before the insert that it undid: never show that as a huge number.
std::uint64_t counted(std::int64_t items) { return static_cast<std::uint64_t>(std::max<std::int64_t>(items, 0)); }

}  // namespace

CudaMachine::CudaMachine(gphash::TableObject& pool, const MachineOptions& options)
    : table_(pool, options),
      searches_(table_),
      maintenance_(table_, searches_),
      loads_(table_),
      batches_(table_.memory.pairs() ? static_cast<Batches&>(pairs_.emplace(table_, searches_, maintenance_, loads_))
                                     : fixed_.emplace(table_, searches_, maintenance_, loads_)) {
  maintenance_.recover();
}

std::size_t CudaMachine::run(const Batch& batch, OpSet ops, std::uint64_t score, std::size_t from,
                             BatchResult& result) {
  const OnDevice on(table_.options.device);
  table_.order.require_working();
  return batches_.run(batch, ops, score, from, result);
}

CudaMachine::~CudaMachine() {
  try {
    wait();
    const OnDevice on(table_.options.device);
    const std::lock_guard lock(table_.order.launching());
    searches_.end_captures();
    free_what_graphs_kept();
  } catch (const std::exception&) {
    // After an error of the GPU nothing runs any more; the pool stays without a clean mark.
  }
}

void CudaMachine::clear() { maintenance_.clear(); }
void CudaMachine::reserve(std::uint64_t items) { maintenance_.reserve(items); }
CheckReport CudaMachine::check() { return maintenance_.check(); }
void CudaMachine::load_cache() { loads_.load_and_wait(); }

SessionHandle CudaMachine::begin_session(std::uint64_t max_changes, std::uint64_t score, void* stream) {
  return fixed_->sessions().begin(max_changes, score, static_cast<cudaStream_t>(stream));
}
void CudaMachine::commit_session(void* stream) { fixed_->sessions().commit(static_cast<cudaStream_t>(stream)); }
void CudaMachine::end_session() { fixed_->sessions().end(); }

std::unique_ptr<Walk> CudaMachine::walk(const WalkPlan& plan, const std::function<void()>& before_change,
                                        void* stream) {
  return std::make_unique<TableWalk>(table_, fixed_->changes(), plan, before_change, static_cast<cudaStream_t>(stream));
}

std::size_t CudaMachine::export_pairs(std::uint64_t& cursor, Blobs* keys, Blobs* values, std::size_t n) {
  return Exports::pairs_into(keys, values, n, [&](const Exports::Take& take) {
    return export_items(cursor, Exports::verified(table_.pool.path(), table_.options.verify, take), n);
  });
}

std::size_t CudaMachine::export_batch(std::uint64_t& cursor, const ExportArrays& to, std::size_t n) {
  return export_items(cursor, Exports::into(to), n);
}

std::size_t CudaMachine::export_items(std::uint64_t& cursor, const Exports::Take& take, std::size_t n) {
  const OnDevice on(table_.options.device);
  table_.order.require_working();
  const std::lock_guard lock(table_.order.changing());  // nothing changes meanwhile
  table_.order.finish();
  std::size_t count = 0;
  do {
    count += table_.exports.copy(table_.layout(), cursor, take, n - count, table_.layout().total_slots() + 1);
  } while (count < n && cursor != Exports::kEnd);
  return count;
}

void CudaMachine::wait() {
  const OnDevice on(table_.options.device);
  const std::lock_guard change(table_.order.changing());
  const std::lock_guard lock(table_.order.launching());
  searches_.finish_all();
  free_what_graphs_kept();
  table_.order.require_working();
}

std::uint64_t CudaMachine::size() const {
  const OnDevice on(table_.options.device);
  return counted(table_.state.read().items);
}

std::uint64_t CudaMachine::slots() const {
  const std::lock_guard lock(table_.order.launching());
  return table_.layout().total_slots();
}

void CudaMachine::stats(Stats& stats) const {
  const OnDevice on(table_.options.device);
  const DeviceState state = table_.state.read();
  {
    const std::lock_guard lock(table_.order.launching());
    stats.machine.reason += ": " + table_.gpu;
    stats.space.size = counted(state.items);
    stats.space.slots = table_.layout().total_slots();
    stats.space.cells = table_.layout().in_slot() ? 0 : table_.layout().cells;
    stats.space.free_cells =
        state.retired_end - std::min(state.head, state.tail);  // some of them are retired for a batch more
    batches_.stats(stats);
    stats.work.moves = state.moves;
    stats.work.claim_misses = state.claim_misses;
    stats.work.retries = state.retries;
    maintenance_.stats(stats);
    const SearchChoices& choices = searches_.choices();
    stats.search.unordered_rows = choices.unordered_rows;
    stats.search.cluster_rows = choices.cluster_rows;
    stats.search.gather_share = choices.gather_share;
    stats.search.calibration_ms = choices.ms;
    stats.work.phases = table_.times.totals();
    stats.machine.tile = "warp";
    stats.machine.threads = 1;
  }
  loads_.stats(stats);
}

}  // namespace holdfast::gphash::cuda

namespace holdfast::gphash {

std::unique_ptr<Machine> make_cuda_machine(gphash::TableObject& pool, const MachineOptions& options) {
  const cuda::OnDevice on(options.device);
  return std::make_unique<cuda::CudaMachine>(pool, options);
}

}  // namespace holdfast::gphash

// cpu_machine.cpp: spreads a batch over threads, and makes space when one finds none.
#include "structures/gphash/cpu/cpu_machine.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>

#include "core/both.hpp"
#include "core/hash.hpp"
#include "structures/gphash/batch_rows.hpp"
#include "structures/gphash/layout.hpp"
#include "structures/gphash/pair_check.hpp"

namespace holdfast::gphash::cpu {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;  // rows partitioned at once, so that 32-bit offsets do
constexpr std::size_t kSubBatch = 4096;               // rows in one epoch: the unit of cell reuse
constexpr unsigned kSubBatchesBetweenStops = 32;      // of a thread
constexpr std::uint64_t kBytesBetweenStops = std::uint64_t{64} << 20;
constexpr std::size_t kExportPiece = 4096;       // items that changes wait for
constexpr std::uint64_t kExportSlots = 1 << 16;  // or slots

unsigned thread_count(unsigned asked) {
  if (asked != 0) return std::min(asked, 256u);
  return std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
}

std::uint64_t hash_of_key(const std::byte* key, std::uint32_t key_bytes, std::uint64_t seed) {
  const auto word = [&](unsigned i) {
    std::uint64_t part;
    std::memcpy(&part, key + std::size_t{8} * i, 8);
    return part;
  };
  return key_bytes == 8 ? hash_key(word(0), seed) : hash_words(key_bytes / 8, seed, word);
}

/// How many rows from `from` on have no more than so many bytes in an array, whose rows have `each` where there are no offsets; `rows` at
/// most, one at least.
std::size_t rows_within(const std::uint64_t* offsets, std::uint64_t each, std::size_t from, std::size_t rows) {
  if (offsets == nullptr)
    return std::min(rows, std::max(kSubBatch, kBytesBetweenStops / std::max(each, std::uint64_t{1})));
  const std::uint64_t* const begin = offsets + from + 1;
  const auto beyond = std::upper_bound(begin, begin + rows, offsets[from] + kBytesBetweenStops);
  return std::max<std::size_t>(1, static_cast<std::size_t>(beyond - begin));
}

}  // namespace

/// What one thread has taken and released.
struct CpuMachine::PerThread {
  PerThread(CpuMachine& machine, bool changes) : holders(machine.holders_), holds(changes), cells(*machine.cells_) {
    if (holds) ++holders.came;
  }
  ~PerThread() {
    cells.settle(true);  // before it is counted: who waits may find its cells
    if (holds) ++holders.went;
  }
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;

  Holders& holders;
  const bool holds;  ///< only who changes the table takes cells
  heap::ThreadCells cells;
};

/// What the threads of one batch share.
struct CpuMachine::Share {
  const Batch& batch;
  std::atomic<bool> index_full{false}, heap_full{false};  // growth failed: do not try again in this batch
  std::mutex blobs;
  std::atomic<std::uint64_t> damaged{0};  // rows
};

/// Adds what one thread has done when it ends, by an error too: the rows before it stand.
struct CpuMachine::Counted {
  CpuMachine& machine;
  const Tally& tally;
  ~Counted() {
    machine.items_ += tally.items;
    machine.left_ += tally.left;
    machine.moves_ += tally.moves;
    machine.claim_misses_ += tally.claim_misses;
    machine.retries_ += tally.retries;
  }
};

CpuMachine::CpuMachine(gphash::TableObject& pool, const MachineOptions& options)
    : pool_(pool),
      key_bytes_(pool.shape().key_bytes),
      value_bytes_(pool.shape().value_bytes),
      has_cells_(pool.shape().cell_bytes != 0),
      seed_(pool.shape().seed),
      options_(options),
      own_calls_(options.calls == nullptr ? std::make_unique<threads::CallSlots>() : nullptr),
      calls_(options.calls == nullptr ? *own_calls_ : *options.calls),
      cells_(make_cells()),
      workers_(thread_count(options.threads)),
      driver_(make_driver(shape_of(pool.shape()), pool.persist())),
      levels_(pool, {options.shared_bias, options.moves}, *driver_, *cells_, workers_) {
  recover();
}

CpuMachine::~CpuMachine() { forget_callers(); }

std::uint64_t CpuMachine::slots() const {
  const std::shared_lock lock(geometry_);
  return layout().total_slots();
}

/// Rows that are partitioned together: as many as 32-bit offsets can do, or fewer where the caller may want to stop in between.
std::size_t CpuMachine::rows_of_chunk(const Batch& batch, std::size_t from) const {
  HOLDFAST_ASSERT(from <= batch.size);
  const std::size_t rows = std::min(kChunk, batch.size - from);
  if (!in_pieces(batch)) return rows;
  const std::size_t few = std::min(rows, kSubBatch * kSubBatchesBetweenStops * workers_.threads());
  const VariableLength parts = parts_of(batch);
  return std::min(rows_within(parts.key_offsets, key_bytes_, from, few),
                  rows_within(parts.value_offsets, value_bytes_, from, few));
}

/// The rows of a batch, without statuses where it has none.
Work CpuMachine::work_of(const Batch& batch, OpSet ops, std::uint64_t score) const {
  Work work;
  work.rows = rows_of(batch, 0, value_bytes_, score);
  work.keys = static_cast<const std::byte*>(batch.keys);
  work.mask = batch.mask;
  work.changes = ops.changes();
  work.rows.verify = options_.verify;
  const VariableLength parts = parts_of(batch);
  work.key_offsets = parts.key_offsets;
  work.rows.value_offsets = parts.value_offsets;
  if (parts.blobs != nullptr) work.rows.blobs = parts.blobs->rows();
  return work;
}

void CpuMachine::count_statuses(const Work& work, std::size_t from, std::size_t to, BatchResult& result) const {
  HOLDFAST_ASSERT(from <= to);
  for (unsigned s = 0; s < kStatuses; ++s) {
    result.count[s] += static_cast<std::uint64_t>(
        std::count(work.rows.statuses + from, work.rows.statuses + to, static_cast<Status>(s)));
  }
}

std::size_t CpuMachine::run(const Batch& batch, OpSet ops, std::uint64_t score, std::size_t from, BatchResult& result) {
  Share share{.batch = batch, .index_full = {}, .heap_full = {}, .blobs = {}, .damaged = {}};
  std::vector<Status> scratch(batch.statuses ? 0 : batch.size);
  if (ops.changes() && has_cells_) settle_this_caller();
  Blobs* const blobs = parts_of(batch).blobs;
  if (from == 0 && blobs != nullptr) blobs->reset(batch.size);
  Work work = work_of(batch, ops, score);
  if (batch.statuses == nullptr) work.rows.statuses = scratch.data();
  std::size_t at = from;
  do {
    const std::size_t rows = rows_of_chunk(batch, at);
    run_chunk(work, at, rows, share);
    at += rows;
  } while (at < batch.size && !stops_after(batch, at));
  HOLDFAST_ASSERT(at <= batch.size);
  if (share.damaged != 0) throw_damaged(pool_.path(), share.damaged);
  count_statuses(work, from, at, result);
  return at;
}

void CpuMachine::run_chunk(Work& work, std::size_t base, std::size_t size, Share& share) {
  const unsigned parts = static_cast<unsigned>(std::clamp<std::size_t>(size / kSubBatch, 1, workers_.threads()));
  work.base = base;
  if (!work.changes || share.batch.unique || parts == 1) {
    workers_.run(parts, [&](unsigned i, unsigned n) {
      Work mine = work;
      mine.base = base + size * i / n;
      mine.size = base + size * (i + 1) / n - mine.base;
      run_share(mine, share);
    });
    return;
  }
  // All operations on a key go to one thread, in array order (rule 2).
  std::vector<std::uint32_t> order(size);
  std::vector<std::size_t> bounds(parts + 1, 0);
  partition(work, size, parts, order, bounds);
  workers_.run(parts, [&](unsigned i, unsigned n) {
    for (unsigned part = i; part < parts; part += n) {
      Work mine = work;
      mine.order = order.data() + bounds[part];
      mine.size = bounds[part + 1] - bounds[part];
      run_share(mine, share);
    }
  });
}

/// A stable counting sort of the chunk's rows by the part that their key belongs to.
void CpuMachine::partition(const Work& work, std::size_t size, unsigned parts, std::vector<std::uint32_t>& order,
                           std::vector<std::size_t>& bounds) {
  HOLDFAST_ASSERT(parts <= 256 && size <= kChunk);
  std::vector<std::uint8_t> part(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t hash = key_bytes_ == kVariableBytes
                                   ? gphash::hash_of(work.key_part(work.base + i), seed_)
                                   : hash_of_key(work.keys + (work.base + i) * key_bytes_, key_bytes_, seed_);
    part[i] = static_cast<std::uint8_t>(((hash >> 32) * parts) >> 32);
    ++bounds[part[i] + 1];
  }
  for (unsigned p = 0; p < parts; ++p) bounds[p + 1] += bounds[p];
  HOLDFAST_ASSERT(bounds[parts] == size);
  std::vector<std::size_t> next(bounds.begin(), bounds.end() - 1);
  for (std::size_t i = 0; i < size; ++i) order[next[part[i]]++] = static_cast<std::uint32_t>(i);
}

/// One thread's rows, sub-batch by sub-batch.
void CpuMachine::run_share(Work work, Share& share) {
  Tally tally;
  const Counted counted{*this, tally};
  MoveLog moved(key_bytes_, pool_.heap());
  Arena arena;
  work.rows.arena = &arena;
  std::size_t at = 0;
  {
    PerThread mine(*this, work.changes);
    std::size_t denied = ~std::size_t{0};  // a row for which there is no space
    while (at < work.size) {
      Progress progress;
      std::uint64_t seen_growth;
      {
        const std::shared_lock lock(geometry_);
        require_whole();
        if (work.changes && !layout().in_slot()) mine.cells.prepare(std::min(work.size, kSubBatch));
        seen_growth = growth_;
        std::shared_lock still(still_, std::defer_lock);
        if (work.changes) still.lock();
        tally.moved = exports_.want_moves() ? &moved : nullptr;
        const reclaim::InEpoch inside(epochs_);
        const bool deny = at == denied;
        work.permits = {!deny, !deny};
        progress = driver_->run(work, at, deny ? at + 1 : std::min(at + kSubBatch, work.size), mine.cells, tally);
        if (!moved.moves().empty() || !moved.complete()) {
          exports_.note(layout(), moved);
          moved.clear();
        }
      }
      mine.cells.require_memory();
      mine.cells.settle(false);
      HOLDFAST_ASSERT(at <= progress.next && progress.next <= work.size);
      at = progress.next;
      if (progress.outcome == gphash::Outcome::done) continue;
      std::atomic<bool>& full = progress.outcome == gphash::Outcome::needs_slot ? share.index_full : share.heap_full;
      if (!full && !make_space(progress.outcome, seen_growth, mine)) full = true;
      if (full && (progress.outcome == gphash::Outcome::needs_slot || !await_cells(mine))) denied = at;
    }
  }
  if (heap_is_full_.load(std::memory_order_relaxed)) {
    const heap::HeapUse use = cells_->use();
    const std::uint64_t cells = use.free_cells + use.used_cells;
    if (use.free_cells > cells / 8 || use.slabs - use.used_slabs > use.slabs / 8) heap_is_full_ = false;
  }
  share.damaged += tally.damaged;
  if (work.rows.blobs != nullptr) {
    const std::lock_guard lock(share.blobs);
    share.batch.variable->blobs->arena().adopt(std::move(arena));
  }
}

/// Cells that are free after all, once the batches that may read them end.
bool CpuMachine::find_cells(PerThread& mine) {
  mine.cells.settle(true);
  while (cells_->reclaim()) std::this_thread::yield();
  return mine.cells.has_missing();
}

/// The heap cannot grow: callers with few keys have no cells from now on. The caller holds `geometry_` alone.
bool CpuMachine::take_back_cells(PerThread& mine) {
  heap_is_full_ = true;
  settle_callers();
  return find_cells(mine);
}

/// An update in a full heap needs a cell only until it lets another go, and inserts leave some for that (rule 6). Where
/// none is free, other threads have them, and give them back. False if no thread has: then only a larger heap would help.
bool CpuMachine::await_cells(PerThread& mine) {
  if (mine.cells.missing_adds_key()) return false;
  mine.cells.settle(true);
  ++holders_.went;
  // ends: another thread gives cells back, or no thread has any
  for (;; std::this_thread::yield()) {
    const std::uint64_t went = holders_.went;
    const bool retired = cells_->reclaim(), has = mine.cells.has_missing();
    // No other thread had cells when `went` was read, and none came since.
    const bool alone = holders_.came == went;
    if (has || (alone && !retired)) {
      ++holders_.came;
      if (has) return true;
      const std::unique_lock lock(geometry_);
      return take_back_cells(mine);
    }
  }
}

/// Grows what was missing, unless another thread did since. False if the medium is full.
bool CpuMachine::make_space(gphash::Outcome need, std::uint64_t seen_growth, PerThread& mine) {
  if (need == gphash::Outcome::needs_cell && find_cells(mine)) return true;
  const std::unique_lock lock(geometry_);
  require_whole();  // another thread's resize may have ended half-way meanwhile
  if (growth_ != seen_growth) return true;
  if (need == gphash::Outcome::needs_cell) return grow_heap(0) || take_back_cells(mine);
  try {
    grow_index();
  } catch (const NoSpace&) {
    return false;
  }
  return true;
}

/// Adds up to `n` items, a piece at a time: changes wait for a piece, searches for nothing.
std::size_t CpuMachine::export_items(std::uint64_t& cursor, const Exports::Take& take, std::size_t n) {
  std::size_t count = 0;
  do {
    const std::shared_lock lock(geometry_);
    require_whole();
    const std::unique_lock still(still_);
    count += exports_.copy(layout(), cursor, take, std::min(n - count, kExportPiece), kExportSlots);
  } while (count < n && cursor != Exports::kEnd);
  return count;
}

std::size_t CpuMachine::export_batch(std::uint64_t& cursor, const ExportArrays& to, std::size_t n) {
  return export_items(cursor, Exports::into(to), n);
}

std::size_t CpuMachine::export_pairs(std::uint64_t& cursor, Blobs* keys, Blobs* values, std::size_t n) {
  return Exports::pairs_into(keys, values, n, [&](const Exports::Take& take) {
    return export_items(cursor, Exports::verified(pool_.path(), options_.verify, take), n);
  });
}

void CpuMachine::stats(Stats& stats) const {
  const std::shared_lock lock(geometry_);
  stats.space.size = size();
  stats.space.slots = layout().total_slots();
  const heap::HeapUse use = heap_use();
  stats.space.cells = use.used_cells + use.free_cells;
  stats.space.free_cells = use.free_cells;
  stats.pairs.heap_bytes = use.all_slabs * layout().cell_bytes;
  stats.pairs.slab_bytes = use.used_slabs * layout().cell_bytes;
  stats.pairs.live_bytes = use.used_bytes;
  const Tally of_callers = tally_of_callers();
  stats.pairs.rounding_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, left_ + of_callers.left));
  stats.work.moves = moves_ + of_callers.moves;
  stats.work.claim_misses = claim_misses_ + of_callers.claim_misses;
  stats.work.retries = retries_ + of_callers.retries;
  stats.growth.resizes = resizes_;
  stats.growth.heap_growths = heap_growths_;
  stats.recovery.recovery_ms = recovery_ms_;
  stats.growth.last_resize_ms = last_resize_ms_;
  stats.growth.last_resize_alloc_ms = last_resize_alloc_ms_;
  stats.recovery.repaired_slots = levels_.mended().torn;
  stats.recovery.finished_moves = levels_.mended().second_copies;
  stats.recovery.rehashed = levels_.mended().rehashed;
  stats.machine.tile = driver_->tile();
  stats.machine.threads = workers_.threads();
}

}  // namespace holdfast::gphash::cpu

namespace holdfast::gphash {

std::unique_ptr<Machine> make_cpu_machine(gphash::TableObject& pool, const MachineOptions& options) {
  return std::make_unique<cpu::CpuMachine>(pool, options);
}

}  // namespace holdfast::gphash

// cpu_machine.cpp: spreads a batch over threads, and makes room when one finds none.
#include "machine/cpu/cpu_machine.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>

#include "core/hash.hpp"
#include "machine/layout.hpp"

namespace holdfast::machine::cpu {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;  // rows partitioned at once, so that 32-bit offsets do
constexpr std::size_t kSubBatch = 4096;               // rows in one epoch: the unit of cell reuse and of stopping
constexpr unsigned kSubBatchesBetweenStops = 8;
constexpr std::size_t kExportPiece = 4096;       // items that changes wait for
constexpr std::uint64_t kExportSlots = 1 << 16;  // or slots

unsigned thread_count(unsigned asked) {
  if (asked != 0) return std::min(asked, 256u);
  return std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
}

/// The part of `n` that changes a key: the same for all operations on it.
unsigned part_of_key(const std::byte* key, std::uint32_t key_bytes, std::uint64_t seed, unsigned n) {
  const auto word = [&](unsigned i) {
    std::uint64_t part;
    std::memcpy(&part, key + std::size_t{8} * i, 8);
    return part;
  };
  const std::uint64_t hash = key_bytes == 8 ? hash_key(word(0), seed) : hash_words(key_bytes / 8, seed, word);
  return static_cast<unsigned>(((hash >> 32) * n) >> 32);
}

}  // namespace

/// What the threads of one batch share.
struct CpuMachine::Share {
  const Batch& batch;
  std::atomic<bool> stop{false};
  std::atomic<bool> index_full{false}, heap_full{false};  // growth failed: do not try again in this batch
};

CpuMachine::CpuMachine(memory::Pool& pool, const MachineOptions& options)
    : pool_(pool),
      key_bytes_(pool.superblock().key_bytes),
      value_bytes_(pool.superblock().value_bytes),
      seed_(pool.superblock().seed),
      options_(options),
      workers_(thread_count(options.threads)),
      driver_(make_driver(shape_of(pool.superblock()), pool.persist())),
      keeper_(pool, {options.shared_bias, options.moves}, *driver_, cells_, workers_) {
  recover();
}

std::uint64_t CpuMachine::slots() const {
  const std::shared_lock lock(geometry_);
  return layout().total_slots();
}

BatchResult CpuMachine::run(const Batch& batch) {
  Share share{.batch = batch, .stop = {}, .index_full = {}, .heap_full = {}};
  std::vector<Status> scratch(batch.statuses ? 0 : batch.size);
  Work work;
  work.keys = static_cast<const std::byte*>(batch.keys);
  work.mask = batch.mask;
  work.rows.values = static_cast<const std::byte*>(batch.values);
  work.rows.out = static_cast<std::byte*>(batch.out);
  work.rows.statuses = batch.statuses ? batch.statuses : scratch.data();
  work.rows.found = batch.found;
  work.rows.ops = batch.ops;
  work.rows.op = batch.op;
  work.rows.combine = batch.combine;
  work.rows.element = batch.element;
  work.rows.scale = batch.scale;
  work.rows.value_bytes = batch.column_bytes != 0 ? batch.column_bytes : value_bytes_;
  work.rows.column = batch.column;
  work.rows.partial = batch.column_bytes != 0 && batch.column_bytes != value_bytes_;
  work.changes = batch.ops ? std::any_of(batch.ops, batch.ops + batch.size,
                                         [](std::uint8_t op) { return holdfast::changes(static_cast<Op>(op)); })
                           : holdfast::changes(batch.op);
  for (std::size_t base = 0; base < batch.size; base += kChunk) {
    run_chunk(work, base, std::min(kChunk, batch.size - base), share);
  }
  BatchResult result;
  for (unsigned s = 0; s < kStatuses; ++s) {
    result.count[s] = static_cast<std::uint64_t>(
        std::count(work.rows.statuses, work.rows.statuses + batch.size, static_cast<Status>(s)));
  }
  result.stopped = share.stop;
  return result;
}

void CpuMachine::run_chunk(Work& work, std::size_t base, std::size_t size, Share& share) {
  const unsigned parts = static_cast<unsigned>(std::clamp<std::size_t>(size / kSubBatch, 1, workers_.threads()));
  work.base = base;
  if (!work.changes || share.batch.unique || parts == 1) {
    workers_.run(parts, [&](unsigned i, unsigned n) {
      Work mine = work;
      mine.base = base + size * i / n;
      mine.size = base + size * (i + 1) / n - mine.base;
      run_share(mine, share, i == 0);
    });
    return;
  }
  // All operations on a key go to one thread, in array order (RULES.md 2).
  std::vector<std::uint32_t> order(size);
  std::vector<std::size_t> bounds(parts + 1, 0);
  partition(work, size, parts, order, bounds);
  workers_.run(parts, [&](unsigned i, unsigned n) {
    for (unsigned part = i; part < parts; part += n) {
      Work mine = work;
      mine.order = order.data() + bounds[part];
      mine.size = bounds[part + 1] - bounds[part];
      run_share(mine, share, i == 0);
    }
  });
}

/// A stable counting sort of the chunk's rows by the part that their key belongs to.
void CpuMachine::partition(const Work& work, std::size_t size, unsigned parts, std::vector<std::uint32_t>& order,
                           std::vector<std::size_t>& bounds) {
  std::vector<std::uint8_t> part(size);
  for (std::size_t i = 0; i < size; ++i) {
    part[i] =
        static_cast<std::uint8_t>(part_of_key(work.keys + (work.base + i) * key_bytes_, key_bytes_, seed_, parts));
    ++bounds[part[i] + 1];
  }
  for (unsigned p = 0; p < parts; ++p) bounds[p + 1] += bounds[p];
  std::vector<std::size_t> next(bounds.begin(), bounds.end() - 1);
  for (std::size_t i = 0; i < size; ++i) order[next[part[i]]++] = static_cast<std::uint32_t>(i);
}

/// One thread's rows, sub-batch by sub-batch. `first`: this is the thread that called, which asks whether to stop.
void CpuMachine::run_share(Work work, Share& share, bool first) {
  Tally tally;
  MoveLog moved(key_bytes_);
  std::size_t at = 0;
  {
    CellPurse purse(cells_);
    std::size_t denied = ~std::size_t{0};  // a row for which there is no room
    for (unsigned turn = 1; at < work.size && !share.stop; ++turn) {
      if (first && share.batch.stop && turn % kSubBatchesBetweenStops == 0 && share.batch.stop()) {
        share.stop = true;
        break;
      }
      Progress progress;
      std::uint64_t seen_growth;
      {
        const std::shared_lock lock(geometry_);
        require_whole();
        seen_growth = growth_;
        std::shared_lock still(still_, std::defer_lock);
        if (work.changes) still.lock();
        tally.moved = exports_.want_moves() ? &moved : nullptr;
        const InEpoch inside(epochs_);
        const bool deny = at == denied;
        work.permits = {!deny, !deny};
        progress = driver_->run(work, at, deny ? at + 1 : std::min(at + kSubBatch, work.size), purse, tally);
        if (!moved.moves().empty()) {
          exports_.note(layout(), moved);
          moved.clear();
        }
      }
      purse.settle(false);
      at = progress.next;
      if (progress.outcome == index::Outcome::done) continue;
      std::atomic<bool>& full = progress.outcome == index::Outcome::needs_slot ? share.index_full : share.heap_full;
      if (full || !make_room(progress.outcome, seen_growth, purse)) {
        full = true;
        denied = at;
      }
    }
  }
  for (; at < work.size; ++at) {
    const std::size_t row = work.row(at);
    work.rows.statuses[row] = Status::not_run;
    if (work.rows.found) work.rows.found[row] = false;
    if (std::byte* const to = work.rows.result(row)) std::memset(to, 0, work.rows.value_bytes);
  }
  items_ += tally.items;
  moves_ += tally.moves;
  claim_misses_ += tally.claim_misses;
  retries_ += tally.retries;
}

/// Grows what was missing, unless somebody did since. False if the medium is full.
bool CpuMachine::make_room(index::Outcome need, std::uint64_t seen_growth, CellPurse& purse) {
  if (need == index::Outcome::needs_cell) {
    // Cells in limbo come first: they are free as soon as the batches that may read them end.
    purse.settle(true);
    bool waited = false;
    while (cells_.reclaim()) {
      waited = true;
      std::this_thread::yield();
    }
    if (waited || cells_.free() > cells_.total() / 64 + 1) return true;
  }
  const std::unique_lock lock(geometry_);
  if (growth_ != seen_growth) return true;
  if (need == index::Outcome::needs_cell) return grow_heap(0);
  try {
    grow_index();
  } catch (const NoSpace&) {
    return false;
  }
  return true;
}

std::size_t CpuMachine::export_batch(std::uint64_t& cursor, void* keys, void* values, std::size_t n) {
  auto* const to_keys = static_cast<std::byte*>(keys);
  auto* const to_values = static_cast<std::byte*>(values);
  std::size_t count = 0;
  do {  // changes wait for a piece, searches for nothing
    const std::shared_lock lock(geometry_);
    require_whole();
    const std::unique_lock still(still_);
    std::byte* const room = to_values ? to_values + count * value_bytes_ : nullptr;
    count += exports_.copy(layout(), cursor, to_keys + key_bytes_ * count, room, std::min(n - count, kExportPiece),
                           kExportSlots);
  } while (count < n && cursor != Exports::kEnd);
  return count;
}

void CpuMachine::stats(Stats& stats) const {
  const std::shared_lock lock(geometry_);
  stats.size = size();
  stats.slots = layout().total_slots();
  stats.cells = layout().in_slot() ? 0 : layout().cells;
  stats.free_cells = cells_.free();
  stats.moves = moves_;
  stats.claim_misses = claim_misses_;
  stats.retries = retries_;
  stats.resizes = resizes_;
  stats.heap_growths = heap_growths_;
  stats.recovery_ms = recovery_ms_;
  stats.last_resize_ms = last_resize_ms_;
  stats.last_resize_alloc_ms = last_resize_alloc_ms_;
  stats.repaired_slots = keeper_.mended().torn;
  stats.finished_moves = keeper_.mended().second_copies;
  stats.rehashed = keeper_.mended().rehashed;
  stats.tile = driver_->tile();
  stats.threads = workers_.threads();
}

}  // namespace holdfast::machine::cpu

namespace holdfast::machine {

std::unique_ptr<Machine> make_cpu_machine(memory::Pool& pool, const MachineOptions& options) {
  return std::make_unique<cpu::CpuMachine>(pool, options);
}

}  // namespace holdfast::machine

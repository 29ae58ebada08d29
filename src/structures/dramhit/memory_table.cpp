// memory_table.cpp: the public MemoryTable: batches in array order, on lanes whose answers come in any.
#include "holdfast/memory_table.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "core/random.hpp"
#include "structures/dramhit/table_impl.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t kEnd = ~std::uint64_t{0};
constexpr unsigned kMostMemoryThreads = 8;
constexpr std::size_t kMostOfALine = std::size_t{dramhit::kSlots} * (dramhit::kMostDistance + 1);  // items
constexpr std::size_t kFewRows = 32;         ///< that run without a thread team
constexpr std::size_t kLeastRows = 4096;     ///< of a thread; fewer are not worth waking it
constexpr unsigned kChunksAThread = 8;       ///< of a batch whose rows any thread may run
constexpr std::size_t kRowsAStop = 1 << 18;  ///< after which a batch asks whether to stop

unsigned threads_of(const MemoryOptions& options) {
  if (options.threads != 0) return options.threads;
  return std::clamp(std::thread::hardware_concurrency(), 1u, kMostMemoryThreads);
}

const MemoryOptions& checked(const MemoryOptions& options) {
  dramhit::check_options(options);
  return options;
}

dramhit::Rows rows_of(const Batch& batch, std::size_t begin, std::size_t end) {
  dramhit::Rows rows;
  rows.keys = static_cast<const std::byte*>(batch.keys);
  rows.values = static_cast<const std::byte*>(batch.values);
  rows.ops = batch.ops;
  rows.mask = batch.mask;
  rows.next = begin;
  rows.end = end;
  rows.op = batch.op;
  const Accumulate how = batch.accumulate.value_or(Accumulate{});
  rows.with = {how.combine, how.element, how.scale, false};
  return rows;
}

dramhit::Results results_of(const Batch& batch) {
  dramhit::Results results;
  if (batch.ops != nullptr || reads_value(batch.op)) results.out = static_cast<std::byte*>(batch.out);
  results.statuses = batch.statuses;
  results.found = batch.found;
  return results;
}

}  // namespace

MemoryTable::Impl::Impl(const MemoryOptions& options)
    : format{checked(options).key_bytes, options.value_bytes, std::max(1u, options.partitions)},
      depth(options.depth != 0 ? options.depth : dramhit::kUsualDepth),
      engine(dramhit::engine_for(format)),
      core(format, options.capacity, options.seed != 0 ? options.seed : random_word(),
           {options.huge_pages, options.interleave, options.populate}, options.grows && options.partitions == 0,
           engine),
      workers(threads_of(options)) {
  if (options.partitions != 0) delegation = std::make_unique<dramhit::Delegation>(engine, core, depth);
  dramhit::watch_forks(*this);
}

MemoryTable::Impl::~Impl() {
  dramhit::forget_forks(*this);
  // In a child of fork the partitions' threads are not here to be joined.
  if (delegation && !delegation->is_here()) static_cast<void>(delegation.release());
  for (unsigned i = 0; i < threads::kThreadNumbers; ++i) delete own_lanes_[i].idle.load();
}

void MemoryTable::Impl::stand_still() {
  mutex_.lock();
  core.stand_still();
}

void MemoryTable::Impl::go_on(bool in_child) {
  core.go_on(in_child);
  mutex_.unlock();
}

MemoryTable::Impl::Borrowed::Borrowed(Impl& impl) : impl_(impl) {
  if (OwnLane* const own = impl.own_lane()) {
    lane_.reset(own->idle.load(std::memory_order_relaxed));
    own->idle.store(nullptr, std::memory_order_relaxed);
    if (lane_) return;
  }
  {
    const std::lock_guard lock(impl.mutex_);
    if (!impl.lanes_.empty()) {
      lane_ = std::move(impl.lanes_.back());
      impl.lanes_.pop_back();
      return;
    }
    impl.lanes_.reserve(impl.made_ + 1);  // it can be given back without memory
    ++impl.made_;
  }
  lane_ = impl.engine.lane(impl.core, impl.depth);
}

MemoryTable::Impl::Borrowed::~Borrowed() {
  OwnLane* const own = impl_.own_lane();
  if (own != nullptr && own->idle.load(std::memory_order_relaxed) == nullptr) {
    own->idle.store(lane_.release(), std::memory_order_relaxed);
    return;
  }
  const std::lock_guard lock(impl_.mutex_);
  impl_.lanes_.push_back(std::move(lane_));
}

/// What a batch needs of memory before its first row runs: then no row fails for want of it.
struct MemoryTable::Impl::Spread {
  Spread(Impl& impl, std::size_t rows) : lane(impl), left(rows < 2 * kLeastRows ? 0 : impl.workers.threads(), false) {}
  Borrowed lane;           ///< the caller's
  std::vector<char> left;  ///< the parts whose threads found no memory for a lane, which the caller's then runs
};

/// All rows of a batch with few, on the calling thread. Nothing that other callers of other keys write is written, and no memory allocated
/// but for the first lane of a thread.
BatchResult MemoryTable::Impl::run_few(const Batch& batch, bool reads_only) {
  const Borrowed lane(*this);
  dramhit::Rows rows = rows_of(batch, batch.from, batch.size);
  rows.reads_only = reads_only && batch.ops == nullptr;
  dramhit::Results results = results_of(batch);
  (*lane).submit(rows, results);
  (*lane).flush(results);
  BatchResult result;
  std::copy(std::begin(results.count), std::end(results.count), std::begin(result.count));
  result.next = batch.size;
  return result;
}

BatchResult MemoryTable::Impl::run(const Batch& batch) {
  const bool reads_only = !dramhit::check_batch(batch, format).changes();
  const bool here = !delegation || reads_only;
  if (here && batch.mask == nullptr && batch.size <= kFewRows && !in_pieces(batch)) return run_few(batch, reads_only);
  std::optional<Spread> spread;
  if (here) spread.emplace(*this, batch.size);
  BatchResult result;
  std::size_t begin = batch.from;
  while (begin < batch.size && !result.stopped) {
    const std::size_t end = in_pieces(batch) ? std::min(batch.size, begin + kRowsAStop) : batch.size;
    run_rows(batch, reads_only, begin, end, spread ? &*spread : nullptr, result);
    begin = end;
    result.stopped = begin < batch.size && stops_after(batch, begin);
  }
  result.next = begin;
  for (std::size_t row = batch.from; row < batch.size; ++row) {
    if (!batch.mask && row < begin) {
      row = begin;
      if (row == batch.size) break;
    }
    if (row < begin && batch.mask[row] != 0) continue;
    if (batch.statuses) batch.statuses[row] = Status::not_run;
    if (batch.found) batch.found[row] = false;
    if (batch.out)
      std::fill_n(static_cast<std::byte*>(batch.out) + row * format.value_bytes, format.value_bytes, std::byte{});
    ++result.count[static_cast<unsigned>(Status::not_run)];
  }
  return result;
}

void MemoryTable::Impl::run_rows(const Batch& batch, bool reads_only, std::size_t begin, std::size_t end,
                                 Spread* spread, BatchResult& result) {
  const std::size_t n = end - begin;
  std::mutex adding;
  const auto add = [&](const dramhit::Results& results) {
    const std::lock_guard lock(adding);
    for (unsigned i = 0; i < kStatuses; ++i) result.count[i] += results.count[i];
  };
  if (spread == nullptr) {
    const auto run_part = [&](unsigned part, dramhit::Lane& lane) {
      dramhit::Rows rows = rows_of(batch, begin, end);
      rows.part = part;
      rows.parts = delegation->partitions();
      dramhit::Results results = results_of(batch);
      lane.submit(rows, results);
      lane.flush(results);
      add(results);
    };
    return delegation->run(std::cref(run_part));
  }
  const bool by_any = reads_only || batch.unique;  // thread; then one that begins late, or is slow, does fewer rows
  std::atomic<std::size_t> untaken{begin};
  const auto run_part = [&](unsigned part, unsigned parts, dramhit::Lane& lane) {
    dramhit::Rows rows = rows_of(batch, begin, end);
    rows.reads_only = reads_only && batch.ops == nullptr;  // else each row has its own answer
    dramhit::Results results = results_of(batch);
    if (by_any) {
      const std::size_t chunk = std::max(kLeastRows, n / (std::size_t{kChunksAThread} * parts));
      for (std::size_t at = untaken.fetch_add(chunk); at < end; at = untaken.fetch_add(chunk)) {
        rows.next = at;
        rows.end = std::min(end, at + chunk);
        lane.submit(rows, results);
      }
    } else {  // all that is about one key goes to one thread, in array order
      rows.part = part;
      rows.parts = parts;
      lane.submit(rows, results);
    }
    lane.flush(results);
    add(results);
  };
  std::atomic<unsigned> of_parts{0};  // not 0: some are left
  const auto work = [&](unsigned part, unsigned parts) {
    if (part == 0) return run_part(part, parts, *spread->lane);
    try {
      const Borrowed lane(*this);
      run_part(part, parts, *lane);
    } catch (const std::bad_alloc&) {  // of the lane: rows need no memory
      spread->left[part] = true;
      of_parts = parts;
    }
  };
  workers.run(static_cast<unsigned>(std::clamp<std::size_t>(n / kLeastRows, 1, workers.threads())), std::cref(work));
  for (unsigned part = 1; part < of_parts; ++part) {
    if (std::exchange(spread->left[part], false)) run_part(part, of_parts, *spread->lane);
  }
}

std::size_t MemoryTable::Impl::export_batch(std::uint64_t& cursor, std::byte* keys, std::byte* values, std::size_t n) {
  if (cursor == kEnd || n == 0) return 0;
  const dramhit::Guest member(core);
  const dramhit::View* const view = core.enter(*member);
  std::vector<std::uint64_t> hashes;  // of what was found: a caller may have space for more than that
  std::size_t size = 0;
  std::uint64_t line = view->geometry.home(cursor);
  for (; line < view->geometry.lines() && size < n; ++line) {
    hashes.resize(size + std::min(n - size, kMostOfALine));
    size += engine.items_of(*view, line, cursor, keys + size * format.key_bytes,
                            values == nullptr ? nullptr : values + size * format.value_bytes, hashes.data() + size,
                            n - size);
  }
  const bool more = size == n && engine.shares_hash(*view, hashes[size - 1], hashes.data(), size);
  if (size < n) {
    cursor = kEnd;
    return size;
  }
  // The next begins at another hash, wherever that lies by then. Keys that share theirs go together, and so does the last.
  std::uint64_t next = hashes[size - 1] == kEnd ? kEnd : hashes[size - 1] + 1;
  if (next == kEnd || more) {
    const std::uint64_t shared = hashes[size - 1];
    while (size > 0 && hashes[size - 1] == shared) --size;
    if (size == 0) {
      throw InvalidArgument("export_batch: several keys share a hash, and go together: give space for more than " +
                            std::to_string(n) + " items");
    }
    next = shared;
  }
  cursor = next;
  return size;
}

MemoryTable::MemoryTable(const MemoryOptions& options) : impl_(std::make_unique<Impl>(options)) {}
MemoryTable::MemoryTable(MemoryTable&&) noexcept = default;
MemoryTable& MemoryTable::operator=(MemoryTable&&) noexcept = default;
MemoryTable::~MemoryTable() = default;

BatchResult MemoryTable::run(const Batch& batch) { return impl_->run(batch); }

namespace {

Batch batch_of(Op op, KeyPointer keys, const void* values, std::size_t n, Status* statuses) {
  Batch batch;
  batch.op = op;
  batch.keys = keys.get();
  batch.values = values;
  batch.size = n;
  batch.statuses = statuses;
  return batch;
}

}  // namespace

BatchResult MemoryTable::insert(KeyPointer keys, const void* values, std::size_t n, Status* statuses) {
  return run(batch_of(Op::insert, keys, values, n, statuses));
}

BatchResult MemoryTable::insert_or_assign(KeyPointer keys, const void* values, std::size_t n, Status* statuses) {
  return run(batch_of(Op::insert_or_assign, keys, values, n, statuses));
}

BatchResult MemoryTable::assign(KeyPointer keys, const void* values, std::size_t n, Status* statuses) {
  return run(batch_of(Op::assign, keys, values, n, statuses));
}

BatchResult MemoryTable::erase(KeyPointer keys, std::size_t n, Status* statuses) {
  return run(batch_of(Op::erase, keys, nullptr, n, statuses));
}

BatchResult MemoryTable::accumulate(KeyPointer keys, const void* values, std::size_t n, Combine combine,
                                    Element element, Status* statuses) {
  Batch batch = batch_of(Op::accumulate, keys, values, n, statuses);
  batch.accumulate = Accumulate{.combine = combine, .element = element};
  return run(batch);
}

BatchResult MemoryTable::find(KeyPointer keys, void* values, std::size_t n, bool* found) {
  Batch batch = batch_of(Op::find, keys, nullptr, n, nullptr);
  batch.out = values;
  batch.found = found;
  return run(batch);
}

BatchResult MemoryTable::contains(KeyPointer keys, std::size_t n, bool* found) {
  Batch batch = batch_of(Op::contains, keys, nullptr, n, nullptr);
  batch.found = found;
  return run(batch);
}

std::size_t MemoryTable::export_batch(std::uint64_t& cursor, void* keys, void* values, std::size_t n) {
  if (n != 0 && !keys) throw InvalidArgument("keys are missing: give space for " + std::to_string(n) + " of them");
  return impl_->export_batch(cursor, static_cast<std::byte*>(keys), static_cast<std::byte*>(values), n);
}

std::uint64_t MemoryTable::size() const { return impl_->core.size(); }
std::uint64_t MemoryTable::slots() const { return impl_->core.slots(); }
double MemoryTable::load_factor() const { return static_cast<double>(size()) / static_cast<double>(slots()); }
std::uint32_t MemoryTable::key_bytes() const { return impl_->format.key_bytes; }
std::uint32_t MemoryTable::value_bytes() const { return impl_->format.value_bytes; }

void MemoryTable::clear() {
  if (!impl_->delegation) return impl_->core.clear();
  const dramhit::View& view = *impl_->core.view_now();
  const std::uint64_t lines = view.all_lines() / view.partitions;
  impl_->delegation->run([&](unsigned part, dramhit::Lane& lane) {
    for (std::uint64_t i = lines * part; i < lines * (part + 1); ++i) {
      dramhit::drop_line(reinterpret_cast<dramhit::Line*>(view.line(i)));
    }
    lane.forget_items();
  });
}

void MemoryTable::reserve(std::uint64_t items) {
  if (impl_->delegation && impl_->core.lines_for(items) > impl_->core.view_now()->geometry.lines()) {
    throw InvalidArgument("a partitioned table does not grow: make one with a capacity of " + std::to_string(items));
  }
  impl_->core.reserve(items);
}

MemoryStats MemoryTable::stats() const {
  const dramhit::Core& core = impl_->core;
  MemoryStats stats;
  stats.space.size = core.size();
  core.figures(stats);
  stats.machine.threads = impl_->workers.threads();
  stats.machine.nodes = dramhit::numa_nodes();
  if (impl_->delegation) {
    stats.partitions.count = impl_->delegation->partitions();
    stats.partitions.refused = impl_->delegation->refused();
  }
  stats.machine.tile = impl_->engine.tile();
  return stats;
}

}  // namespace holdfast

// open_store.cpp: opens and closes a store, verifies it, and says what it has.
#include "store/open_store.hpp"

#include <algorithm>
#include <new>
#include <thread>
#include <utility>

#include "core/clock.hpp"
#include "holdfast/error.hpp"

namespace holdfast::store {

namespace {

constexpr std::uint64_t kLeastLimit = 2 * heap::kSlabBytes;
constexpr std::uint32_t kMostValueBytes = 128u << 20;
constexpr std::uint64_t kMostItems = (std::uint64_t{1} << 32) - 1;  // their locations have 32 bits
constexpr std::size_t kMostErrors = 20;
/// Of a heap, what a snapshot keeps of it in memory, at most; but this much in any case.
constexpr std::uint64_t kKeptShare = 2, kLeastKept = std::uint64_t{64} << 20;

}  // namespace

void require_valid(const StoreOptions& options, const std::string& label) {
  if (options.limit_bytes != 0 && options.limit_bytes < kLeastLimit) {
    throw InvalidArgument(label + " cannot have a limit of " + std::to_string(options.limit_bytes) +
                          " bytes: give at least 4 MiB (4194304), or 0 for none");
  }
  if (options.max_value_bytes == 0 || options.max_value_bytes > kMostValueBytes) {
    throw InvalidArgument(label + " cannot have values of up to " + std::to_string(options.max_value_bytes) +
                          " bytes: give 1 to " + std::to_string(kMostValueBytes));
  }
  if (options.expected_items > kMostItems) {
    throw InvalidArgument(label + " cannot expect " + std::to_string(options.expected_items) + " items: give up to " +
                          std::to_string(kMostItems));
  }
  if (options.evict && options.limit_bytes == 0) {
    throw InvalidArgument(label + " cannot evict items without a limit: give one");
  }
  require_device_list(options, label);
}

OpenStore::OpenStore(std::unique_ptr<StoreObject> object, const StoreOptions& options)
    : path_(object->path()),
      options_(options),
      seed_(object->header().seed),
      limit_(options.limit_bytes),
      object_(std::move(object)) {
  const auto start = Clock::now();
  require_addresses(options_.limit_bytes);
  if (options_.gpu) map_for_gpus();
  slabs_ = object_->heap().count;
  if (!object_->read_only() && !object_->was_clean()) object_->mark_changed();
  const cpu::Mapped mapped{object_->heap(), object_->record(), seed_, !object_->read_only()};
  cpu::EngineOptions engine;
  engine.index = {.capacity = options.expected_items, .threads = std::max(1u, std::thread::hardware_concurrency())};
  engine.salvages = object_->salvages();
  engine.evicts = options.evict;
  engine.grow = [this] { return grow(); };
  engine.require_whole = [this] { object_->pool().require_whole(); };
  engine.label = path_;
  engine.changing = [this] { object_->mark_changed(false, 1); };
  if (options.index == StoreIndex::gpu) {
    engine.other_index = [this](const cuckoo::cpu::CpuOptions& index) {
      return make_device_indexes(options_.devices, index);
    };
  }
  try {
    engine_ = std::make_unique<cpu::Engine>(mapped, object_->persist(), engine);
  } catch (const NoSpace&) {  // of memory for what is volatile
    throw NoSpace(path_ +
                  " cannot be opened: the system has no memory for its index; free memory, or expect fewer items, and "
                  "open it again");
  } catch (const PoolCorrupt& error) {
    throw PoolCorrupt(path_ + " cannot be opened: " + error.what());
  } catch (const DeviceError& error) {
    throw DeviceError(path_ + " cannot have its index on a GPU: " + error.what());
  }
  open_ms_ = ms_since(start);
}

OpenStore::~OpenStore() {
  if (!object_ || !object_->forked()) return;
  static_cast<void>(device_.release());  // CUDA is the parent's
  engine_->index().forget();
}

void OpenStore::map_for_gpus() {
  try {
    device_ = make_device_side();
  } catch (const DeviceError& error) {
    throw DeviceError(path_ + " cannot be used on a GPU: " + error.what());
  }
  object_->on_range(
      [this](void* address, std::size_t bytes) {
        device_->map(static_cast<std::byte*>(address), bytes, object_->read_only());
      },
      [this](void* address, std::size_t) { device_->unmap(static_cast<std::byte*>(address)); });
  if (const std::string error = device_->error(); !error.empty()) {
    throw DeviceError(path_ + " cannot be used on a GPU: " + error);
  }
}

/// Returns how many slabs there are. Those that a GPU cannot reach are not used.
std::uint64_t OpenStore::grow() {
  const auto is_reached = [this] { return !device_ || device_->error().empty(); };
  if (is_reached() && !object_->read_only()) object_->grow(limit_.load(std::memory_order_relaxed));
  if (is_reached()) slabs_ = object_->heap().count;
  return slabs_;
}

void OpenStore::require_addresses(std::uint64_t limit) const {
  if (limit <= object_->most_bytes()) return;
  throw InvalidArgument(path_ + " has addresses for " + std::to_string(object_->most_bytes()) + " bytes, not for " +
                        std::to_string(limit) + ": give a smaller limit, or 0 for none");
}

void OpenStore::require_open() const {
  if (!object_) throw ObjectClosed(path_ + " is closed: open it again");
}

std::unique_ptr<cpu::Counters::Hold> OpenStore::hold() { return engine_ ? engine_->hold_record() : nullptr; }

CheckReport OpenStore::check() {
  return alone([&](cpu::Engine& engine) {
    CheckReport report;
    report.errors = engine.verify(kMostErrors, report.items);
    report.was_clean = object_->was_clean();
    report.finished_moves = engine.recovered().killed;
    report.recovery_ms = open_ms_;
    report.repairs = object_->repairs();
    report.checked.push_back("the checksum of every item");
    return report;
  });
}

void OpenStore::sync() {
  alone([&](cpu::Engine& engine) {
    const auto held = engine.hold_record();  // time passes in searches too, and is written
    object_->sync();
    return true;
  });
}

bool OpenStore::Frozen::begin() {
  const std::uint64_t bytes = store_.object_->heap_bytes();
  try {
    previous_ = std::move(store_.old_lines_);
    store_.old_lines_ =
        std::make_unique<cpu::OldLines>(store_.object_->heap().base, bytes, std::max(kLeastKept, bytes / kKeptShare));
  } catch (const NoSpace&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  store_.engine_->keep_in(store_.old_lines_.get());
  begun_ = true;
  return true;
}

OpenStore::Frozen::~Frozen() {
  if (!begun_) return;
  store_.engine_->keep_in(nullptr);
  lines().end();
}

void OpenStore::close() {
  const std::lock_guard stays_open(stays_open_);
  const std::unique_lock changes(gates_.changes);
  if (!object_) return;
  if (in_place_.load() != 0) {
    throw InvalidArgument(path_ +
                          " cannot be closed while it has reservations or leases: commit, abort or release them first");
  }
  const std::unique_lock uses(gates_.use);
  struct End {  // also after an error of the sync, which a second attempt would meet again
    OpenStore& its;
    ~End() {
      its.is_open_.store(false, std::memory_order_release);
      its.engine_.reset();
      its.object_.reset();
    }
  } const end{*this};
  if (!object_->read_only()) object_->sync();
}

StoreStats OpenStore::stats() {
  return search([&](cpu::Engine& engine) {
    StoreStats stats;
    stats.items = engine.size();
    stats.memory_bytes = engine.slabs() * heap::kSlabBytes;
    stats.limit_bytes = limit_.load(std::memory_order_relaxed);
    stats.free_bytes = engine.free_pieces() * heap::kSlabBytes;
    stats.evicted = engine.evicted();
    stats.killed_at_open = engine.recovered().killed;
    stats.damaged_at_open = engine.damaged_at_open();
    stats.damaged_pieces = engine.damaged_pieces_at_open();
    stats.open_ms = open_ms_;
    stats.index_on_gpu = engine.index().is_batched();
    stats.index_failure = engine.index().failure();
    return stats;
  });
}

void OpenStore::set_limit(std::uint64_t bytes) {
  StoreOptions options = options_;
  options.limit_bytes = bytes;
  require_valid(options, path_);
  search([&](cpu::Engine&) {
    require_addresses(bytes);
    limit_.store(bytes, std::memory_order_relaxed);
    return true;
  });
}

Domain OpenStore::domain() {
  return search([&](cpu::Engine&) { return object_->kept(); });
}

}  // namespace holdfast::store

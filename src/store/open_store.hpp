// open_store.hpp: an open store: its object, the engine over it, and who may use them now.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "holdfast/store.hpp"
#include "store/cpu/engine.hpp"
#include "store/device_side.hpp"
#include "store/store_object.hpp"
#include "threads/use_gates.hpp"

namespace holdfast::store {

/// What the public class and the kind call. Thread-safe.
class OpenStore {
 public:
  /// Rebuilds what is volatile. Throws InvalidArgument (the limit), NoSpace, PoolCorrupt, DeviceError.
  OpenStore(std::unique_ptr<StoreObject> object, const StoreOptions& options);
  ~OpenStore();

  const std::string& path() const { return path_; }
  const StoreOptions& options() const { return options_; }
  std::uint64_t seed() const { return seed_; }  ///< of the hashes of keys
  bool is_open() const { return is_open_.load(std::memory_order_acquire); }

  /// `use(engine)` for a search. Throws ObjectClosed, MediumError.
  template <class Use>
  auto search(const Use& use) {
    const threads::Inside inside(gates_, threads::Inside::Kind::search);
    require_open();
    auto result = use(*engine_);
    object_->pool().require_whole();
    return result;
  }
  /// The same for a change of so many items, and throws ReadOnly.
  template <class Use>
  auto change(std::size_t items, const Use& use) {
    const threads::Inside inside(gates_, threads::Inside::Kind::change);
    require_open();
    object_->pool().require_kept();
    object_->mark_changed(false, items);
    auto result = use(*engine_);
    object_->pool().require_whole();
    return result;
  }
  /// The same when no change runs.
  template <class Use>
  auto alone(const Use& use) {
    const std::unique_lock changes(gates_.changes);
    require_open();
    auto result = use(*engine_);
    object_->pool().require_whole();
    return result;
  }

  /// While one lives, someone has addresses of values, and the store cannot be closed.
  class InPlace {
   public:
    explicit InPlace(OpenStore& store) : store_(store) { store_.in_place_.fetch_add(1); }
    ~InPlace() { store_.in_place_.fetch_sub(1); }
    InPlace(const InPlace&) = delete;
    InPlace& operator=(const InPlace&) = delete;

   private:
    OpenStore& store_;
  };

  CheckReport check();
  void sync();
  void close();
  StoreStats stats();
  void set_limit(std::uint64_t bytes);
  Domain domain();

  /// Keeps changes out, and time still, as long as it lives. Destroyed by the thread that made it.
  class Still {
   public:
    explicit Still(OpenStore& store) : changes_(store.gates_.changes), hold_(store.hold()) {}

   private:
    const std::unique_lock<threads::Gate> changes_;
    const std::unique_ptr<cpu::Counters::Hold> hold_;  ///< null: the store is closed
  };
  /// Keeps what the heap had at one moment, and the store open. Made and destroyed by one thread, while it has no Still.
  class Frozen {
   public:
    explicit Frozen(OpenStore& store) : store_(store), stays_open_(store.stays_open_) {}
    ~Frozen();
    Frozen(const Frozen&) = delete;
    Frozen& operator=(const Frozen&) = delete;
    /// This is the moment; while a Still lives. False: there is no memory for it.
    bool begin();
    cpu::OldLines& lines() { return *store_.old_lines_; }

   private:
    OpenStore& store_;
    const std::lock_guard<std::mutex> stays_open_;
    std::unique_ptr<cpu::OldLines> previous_;  ///< freed when changes run again
    bool begun_ = false;
  };
  const StoreObject* object() const { return object_.get(); }  ///< null: it is closed. While a Still or a Frozen lives
  std::uint64_t damaged() const { return engine_ ? engine_->damaged() : 0; }
  std::uint64_t items() const { return engine_ ? engine_->size() : 0; }
  DeviceSide* device() const { return device_.get(); }  ///< null: the store was opened without GPUs

 private:
  void require_open() const;
  void require_addresses(std::uint64_t limit) const;  ///< throws InvalidArgument where the heap has fewer
  void map_for_gpus();
  std::uint64_t grow();
  std::unique_ptr<cpu::Counters::Hold> hold();

  const std::string path_;
  const StoreOptions options_;
  const std::uint64_t seed_;
  std::atomic<std::uint64_t> limit_;
  std::atomic<bool> is_open_ = true;
  std::mutex stays_open_;  ///< held by who needs the store open for long; before the gates
  threads::UseGates gates_;
  std::unique_ptr<DeviceSide> device_;
  std::unique_ptr<StoreObject> object_;  ///< null: it is closed
  /// Of the last snapshot. Changes that ran at its end may look there still: it goes when none runs, at the next snapshot.
  std::unique_ptr<cpu::OldLines> old_lines_;
  std::unique_ptr<cpu::Engine> engine_;
  std::uint64_t slabs_ = 0;  ///< in use; the engine grows one at a time
  double open_ms_ = 0;
  std::atomic<std::uint64_t> in_place_ = 0;  ///< reservations and leases
};

/// Throws InvalidArgument where the options cannot be.
void require_valid(const StoreOptions& options, const std::string& label);

}  // namespace holdfast::store

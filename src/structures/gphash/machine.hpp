// machine.hpp: what executes batches on an open pool. The table picks one and asks it for everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/operations.hpp"
#include "core/pieces.hpp"
#include "holdfast/device_walk.hpp"
#include "holdfast/pool.hpp"
#include "holdfast/session.hpp"
#include "holdfast/table.hpp"
#include "structures/gphash/protocol/rows.hpp"
#include "structures/gphash/table_object.hpp"
#include "threads/call_slots.hpp"

namespace holdfast::gphash {

struct MachineOptions {
  unsigned threads = 0;                    ///< CPU threads a batch may use; 0: all, 8 at most
  bool verify = false;                     ///< checksums of pairs that searches read
  bool moves = true;                       ///< rule 26
  std::uint32_t shared_bias = 0;           ///< gphash::choose_lane
  int device = 0;                          ///< CUDA ordinal
  std::uint64_t gpu_memory = kHalfOfFree;  ///< bytes of GPU memory that copies of the pool may take
  std::uint64_t order_from = 0;            ///< rows from which a batch is ordered by address; 0: the machine's choice
  bool time_phases = false;                ///< of changing batches, where the machine has phases
  CacheOptions cache = {};                 ///< of buckets and values, in GPU memory
  bool calibrate = true;                   ///< measure at open how searches go best, where the machine has a choice
  threads::CallSlots* calls = nullptr;     ///< by which callers of `run_few` pass the machine's gates; outlives it
};

/// Rows of a batch that takes the short path: the lanes of a probe.
inline constexpr std::size_t kFewRows = 32;

/// Where an export of keys and values of fixed length goes: (n,) rows each. Only keys are always wanted.
struct ExportArrays {
  std::byte* keys = nullptr;
  std::byte* values = nullptr;
  std::uint64_t* scores = nullptr;
};

/// A walk through a table (device_walk.hpp), which keeps changes out as long as it lives.
class Walk {
 public:
  virtual ~Walk() = default;
  virtual bool next(ItemArrays& items) = 0;
  virtual Chosen finish() = 0;
};

/// A machine has recovered its pool when it is constructed: throws PoolCorrupt if the slots are damaged.
class Machine {
 public:
  virtual ~Machine() = default;

  /// Runs rows [from, ...) of a batch that the table has checked, as one that may ask for `ops`, to its end or until `batch.stop` says so (core/pieces.hpp);
  /// returns where the rest begins, and adds to `result`. The caller has durably cleared the pool's clean mark if it changes
  /// anything. `score`: what its changes set, where the pool's scores are no frequencies.
  virtual std::size_t run(const Batch& batch, OpSet ops, std::uint64_t score, std::size_t from,
                          BatchResult& result) = 0;
  /// The same for a batch of at most kFewRows rows in host memory, on the calling thread, which is inside by MachineOptions::calls and
  /// passes no gate. Returns how far it came; `run` does the rest.
  virtual std::size_t run_few(const Batch&, OpSet, std::uint64_t /*score*/, std::size_t from, BatchResult&) {
    return from;
  }
  /// The same for one key of fixed length, as which thread `number` is inside. `not_run`: `run_few` or `run` does it. A search puts the
  /// value into `out`, if that is not null.
  virtual Status find_one(const void* /*key*/, void* /*out*/, unsigned /*number*/) { return Status::not_run; }
  virtual Status change_one(const OneRow&, unsigned /*number*/, std::uint64_t /*score*/) { return Status::not_run; }
  virtual std::size_t export_batch(std::uint64_t& cursor, const ExportArrays& to, std::size_t n) = 0;
  virtual void end_export(std::uint64_t cursor) = 0;
  /// The same for variable-length pairs; what is null is not wanted.
  virtual std::size_t export_pairs(std::uint64_t&, Blobs*, Blobs*, std::size_t) { return 0; }
  virtual void clear() = 0;
  virtual void reserve(std::uint64_t items) = 0;
  /// Waits until nothing runs and all is durable.
  virtual void wait() = 0;
  virtual std::uint64_t size() const = 0;
  virtual std::uint64_t slots() const = 0;
  /// Verifies every slot and cell of the open table. Nothing else runs meanwhile.
  virtual CheckReport check() = 0;
  /// Fills in what the machine knows.
  virtual void stats(Stats& stats) const = 0;
  virtual bool on_gpu() const = 0;
  /// Takes hot values into the machine's cache, if it has one, and waits until they are there.
  virtual void load_cache() {}

  /// Where there are kernels, and keys and values of fixed length. The caller has seen to the plan's sizes.
  /// `before_change` is called before anything is erased, and not where nothing is.
  virtual std::unique_ptr<Walk> walk(const WalkPlan&, const std::function<void()>& /*before_change*/, void*) {
    return nullptr;
  }

  // One session at a time (rule 23), where there are kernels. Nothing else changes the table between its begin and its end,
  // which may come from another thread.
  /// Reserves space for `max_changes` changes, which set `score` as those of a batch do. Throws NoSpace.
  virtual SessionHandle begin_session(std::uint64_t /*max_changes*/, std::uint64_t /*score*/, void*) { return {}; }
  /// Ends it when `stream` gets there.
  virtual void commit_session(void*) {}
  /// Ends it now, once the GPU has done what it was given.
  virtual void end_session() {}
};

/// `read_only`: the pool is clean, and nothing is repaired.
std::unique_ptr<Machine> make_cpu_machine(gphash::TableObject& pool, const MachineOptions& options);
std::unique_ptr<Machine> make_cuda_machine(gphash::TableObject& pool, const MachineOptions& options);

}  // namespace holdfast::gphash

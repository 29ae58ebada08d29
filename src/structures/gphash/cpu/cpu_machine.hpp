// cpu_machine.hpp: executes batches on the CPU: spreads them over threads, grows the table, recovers it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "heap/cells.hpp"
#include "reclaim/epochs.hpp"
#include "structures/gphash/cpu/driver.hpp"
#include "structures/gphash/cpu/level_maintenance.hpp"
#include "structures/gphash/exports.hpp"
#include "structures/gphash/machine.hpp"
#include "threads/call_slots.hpp"
#include "threads/gate.hpp"
#include "threads/thread_team.hpp"

namespace holdfast::gphash::cpu {

class CpuMachine final : public Machine {
 public:
  CpuMachine(gphash::TableObject& pool, const MachineOptions& options);
  ~CpuMachine() override;

  std::size_t run(const Batch& batch, OpSet ops, std::uint64_t score, std::size_t from, BatchResult& result) override;
  std::size_t run_few(const Batch& batch, OpSet ops, std::uint64_t score, std::size_t from,
                      BatchResult& result) override;
  Status find_one(const void* key, void* out, unsigned number) override;
  Status change_one(const OneRow& row, unsigned number, std::uint64_t score) override;
  std::size_t export_batch(std::uint64_t& cursor, const ExportArrays& to, std::size_t n) override;
  void end_export(std::uint64_t cursor) override { exports_.end(cursor); }
  std::size_t export_pairs(std::uint64_t& cursor, Blobs* keys, Blobs* values, std::size_t n) override;
  void clear() override;
  void reserve(std::uint64_t items) override;
  void wait() override {}  // batches end before run returns
  /// Batches count what they did when they end, so an erase may be counted before the insert that it undid.
  std::uint64_t size() const override;
  std::uint64_t slots() const override;
  CheckReport check() override;
  void stats(Stats& stats) const override;
  bool on_gpu() const override { return false; }

 private:
  struct Share;
  struct Counted;
  struct PerThread;
  struct Caller;

  // cpu_machine.cpp: batches
  Work work_of(const Batch& batch, OpSet ops, std::uint64_t score) const;
  void count_statuses(const Work& work, std::size_t from, std::size_t to, BatchResult& result) const;
  void run_chunk(Work& work, std::size_t base, std::size_t size, Share& share);
  std::size_t rows_of_chunk(const Batch& batch, std::size_t from) const;
  void run_share(Work work, Share& share);
  void partition(const Work& work, std::size_t size, unsigned parts, std::vector<std::uint32_t>& order,
                 std::vector<std::size_t>& bounds);
  bool make_space(gphash::Outcome need, std::uint64_t seen_growth, PerThread& mine);
  bool find_cells(PerThread& mine);
  bool take_back_cells(PerThread& mine);
  bool await_cells(PerThread& mine);
  std::size_t export_items(std::uint64_t& cursor, const Exports::Take& take, std::size_t n);

  // short_calls.cpp: calls with few keys
  Caller* this_caller();
  Tally tally_of_callers() const;
  heap::HeapUse heap_use() const;
  void settle_callers();
  void settle_this_caller();
  void forget_callers();

  // cpu_growth.cpp: recovery and resizing
  std::unique_ptr<heap::CellSet> make_cells() { return heap::make_cells(key_bytes_ == kVariableBytes, epochs_); }
  const Layout& layout() const { return levels_.layout(); }
  void recover();
  void grow_index();
  void require_whole() const;
  bool grow_heap(std::uint64_t at_least);
  void check_errors(CheckReport& report);

  gphash::TableObject& pool_;
  const std::uint32_t key_bytes_, value_bytes_;  ///< of the pool, which never change: for use without `geometry_`
  const bool has_cells_;
  const std::uint64_t seed_;
  const MachineOptions options_;
  const std::unique_ptr<threads::CallSlots> own_calls_;  ///< where the options have none
  threads::CallSlots& calls_;
  reclaim::Epochs epochs_{calls_};
  const std::unique_ptr<heap::CellSet> cells_;
  threads::ThreadTeam workers_;
  std::unique_ptr<Driver> driver_;
  LevelMaintenance<gphash::TableObject> levels_;

  using Closes = threads::CallSlots::Closes;
  /// Shared by sub-batches, held alone by the thread that changes the layout.
  mutable threads::Gate geometry_{threads::Gate::Rank::layout, this, this, calls_, Closes::all};
  /// After `geometry_`: shared by sub-batches that change, alone by who reads slots.
  mutable threads::Gate still_{threads::Gate::Rank::slots, this, this, calls_, Closes::changes};
  std::array<std::atomic<Caller*>, threads::kThreadNumbers> callers_{};  ///< by the number of their thread
  Exports exports_;
  bool unfinished_ = false;                ///< a resize found no space: items lie where searches do not look
  std::atomic<std::uint64_t> growth_{0};   ///< counts resizes and heap growths, so that one need grows once
  std::atomic<bool> heap_is_full_{false};  ///< it could not grow, and few of its cells are free
  struct Holders {
    std::atomic<std::uint64_t> came{0}, went{0};
  } holders_;  ///< how many threads began to change the table so far, and how many of them have no cells any more
  std::atomic<std::int64_t> items_{0};
  std::atomic<std::int64_t> left_{0};  ///< bytes that variable-length pairs leave of their cells
  std::atomic<std::uint64_t> moves_{0}, claim_misses_{0}, retries_{0}, resizes_{0}, heap_growths_{0};
  double recovery_ms_ = 0, last_resize_ms_ = 0, last_resize_alloc_ms_ = 0;
};

}  // namespace holdfast::gphash::cpu

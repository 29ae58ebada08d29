// cuda_machine.hpp: executes batches on a GPU: enqueues them on streams, grows the table, recovers it.
//
// Changing batches on one table take effect one after another: each waits on the GPU for the event of the one before
// (RULES.md 14). Searches overlap them freely. A changing call of device arrays returns when its work is enqueued, as long
// as the host knows that everything it may add will fit; else it waits, reads the true size, and grows (RULES.md 18).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "core/turn.hpp"
#include "gphash/cuda/caches/bucket_cache.hpp"
#include "gphash/cuda/caches/value_cache.hpp"
#include "gphash/cuda/change/kernels.hpp"
#include "gphash/cuda/change/phase_times.hpp"
#include "gphash/cuda/kit.hpp"
#include "gphash/cuda/pairs/pair_heap.hpp"
#include "gphash/cuda/pairs/pair_kernels.hpp"
#include "gphash/cuda/pairs/pair_results.hpp"
#include "gphash/cuda/registration.hpp"
#include "gphash/cuda/search/choices.hpp"
#include "gphash/cuda/search/search_rooms.hpp"
#include "gphash/cuda/state.hpp"
#include "gphash/cuda/users/descriptor.hpp"
#include "gphash/exports.hpp"
#include "gphash/layout.hpp"
#include "gphash/machine.hpp"
#include "gpu/pinned.hpp"
#include "gpu/runtime.hpp"
#include "gpu/staging.hpp"

namespace holdfast::machine::cuda {

/// The operations that a batch, or rows of one, may ask for. Kernels take a row's operation from the array of them where there is one,
/// and only those that change read it: so such a batch counts as one that does anything.
template <class Rows>
OpSet may_run(const Rows& rows) {
  return rows.ops != nullptr ? OpSet::all() : OpSet(rows.op);
}

class CudaMachine final : public Machine {
 public:
  CudaMachine(gphash::TableObject& pool, const MachineOptions& options);
  ~CudaMachine() override;

  BatchResult run(const Batch& batch, OpSet ops, std::uint64_t score) override;
  std::size_t export_batch(std::uint64_t& cursor, const ExportArrays& to, std::size_t n) override;
  std::size_t export_pairs(std::uint64_t& cursor, Blobs* keys, Blobs* values, std::size_t n) override;
  void end_export(std::uint64_t cursor) override { exports_.end(cursor); }
  void clear() override;
  void reserve(std::uint64_t items) override;
  void wait() override;
  std::uint64_t size() const override;
  std::uint64_t slots() const override;
  CheckReport check() override;
  void stats(Stats& stats) const override;
  bool on_gpu() const override { return true; }
  void load_cache() override;
  SessionHandle begin_session(std::uint64_t max_changes, std::uint64_t score, void* stream) override;
  void commit_session(void* stream) override;
  void end_session() override;
  std::unique_ptr<Walk> walk(const WalkPlan& plan, void* stream) override;

 private:
  friend class CudaWalk;  // cuda_walk.cpp: a changing batch in pieces, which a user's kernels choose
  /// What may be in the table when all that is enqueued has run: at most so many items, at least so many free cells.
  struct Bounds {
    std::uint64_t items = 0, free_cells = 0;
  };
  /// The batch, as far as room for it matters.
  struct Need {
    std::uint64_t keys = 0, cells = 0;
  };
  /// Which growth has failed, so that it is not tried again for the same batch.
  struct Full {
    bool index = false, heap = false;
    bool tried_freed = false;  ///< what is left has had a try with the cells that came free, and got no further
  };

  /// Whether a batch goes in phases, and what its rows may ask of them.
  struct Phases {
    bool any = false;
    bool values = false, keys = false;  ///< some are written
    bool frees = false;                 ///< cells come out of their slots
    bool sums = false, reads = false;
    bool gathers = false;  ///< of what is read, some lies in cells
    bool counts = false;   ///< scores are frequencies, and some are written
  };

  /// Where a changing batch is ordered while the one before it, in the other, changes the table.
  struct Ordering {
    DeviceBuffer<std::uint32_t> prefixes, rows;
    DeviceBuffer<std::uint64_t> ordered{1};
    DeviceBuffer<index::Effect> effects;
    DeviceBuffer<index::Writes> writes;
    DeviceBuffer<std::byte> scratch;
    Event ended;  ///< the batch that was last ordered here
  };

  // cuda_batch.cpp, cuda_change.cpp, cuda_phases.cpp, cuda_choices.cpp, capture.cpp
  void run_on_device(const Batch& batch, std::uint64_t score);
  BatchResult run_from_host(const Batch& batch, std::uint64_t score);
  void run_chunk(const Batch& batch, std::size_t base, std::size_t size, std::uint64_t score, Stage& stage,
                 BatchResult& result);
  void search(FindJob job, cudaStream_t stream);
  void capture_search(FindJob job, cudaStream_t stream);
  void change(ChangeJob job, bool unique, Need need, bool waited, cudaStream_t stream, bool whole = false);
  void change_and_wait(ChangeJob& job, cudaStream_t stream);
  void change_in_parts(const ChangeJob& job, bool unique, Need need, cudaStream_t stream);
  std::uint64_t rows_that_fit(Need need) const;
  std::uint64_t sure_items() const;
  std::uint64_t reserve_of(Need need) const;
  std::uint64_t rows_from_phases() const { return options_.order_from != 0 ? options_.order_from : kSmallSearch; }
  /// Rows from which searches are ordered.
  std::uint64_t order_from() const { return options_.order_from != 0 ? options_.order_from : kSmallSearch + 1; }
  Phases phases_of(const ChangeJob& job) const;
  ChangeRoom change_room(const Phases& phases);
  Ordering& next_ordering(std::uint64_t rows);
  void order(ChangeJob& job, Ordering& ordering, const Phases& phases, cudaStream_t stream);
  void change_in_phases(ChangeJob& job, const Phases& phases, const Ordering& ordering, cudaStream_t stream);
  void commit_in_phases(const ChangeJob& job, const ChangeRoom& room, const Phases& phases, cudaStream_t stream);
  void clear_room(const ChangeJob& job, const ChangeRoom& room, const SearchRoom& reading, cudaStream_t stream);
  PlanRange plan_with_head_start(const ChangeJob& job, const ChangeRoom& room, const SearchRoom& reading,
                                 cudaStream_t stream);
  void read_values(const ChangeJob& job, const ChangeRoom& room, const SearchRoom& reading, const Phases& phases,
                   cudaStream_t stream);
  void change_leftovers(ChangeJob& job, bool waited, cudaStream_t stream);
  bool make_room(const ChangeReport& report, Full& full);
  CacheView caches() const;
  bool goes_by_cells(const FindJob& job) const;
  bool goes_by_address(const FindJob& job) const;
  void start_search(const FindJob& job, SearchRooms::Room* cells, SearchRooms::Room* aims, cudaStream_t stream);
  void search_cells(const FindJob& job, SearchRooms::Room& lent, cudaStream_t stream);
  void search_in_order(const FindJob& job, const SearchRoom& room, cudaStream_t stream);
  std::uint64_t head_start_of(const FindJob& job) const;
  void search_with_head_start(const FindJob& job, std::uint64_t first, const SearchRoom& room, HeadStart& head,
                              cudaStream_t stream);
  void search_far(const FindJob& job, const SearchRooms::Room& aims, SearchRoom room, cudaStream_t stream);
  void choose_searches(std::uint64_t items);
  void measure_searches();
  Need need_of(const Batch& batch, std::size_t size) const;
  bool fits(Need need);
  void prepare_room(std::uint64_t rows, const Phases& phases);
  void require_reachable(const void* array, const char* name) const;
  void require_reachable(const Batch& batch) const;
  FindJob find_job(const index::Rows& rows, const void* keys, const std::uint8_t* mask, std::uint64_t size) const;
  ChangeJob change_job(const index::Rows& rows, const void* keys, const std::uint8_t* mask, std::uint64_t size) const;

  // cuda_session.cpp
  void make_session_room(Need need);

  // cuda_pairs.cpp, cuda_pair_results.cpp, cuda_pair_change.cpp
  BatchResult run_pairs(const Batch& batch);
  BatchResult run_pair_chunks(const Batch& batch);
  void run_pair_chunk(const Batch& batch, std::size_t base, std::size_t size, Stage& stage, BatchResult& result);
  void run_pairs_in_place(const Batch& batch, std::size_t base, std::size_t size, Stage& stage);
  void run_pair_rows(const PairChunk& chunk, const ResultsOf& to, Stage& stage, cudaStream_t stream);
  void require_pairs(const Batch& batch, Stage& stage) const;
  void search_pairs(const FindJob& job, const ResultsOf& to, Stage& stage, cudaStream_t stream);
  bool search_pairs_once(const FindJob& job, const ResultsOf& to, PairSearchRoom room, bool exact, Stage& stage,
                         cudaStream_t stream);
  Layout resolve_pairs(const FindJob& job, const PairSearchRoom& room, bool exact, cudaStream_t stream);
  void gather_reads(ReadsOfChange& reads, cudaStream_t stream);
  void give_reads(const ReadsOfChange& reads, cudaStream_t stream);
  PinnedParts bring_results(const LaidOut& laid, Stage& stage, cudaStream_t stream, const std::function<void()>& last);
  static void bring_rows(const Blob* results, std::size_t size, const ResultsOf& to, cudaStream_t stream);
  void bring_parts(const LaidOut& laid, PinnedParts& brought, Stage& stage, cudaStream_t stream);
  void leave_results(const Scattered& from, const ResultsOf& to, cudaStream_t stream);
  PairRoom prepare_pair_room(std::uint64_t rows);
  void require_rest(std::uint64_t rows);
  bool end_rest();
  bool free_cells_of_batch(ReadsOfChange* reads, cudaStream_t stream);
  void begin_rest(std::uint64_t capacity);
  void change_pairs(ChangeJob& job, PairRoom room, ReadsOfChange* reads, cudaStream_t stream);
  void change_pairs_in_phases(const ChangeJob& job, PairRoom room, Full& full, cudaStream_t stream);
  void change_pairs_one_by_one(ChangeJob& job, const PairRoom& room, Full& full, ReadsOfChange* reads,
                               cudaStream_t stream);
  void reserve_pairs(const ChangeJob& job, Full& full, cudaStream_t stream);
  void take_leftovers(ChangeJob& job, const ChangeReport& report);
  ChangeReport read_change_report(cudaStream_t stream) const;

  // cuda_loads.cpp. `maps` are those of one of the caches
  void load_if_due(std::uint64_t rows);
  void begin_load(const CacheMaps& maps);
  void step_load(const CacheMaps& maps, bool paced);
  void load_and_wait(const CacheMaps& maps);

  // cuda_recovery.cpp, cuda_growth.cpp, cuda_check.cpp; the caller holds `changing_` and, except for `settle` and `read_state`, `launching_`
  void recover();
  void set_top_level(unsigned top_level, DeviceBuffer<std::uint64_t> tags, bool carry);
  DeviceBuffer<std::uint64_t> tags_for(unsigned top_level) const;
  ScanReport scan_table(const DeviceBuffer<std::uint32_t>& live);
  void refuse_damage(const std::vector<std::string>& damage) const;
  void drain_lower_levels(bool recovering);
  void begin_cells(const DeviceBuffer<std::uint32_t>& live, std::uint64_t left);
  void take_cells();
  void take_slabs();
  DeviceBuffer<std::uint32_t> bits_for_cells() const;
  void check_pairs(CheckReport& report, const ScanReport& found);
  void note_bounds();
  bool grow_index();
  bool grow_heap(std::uint64_t at_least);
  void check_errors(CheckReport& report);
  ScanReport read_report() const;
  void zero_report();
  DeviceState read_state() const;
  PositionState read_positions(const CacheMaps& maps) const;
  void settle();
  void finish_searches();
  void finish_all();
  void end_captures();
  void require_working() const;

  gphash::TableObject& pool_;
  const MachineOptions options_;
  std::string gpu_;  ///< its name
  Registration registration_;
  std::unique_ptr<PairHeap> pairs_;  ///< null: keys and values have fixed lengths
  std::unique_ptr<PairKernels> pair_kernels_;
  std::unique_ptr<Kernels> kernels_;  ///< null with pairs
  TableKernels& table_kernels_;       ///< one of the two
  Layout layout_;
  BucketCache cache_;
  PhaseTimes times_;
  ValueCache values_;
  Stream stream_;  ///< for what the machine does alone
  DeviceBuffer<std::uint64_t> tags_;
  DeviceBuffer<std::uint64_t> ring_cells_;
  const std::shared_ptr<DeviceBuffer<DeviceState>> shared_state_;  ///< with graphs, which may outlive the table
  DeviceBuffer<DeviceState>& state_;
  DeviceBuffer<ScanReport> scan_report_;
  DeviceBuffer<ChangeReport> change_report_;
  CellRing ring_;

  Turn changing_;                 ///< held by whoever enqueues a change, and by a session; taken before `launching_`
  mutable std::mutex launching_;  ///< held by whoever launches a search, or changes the layout
  mutable std::mutex reading_;    ///< of the state, by `stream_for_state_`
  Stream stream_for_state_;
  Event last_change_;
  std::shared_mutex finding_;  ///< held by searches of pairs until what they found is gathered; taken after `changing_`
  std::deque<Event> searches_;  ///< that may still run, oldest first
  std::uint64_t generation_ = 1;
  bool captured_ = false;  ///< a search of this generation is in a graph
  SearchChoices choices_;
  SearchRooms search_rooms_, aim_rooms_;
  std::vector<Event> spare_events_;
  Bounds bounds_;
  Stages stages_;
  Exports exports_;
  DeviceBuffer<Descriptor> descriptor_;  ///< made for the first session
  std::uint64_t sessions_ = 0;           ///< begun

  Ordering orderings_[2];
  unsigned orders_ = 0;

  // For one changing batch at a time: what it leaves over.
  DeviceBuffer<std::uint32_t> leftovers_;
  DeviceBuffer<std::byte> scratch_;
  // And its phases.
  DeviceBuffer<Planned> planned_;
  DeviceBuffer<Sum> sums_;
  DeviceBuffer<std::uint32_t> sum_order_;
  DeviceBuffer<std::uint64_t> scores_;
  DeviceBuffer<std::uint32_t> score_order_;
  DeviceBuffer<std::uint32_t> change_order_;
  DeviceBuffer<PairPlan> pair_plans_;
  const std::shared_ptr<PinnedMemory> pinned_ = std::make_shared<PinnedMemory>();  ///< for what rows of pairs read
  std::uint64_t resting_ = 0;  ///< of pairs: cells that may rest, at most
  Stream beside_;              ///< for what goes on beside other phases, between these moments
  Event all_planned_, all_ordered_, all_read_;
  Stream ahead_{true};  ///< for the values of a batch's first rows, between these moments
  Event some_planned_, some_placed_;
  std::unique_ptr<SearchRooms::Room> read_room_;  ///< for the values that changing rows read

  std::string stuck_;  ///< why nothing more can run, if so
  std::atomic<std::uint64_t> resizes_{0}, heap_growths_{0}, phased_batches_{0};
  double recovery_ms_ = 0, last_resize_ms_ = 0, last_resize_alloc_ms_ = 0;
  std::uint64_t torn_ = 0, second_copies_ = 0, rehashed_ = 0;
};

}  // namespace holdfast::machine::cuda

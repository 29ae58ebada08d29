// changes.hpp: the part of a machine that enqueues changing batches of keys and values of fixed length, and makes space for them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "structures/gphash/cuda/change/plan_ahead.hpp"
#include "structures/gphash/cuda/change/schedule.hpp"
#include "structures/gphash/cuda/maintenance/maintenance.hpp"
#include "structures/gphash/cuda/search/search_workspaces.hpp"
#include "structures/gphash/cuda/search/searches.hpp"
#include "structures/gphash/cuda/table/cuda_table.hpp"

namespace holdfast::gphash::cuda {

/// A batch, as far as space for it matters.
struct Need {
  std::uint64_t keys = 0, cells = 0;
};

/// The caller of each holds `changing`.
class Changes {
 public:
  Changes(CudaTable& table, Searches& searches, Maintenance& maintenance)
      : table_(table), searches_(searches), maintenance_(maintenance), schedule_(table, maintenance, kLists) {}

  /// `waited`: returns when all is done, having grown the table as far as it took. `whole`: not in parts, whether it fits or not.
  void change(ChangeJob job, bool unique, Need need, bool waited, cudaStream_t stream, bool whole = false);
  /// True if such a batch surely finds space. Waits for the batches before it only if the bounds do not show it.
  bool fits(Need need);
  /// The items up to which every insert is sure to find a slot; 0: at no load.
  std::uint64_t sure_items() const;
  /// The cells that a batch leaves to updates (rule 6).
  std::uint64_t reserve_of(Need need) const { return need.keys != 0 ? table_.state.ring().reserve : 0; }
  std::uint64_t phased_batches() const { return phased_batches_; }

 private:
  static constexpr unsigned kLists =
      7;  ///< of the schedule: two for cells that come free, and one for copies, on top of the order
  /// Whether a batch may go in phases, and what its rows may ask of them.
  struct Phases {
    bool any = false;
    bool values = false, keys = false;  ///< some are written
    bool frees = false;                 ///< cells come out of their slots
    bool sums = false, reads = false;
    bool gathers = false;  ///< of what is read, some lies in cells
    bool counts = false;   ///< scores are frequencies, and some are written
  };

  void change_in_parts(const ChangeJob& job, bool unique, Need need, cudaStream_t stream);
  void enqueue_leftovers(ChangeJob& job, cudaStream_t stream);
  std::uint64_t rows_that_fit(Need need) const;
  void prepare_workspace(std::uint64_t rows, const Phases& phases);
  // change_in_phases.cpp
  Phases phases_of(const ChangeJob& job) const;
  ChangeWorkspace change_workspace(const Phases& phases) const;
  void change_in_phases(const ChangeJob& job, const Phases& phases, const Ordering& ordering, cudaStream_t stream);
  void commit_in_phases(const ChangeJob& job, const ChangeWorkspace& workspace, const Phases& phases,
                        cudaStream_t stream);
  void clear_workspace(const ChangeJob& job, const ChangeWorkspace& workspace, const SearchWorkspace& reading,
                       cudaStream_t stream);
  void read_values(const ChangeJob& job, const ChangeWorkspace& workspace, const SearchWorkspace& reading,
                   const Phases& phases, cudaStream_t stream);

  CudaTable& table_;
  Searches& searches_;
  Maintenance& maintenance_;
  ChangeSchedule schedule_;
  // For the phases of one batch at a time.
  DeviceBuffer<Planned> planned_;
  DeviceBuffer<Sum> sums_;
  DeviceBuffer<std::uint32_t> sum_order_;
  DeviceBuffer<std::uint64_t> scores_;
  DeviceBuffer<std::uint32_t> score_order_;
  Stream beside_;  ///< for what runs beside other phases, between these moments
  Event all_planned_, all_ordered_, all_read_;
  PlanAhead plan_ahead_{table_};
  std::unique_ptr<SearchWorkspaces::Workspace> read_workspace_;  ///< for the values that changing rows read
  std::atomic<std::uint64_t> phased_batches_{0};
};

}  // namespace holdfast::gphash::cuda

// pair_batches.hpp: the part of a machine that runs batches of variable-length pairs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <shared_mutex>

#include "gpu/pinned.hpp"
#include "structures/gphash/cuda/change/schedule.hpp"
#include "structures/gphash/cuda/maintenance/cache_loads.hpp"
#include "structures/gphash/cuda/maintenance/maintenance.hpp"
#include "structures/gphash/cuda/pairs/pair_results.hpp"
#include "structures/gphash/cuda/search/searches.hpp"
#include "structures/gphash/cuda/table/batches.hpp"
#include "structures/gphash/cuda/table/cuda_table.hpp"

namespace holdfast::gphash::cuda {

class PairBatches final : public Batches {
 public:
  PairBatches(CudaTable& table, Searches& searches, Maintenance& maintenance, CacheLoads& loads)
      : table_(table),
        searches_(searches),
        maintenance_(maintenance),
        loads_(loads),
        schedule_(table, maintenance, kLists) {}

  std::size_t run(const Batch& batch, OpSet ops, std::uint64_t score, std::size_t from, BatchResult& result) override;
  void stats(Stats& stats) const override;

 private:
  static constexpr unsigned kLists = 4;  ///< of the schedule: for the order of changes alone
  class PairCells;

  std::size_t run_chunks(const Batch& batch, OpSet ops, std::size_t from, BatchResult& result);
  void run_chunk(const Batch& batch, OpSet ops, std::size_t base, std::size_t size, Stage& stage, BatchResult& result);
  void run_in_place(const Batch& batch, OpSet ops, std::size_t base, std::size_t size, Stage& stage);
  void run_rows(const PairChunk& chunk, const ResultsOf& to, Stage& stage, cudaStream_t stream);
  void require_pairs(const Batch& batch, Stage& stage) const;

  // pair_results.cpp
  void search_pairs(const FindJob& job, const ResultsOf& to, Stage& stage, cudaStream_t stream);
  bool search_pairs_once(const FindJob& job, const ResultsOf& to, PairSearchWorkspace workspace, bool exact,
                         Stage& stage, cudaStream_t stream);
  Layout resolve_pairs(const FindJob& job, const PairSearchWorkspace& workspace, bool exact, cudaStream_t stream);
  void gather_reads(ReadsOfChange& reads, cudaStream_t stream);
  void give_reads(const ReadsOfChange& reads, cudaStream_t stream);
  PinnedParts bring_results(const LaidOut& laid, Stage& stage, cudaStream_t stream, const std::function<void()>& last);
  static void bring_rows(const Blob* results, std::size_t size, const ResultsOf& to, cudaStream_t stream);
  void bring_parts(const LaidOut& laid, PinnedParts& brought, Stage& stage, cudaStream_t stream);
  void leave_results(const Scattered& from, const ResultsOf& to, cudaStream_t stream);

  // pair_changes.cpp
  void prepare_workspace(const ChangeJob& job);
  bool phases_pay(const ChangeJob& job) const;
  void require_retired_space(std::uint64_t rows);
  bool settle_retired();
  bool free_cells_of_batch(ReadsOfChange* reads, cudaStream_t stream);
  void change_pairs(ChangeJob& job, ReadsOfChange* reads, cudaStream_t stream);
  void change_in_phases(const ChangeJob& job, const Ordering& ordering, PairCells& cells, cudaStream_t stream);

  CudaTable& table_;
  Searches& searches_;
  Maintenance& maintenance_;
  CacheLoads& loads_;
  ChangeSchedule schedule_;
  std::shared_mutex finding_;  ///< held by searches until what they found is gathered; taken after `changing`
  const std::shared_ptr<PinnedMemory> pinned_ = std::make_shared<PinnedMemory>();  ///< for what rows read
  DeviceBuffer<PairPlan> plans_;  ///< for the phases of one batch at a time
  std::atomic<std::uint64_t> phased_batches_{0};
};

}  // namespace holdfast::gphash::cuda

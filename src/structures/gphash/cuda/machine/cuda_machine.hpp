// cuda_machine.hpp: executes batches on a GPU. Its parts, each readable alone, share a table (cuda_table.hpp), which orders their changes;
// paths.hpp says which path a batch takes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "structures/gphash/cuda/machine/fixed_batches.hpp"
#include "structures/gphash/cuda/maintenance/cache_loads.hpp"
#include "structures/gphash/cuda/maintenance/maintenance.hpp"
#include "structures/gphash/cuda/pairs/pair_batches.hpp"
#include "structures/gphash/cuda/search/searches.hpp"
#include "structures/gphash/cuda/table/cuda_table.hpp"
#include "structures/gphash/cuda/users/sessions.hpp"

namespace holdfast::gphash::cuda {

class CudaMachine final : public Machine {
 public:
  CudaMachine(gphash::TableObject& pool, const MachineOptions& options);
  ~CudaMachine() override;

  std::size_t run(const Batch& batch, OpSet ops, std::uint64_t score, std::size_t from, BatchResult& result) override;
  std::size_t export_batch(std::uint64_t& cursor, const ExportArrays& to, std::size_t n) override;
  std::size_t export_pairs(std::uint64_t& cursor, Blobs* keys, Blobs* values, std::size_t n) override;
  void end_export(std::uint64_t cursor) override { table_.exports.end(cursor); }
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
  std::unique_ptr<Walk> walk(const WalkPlan& plan, const std::function<void()>& before_change, void* stream) override;

 private:
  std::size_t export_items(std::uint64_t& cursor, const Exports::Take& take, std::size_t n);

  CudaTable table_;
  Searches searches_;
  Maintenance maintenance_;
  CacheLoads loads_;
  // One of the two, which is `batches_`.
  std::optional<PairBatches> pairs_;
  std::optional<FixedBatches> fixed_;
  Batches& batches_;
};

}  // namespace holdfast::gphash::cuda

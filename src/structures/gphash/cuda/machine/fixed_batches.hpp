// fixed_batches.hpp: the part of a machine that runs batches of keys and values of fixed lengths.
#pragma once

#include "structures/gphash/cuda/change/changes.hpp"
#include "structures/gphash/cuda/maintenance/cache_loads.hpp"
#include "structures/gphash/cuda/table/batches.hpp"
#include "structures/gphash/cuda/users/sessions.hpp"

namespace holdfast::gphash::cuda {

class FixedBatches final : public Batches {
 public:
  FixedBatches(CudaTable& table, Searches& searches, Maintenance& maintenance, CacheLoads& loads)
      : table_(table),
        searches_(searches),
        loads_(loads),
        changes_(table, searches, maintenance),
        sessions_(table, searches, maintenance, changes_) {}

  std::size_t run(const Batch& batch, OpSet ops, std::uint64_t score, std::size_t from, BatchResult& result) override;
  void stats(Stats& stats) const override { stats.work.phased_batches = changes_.phased_batches(); }
  Changes& changes() { return changes_; }
  Sessions& sessions() { return sessions_; }

 private:
  void run_on_device(const Batch& batch, OpSet ops, std::uint64_t score);
  std::size_t run_from_host(const Batch& batch, OpSet ops, std::uint64_t score, std::size_t from, BatchResult& result);
  void run_chunk(const Batch& batch, OpSet ops, std::size_t base, std::size_t size, std::uint64_t score, Stage& stage,
                 BatchResult& result);
  Need need_of(OpSet ops, std::size_t size) const;

  CudaTable& table_;
  Searches& searches_;
  CacheLoads& loads_;
  Changes changes_;
  Sessions sessions_;
};

}  // namespace holdfast::gphash::cuda

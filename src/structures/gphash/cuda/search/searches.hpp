// searches.hpp: the part of a machine that enqueues searches for keys and values of fixed length, and knows which may still run.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "structures/gphash/cuda/search/choices.hpp"
#include "structures/gphash/cuda/search/search_workspaces.hpp"
#include "structures/gphash/cuda/table/cuda_table.hpp"

namespace holdfast::gphash::cuda {

class Searches {
 public:
  explicit Searches(CudaTable& table) : table_(table) {}

  void search(const FindJob& job, cudaStream_t stream);
  /// Into the graph that `stream` is being captured into.
  void capture_search(FindJob job, cudaStream_t stream);
  /// Measures how searches go best. The caller is alone on the table, which has `items`.
  void choose_searches(std::uint64_t items);
  const SearchChoices& choices() const { return choices_; }

  /// Notes that another part has enqueued a search. The caller holds `launching`.
  void note(cudaStream_t stream);
  /// Waits for all that are enqueued.
  void finish_searches() const;
  /// Waits for them, the last change and loads of caches. The caller holds `launching`, so no other search begins.
  void finish_all() const;
  /// Tags and copies of buckets are about to go, or all cells to come free: searches in graphs do nothing from now on, and none
  /// of them is under way. The caller holds `launching`.
  void end_captures();

 private:
  Event next_event();
  bool values_may_miss(const FindJob& job) const;
  bool slots_may_miss() const;
  SearchFacts facts_of(const FindJob& job) const;
  void start(const FindJob& job, SearchPath path, SearchWorkspaces::Workspace* cells, SearchWorkspaces::Workspace* aims,
             cudaStream_t stream);
  void search_cells(const FindJob& job, SearchPath path, SearchWorkspaces::Workspace& lent, cudaStream_t stream);
  void search_in_order(const FindJob& job, const SearchWorkspace& workspace, cudaStream_t stream);
  void search_misses(const FindJob& job, const SearchWorkspaces::Workspace& aims, SearchWorkspace workspace,
                     cudaStream_t stream);
  // pipelining.cu
  std::uint64_t pipelined_rows(const FindJob& job) const;
  void search_in_two_parts(const FindJob& job, const SearchWorkspace& workspace, Pipelining& head, cudaStream_t stream);
  void measure();  // measured_choices.cpp

  CudaTable& table_;
  SearchChoices choices_;
  SearchWorkspaces cell_workspaces_, aim_workspaces_;
  std::deque<Event> running_;  ///< searches that may still run, oldest first
  std::vector<Event> spare_events_;
  bool captured_ = false;  ///< a search of this generation is in a graph
};

}  // namespace holdfast::gphash::cuda

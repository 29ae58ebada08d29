// captured_search.cpp: searches in CUDA graphs: what the graph keeps, and how it learns that the table has changed under it.
#include <chrono>
#include <thread>

#include "gpu/capture.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/search/searches.hpp"

namespace holdfast::gphash::cuda {

namespace {

/// Of one captured search. The state has the word that says whether its table is still as it was.
struct SearchInGraph {
  std::shared_ptr<DeviceBuffer<DeviceState>> state;
  std::unique_ptr<SearchWorkspaces::Workspace> cells, aims;
};

}  // namespace

/// A search that will run as often as its graph is launched, whenever that is. The host waits for none of its runs, so it has a
/// its own workspace, and answers `not_run` once end_captures has switched it over.
void Searches::capture_search(FindJob job, cudaStream_t stream) {
  const std::lock_guard lock(table_.order.launching());
  const auto kept = std::make_shared<SearchInGraph>();
  kept->state = table_.state.shared();
  job.generation = table_.state.generation();
  const SearchPath path = path_of(facts_of(job));
  if (values_may_miss(job))
    kept->cells = std::make_unique<SearchWorkspaces::Workspace>(job.size, is_wide(table_.layout().cells));
  if (path == SearchPath::by_slots || path == SearchPath::by_both)
    kept->aims = std::make_unique<SearchWorkspaces::Workspace>(job.size, false);
  keep_for_graph(stream, kept);
  captured_ = true;
  skip_masked(job.rows, nullptr, job.size, stream);
  start(job, path, kept->cells.get(), kept->aims.get(), stream);
}

void Searches::end_captures() {
  if (!captured_) return;
  captured_ = false;
  table_.state.end_generation(table_.stream);
  // ends: graphs that begin from now on find another generation, and join no epoch
  for (;;) {
    const DeviceState state = table_.state.read();
    if (state.readers.inside[0] + state.readers.inside[1] + state.readers.inside[2] == 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace holdfast::gphash::cuda

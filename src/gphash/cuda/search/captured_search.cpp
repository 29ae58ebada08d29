// captured_search.cpp: searches in CUDA graphs: what the graph keeps, and how it learns that the table has changed under it.
#include <chrono>
#include <thread>

#include "gphash/cuda/cuda_machine.hpp"
#include "gphash/cuda/kit.hpp"
#include "gpu/capture.hpp"

namespace holdfast::machine::cuda {

namespace {

/// Of one captured search. The state has the word that says whether its table is still as it was.
struct SearchInGraph {
  std::shared_ptr<DeviceBuffer<DeviceState>> state;
  std::unique_ptr<SearchRooms::Room> cells, aims;
};

}  // namespace

/// A search that will run as often as its graph is launched, whenever that is. The host waits for none of its runs, so it has a
/// room of its own, and answers `not_run` once end_captures has told it to.
void CudaMachine::capture_search(FindJob job, cudaStream_t stream) {
  const std::lock_guard lock(launching_);
  const auto kept = std::make_shared<SearchInGraph>();
  kept->state = shared_state_;
  if (goes_by_cells(job)) kept->cells = std::make_unique<SearchRooms::Room>(job.size, is_wide(layout_.cells));
  if (goes_by_address(job)) kept->aims = std::make_unique<SearchRooms::Room>(job.size, false);
  keep_for_graph(stream, kept);
  job.generation = generation_;
  captured_ = true;
  skip_masked(job.rows, nullptr, job.size, stream);
  start_search(job, kept->cells.get(), kept->aims.get(), stream);
}

/// Tags and copies of buckets are about to go, or all cells to come free: searches in graphs do nothing from now on, and none
/// of them is under way. The caller holds `launching_`.
void CudaMachine::end_captures() {
  if (!captured_) return;
  captured_ = false;
  ++generation_;
  const char* const doing = "ending searches in graphs";
  cuda::check(cudaMemcpyAsync(&state_.data()->generation, &generation_, 8, cudaMemcpyHostToDevice, stream_), doing);
  stream_.wait(doing);
  for (;;) {
    const DeviceState state = read_state();
    if (state.readers.inside[0] + state.readers.inside[1] + state.readers.inside[2] == 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace holdfast::machine::cuda

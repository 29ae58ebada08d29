// capture.cpp: searches in CUDA graphs: what the graph keeps, and how it learns that the table has changed under it.
#include "gpu/capture.hpp"

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "gphash/cuda/cuda_machine.hpp"
#include "gpu/runtime.hpp"
#include "holdfast/error.hpp"

namespace holdfast::machine::cuda {

namespace {

using Kept = std::shared_ptr<void>;

/// What graphs that are gone have kept.
struct Left {
  std::mutex mutex;
  std::vector<std::unique_ptr<Kept>> all;
};
Left& left() {
  static Left* const left = new Left;  // graphs may outlive every other object of the process
  return *left;
}

/// Called by CUDA when the last graph has let go.
void CUDART_CB leave(void* kept) {
  std::unique_ptr<Kept> mine(static_cast<Kept*>(kept));
  const std::lock_guard lock(left().mutex);
  left().all.push_back(std::move(mine));
}

cudaGraph_t graph_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* nodes = nullptr;
  std::size_t count = 0;
  unsigned long long id = 0;
  const char* const doing = "asking for the graph that a search is captured into";
#if CUDART_VERSION >= 13000
  const cudaGraphEdgeData* edges = nullptr;
  check(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, &edges, &count), doing);
#else
  check(cudaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &nodes, &count), doing);
#endif
  return graph;
}

}  // namespace

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "asking whether the batch's stream is being captured");
  if (status == cudaStreamCaptureStatusInvalidated) {
    throw InvalidArgument(
        "the capture of stream into a CUDA graph has gone wrong before this batch: end it, and begin another");
  }
  return status == cudaStreamCaptureStatusActive;
}

void keep_for_graph(cudaStream_t stream, std::shared_ptr<void> what) {
  const char* const doing = "giving a graph what its searches need";
  auto kept = std::make_unique<Kept>(std::move(what));
  cudaUserObject_t object = nullptr;
  check(cudaUserObjectCreate(&object, kept.get(), leave, 1, cudaUserObjectNoDestructorSync), doing);
  static_cast<void>(kept.release());  // it is the object's
  const cudaError_t code = cudaGraphRetainUserObject(graph_of(stream), object, 1, cudaGraphUserObjectMove);
  if (code != cudaSuccess) static_cast<void>(cudaUserObjectRelease(object, 1));
  check(code, doing);
}

void free_what_graphs_kept() {
  std::vector<std::unique_ptr<Kept>> all;
  {
    const std::lock_guard lock(left().mutex);
    all.swap(left().all);
  }
}

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
    if (state.inside[0] + state.inside[1] + state.inside[2] == 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace holdfast::machine::cuda

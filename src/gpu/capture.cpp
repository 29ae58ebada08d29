// capture.cpp: what a graph keeps for as long as it lives.
#include "gpu/capture.hpp"

#include <mutex>
#include <utility>
#include <vector>

#include "gpu/runtime.hpp"
#include "holdfast/error.hpp"

namespace holdfast::gpu {

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

/// Called by CUDA when the last graph has ended.
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

}  // namespace holdfast::gpu

// capture.hpp: what a stream that is being captured into a CUDA graph allows, and what graphs keep.
//
// While a stream is being captured, CUDA refuses most questions about it, and events that are recorded in it mean nothing to the
// host. Calls that may wait would invalidate the graph, were it not for OnDevice (runtime.hpp).
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

namespace holdfast::gpu {

/// True if what `stream` is given goes into a graph. Throws InvalidArgument if its capture has gone wrong.
bool is_capturing(cudaStream_t stream);

/// The graph that `stream` is being captured into, and all that is made of it, keep `what` for as long as they live.
void keep_for_graph(cudaStream_t stream, std::shared_ptr<void> what);

/// A graph ends where CUDA must not be called, so its memory is kept until this is called, outside of captures.
void free_what_graphs_kept();

}  // namespace holdfast::gpu

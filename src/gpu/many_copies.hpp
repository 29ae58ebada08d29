// many_copies.hpp: thousands of copies by the copy engines, enqueued by one call.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace holdfast::gpu {

/// Copies between GPU memory and registered memory of the host: `sizes[i]` bytes from `from[i]` to `to[i]`.
struct ManyCopies {
  std::vector<void*> to;
  std::vector<const void*> from;
  std::vector<std::size_t> sizes;

  void add(void* target, const void* source, std::size_t bytes) {
    to.push_back(target);
    from.push_back(source);
    sizes.push_back(bytes);
  }
  std::size_t size() const { return sizes.size(); }
};

/// Whether CUDA gets copies in one call (cudaMemcpyBatchAsync) or one by one.
enum class Enqueue { batch, each };

/// Enqueues copies, which may run in any order, on a stream other than the legacy default stream. Throws DeviceError; then some may be under way.
void enqueue(const ManyCopies& copies, cudaMemcpyKind kind, cudaStream_t stream, Enqueue how = Enqueue::batch);

}  // namespace holdfast::gpu

// many_copies.cpp: hands CUDA many copies at once where it takes them.
#include "gpu/many_copies.hpp"

#include "gpu/runtime.hpp"

namespace holdfast::gpu {

namespace {

constexpr char kDoing[] = "copying many pieces";

cudaError_t enqueue_batch(const ManyCopies& copies, cudaStream_t stream) {
  cudaMemcpyAttributes attributes = {};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute;
  std::size_t first = 0;
#if CUDART_VERSION >= 13000
  return cudaMemcpyBatchAsync(copies.to.data(), copies.from.data(), copies.sizes.data(), copies.size(), &attributes,
                              &first, 1, stream);
#else
  std::vector<void*> to(copies.to), from;
  std::vector<std::size_t> sizes(copies.sizes);
  for (const void* const each : copies.from) from.push_back(const_cast<void*>(each));
  std::size_t failed = 0;
  return cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), copies.size(), &attributes, &first, 1, &failed,
                              stream);
#endif
}

}  // namespace

void enqueue(const ManyCopies& copies, cudaMemcpyKind kind, cudaStream_t stream, Enqueue how) {
  if (copies.size() == 0) return;
  if (how == Enqueue::batch) {
    const cudaError_t code = enqueue_batch(copies, stream);
    // A driver older than CUDA 12.8 has no such call.
    if (code != cudaErrorNotSupported && code != cudaErrorCallRequiresNewerDriver) return check(code, kDoing);
    static_cast<void>(cudaGetLastError());
  }
  for (std::size_t i = 0; i < copies.size(); ++i) {
    check(cudaMemcpyAsync(copies.to[i], copies.from[i], copies.sizes[i], kind, stream), kDoing);
  }
}

}  // namespace holdfast::gpu

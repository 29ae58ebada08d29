// slab_heap.cpp: takes GPU memory for slabs, and more as the heap grows.
#include "heap/cuda/slab_heap.hpp"

#include <utility>
#include <vector>

namespace holdfast::heap::cuda {

using namespace gpu;

namespace {

constexpr std::uint64_t kSlabWords = kSlabCells / 32;

/// A larger array whose first `kept` elements are those of `from`, and the others zero.
template <class T>
void enlarge(DeviceBuffer<T>& from, std::uint64_t size, std::uint64_t kept, cudaStream_t stream) {
  DeviceBuffer<T> larger(size);
  check(cudaMemsetAsync(larger.data() + kept, 0, (size - kept) * sizeof(T), stream), "taking slabs");
  if (kept != 0)
    check(cudaMemcpyAsync(larger.data(), from.data(), kept * sizeof(T), cudaMemcpyDeviceToDevice, stream),
          "taking slabs");
  check(cudaStreamSynchronize(stream), "taking slabs");
  from = std::move(larger);
}

}  // namespace

void SlabHeap::take(std::uint64_t slabs, std::uint64_t kept, cudaStream_t stream) {
  enlarge(used_, slabs * kSlabWords, kept * kSlabWords, stream);
  enlarge(entry_, slabs, kept, stream);
  enlarge(free_, slabs, kept, stream);
  enlarge(directory_, slabs, kept, stream);
  enlarge(grants_, slabs, 0, stream);
  view_ = {used_.data(),   entry_.data(), free_.data(),  directory_.data(),
           grants_.data(), list_.data(),  state_.data(), slabs};
}

void SlabHeap::cover(const View& heap, cudaStream_t stream) {
  check(cudaMemsetAsync(state_.data(), 0, sizeof(SlabState), stream), "taking slabs");
  take(heap.count, 0, stream);
  read_directory(view_, heap, 0, stream);
}

void SlabHeap::begin(std::int64_t left, cudaStream_t stream) {
  SlabState state{};
  state.left = left;
  check(cudaMemcpyAsync(state_.data(), &state, sizeof state, cudaMemcpyHostToDevice, stream), "counting free cells");
  begin_slabs(view_, stream);
  check(cudaStreamSynchronize(stream), "counting free cells");
}

void SlabHeap::extend(const View& heap, cudaStream_t stream) {
  const std::uint64_t before = view_.slabs;
  take(heap.count, before, stream);
  read_directory(view_, heap, before, stream);
  check(cudaStreamSynchronize(stream), "adding slabs");
}

void SlabHeap::list_at_least(std::uint64_t cells) { view_.list = list_.at_least(cells); }

SlabState SlabHeap::state(cudaStream_t stream) const {
  SlabState state;
  check(cudaMemcpyAsync(&state, state_.data(), sizeof state, cudaMemcpyDeviceToHost, stream), "counting free cells");
  check(cudaStreamSynchronize(stream), "counting free cells");
  return state;
}

HeapUse SlabHeap::use(cudaStream_t stream) const {
  std::vector<std::uint32_t> entry(view_.slabs), free(view_.slabs);
  const auto read = [&](std::vector<std::uint32_t>& to, const std::uint32_t* from) {
    check(cudaMemcpyAsync(to.data(), from, 4 * to.size(), cudaMemcpyDeviceToHost, stream), "counting free cells");
  };
  read(entry, view_.entry);
  read(free, view_.free);
  check(cudaStreamSynchronize(stream), "counting free cells");
  HeapUse use;
  for (std::uint64_t slab = 0; slab < view_.slabs; ++slab) {
    use.slabs += is_directory(slab) ? 0 : 1;
    if (entry[slab] == 0 || free[slab] == cells_of_slab(entry[slab] - 1)) continue;
    const std::uint64_t cells = cells_of_slab(entry[slab] - 1);
    ++use.used_slabs;
    use.free_cells += free[slab];
    use.used_cells += cells - free[slab];
    use.used_bytes += (cells - free[slab]) * class_bytes(entry[slab] - 1);
  }
  return use;
}

}  // namespace holdfast::heap::cuda

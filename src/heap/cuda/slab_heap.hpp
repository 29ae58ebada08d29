// slab_heap.hpp: the owner of what the slabs of a heap have in GPU memory (slab_view.hpp).
#pragma once

#include <cstdint>

#include "gpu/runtime.hpp"
#include "heap/cuda/slabs.hpp"
#include "heap/slab_cells.hpp"

namespace holdfast::heap::cuda {

/// The caller is alone in changing the heap; work is enqueued on a stream, and waited for only where it says so.
class SlabHeap {
 public:
  SlabHeap() : state_(1) {}

  /// Takes memory for the slabs of a heap, and what the pool's directory says of them; no cell is used. Waits.
  void cover(const View& heap, cudaStream_t stream);
  /// A bit for each cell that a slot names, as a scan sets them: to be followed by `begin`.
  const gpu::DeviceBuffer<std::uint32_t>& used() const { return used_; }
  /// The scan has been: all other cells are free.
  void begin(std::int64_t left, cudaStream_t stream);
  /// The heap has grown: slabs from the old end on are free. Waits.
  void extend(const View& heap, cudaStream_t stream);
  /// Whether the list must become larger for as many cells, and that. Nothing that runs may use it.
  bool list_needs(std::uint64_t cells) const { return list_.size() < cells; }
  void list_at_least(std::uint64_t cells);

  const SlabView& view() const { return view_; }
  /// Waits.
  SlabState state(cudaStream_t stream) const;
  HeapUse use(cudaStream_t stream) const;

 private:
  void take(std::uint64_t slabs, std::uint64_t kept, cudaStream_t stream);

  gpu::DeviceBuffer<std::uint32_t> used_, entry_, free_;
  gpu::DeviceBuffer<std::uint64_t> directory_, list_;
  gpu::DeviceBuffer<SlabGrant> grants_;
  gpu::DeviceBuffer<SlabState> state_;
  SlabView view_;
};

}  // namespace holdfast::heap::cuda

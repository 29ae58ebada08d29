// pair_heap.hpp: the owner of what the slabs of variable-length pairs have in GPU memory (slab_view.hpp).
#pragma once

#include <cstdint>

#include "gpu/runtime.hpp"
#include "structures/gphash/cuda/cells/slabs.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/layout.hpp"

namespace holdfast::machine::cuda {

/// How a heap of slabs is used; as heap/slab_cells.hpp counts it.
struct SlabUse {
  std::uint64_t slabs = 0, used_slabs = 0, free_cells = 0, used_cells = 0, used_bytes = 0;
};

/// The caller is alone in changing the table; work is enqueued on a stream, and waited for only where it says so.
class PairHeap {
 public:
  PairHeap() : state_(1) {}

  /// Space for the slabs of a layout, and what the pool's directory says of them; no cell is used. Waits.
  void cover(const Layout& layout, cudaStream_t stream);
  /// A bit for each cell that a slot names, as a scan sets them: to be followed by `begin`.
  const DeviceBuffer<std::uint32_t>& used() const { return used_; }
  /// The scan has been: all other cells are free.
  void begin(std::int64_t left, cudaStream_t stream);
  /// The heap has grown: slabs from the old end on are free. Waits.
  void extend(const Layout& layout, cudaStream_t stream);
  /// Space in the list for as many cells. Nothing that runs may use it.
  bool list_needs(std::uint64_t cells) const { return list_.size() < cells; }
  void list_at_least(std::uint64_t cells);

  const SlabView& view() const { return view_; }
  /// Waits.
  SlabState state(cudaStream_t stream) const;
  SlabUse use(cudaStream_t stream) const;

 private:
  void take(std::uint64_t slabs, std::uint64_t kept, cudaStream_t stream);

  DeviceBuffer<std::uint32_t> used_, entry_, free_;
  DeviceBuffer<std::uint64_t> directory_, list_;
  DeviceBuffer<SlabGrant> grants_;
  DeviceBuffer<SlabState> state_;
  SlabView view_;
};

}  // namespace holdfast::machine::cuda

// changing_memory.cuh: the memory policy of changes operation by operation, which keeps the value cache right. Rule 15.
#pragma once

#include <cstdint>

#include "structures/gphash/cuda/caches/values.cuh"
#include "structures/gphash/cuda/jobs.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/memory.cuh"

namespace holdfast::gphash::cuda {

/// The policy of an operation-by-operation change. A resident cache is written through as cells are. Of others, the cell that
/// a change has written and the one that it has emptied lose their copies; if the key had one, `keep_copy` makes a new one
/// after the change, as a load would.
class ChangingMemory : public CudaMemory {
 public:
  __device__ ChangingMemory(DeviceState* state, const CacheView* cache, const CellRing& ring, const std::byte* heap,
                            std::uint64_t heap_bytes)
      : CudaMemory(state, cache, ring), values_(cache->values), heap_(heap), heap_bytes_(heap_bytes) {}

  __device__ void begin_change(std::uint64_t word) const {
    forget_key(*this, values_.directory, values_.map + (word - 1));
  }
  __device__ void show(gphash::Slot* slot, std::uint64_t key, std::uint64_t word) const {
    note_written(word);
    CudaMemory::show(slot, key, word);
  }
  __device__ void show_word(gphash::Slot* slot, std::uint64_t word) const {
    note_written(word);
    CudaMemory::show_word(slot, word);
  }
  __device__ void retire_cell(std::uint64_t cell) const {
    if (values_.map != nullptr) {
      had_copy_ |= forget_copy(*this, values_, cell);
      if (written_ != kNoPosition) values_.heat[written_] = values_.heat[cell];  // it is the key's, not the cell's
      values_.heat[cell] = 0;
    }
    CudaMemory::retire_cell(cell);
  }
  __device__ void store_value(std::uint64_t* word, std::uint64_t value) const {
    CudaMemory::store_value(word, value);
    if (std::byte* const copy = copy_of_value(word))
      CudaMemory::store_value(reinterpret_cast<std::uint64_t*>(copy), value);
  }
  __device__ void store_values(std::uint64_t* two, ulonglong2 words) const {
    CudaMemory::store_values(two, words);
    if (std::byte* const copy = copy_of_value(two))
      CudaMemory::store_values(reinterpret_cast<std::uint64_t*>(copy), words);
  }
  __device__ void store_part(std::byte* to, std::uint64_t word, std::size_t bytes) const {
    CudaMemory::store_part(to, word, bytes);
    if (std::byte* const copy = copy_of_value(to)) CudaMemory::store_part(copy, word, bytes);
  }

  /// After each operation, all lanes together.
  template <class Shape>
  __device__ void keep_copy(const WarpTile& tile, const View<Shape>& view) const {
    if (values_.map == nullptr) return;
    const std::uint64_t cell = tile.from_lane(had_copy_ ? written_ : kNoPosition, 0);
    had_copy_ = false;
    written_ = kNoPosition;
    if (cell == kNoPosition) return;
    const std::uint64_t position = tile.once([&] {
      const std::uint64_t taken = take_position(values_);
      if (taken == kNoPosition) return kNoPosition;
      const auto number = static_cast<std::uint32_t>(taken);
      if (gphash::begin_load(*this, values_.map + cell, number)) return taken;
      retire(values_, number);  // a load is at it
      return kNoPosition;
    });
    if (position == kNoPosition) return;
    const auto* const from = reinterpret_cast<const std::uint64_t*>(view.cell(cell));
    auto* const to = reinterpret_cast<std::uint64_t*>(values_.copies + position * view.cell_bytes);
    for (unsigned i = tile.lane(); i < view.cell_bytes / 8; i += kWarp)
      CudaMemory::store_value(to + i, load_value(from + i));
    tile.once([&] {
      const auto number = static_cast<std::uint32_t>(position);
      own(*this, values_, position, cell);
      if (!gphash::end_load(*this, values_.map + cell, number)) retire(values_, number);
      return 0;
    });
  }

 private:
  __device__ void note_written(std::uint64_t word) const {
    if (values_.map == nullptr || word == 0) return;
    written_ = word - 1;
    had_copy_ |= forget_copy(*this, values_, written_);
  }
  __device__ std::byte* copy_of_value(const void* part) const {
    if (!values_.resident()) return nullptr;
    const auto at = static_cast<std::uint64_t>(static_cast<const std::byte*>(part) - heap_);
    return at < heap_bytes_ ? values_.copies + at : nullptr;
  }

  const ValueView& values_;
  const std::byte* heap_;
  std::uint64_t heap_bytes_;
  // Of the present operation, in the lane that does its steps:
  mutable std::uint64_t written_ = kNoPosition;  ///< the cell that it has shown
  mutable bool had_copy_ = false;                ///< the key's value before it
};
static_assert(gphash::OperationTile<WarpTile, ChangingMemory, gphash::DefaultShape>);
static_assert(gphash::OperationTile<WarpTile, ChangingMemory, gphash::RuntimeShape>);
static_assert(gphash::SeesChanges<ChangingMemory>);

/// The policy of changes whose cells come from a ring.
template <class Shape>
__device__ ChangingMemory changing_memory(const ChangeJob& job, const CacheView& cache, const View<Shape>& view,
                                          const JobRing&) {
  return {job.state, &cache, job.ring, view.heap, view.cells * view.cell_bytes};
}

}  // namespace holdfast::gphash::cuda

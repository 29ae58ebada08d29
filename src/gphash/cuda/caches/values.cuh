// values.cuh: what readers and writers of the table do with the value cache (value_view.hpp). Rule 15.
#pragma once

#include <cstdint>

#include "gphash/cuda/caches/maps.cuh"
#include "gphash/cuda/caches/value_view.hpp"
#include "gphash/cuda/kit.hpp"
#include "gphash/cuda/memory.cuh"
#include "gphash/cuda/search/gather.cuh"
#include "gphash/protocol/cache_map.hpp"
#include "gpu/launch.cuh"

namespace holdfast::machine::cuda {

using MappedPosition = index::Mapped<std::uint32_t>;

/// Where the copy of a cell is; kNoPosition: in host memory alone.
__device__ inline std::uint64_t copy_of_cell(const CudaMemory& memory, const ValueView& values, std::uint64_t cell) {
  if (values.map == nullptr) return cell;
  const MappedPosition mapped = index::mapped(memory, values.map + cell);
  return mapped.cached() ? mapped.position() : kNoPosition;
}

/// Counts, for some rows, that their cell was wanted.
__device__ inline void note_use(const ValueView& values, std::uint64_t cell, std::uint64_t row) {
  if (is_sampled(values, row)) warm(values, cell);
}

/// A cell was written, durably, and is not yet shown; or it came out of its slot. It has no copy from now on. True: it had one.
__device__ inline bool forget_copy(const CudaMemory& memory, const ValueView& values, std::uint64_t cell) {
  if (values.map == nullptr) return false;
  const MappedPosition was = index::remap(memory, values.map + cell, MappedPosition{});
  if (was.cached()) rest(values, was.position());
  return was.cached();
}

/// The slot that names a cell will change, whose key is claimed: no search answers for the key with the cell's copy from now on.
__device__ inline void forget_key(const CudaMemory& memory, const ValueView& values, std::uint64_t cell) {
  if (values.known == nullptr) return;
  index::forget_key(memory, values.map + cell, [&](std::uint32_t position) { return known_of(values, position); });
}

/// A spare position for a change. kNoPosition: there is none.
__device__ inline std::uint64_t take_position(const ValueView& values) {
  const std::uint64_t at = ticket(values.state->head);
  if (at < values.state->tail) return values.ring[at % values.positions];
  atomicAdd(&values.state->starved, 1u);
  return kNoPosition;
}

/// The policy of an operation-by-operation change. A resident cache is written through as cells are. Of others, the cell that
/// a change has written and the one that it has emptied lose their copies; if the key had one, `keep_copy` makes a new one
/// after the change, as a load would.
class ChangingMemory : public CudaMemory {
 public:
  __device__ ChangingMemory(DeviceState* state, const CacheView* cache, const CellRing& ring, const std::byte* heap,
                            std::uint64_t heap_bytes)
      : CudaMemory(state, cache, ring), values_(cache->values), heap_(heap), heap_bytes_(heap_bytes) {}

  __device__ void begin_change(std::uint64_t word) const { forget_key(*this, values_, word - 1); }
  __device__ void show(index::Slot* slot, std::uint64_t key, std::uint64_t word) const {
    note_written(word);
    CudaMemory::show(slot, key, word);
  }
  __device__ void show_word(index::Slot* slot, std::uint64_t word) const {
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
      if (index::begin_load(*this, values_.map + cell, number)) return taken;
      rest(values_, number);  // a load is at it
      return kNoPosition;
    });
    if (position == kNoPosition) return;
    const auto* const from = reinterpret_cast<const std::uint64_t*>(view.cell(cell));
    auto* const to = reinterpret_cast<std::uint64_t*>(values_.copies + position * view.cell_bytes);
    for (unsigned i = tile.lane(); i < view.cell_bytes / 8; i += kWarp)
      CudaMemory::store_value(to + i, load_value(from + i));
    tile.once([&] {
      const auto number = static_cast<std::uint32_t>(position);
      values_.owners[position] = cell;
      begin_known(*this, values_, position);
      if (!index::end_load(*this, values_.map + cell, number)) rest(values_, number);
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

/// The policy of changes whose cells come from a ring.
template <class Shape>
__device__ ChangingMemory changing_memory(const ChangeJob& job, const CacheView& cache, const View<Shape>& view,
                                          const JobRing&) {
  return {job.state, &cache, job.ring, view.heap, view.cells * view.cell_bytes};
}

/// Between `place` and `publish` of a change in phases: new values of cached keys go to spare positions, and all cells that
/// were written learn where their copy is. What is a sum comes out of its cell; a resident cache has it already (sums.cuh).
template <class Shape>
__global__ void __launch_bounds__(kThreads)
    keep_values_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                       const __grid_constant__ ChangeJob job, const __grid_constant__ ChangeRoom room) {
  const WarpTile tile;
  const CudaMemory memory(job.state, &cache);
  const ValueView& values = cache.values;
  const bool resident = values.resident();
  index::Rows copies;
  copies.out = values.copies;
  copies.value_bytes = view.cell_bytes;
  const Gather<Shape> from_rows(tile, memory, view, job.rows, values.copies), from_cells(tile, memory, view, copies);
  const std::uint64_t changes = job.report->changes;
  for (std::uint64_t base = first_of_warp() * kWarp; base < changes; base += all_warps() * kWarp) {
    std::uint64_t cell = kNoPosition, position = kNoPosition;
    Wanted row, sum;
    if (base + tile.lane() < changes) {
      const Planned& planned = room.planned[base + tile.lane()];
      if (planned.word != 0) {
        cell = planned.word - 1;
        const std::uint64_t old = planned.old_word != 0 ? planned.old_word - 1 : kNoPosition;
        if (resident) {
          position = cell;
        } else {
          if (old != kNoPosition && copy_of_cell(memory, values, old) != kNoPosition) position = take_position(values);
          values.heat[cell] = old != kNoPosition ? values.heat[old] : 0;  // the key's, not the cell's
        }
        row.row = sum.row = position;
        if (planned.held == index::kSum) {
          if (!resident && position != kNoPosition) sum.word = planned.word;
        } else if (position != kNoPosition) {
          row.word = std::uint64_t{planned.held} + 1;
        }
      }
    }
    if (tile.ballot(row.word != Wanted::kNothing) != 0) from_rows.to_cells(row, room.scores);
    if (tile.ballot(sum.word != Wanted::kNothing) != 0) from_cells(sum);
    if (resident || cell == kNoPosition) continue;
    const bool kept = position != kNoPosition;
    if (kept) begin_known(memory, values, position);
    const MappedPosition now = kept ? MappedPosition::at(static_cast<std::uint32_t>(position)) : MappedPosition{};
    const MappedPosition was = index::remap(memory, values.map + cell, now);
    if (was.cached() && was.word != now.word) rest(values, was.position());
    if (kept) values.owners[position] = cell;
  }
}

}  // namespace holdfast::machine::cuda

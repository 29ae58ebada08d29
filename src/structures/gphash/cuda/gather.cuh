// gather.cuh: a warp copies the values of 32 rows out of their cells, into them, or from row to row (gpu/order/copy_rows.cuh).
#pragma once

#include <cstdint>

#include "gpu/order/copy_rows.cuh"
#include "structures/gphash/cuda/memory.cuh"
#include "structures/gphash/cuda/tile.cuh"
#include "structures/gphash/protocol/run.hpp"

namespace holdfast::gphash::cuda {

/// Copies in units of 16 bytes, or of 8 where an array is not aligned to more. All lanes of a warp call.
template <class Shape>
class Gather {
 public:
  __device__ Gather(const WarpTile& tile, const CudaMemory& memory, const View<Shape>& view, const gphash::Rows& rows)
      : Gather(tile, memory, view, rows, view.heap) {}
  /// Cells that lie elsewhere than in the heap.
  __device__ Gather(const WarpTile& tile, const CudaMemory& memory, const View<Shape>& view, const gphash::Rows& rows,
                    std::byte* cells)
      : tile_(tile), memory_(memory), view_(view), rows_(rows), cells_(cells) {}

  /// `wanted` of all lanes, out of their cells: the column that the rows are about, and nothing beside it but for the rest of a word.
  __device__ void operator()(const Wanted& wanted) const {
    const std::size_t bytes = rows_.value_bytes;
    if (rows_.out == nullptr || bytes == 0) return;
    const unsigned skipped = rows_.column % 8;  // bytes of the first word
    const auto words = [&](std::uint64_t cell) {
      return reinterpret_cast<const std::uint64_t*>(at_cell(cell) + rows_.column - skipped);
    };
    __syncwarp();
    if (bytes % 16 == 0 && view_.cell_bytes % 16 == 0 && aligned(rows_.out, 16) && aligned(cells_ + rows_.column, 16)) {
      const auto units = static_cast<unsigned>(bytes / 16);
      const auto load = [&](std::uint64_t cell, unsigned unit) { return memory_.load_values(words(cell) + 2 * unit); };
      const auto store = [&](std::uint64_t row, unsigned unit, ulonglong2 data) {
        reinterpret_cast<ulonglong2*>(rows_.out + row * bytes)[unit] = data;
      };
      copy_rows<ulonglong2>(tile_, wanted, units, load, store);
    } else {
      const auto units = static_cast<unsigned>((skipped + bytes + 7) / 8);
      const auto load = [&](std::uint64_t cell, unsigned unit) { return memory_.load_value(words(cell) + unit); };
      const auto store = [&](std::uint64_t row, unsigned unit, std::uint64_t data) {
        const unsigned before = unit == 0 ? skipped : 0;  // bytes of this word
        const std::size_t at = 8 * unit + before - skipped, left = bytes - at, most = 8 - before;
        store_user(rows_.out + row * bytes + at, data >> (8 * before), left < most ? left : most);
      };
      copy_rows<std::uint64_t>(tile_, wanted, units, load, store);
    }
    __syncwarp();
  }

  /// The same from rows that are answered already: `wanted.word` is 1 + the row to copy.
  __device__ void from_rows(const Wanted& wanted) const {
    const std::size_t bytes = rows_.value_bytes;
    __syncwarp();
    if (bytes % 16 == 0 && aligned(rows_.out, 16)) {
      auto* const rows = reinterpret_cast<ulonglong2*>(rows_.out);
      const auto units = static_cast<unsigned>(bytes / 16);
      const auto load = [&](std::uint64_t row, unsigned unit) { return __ldcg(rows + row * units + unit); };
      const auto store = [&](std::uint64_t row, unsigned unit, ulonglong2 data) { rows[row * units + unit] = data; };
      copy_rows<ulonglong2>(tile_, wanted, units, load, store);
    } else {
      const auto load = [&](std::uint64_t row, unsigned unit) {
        return load_user(rows_.out + row * bytes + 8 * unit, bytes - 8 * unit);
      };
      const auto store = [&](std::uint64_t row, unsigned unit, std::uint64_t data) {
        store_user(rows_.out + row * bytes + 8 * unit, data, bytes - 8 * unit);
      };
      copy_rows<std::uint64_t>(tile_, wanted, static_cast<unsigned>((bytes + 7) / 8), load, store);
    }
    __syncwarp();
  }

  /// The same from the values that the batch gives: `wanted.word` is 1 + the row of the value, or 0: zeros.
  __device__ void from_values(const Wanted& wanted) const {
    const std::size_t bytes = rows_.value_bytes;
    if (rows_.out == nullptr || bytes == 0) return;
    __syncwarp();
    if (bytes % 16 == 0 && aligned(rows_.out, 16) && aligned(rows_.values, 16)) {
      const auto* const values = reinterpret_cast<const ulonglong2*>(rows_.values);
      auto* const rows = reinterpret_cast<ulonglong2*>(rows_.out);
      const auto units = static_cast<unsigned>(bytes / 16);
      const auto load = [&](std::uint64_t row, unsigned unit) { return __ldcs(values + row * units + unit); };
      const auto store = [&](std::uint64_t row, unsigned unit, ulonglong2 data) { rows[row * units + unit] = data; };
      copy_rows<ulonglong2>(tile_, wanted, units, load, store);
    } else {
      const auto load = [&](std::uint64_t row, unsigned unit) {
        return load_user(rows_.value(row) + 8 * unit, bytes - 8 * unit);
      };
      const auto store = [&](std::uint64_t row, unsigned unit, std::uint64_t data) {
        store_user(rows_.out + row * bytes + 8 * unit, data, bytes - 8 * unit);
      };
      copy_rows<std::uint64_t>(tile_, wanted, static_cast<unsigned>((bytes + 7) / 8), load, store);
    }
    __syncwarp();
  }

  /// Zeros for those of 32 rows from `base` on whose lane asks.
  __device__ void zeros(std::uint64_t base, bool asks) const {
    const unsigned asking = tile_.ballot(asks);
    if (asking == 0) return;
    const std::size_t bytes = rows_.value_bytes;
    const bool wide = bytes % 16 == 0 && aligned(rows_.out, 16);
    const std::size_t unit = wide ? 16 : 8, units = (bytes + unit - 1) / unit;
    std::byte* const to = rows_.out + base * bytes;
    for (std::size_t i = tile_.lane(); i < kWarp * units; i += kWarp) {
      const std::size_t row = i / units, at = i % units * unit;
      if (((asking >> row) & 1) == 0) continue;
      if (wide) {
        *reinterpret_cast<ulonglong2*>(to + row * bytes + at) = {};
      } else {
        store_user(to + row * bytes + at, 0, bytes - at);
      }
    }
  }

  /// Writes values into cells, and a score behind each: `wanted.row` is the cell, `wanted.word` 1 + the row of the value, and of the score
  /// among `scores`; null: all are that of the batch.
  __device__ void to_cells(const Wanted& wanted, const std::uint64_t* scores) const {
    const std::size_t bytes = rows_.value_bytes;
    __syncwarp();
    if (bytes % 16 == 0 && view_.cell_bytes % 16 == 0 && aligned(rows_.values, 16) && aligned(cells_, 16)) {
      const auto units = static_cast<unsigned>(bytes / 16);
      const auto load = [&](std::uint64_t row, unsigned unit) {
        return __ldcs(reinterpret_cast<const ulonglong2*>(rows_.values) + row * units + unit);
      };
      const auto store = [&](std::uint64_t cell, unsigned unit, ulonglong2 data) {
        memory_.store_values(reinterpret_cast<std::uint64_t*>(at_cell(cell)) + 2 * unit, data);
      };
      copy_rows<ulonglong2>(tile_, wanted, units, load, store);
    } else {  // so do all values with scores: a multiple of 16 bytes and 8 more is none of 16
      const auto units = static_cast<unsigned>((bytes + 7) / 8), with_score = units + (view_.scored() ? 1 : 0);
      const auto load = [&](std::uint64_t row, unsigned unit) {
        if (unit == units) return scores != nullptr ? scores[row] : rows_.score;
        return load_user(rows_.value(row) + 8 * unit, bytes - 8 * unit);
      };
      const auto store = [&](std::uint64_t cell, unsigned unit, std::uint64_t data) {
        memory_.store_value(reinterpret_cast<std::uint64_t*>(at_cell(cell)) + unit, data);
      };
      copy_rows<std::uint64_t>(tile_, wanted, with_score, load, store);
    }
    __syncwarp();
  }

 private:
  __device__ std::byte* at_cell(std::uint64_t cell) const { return cells_ + cell * view_.cell_bytes; }

  const WarpTile& tile_;
  const CudaMemory& memory_;
  const View<Shape>& view_;
  const gphash::Rows& rows_;
  std::byte* cells_;
};

}  // namespace holdfast::gphash::cuda

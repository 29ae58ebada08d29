// table_heap.cpp: the cells of a table's heap, and how many more it may get.
#include <algorithm>

#include "core/checked.hpp"
#include "holdfast/error.hpp"
#include "structures/gphash/table_object.hpp"

namespace holdfast::gphash {

heap::MappedHeap& TableObject::add_heap() {
  return heap_.emplace(*this, kHeapRole,
                       heap::Limits{.max_bytes = shape_.max_bytes,
                                    .most_bytes = kMaxHeapBytes,
                                    .least_reserve = least_reserve_,
                                    .advice = "create a table with a larger max_bytes"});
}

/// The bytes that the heap has with `more` cells, as far as it may grow.
std::uint64_t TableObject::bytes_with(std::uint64_t more) const {
  const std::uint64_t wanted = std::min(checked_add(shape_.cells, more).value_or(kMaxCells), kMaxCells);
  return heap_->most_with(checked_mul(wanted, shape_.cell_bytes).value_or(kMaxHeapBytes));
}

std::uint64_t TableObject::most_cells_with(std::uint64_t more) const {
  return shape_.cell_bytes == 0 ? 0 : bytes_with(more) / shape_.cell_bytes;
}

void TableObject::grow_heap(std::uint64_t more) {
  if (shape_.cell_bytes == 0 || more == 0) throw InvalidArgument("this table has no heap to grow, or by no cells");
  heap_->grow(pool().rounded((shape_.cells + 1) * shape_.cell_bytes), bytes_with(more));
  shape_.cells = std::min(heap_->bytes() / shape_.cell_bytes, kMaxCells);
}

}  // namespace holdfast::gphash

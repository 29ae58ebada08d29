// table_heap.cpp: a table's heap: in address space kept for it, in as many pieces of the file as it takes.
#include <algorithm>
#include <utility>

#include "core/checked.hpp"
#include "gphash/table_object.hpp"
#include "holdfast/error.hpp"

namespace holdfast::gphash {

using memory::Edit;
using memory::Extent;
using memory::Range;

namespace {

// RULES.md 19: a heap moves when it has grown fourfold.
constexpr std::uint64_t kReserveFactor = 4;

}  // namespace

void TableObject::reserve_heap(std::uint64_t bytes) {
  const std::uint64_t most = shape_.max_bytes != 0 ? shape_.max_bytes : kMaxHeapBytes;
  heap_reserved_ = shape_.max_bytes != 0 ? most : std::min(most, std::max(least_reserve_, kReserveFactor * bytes));
  heap_ = memory::reserve(pool().file(), heap_reserved_, bytes, pool().granule());
}

/// Maps new pieces behind the heap; or takes everything back.
void TableObject::map_heap_pieces(const std::vector<Extent>& pieces) {
  const std::size_t before = heap_ranges_.size();
  try {
    for (const Extent& piece : pieces) {
      if (piece.offset % pool().granule() != 0 || heap_mapped_ % pool().granule() != 0) {
        throw MediumError(path() + " was made with small pages, and this medium has pages of " +
                          std::to_string(pool().granule()) + " bytes; copy it to a tmpfs or an ordinary file system");
      }
      heap_ranges_.push_back(pool().map(piece.offset, piece.bytes, false, heap_ + heap_mapped_));
      heap_mapped_ += piece.bytes;
    }
  } catch (...) {
    unmap_heap_from(before);
    throw;
  }
}

/// Before a word names what is new.
void TableObject::settle_heap_from(std::uint64_t byte) const {
  const std::uint64_t from = byte / memory::kPage * memory::kPage;
  pool().settle({heap_ + from, heap_mapped_ - from, heap_mapped_ - from});
}

void TableObject::unmap_heap_from(std::size_t range) noexcept {
  while (heap_ranges_.size() > range) {
    memory::unmap_into_reserve(heap_ranges_.back().address, heap_ranges_.back().mapped);
    heap_mapped_ -= heap_ranges_.back().bytes;
    heap_ranges_.pop_back();
  }
}

/// The bytes that `more` cells take, as far as the heap may grow.
std::uint64_t TableObject::bytes_for(std::uint64_t more) const {
  const std::uint64_t most =
      (shape_.max_bytes != 0 ? shape_.max_bytes : kMaxHeapBytes) / pool().granule() * pool().granule();
  const std::uint64_t wanted = std::min(checked_add(shape_.cells, more).value_or(kMaxCells), kMaxCells);
  const std::uint64_t bytes = pool().rounded(checked_mul(wanted, shape_.cell_bytes).value_or(kMaxHeapBytes));
  return std::max(std::min(bytes, most), heap_mapped_) - heap_mapped_;
}

bool TableObject::has_address_space(std::uint64_t more) const {
  return heap_mapped_ + bytes_for(more) <= heap_reserved_;
}

void TableObject::grow_heap(std::uint64_t more) {
  if (shape_.cell_bytes == 0 || more == 0) throw InvalidArgument("this table has no heap to grow, or by no cells");
  require_writable();
  const std::uint64_t missing = bytes_for(more);
  if (missing == 0) {
    throw NoSpace(path() + " has no address space left for more cells; create a table with a larger max_bytes");
  }
  Edit edit(pool());
  const std::vector<Extent> pieces = edit.extend(number(), kHeapRole, missing, heap_mapped_);
  std::uint64_t bytes = heap_mapped_;
  for (const Extent& piece : pieces) bytes += piece.bytes;
  const std::uint64_t cells = std::min(bytes / shape_.cell_bytes, kMaxCells);
  if (cells <= shape_.cells) throw NoSpace(path() + ": its medium has no room for one more cell");
  if (bytes > heap_reserved_) return move_heap(edit, bytes, cells);
  const std::size_t before = heap_ranges_.size();
  map_heap_pieces(pieces);
  try {
    settle_heap_from(shape_.cells * shape_.cell_bytes);
    edit.commit();
  } catch (...) {
    unmap_heap_from(before);
    throw;
  }
  shape_.cells = cells;
  for (std::size_t i = before; i < heap_ranges_.size(); ++i) announce(heap_ranges_[i]);
}

/// Maps the whole heap, which has new pieces, where there is more address space.
void TableObject::move_heap(Edit& edit, std::uint64_t bytes, std::uint64_t cells) {
  std::byte* const old_heap = heap_;
  const std::uint64_t old_reserved = heap_reserved_, old_mapped = heap_mapped_;
  std::vector<Range> old_ranges = std::exchange(heap_ranges_, {});
  heap_mapped_ = 0;
  const auto take_back = [&] {
    if (heap_ != old_heap) memory::unmap(heap_, heap_reserved_);
    heap_ = old_heap;
    heap_reserved_ = old_reserved;
    heap_mapped_ = old_mapped;
    heap_ranges_ = std::move(old_ranges);
  };
  try {
    reserve_heap(bytes);
    map_heap_pieces(edit.directory().extents_of(number(), kHeapRole));
    settle_heap_from(old_mapped);
    edit.commit();
  } catch (...) {
    take_back();
    throw;
  }
  shape_.cells = cells;
  for (const Range& range : old_ranges) {
    if (unmapping_) unmapping_(range.address, range.bytes);
  }
  memory::unmap(old_heap, old_reserved);
  for (const Range& range : heap_ranges_) announce(range);
}

}  // namespace holdfast::gphash

// table_heap.cpp: a table's heap: in address space kept for it, in as many pieces of the file as it takes.
#include <algorithm>
#include <utility>

#include "core/checked.hpp"
#include "core/failpoint.hpp"
#include "holdfast/error.hpp"
#include "structures/gphash/table_object.hpp"

namespace holdfast::gphash {

using memory::Edit;
using memory::Extent;
using memory::Range;

namespace {

// Rule 19: a heap moves when it has grown fourfold.
constexpr std::uint64_t kReserveFactor = 4;

}  // namespace

std::uint64_t TableObject::reserve_for(std::uint64_t bytes) const {
  if (shape_.max_bytes != 0) return shape_.max_bytes;
  return std::min(kMaxHeapBytes, std::max(least_reserve_, kReserveFactor * bytes));
}

void TableObject::reserve_heap(std::uint64_t bytes) {
  heap_reserved_ = reserve_for(bytes);
  heap_ = system::reserve(pool().file(), heap_reserved_, bytes, pool().granule());
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
    system::unmap_into_reserve(heap_ranges_.back().address, heap_ranges_.back().mapped);
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

std::uint64_t TableObject::most_cells_with(std::uint64_t more) const {
  return shape_.cell_bytes == 0 ? 0 : (heap_mapped_ + bytes_for(more)) / shape_.cell_bytes;
}

void TableObject::grow_heap(std::uint64_t more) {
  if (shape_.cell_bytes == 0 || more == 0) throw InvalidArgument("this table has no heap to grow, or by no cells");
  require_writable();
  const std::uint64_t one_more = pool().rounded((shape_.cells + 1) * shape_.cell_bytes);
  std::uint64_t missing = bytes_for(more);
  HeapSpace space = heap_mapped_ + missing > heap_reserved_ ? larger_space(heap_mapped_ + missing) : HeapSpace{};
  if (!space.address)
    missing = std::min(missing, (heap_reserved_ - heap_mapped_) / pool().granule() * pool().granule());
  if (heap_mapped_ + missing < one_more) {
    throw NoSpace(path() + " has no address space left for more cells; create a table with a larger max_bytes");
  }
  Edit edit(pool());
  const std::vector<Extent> pieces = edit.extend(number(), kHeapRole, missing, one_more - heap_mapped_, heap_mapped_);
  if (space.address) {
    move_heap(edit, space);
  } else {
    extend_heap(edit, pieces);
  }
  shape_.cells = std::min(heap_mapped_ / shape_.cell_bytes, kMaxCells);
}

/// Maps new pieces behind the others, and commits.
void TableObject::extend_heap(Edit& edit, const std::vector<Extent>& pieces) {
  const std::size_t before = heap_ranges_.size();
  const std::uint64_t from = heap_mapped_;
  map_heap_pieces(pieces);
  try {
    settle_heap_from(from);
    HOLDFAST_FAILPOINT(heap_allocated);
    edit.commit();
  } catch (...) {
    unmap_heap_from(before);
    throw;
  }
  for (std::size_t i = before; i < heap_ranges_.size(); ++i) announce(heap_ranges_[i]);
}

/// Address space for a heap of `bytes` bytes; none if the process has not so much.
TableObject::HeapSpace TableObject::larger_space(std::uint64_t bytes) const {
  HeapSpace space;
  space.bytes = reserve_for(bytes);
  try {
    space.address = system::reserve(pool().file(), space.bytes, bytes, pool().granule());
  } catch (const SystemError&) {
    space.address = nullptr;
  }
  return space;
}

/// Maps the whole heap, which has new pieces, in `space`, commits, and unmaps it where it was.
void TableObject::move_heap(Edit& edit, HeapSpace& space) {
  std::vector<Range> ranges = std::exchange(heap_ranges_, {});
  const std::uint64_t mapped = std::exchange(heap_mapped_, 0);
  std::swap(heap_, space.address);
  std::swap(heap_reserved_, space.bytes);
  try {
    map_heap_pieces(edit.directory().extents_of(number(), kHeapRole));
    settle_heap_from(mapped);
    HOLDFAST_FAILPOINT(heap_allocated);
    edit.commit();
  } catch (...) {  // `space` ends with what was mapped there
    std::swap(heap_, space.address);
    std::swap(heap_reserved_, space.bytes);
    heap_ranges_ = std::move(ranges);
    heap_mapped_ = mapped;
    throw;
  }
  for (const Range& range : ranges) {
    if (unmapping_) unmapping_(range.address, range.bytes);
  }
  for (const Range& range : heap_ranges_) announce(range);
}

}  // namespace holdfast::gphash

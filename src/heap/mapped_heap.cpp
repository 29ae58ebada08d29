// mapped_heap.cpp: maps the extents of a heap, and lets it grow in place, move and shrink.
#include "heap/mapped_heap.hpp"

#include <algorithm>
#include <utility>

#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "holdfast/error.hpp"

namespace holdfast::heap {

using pool::Edit;
using pool::Extent;
using pool::Range;

namespace {

// Rule 19: a heap moves when it has grown fourfold.
constexpr std::uint64_t kReserveFactor = 4;

}  // namespace

MappedHeap::~MappedHeap() {
  if (owner_.forked()) return;  // the mappings never came along
  for (const Range& range : ranges_) withdraw(range);
  system::unmap(base_, reserved_);
}

void MappedHeap::make(Edit& edit, std::uint64_t bytes) {
  HOLDFAST_ASSERT(base_ == nullptr);
  reserve(bytes);
  map_pieces(edit.extend(owner_.number(), role_, bytes, bytes, 0));
  settle_from(0);
}

void MappedHeap::map() {
  HOLDFAST_ASSERT(base_ == nullptr);
  const std::vector<Extent> pieces = pool().directory()->extents_of(owner_.number(), role_);
  std::uint64_t bytes = 0;
  for (const Extent& piece : pieces) bytes += piece.bytes;
  reserve(bytes);
  map_pieces(pieces);
}

std::uint64_t MappedHeap::reserve_for(std::uint64_t bytes) const {
  if (limits_.max_bytes != 0) return limits_.max_bytes;
  return std::min(limits_.most_bytes, std::max(limits_.least_reserve, kReserveFactor * bytes));
}

void MappedHeap::reserve(std::uint64_t bytes) {
  reserved_ = reserve_for(bytes);
  base_ = system::reserve(pool().file(), reserved_, bytes, pool().granule());
}

/// Maps new pieces behind the others; or takes everything back.
void MappedHeap::map_pieces(const std::vector<Extent>& pieces) {
  const std::size_t before = ranges_.size();
  try {
    for (const Extent& piece : pieces) {
      if (piece.offset % pool().granule() != 0 || mapped_ % pool().granule() != 0) {
        throw MediumError(owner_.path() + " was made with small pages, and this medium has pages of " +
                          std::to_string(pool().granule()) + " bytes; copy it to a tmpfs or an ordinary file system");
      }
      ranges_.push_back(pool().map(piece.offset, piece.bytes, false, base_ + mapped_));
      mapped_ += piece.bytes;
    }
  } catch (...) {
    unmap_from(before);
    throw;
  }
}

/// Before a word names what is new.
void MappedHeap::settle_from(std::uint64_t byte) const {
  const std::uint64_t from = byte / pool::kPage * pool::kPage;
  pool().settle({base_ + from, mapped_ - from, mapped_ - from});
}

void MappedHeap::unmap_from(std::size_t range) noexcept {
  while (ranges_.size() > range) {
    system::unmap_into_reserve(ranges_.back().address, ranges_.back().mapped);
    mapped_ -= ranges_.back().bytes;
    ranges_.pop_back();
  }
}

std::uint64_t MappedHeap::most_with(std::uint64_t bytes) const {
  const std::uint64_t limit = limits_.max_bytes != 0 ? limits_.max_bytes : limits_.most_bytes;
  const std::uint64_t most = limit / pool().granule() * pool().granule();
  return std::max(bytes >= most ? most : pool().rounded(bytes), mapped_);
}

void MappedHeap::grow(std::uint64_t least, std::uint64_t wanted) {
  HOLDFAST_ASSERT(least > mapped_);
  pool().require_writable();
  std::uint64_t target = most_with(wanted);
  Space space = target > reserved_ && limits_.may_move ? larger_space(target) : Space{};
  if (!space.address) target = std::min(target, reserved_ / pool().granule() * pool().granule());
  if (target < least) throw NoSpace(owner_.path() + " has no address space left for more; " + limits_.advice);
  Edit edit(pool());
  const std::vector<Extent> pieces = edit.extend(owner_.number(), role_, target - mapped_, least - mapped_, mapped_);
  if (space.address) {
    move(edit, space);
  } else {
    extend(edit, pieces);
  }
}

/// Maps new pieces behind the others, and commits.
void MappedHeap::extend(Edit& edit, const std::vector<Extent>& pieces) {
  const std::size_t before = ranges_.size();
  const std::uint64_t from = mapped_;
  map_pieces(pieces);
  try {
    settle_from(from);
    HOLDFAST_FAILPOINT(heap_allocated);
    edit.commit();
  } catch (...) {
    unmap_from(before);
    throw;
  }
  for (std::size_t i = before; i < ranges_.size(); ++i) announce(ranges_[i]);
}

/// Address space for a heap of `bytes` bytes; none if the process has not so much.
MappedHeap::Space MappedHeap::larger_space(std::uint64_t bytes) const {
  Space space;
  space.bytes = reserve_for(bytes);
  try {
    space.address = system::reserve(pool().file(), space.bytes, bytes, pool().granule());
  } catch (const SystemError&) {
    space.address = nullptr;
  }
  return space;
}

/// Maps the whole heap, which has new pieces, in `space`, commits, and unmaps it where it was.
void MappedHeap::move(Edit& edit, Space& space) {
  std::vector<Range> ranges = std::exchange(ranges_, {});
  const std::uint64_t mapped = std::exchange(mapped_, 0);
  std::swap(base_, space.address);
  std::swap(reserved_, space.bytes);
  try {
    map_pieces(edit.directory().extents_of(owner_.number(), role_));
    settle_from(mapped);
    HOLDFAST_FAILPOINT(heap_allocated);
    edit.commit();
  } catch (...) {  // `space` ends with what was mapped there
    std::swap(base_, space.address);
    std::swap(reserved_, space.bytes);
    ranges_ = std::move(ranges);
    mapped_ = mapped;
    throw;
  }
  for (const Range& range : ranges) withdraw(range);
  for (const Range& range : ranges_) announce(range);
}

void MappedHeap::shrink(std::uint64_t bytes) {
  if (bytes % pool().granule() != 0 || bytes > mapped_) {
    throw InvalidArgument(owner_.path() + " has a heap of " + std::to_string(mapped_) +
                          " bytes, and cannot shrink to " + std::to_string(bytes) + ": give less, in whole pages");
  }
  if (bytes == mapped_) return;
  pool().require_writable();
  Edit edit(pool());
  edit.shrink(owner_.number(), role_, bytes);
  edit.commit();
  // Unmapped before `edit` ends, which returns the space to the medium.
  while (mapped_ > bytes) {
    Range& last = ranges_.back();
    withdraw(last);
    const std::uint64_t kept = last.bytes - std::min(last.bytes, mapped_ - bytes);
    system::unmap_into_reserve(last.address + kept, last.mapped - kept);
    mapped_ -= last.bytes - kept;
    last.bytes = last.mapped = kept;
    if (kept == 0) {
      ranges_.pop_back();
    } else {
      announce(last);
    }
  }
}

void MappedHeap::announce(const Range& range) const {
  if (on_mapped_) on_mapped_(range.address, range.bytes);
}

void MappedHeap::withdraw(const Range& range) const {
  if (on_unmapping_) on_unmapping_(range.address, range.bytes);
}

void MappedHeap::on_range(OnRange mapped, OnRange unmapping) {
  on_mapped_ = std::move(mapped);
  on_unmapping_ = std::move(unmapping);
  for (const Range& range : ranges_) announce(range);
}

const std::byte* MappedHeap::address_of(const Extent& extent) const {
  std::uint64_t before = 0;
  for (const Extent& piece : pool().directory()->extents_of(owner_.number(), role_)) {
    if (piece.index == extent.index) return base_ + before;
    before += piece.bytes;
  }
  return nullptr;
}

}  // namespace holdfast::heap

// pool_grow.cpp: levels come and go. Room first, then the mapping, then the durable word that names it. RULES.md 17, 19.
#include <cerrno>
#include <cstring>

#include "core/failpoint.hpp"
#include "memory/pool_impl.hpp"
#include "memory/system.hpp"

namespace holdfast::memory {

void throw_too_many_pieces(const std::string& path) {
  throw NoSpace(path + " has grown in too many pieces; copy its items to a new pool");
}

std::uint64_t Pool::Impl::make_room(const Layout& layout, std::uint64_t bytes, std::uint64_t address) const {
  const std::uint64_t offset = place_behind(rounded(layout.end()), bytes, address, granule());
  if (!writes_file()) return offset;
  // What a growth that never ended left behind the last extent is not zero.
  file.resize(rounded(layout.end()));
  file.allocate(offset, rounded(bytes));
  return offset;
}

void Pool::Impl::settle_room(const Range& range) const {
  if (!writes_file() || medium.medium == Medium::shm) return;
  // Of this range alone: the rest of the file may be gigabytes that nobody asked to write.
  if (system::msync(range.address, range.mapped) != 0) {
    throw SystemError(system_message(path, "cannot be put on its device", errno));
  }
}

void Pool::Impl::drop_room(const Layout& layout) const noexcept {
  if (!writes_file()) return;
  try {
    file.resize(rounded(layout.end()));
  } catch (const Error&) {
    // The next growth cuts it off.
  }
}

void Pool::add_level(unsigned number) {
  const std::lock_guard guard(impl_->change_mutex);
  impl_->require_writable();
  const Superblock& block = impl_->block;
  if (number != block.top_level + 1) {
    throw InvalidArgument("level " + std::to_string(number) + " does not follow the top level, " +
                          std::to_string(block.top_level));
  }
  if (number > kMaxLevel) throw NoSpace(impl_->path + " has the largest level there is; use a second pool");
  const Layout before(block);
  if (before.entries() == kExtents) throw_too_many_pieces(impl_->path);
  Layout layout = before;
  const std::uint64_t bytes = level_bytes(number, block.slots, block.key_bytes);
  const auto reused = layout.take_free(bytes, impl_->granule());
  const std::uint64_t offset = reused ? *reused : impl_->make_room(before, bytes, 0);
  Range range;
  try {
    range = impl_->writes_file() ? impl_->map_extent(offset, bytes, true)
                                 : Range{map_private(impl_->file, bytes), bytes, bytes};
    if (reused && impl_->writes_file()) {
      // A free extent has only empty slots; but behind a wide one, or in a pool made to mislead, there may be anything.
      std::memset(range.address, 0, bytes);
      impl_->persist.flush(range.address, bytes);
      impl_->persist.fence();
    }
    impl_->settle_room(range);
  } catch (...) {
    unmap(range.address, range.mapped);
    impl_->drop_room(before);
    throw;
  }
  HOLDFAST_FAILPOINT(level_allocated);
  layout.add_level(number, offset, bytes);
  Superblock next = block;
  layout.store(next);
  next.top_level = number;
  next.is_resizing = 1;
  impl_->levels[number] = range;
  impl_->commit(next);
  HOLDFAST_FAILPOINT(level_added);
  impl_->announce(range);
}

void Pool::release_level(unsigned number) {
  const std::lock_guard guard(impl_->change_mutex);
  impl_->require_writable();
  Layout layout(impl_->block);
  if (layout.levels().size() <= impl_->block.levels || layout.levels().front().level != number) {
    throw InvalidArgument("level " + std::to_string(number) + " is addressed, or is not the lowest one");
  }
  HOLDFAST_FAILPOINT(level_drained);
  layout.free_lowest_level();
  Superblock next = impl_->block;
  layout.store(next);
  impl_->commit(next);
  HOLDFAST_FAILPOINT(level_released);
  impl_->withdraw(impl_->levels[number]);
}

void Pool::set_resizing(bool on) {
  const std::lock_guard guard(impl_->change_mutex);
  impl_->require_writable();
  if (!on && Layout(impl_->block).levels().size() > impl_->block.levels) {
    throw InvalidArgument("a resize ends when the drained levels are released");
  }
  Superblock next = impl_->block;
  next.is_resizing = on ? 1 : 0;
  impl_->commit(next);
}

}  // namespace holdfast::memory

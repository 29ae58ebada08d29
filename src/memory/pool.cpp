// pool.cpp: what can be asked of an open pool, its clean mark, and its end.
#include "memory/pool.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <utility>

#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "memory/owner.hpp"
#include "memory/pool_impl.hpp"
#include "memory/system.hpp"

namespace holdfast::memory {

void SuperblockMemory::store(std::uint64_t* address, std::uint64_t value) const {
  std::atomic_ref<std::uint64_t>(*address).store(value, std::memory_order_relaxed);
}

void SuperblockMemory::fence() const {
  persist_.fence();
  if (medium_ != Medium::file) return;
  if (system::msync(header_, 2 * kSuperblockBytes) != 0) {
    throw SystemError(system_message(file_.path(), "has a superblock that cannot be put on its device", errno));
  }
}

Pool::Impl::Impl(File opened, Access how) : file(std::move(opened)), path(file.path()), access(how) {}

Pool::Impl::~Impl() {
  if (file.forked()) return;  // the mappings never came along
  for (Range& level : levels) withdraw(level);
  for (Range& range : heap_ranges) {
    if (unmapping) unmapping(range.address, range.bytes);
  }
  unmap(heap, heap_reserved);
  if (owns) std::memset(header.address + kOwnerOffset, 0, sizeof(OwnerNote));
  withdraw(header);
}

MapMode Pool::Impl::mode() const {
  return {.writable = access != Access::read_only,
          .private_copy = access == Access::scratch,
          .direct = medium.medium == Medium::dax && access == Access::read_write,
          .granule = medium.granule};
}

void Pool::Impl::find_out(bool flush) {
  medium = find_medium(file);
  const bool needed = flush || domain_of(medium, false) == Domain::power;
  persist.kind = needed ? best_flush() : FlushKind::none;
}

Range Pool::Impl::map_extent(std::uint64_t offset, std::uint64_t bytes, bool populate, std::byte* at) const {
  return {map_file(file, offset, rounded(bytes), mode(), populate, at), bytes, rounded(bytes)};
}

void Pool::Impl::announce(const Range& range) const {
  if (mapped && range.bytes != 0) mapped(range.address, range.bytes);
}

void Pool::Impl::withdraw(Range& range) const {
  if (range.bytes == 0) return;
  if (unmapping) unmapping(range.address, range.bytes);
  unmap(range.address, range.mapped);
  range = {};
}

void Pool::Impl::map_all() {
  const auto start = std::chrono::steady_clock::now();
  const Layout layout(block);
  header = map_extent(0, kFirstExtent, true);
  for (const Extent& level : layout.levels()) levels[level.level] = map_extent(level.offset, level.bytes, true);
  if (block.cell_bytes != 0) {
    heap_reserved = std::max(block.max_bytes, layout.heap_bytes());
    heap = reserve(file, heap_reserved, layout.heap_bytes(), granule());
    for (const Extent& extent : layout.heap()) {
      heap_ranges.push_back(map_extent(extent.offset, extent.bytes, false, heap + heap_mapped));
      heap_mapped += extent.bytes;
    }
  }
  map_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void Pool::Impl::take_ownership() {
  if (!writes_file()) return;
  const OwnerNote note = make_note(file.facts());
  std::memcpy(header.address + kOwnerOffset, &note, sizeof note);
  owns = true;
}

void Pool::Impl::require_writable() const {
  if (file.forked()) {
    throw TableClosed(path + " was opened by the process that this one was forked from; open it here anew");
  }
  if (access == Access::read_only) throw ReadOnly(path + " is open for reading only; open it with mode=\"r+\"");
  if (broken) throw SystemError(path + " failed while its superblock was written; close it, and open it again");
}

void Pool::Impl::commit(Superblock next) {
  next.generation = block.generation + 1;
  seal(next);
  if (writes_file()) {
    SuperblockMemory memory(file, header.address, persist, medium.medium);
    broken = true;
    write_superblock(memory, copy(0), copy(1), next);
    broken = false;
  }
  // Only what differs: other threads may read the shape while `mark_changed` is here.
  std::uint64_t before[kSuperblockBytes / 8], after[kSuperblockBytes / 8];
  std::memcpy(before, &block, sizeof before);
  std::memcpy(after, &next, sizeof after);
  for (std::size_t i = 0; i < kSuperblockBytes / 8; ++i) {
    if (before[i] != after[i]) std::memcpy(reinterpret_cast<std::byte*>(&block) + 8 * i, &after[i], 8);
  }
}

Pool::Pool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pool::~Pool() = default;

const std::string& Pool::path() const { return impl_->path; }
Medium Pool::medium() const { return impl_->medium.medium; }
const Persist& Pool::persist() const { return impl_->persist; }
const Superblock& Pool::superblock() const { return impl_->block; }
bool Pool::read_only() const { return impl_->access == Access::read_only; }
bool Pool::was_clean() const { return impl_->was_clean; }
double Pool::map_ms() const { return impl_->map_ms; }
const std::vector<std::string>& Pool::repairs() const { return impl_->repairs; }
bool Pool::forked() const { return impl_->file.forked(); }
std::uint64_t Pool::cells() const { return impl_->block.cells; }
std::byte* Pool::heap() const { return impl_->heap; }

Domain Pool::domain(bool gpu) const {
  return impl_->access == Access::scratch ? Domain::none : domain_of(impl_->medium, gpu);
}

index::Slot* Pool::level(unsigned number) const {
  return number > kMaxLevel ? nullptr : reinterpret_cast<index::Slot*>(impl_->levels[number].address);
}

index::Slot* Pool::aside() const { return reinterpret_cast<index::Slot*>(impl_->header.address + kAsideOffset); }

void Pool::mark_changed(bool gpu) {
  const int wanted = static_cast<int>(domain(gpu));
  // A lower domain once noted stands until the next sync: part of what was written survives no more than that.
  const auto noted = [&](int marked) { return marked >= 0 && marked <= wanted; };
  if (noted(impl_->marked.load(std::memory_order_acquire))) return;
  const std::lock_guard guard(impl_->change_mutex);
  if (noted(impl_->marked.load(std::memory_order_relaxed))) return;
  impl_->require_writable();
  Superblock next = impl_->block;
  next.clean = 0;
  next.domain = static_cast<std::uint32_t>(wanted);
  const BootId boot = boot_id();
  std::memcpy(next.boot_id, boot.data(), boot.size());
  impl_->commit(next);
  HOLDFAST_FAILPOINT(mark_cleared);
  impl_->marked.store(wanted, std::memory_order_release);
}

void Pool::sync() {
  const std::lock_guard guard(impl_->change_mutex);
  impl_->require_writable();
  if (impl_->block.clean == 1) return;
  if (impl_->writes_file() && impl_->medium.medium != Medium::shm) impl_->file.sync_data();
  HOLDFAST_FAILPOINT(synced_without_mark);
  Superblock next = impl_->block;
  next.clean = 1;
  impl_->commit(next);
  impl_->marked.store(-1, std::memory_order_release);
}

void Pool::on_extent(std::function<void(void*, std::size_t)> mapped,
                     std::function<void(void*, std::size_t)> unmapping) {
  impl_->mapped = std::move(mapped);
  impl_->unmapping = std::move(unmapping);
  impl_->announce(impl_->header);
  for (const Range& level : impl_->levels) impl_->announce(level);
  for (const Range& range : impl_->heap_ranges) impl_->announce(range);
}

}  // namespace holdfast::memory

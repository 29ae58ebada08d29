// pool_file.cpp: what can be asked of an open pool, and how its directory changes.
#include "memory/pool_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "memory/commit.hpp"
#include "memory/owner.hpp"
#include "memory/system.hpp"

namespace holdfast::memory {

void HeaderMemory::store(std::uint64_t* address, std::uint64_t value) const {
  std::atomic_ref<std::uint64_t>(*address).store(value, std::memory_order_relaxed);
}

void HeaderMemory::flush(const void* address, std::size_t bytes) {
  persist_.flush(address, bytes);
  const auto from = reinterpret_cast<std::uintptr_t>(address);
  begin_ = std::min(begin_, from / kPage * kPage);
  end_ = std::max(end_, from + bytes);
}

void HeaderMemory::fence() {
  persist_.fence();
  if (medium_ == Medium::file && begin_ < end_ && system::msync(reinterpret_cast<void*>(begin_), end_ - begin_) != 0) {
    throw SystemError(system_message(path_, "has a header that cannot be put on its device", errno));
  }
  begin_ = ~std::uintptr_t{0};
  end_ = 0;
}

PoolFile::PoolFile(File file, Access access) : file_(std::move(file)), path_(file_.path()), access_(access) {
  medium_ = find_medium(file_);
}

PoolFile::~PoolFile() {
  if (file_.forked()) return;  // the mappings never came along
  if (owns_) std::memset(header_.address + kOwnerOffset, 0, sizeof(OwnerNote));
  unmap(header_.address, header_.mapped);
}

Domain PoolFile::domain(bool gpu) const { return access_ == Access::scratch ? Domain::none : domain_of(medium_, gpu); }

Persist PoolFile::persist(bool flush) const {
  const bool needed = flush || domain_of(medium_, false) == Domain::power;
  return {needed ? best_flush() : FlushKind::none};
}

Superblock PoolFile::superblock() const {
  const std::lock_guard guard(mutex_);
  return block_;
}

std::shared_ptr<const Directory> PoolFile::directory() const {
  const std::lock_guard guard(mutex_);
  return directory_;
}

Range PoolFile::map(std::uint64_t offset, std::uint64_t bytes, bool populate, std::byte* at) const {
  if (access_ == Access::scratch && offset >= file_bytes_) return {map_private(file_, bytes, at), bytes, bytes};
  const MapMode mode{.writable = access_ != Access::read_only,
                     .private_copy = access_ == Access::scratch,
                     .direct = medium_.medium == Medium::dax && access_ == Access::read_write,
                     .granule = medium_.granule};
  return {map_file(file_, offset, rounded(bytes), mode, populate, at), bytes, rounded(bytes)};
}

void PoolFile::settle(const Range& range) const {
  if (!writes_file() || medium_.medium == Medium::shm) return;
  // Of this range alone: the rest of the file may be gigabytes that nobody asked to write.
  if (system::msync(range.address, range.mapped) != 0) {
    throw SystemError(system_message(path_, "cannot be put on its device", errno));
  }
}

void PoolFile::sync_data() const {
  if (writes_file() && medium_.medium != Medium::shm) file_.sync_data();
}

void PoolFile::require_writable() const {
  if (forked()) {
    throw TableClosed(path_ + " was opened by the process that this one was forked from; open it here anew");
  }
  if (access_ == Access::read_only) throw ReadOnly(path_ + " is open for reading only; open it with mode=\"r+\"");
  if (broken_) throw SystemError(path_ + " failed while its directory was written; close it, and open it again");
}

void PoolFile::map_header() { header_ = map(0, kFirstExtent, true); }

void PoolFile::take_ownership() {
  if (!writes_file()) return;
  const OwnerNote note = make_note(file_.facts());
  std::memcpy(header_.address + kOwnerOffset, &note, sizeof note);
  owns_ = true;
}

void PoolFile::commit(Directory next) {
  Superblock block = superblock();
  next.generation = ++block.generation;
  if (block.generation == kGenerations) {
    throw SystemError(path_ + " has had all the commits that there may be; take a snapshot of it, and use that");
  }
  block.area ^= 1;
  seal(block);
  if (writes_file()) {
    const std::vector<std::byte> bytes = encode(next);
    HeaderMemory memory = header_memory(persist(false));
    try {
      commit_directory(memory, area(block.area), bytes.data(), bytes.size(), copies(), block);
    } catch (...) {
      broken_ = true;  // nobody knows which directory counts
      throw;
    }
  }
  const std::lock_guard guard(mutex_);
  block_ = block;
  directory_ = std::make_shared<const Directory>(std::move(next));
}

}  // namespace holdfast::memory

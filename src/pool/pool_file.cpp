// pool_file.cpp: what can be asked of an open pool, and how its directory changes.
#include "pool/pool_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "pool/commit.hpp"
#include "pool/medium/owner.hpp"
#include "system/calls.hpp"

namespace holdfast::pool {

void HeaderMemory::store(std::uint64_t* address, std::uint64_t value) const {
  std::atomic_ref<std::uint64_t>(*address).store(value, std::memory_order_relaxed);
}

void HeaderMemory::flush(const void* address, std::size_t bytes) const {
  persist_.flush(address, bytes);
  const auto from = reinterpret_cast<std::uintptr_t>(address);
  begin_ = std::min(begin_, from / kPage * kPage);
  end_ = std::max(end_, from + bytes);
}

void HeaderMemory::fence() const {
  persist_.fence();
  const bool has_device = pool_.medium().medium == Medium::file;
  if (has_device && begin_ < end_ && system::msync(reinterpret_cast<void*>(begin_), end_ - begin_) != 0) {
    const int error = errno;
    pool_.note_failed_sync();
    throw SystemError(system::system_message(pool_.path(), "has a header that cannot be put on its device", error));
  }
  begin_ = ~std::uintptr_t{0};
  end_ = 0;
  pool_.require_whole();
}

PoolFile::PoolFile(system::File file, Access access) : file_(std::move(file)), path_(file_.path()), access_(access) {
  medium_ = find_medium(file_);
}

PoolFile::~PoolFile() {
  if (file_.forked()) return;  // the mappings never came along
  if (owns_) {
    OwnerNote left = {};
    if (sync_failed_) std::memcpy(&left, header_.address + kOwnerOffset, sizeof left);
    left.pid = 0;
    if (sync_failed_) seal(left);
    std::memcpy(header_.address + kOwnerOffset, &left, sizeof left);
  }
  system::unmap(header_.address, header_.mapped);
  if (!kept_) give_back(kFirstArea);  // what is before may have been mended
}

void PoolFile::give_back(std::uint64_t from) const noexcept {
  for (const system::FileRange& range : filled_) {
    if (range.offset >= from) file_.punch(range.offset, range.bytes);
  }
}

Domain PoolFile::domain(bool gpu) const {
  const bool kept =
      access_ != Access::scratch && trouble_.load(std::memory_order_relaxed) != Trouble::removed && !lost_;
  return kept ? domain_of(medium_, gpu) : Domain::none;
}

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
  if (access_ == Access::scratch && offset >= file_bytes_) return {system::map_private(file_, bytes, at), bytes, bytes};
  const system::MapMode mode{.writable = access_ != Access::read_only,
                             .private_copy = access_ == Access::scratch,
                             .direct = medium_.medium == Medium::dax && access_ == Access::read_write,
                             .granule = medium_.granule,
                             .lost = &lost_};
  const bool has_holes = sparse_ && !writes_file();
  const Range range{system::map_file(file_, offset, rounded(bytes), mode, populate && !has_holes, at), bytes,
                    rounded(bytes)};
  if (!has_holes) return range;
  try {
    map_holes(range, offset);
  } catch (...) {
    if (at == nullptr) system::unmap(range.address, range.mapped);  // else its reservation ends with its owner
    throw;
  }
  return range;
}

/// A tmpfs would allocate a hole that is only read; or raise SIGBUS, if it is full.
void PoolFile::map_holes(const Range& range, std::uint64_t offset) const {
  const std::uint64_t end = offset + range.mapped;
  const auto ends_before = [](const system::FileRange& hole, std::uint64_t at) { return hole.end() <= at; };
  auto hole = std::lower_bound(holes_.begin(), holes_.end(), offset, ends_before);
  for (; hole != holes_.end() && hole->offset < end; ++hole) {
    const std::uint64_t from = std::max(offset, hole->offset), to = std::min(end, hole->end());
    system::map_private(file_, to - from, range.address + (from - offset));
  }
}

void PoolFile::settle(const Range& range) {
  if (!writes_file() || medium_.medium == Medium::shm) return;
  // Of this range alone: the rest of the file may be gigabytes that need no sync.
  if (system::msync(range.address, range.mapped) != 0) {
    const int error = errno;
    note_failed_sync();
    throw SystemError(system::system_message(path_, "cannot be put on its device", error));
  }
}

void PoolFile::sync_data() {
  if (!writes_file() || medium_.medium == Medium::shm) return;
  try {
    file_.sync_data();
  } catch (const Error&) {
    note_failed_sync();
    throw;
  }
}

void PoolFile::note_failed_sync() noexcept try {
  trouble_.store(Trouble::unsynced, std::memory_order_release);
  if (!writes_file() || header_.address == nullptr) return;
  OwnerNote note = make_note(file_.facts());
  note.sync_failed = 1;
  seal(note);
  std::memcpy(header_.address + kOwnerOffset, &note, sizeof note);
  owns_ = sync_failed_ = true;
} catch (const std::exception&) {
  // Not even that can be found out which a note says. The pool stays without a clean mark.
}

void PoolFile::notice_removal(std::size_t rows) noexcept {
  constexpr std::size_t kManyRows = 4096;  // beside which two calls of the system are nothing
  if (name_.empty() || trouble_.load(std::memory_order_relaxed) != Trouble::none) return;
  const std::uint64_t tick = system::ticks();
  if (rows < kManyRows && looked_.load(std::memory_order_relaxed) == tick) return;
  looked_.store(tick, std::memory_order_relaxed);
  struct stat here = {}, named = {};
  if (system::fstat(file_.fd(), here) != 0) return;
  // A file that was moved has a name still, and is found by it; one whose name leads to another file now is not the pool any more.
  const bool replaced = here.st_nlink == 0 || (system::stat(name_.c_str(), named) == 0 &&
                                               (named.st_dev != here.st_dev || named.st_ino != here.st_ino));
  Trouble none = Trouble::none;
  if (replaced) trouble_.compare_exchange_strong(none, Trouble::removed, std::memory_order_release);
}

bool PoolFile::is_file(const std::string& path) const {
  struct stat here = {}, there = {};
  return system::fstat(file_.fd(), here) == 0 && system::stat(path.c_str(), there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

void PoolFile::refuse_lost() const {
  throw MediumError(
      path_ +
      " lost a page while it was open here: its file was cut short, or its medium is full or failing. What "
      "this process has read or acknowledged is there; close it, and check it");
}

void PoolFile::require_kept() const {
  if (access_ == Access::read_write) return;
  throw ReadOnly(path_ + " is open for reading only; open it for writing (in Python mode=\"r+\")");
}

void PoolFile::require_writable() const {
  if (forked()) {
    throw ObjectClosed(path_ + " was opened by the process that this one was forked from; open it here anew");
  }
  if (access_ == Access::read_only) require_kept();
  require_whole();
  switch (trouble_.load(std::memory_order_acquire)) {
    case Trouble::none: return;
    case Trouble::unsynced:
      throw SystemError(path_ + " could not be put on its device before; close it, and open it again");
    case Trouble::removed:
      throw MediumError(path_ +
                        " was removed or replaced by another file while it was open here, so what is written would "
                        "be lost; take a snapshot to another file to keep what was there before, and close it");
  }
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
  auto directory = std::make_shared<const Directory>(std::move(next));  // nothing may fail once the file has it
  if (writes_file()) {
    const std::vector<std::byte> bytes = encode(*directory);
    const HeaderMemory memory = header_memory(persist(false));
    commit_directory(memory, area(block.area), bytes.data(), bytes.size(), copies(), block);
  }
  const std::lock_guard guard(mutex_);
  block_ = block;
  directory_ = std::move(directory);
}

}  // namespace holdfast::pool

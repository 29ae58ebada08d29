// pool_open.cpp: opens a pool that may be locked, damaged, foreign or half-changed.
#include <cstring>

#include "pool/medium/owner.hpp"
#include "pool/pool_file.hpp"

namespace holdfast::memory {

namespace {

/// Opens and locks the file that has the name, even if another one took the name meanwhile.
File open_locked(const std::string& path, Access access) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    File file = File::open(path, access == Access::read_write);
    lock(file, access == Access::read_write ? LockKind::exclusive : LockKind::shared);
    FileFacts named;
    if (look_at(path, &named) == AtPath::file && named.same_file(file.facts())) return file;
  }
  throw PoolInUse(path + " is being replaced again and again by another process; stop that, then open it");
}

}  // namespace

/// A pool that came from a medium of small pages has extents that a hugetlbfs cannot map.
void PoolFile::require_alignment() const {
  for (const Extent& extent : directory_->extents) {
    if (extent.offset % granule() == 0) continue;
    throw MediumError(path_ + " was made with small pages, and this medium has pages of " + std::to_string(granule()) +
                      " bytes; copy it to a tmpfs or an ordinary file system");
  }
}

/// Storing into a hole of a sparse copy would end the process by SIGBUS when the medium is full.
void PoolFile::fill_holes() const {
  std::uint64_t needed = kFirstExtent;
  for (const Extent& extent : directory_->extents) needed += extent.bytes;
  if (file_.facts().allocated >= needed) return;
  file_.allocate(0, kFirstExtent);
  for (const Extent& extent : directory_->extents) file_.allocate(extent.offset, extent.bytes);
}

void PoolFile::mend_copies(const Choice& choice) {
  if (choice.equal) return;
  HeaderMemory memory = header_memory(persist(false));
  for (unsigned which = 0; which < 2; ++which) {
    if (static_cast<int>(which) == choice.copy) continue;
    write_copy(memory, copies() + which, block_);
    repairs_.push_back(std::string("copy ") + (which == 0 ? "A" : "B") + " of the superblock" +
                       (choice.intact[which] ? ", which was older" : ", which was damaged or half-written"));
  }
}

/// Before anybody relies on what the device is said to have.
void PoolFile::make_up_for_failed_sync() const {
  if (medium_.medium != Medium::file || !sync_has_failed(file_)) return;
  file_.rewrite(0, kFirstExtent);
  for (const Extent& extent : directory_->extents) file_.rewrite(extent.offset, extent.bytes);
  file_.sync_data();
}

std::shared_ptr<PoolFile> PoolFile::open(const std::string& path, Access access) {
  File file = open_locked(path, access);
  PoolImage image = read_pool(file);
  const std::shared_ptr<PoolFile> pool(new PoolFile(std::move(file), access));
  pool->block_ = image.block;
  pool->file_bytes_ = image.file_bytes;
  pool->directory_ = std::make_shared<const Directory>(std::move(image.directory));
  pool->require_alignment();
  if (pool->writes_file() && pool->granule() == kPage) pool->fill_holes();
  if (pool->writes_file()) pool->make_up_for_failed_sync();
  pool->map_header();
  if (pool->writes_file()) pool->mend_copies(image.choice);
  pool->take_ownership();
  if (pool->writes_file()) remove_leftovers(resolve(path));
  return pool;
}

}  // namespace holdfast::memory

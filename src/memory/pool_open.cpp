// pool_open.cpp: opens a pool that may be locked, damaged, foreign or half-changed.
#include <cstring>

#include "memory/named_file.hpp"
#include "memory/owner.hpp"
#include "memory/pool_impl.hpp"
#include "memory/superblock_file.hpp"

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

bool is_of_this_boot(const Superblock& block) {
  const BootId boot = boot_id();
  return std::memcmp(block.boot_id, boot.data(), boot.size()) == 0;
}

/// A table that was closed in the middle of a resize, for want of room, has the clean mark, and items below the levels that
/// are addressed.
bool is_whole(const Superblock& block) { return block.clean == 1 && block.is_resizing == 0; }

/// RULES.md 21.
void refuse_unclean(const std::string& path, const Superblock& block, Access access, bool salvage) {
  if (is_whole(block)) return;
  const bool lost =
      block.clean != 1 && block.domain != static_cast<std::uint32_t>(Domain::power) && !is_of_this_boot(block);
  if (lost && !salvage) {
    throw PowerLost(path +
                    " was open when the machine stopped or restarted, and its medium keeps nothing that was "
                    "not synced; run `holdfast recover --salvage` on it to export what verifies");
  }
  if (access == Access::read_only) {
    throw ReadOnly(path + (block.clean == 1 ? " was closed in the middle of a resize" : " was not closed") +
                   " and needs recovery, which a read-only open cannot do; open it for writing "
                   "once, or run `holdfast recover` on it");
  }
}

/// A pool that came from a medium of small pages has extents that a hugetlbfs cannot map.
void require_alignment(const std::string& path, const Superblock& block, std::uint64_t granule) {
  for (const Extent& extent : block.extents) {
    const bool fits = extent.offset % granule == 0 && (extent.kind != ExtentKind::heap || extent.bytes % granule == 0);
    if (extent.kind == ExtentKind::none || extent.kind == ExtentKind::free || fits) continue;
    throw MediumError(path + " was made with small pages, and this medium has pages of " + std::to_string(granule) +
                      " bytes; copy it to a tmpfs or an ordinary file system");
  }
}

/// Storing into a hole of a sparse copy would end the process by SIGBUS when the medium is full.
void fill_holes(const File& file, const Superblock& block) {
  std::uint64_t needed = kFirstExtent;
  for (const Extent& extent : block.extents) needed += extent.bytes;
  if (file.facts().allocated >= needed) return;
  file.allocate(0, kFirstExtent);
  for (const Extent& extent : block.extents) {
    if (extent.kind != ExtentKind::none) file.allocate(extent.offset, extent.bytes);
  }
}

}  // namespace

void Pool::Impl::mend_copies(const Choice& choice) {
  if (choice.equal) return;
  SuperblockMemory memory(file, header.address, persist, medium.medium);
  for (unsigned which = 0; which < 2; ++which) {
    if (static_cast<int>(which) == choice.copy) continue;
    write_copy(memory, copy(which), block);
    repairs.push_back(std::string("copy ") + (which == 0 ? "A" : "B") + " of the superblock" +
                      (choice.intact[which] ? ", which was older" : ", which was damaged or half-written"));
  }
}

std::unique_ptr<Pool> Pool::open(const std::string& path, Access access, bool salvage, bool flush) {
  File file = open_locked(path, access);
  const SuperblockFile found = read_superblock(file);
  refuse_unclean(path, found.block, access, salvage);

  auto impl = std::make_unique<Impl>(std::move(file), access);
  impl->find_out(flush);
  require_alignment(path, found.block, impl->granule());
  if (impl->writes_file() && impl->granule() == kPage) fill_holes(impl->file, found.block);
  impl->block = found.block;
  impl->was_clean = is_whole(found.block);
  if (found.block.clean != 1 && is_of_this_boot(found.block)) impl->marked = static_cast<int>(found.block.domain);
  impl->map_all();
  if (impl->writes_file()) impl->mend_copies(found.choice);
  impl->take_ownership();
  if (impl->writes_file()) remove_leftovers(resolve(path));
  return std::unique_ptr<Pool>(new Pool(std::move(impl)));
}

}  // namespace holdfast::memory

// pool_open.cpp: opens a pool that may be locked, damaged, foreign or half-changed.
#include <algorithm>
#include <cstring>

#include "core/bits.hpp"
#include "pool/medium/owner.hpp"
#include "pool/pool_file.hpp"

namespace holdfast::pool {

namespace {

system::File open_for(const std::string& path, Access access) {
  const bool writes = access == Access::read_write;
  return open_locked(path, writes, writes ? LockKind::exclusive : LockKind::shared);
}

constexpr std::uint64_t kBelieved = 2;  // times the blocks that there are
/// Zeros that cost a reader neither space nor much time: so a sparse copy of a small pool can be read.
constexpr std::uint64_t kReadAnyway = std::uint64_t{64} << 20;

constexpr std::uint64_t kLostBelieved = 16;  // times what is there

using Ranges = std::vector<system::FileRange>;

Ranges holes_in(const system::File& file, const Ranges& ranges) {
  system::Holes holes(file);
  Ranges all;
  for (const system::FileRange& range : ranges) {
    const Ranges some = holes.in({range.offset, round_up(range.bytes, kPage)});
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// The bytes of the file that belong to none of these ranges, and hold something.
std::uint64_t data_between(const system::File& file, const Ranges& ranges) {
  std::uint64_t bytes = 0, from = 0;
  system::Holes holes(file);
  const auto add = [&](std::uint64_t to) {
    if (from >= to) return;
    bytes += to - from;
    for (const system::FileRange& hole : holes.in({from, to - from})) bytes -= hole.bytes;
  };
  for (const system::FileRange& range : ranges) {
    add(range.offset);
    from = range.end();
  }
  add(file.facts().bytes);
  return bytes;
}

[[noreturn]] void throw_sparse(const std::string& path, std::uint64_t claimed, std::uint64_t there) {
  throw PoolCorrupt(path + " says that it has " + std::to_string(claimed) + " bytes, and " + std::to_string(there) +
                    " are on its medium: it is a sparse copy, or made to mislead. If you trust it, allocate it first "
                    "(fallocate -l $(stat -c %s FILE) FILE), or copy it anew without holes (cp --sparse=never)");
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

/// The page in which the file ends is lost with what follows: so no slot and no value is half there.
void PoolFile::find_lost(std::uint64_t file_bytes) {
  file_bytes_ = file_bytes;
  if (access_ != Access::scratch || directory_->end() <= file_bytes) return;
  lost_from_ = file_bytes / kPage * kPage;
  if (granule() != kPage) {
    throw MediumError(path_ + " was cut short, and this medium has pages of " + std::to_string(granule()) +
                      " bytes; copy it to a tmpfs or an ordinary file system to salvage it");
  }
}

/// The bytes that a pool's file must have allocated.
Ranges PoolFile::ranges_there() const {
  Ranges ranges{{0, kFirstExtent}};
  for (const Extent& extent : directory_->extents) {
    if (extent.offset < lost_from_)
      ranges.push_back({extent.offset, std::min(extent.end(), lost_from_) - extent.offset});
  }
  return ranges;
}

/// Sizes are believed as far as blocks are there: else some kilobytes that claim terabytes would take the whole medium, or keep a caller that
/// reads their zeroes busy for ever.
void PoolFile::believe_sizes() {
  std::uint64_t claimed = 0;
  const Ranges ranges = ranges_there();
  for (const system::FileRange& range : ranges) claimed += range.bytes;
  const std::uint64_t there = file_.facts().allocated;
  sparse_ = granule() == kPage && there < claimed + data_between(file_, ranges);
  const std::uint64_t believed = kBelieved * there + (writes_file() ? 0 : kReadAnyway);
  if (sparse_ && medium_.counts_blocks && claimed > believed) throw_sparse(path_, claimed, there);
  if (sparse_ && !writes_file()) holes_ = holes_in(file_, ranges);
  if (lost_from_ >= directory_->end()) return;
  most_lost_ = kLostBelieved * (medium_.counts_blocks ? there : file_bytes_) + kReadAnyway;
  holes_.push_back({lost_from_, directory_->end() - lost_from_});
  sparse_ = true;
}

/// Storing into a hole would need space, and raise SIGBUS where there is none.
void PoolFile::fill_holes() {
  if (!sparse_) return;
  const std::uint64_t there = file_.facts().allocated;
  const Ranges ranges = ranges_there();
  filled_ = holes_in(file_, ranges);
  try {
    for (const system::FileRange& range : ranges) {
      file_.allocate(range.offset, range.bytes);
      // Blocks may lie where no extent is, too.
      const std::uint64_t now = file_.facts().allocated;
      if (medium_.counts_blocks && now > kBelieved * there) throw_sparse(path_, now, there);
    }
  } catch (...) {
    give_back(0);
    filled_.clear();
    throw;
  }
}

/// A copy that shares blocks with its original would need space for a store to them, too.
void PoolFile::unshare() const {
  if (medium_.medium == Medium::shm) return;
  for (const system::FileRange& range : ranges_there()) file_.unshare(range);
}

void PoolFile::mend_copies(const Choice& choice) {
  if (choice.equal) return;
  const HeaderMemory memory = header_memory(persist(false));
  for (unsigned which = 0; which < 2; ++which) {
    if (static_cast<int>(which) == choice.copy) continue;
    write_copy(memory, copies() + which, block_);
    repairs_.push_back(std::string("copy ") + (which == 0 ? "A" : "B") + " of the superblock" +
                       (choice.intact[which] ? ", which was older" : ", which was damaged or half-written"));
  }
}

/// Runs before the file is trusted to be on the device.
void PoolFile::make_up_for_failed_sync() const {
  if (medium_.medium != Medium::file || !sync_has_failed(file_)) return;
  file_.rewrite(0, kFirstExtent);
  for (const Extent& extent : directory_->extents) file_.rewrite(extent.offset, extent.bytes);
  file_.sync_data();
}

std::shared_ptr<PoolFile> PoolFile::open(const std::string& path, Access access) {
  system::File file = open_for(path, access);
  PoolImage image = read_pool(file, access == Access::scratch);
  const std::shared_ptr<PoolFile> pool(new PoolFile(std::move(file), access));
  pool->block_ = image.block;
  pool->directory_ = std::make_shared<const Directory>(std::move(image.directory));
  pool->find_lost(image.file_bytes);
  pool->require_alignment();
  pool->believe_sizes();
  if (pool->writes_file()) pool->fill_holes();
  if (pool->writes_file()) pool->unshare();
  if (pool->writes_file()) pool->make_up_for_failed_sync();
  pool->map_header();
  if (pool->writes_file()) pool->mend_copies(image.choice);
  pool->take_ownership();
  if (!pool->writes_file()) return pool;
  system::remove_leftovers(system::resolve(path));
  if (!pool->medium().unlinked) pool->name_ = system::resolve(path);
  return pool;
}

}  // namespace holdfast::pool

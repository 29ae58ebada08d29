// snapshot.cpp: what of a pool is copied, and where it goes in the copy. docs/format.md, "Snapshots".
#include "memory/snapshot.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "core/bits.hpp"
#include "core/both.hpp"
#include "core/random.hpp"
#include "memory/bulk_writer.hpp"
#include "memory/layout.hpp"
#include "memory/owner.hpp"

namespace holdfast::memory {

namespace {

constexpr std::uint64_t kStep = std::uint64_t{8} << 20;  // a write; a few of them keep a fast disk busy
constexpr unsigned kThreads = 4;                         // which mostly wait for it
constexpr unsigned kMostThreads = 64;

[[noreturn]] void throw_exists(const std::string& path) {
  throw PoolExists(path + " exists already; name another file for the snapshot, or let it overwrite this one");
}

/// The superblock of a copy of `pool` on `medium`: a pool of its own, made now.
Superblock superblock_for(const Pool& pool, const MediumFacts& medium) {
  Superblock block = pool.superblock();
  block.clean = 1;
  block.generation = 1;
  random_bytes(block.pool_id, sizeof block.pool_id);
  const BootId boot = boot_id();
  std::memcpy(block.boot_id, boot.data(), boot.size());
  block.created = static_cast<std::uint64_t>(std::time(nullptr));
  block.domain = static_cast<std::uint32_t>(domain_of(medium, false));
  lay_out(block, medium.granule);
  return block;
}

}  // namespace

Snapshot::Snapshot(const std::string& path, bool overwrite)
    : path_(path), target_(resolve(path)), overwrite_(overwrite) {
  FileFacts there;
  if (look_at(path, &there) == AtPath::file) {
    if (!overwrite) throw_exists(path);
    if (there.links == 0) throw MediumError(path + " has no name in a folder; name a file for the snapshot");
    replaced_ = File::open(path, false);
    lock(replaced_, LockKind::exclusive);
  }
  remove_leftovers(target_);
  file_ = make_temporary(target_);
  temporary_.path = file_.path();
  file_.set_path(path);
  medium_ = find_medium(file_);
}

/// Where everything goes, as the directory of the copy says.
std::vector<Snapshot::Part> Snapshot::plan(const Pool& pool, const Superblock& block) {
  std::vector<Part> parts;
  for (const Extent& extent : block.extents) {
    if (extent.kind == ExtentKind::level) {
      parts.push_back({reinterpret_cast<const std::byte*>(pool.level(extent.level)), extent.bytes, extent.offset});
    }
    if (extent.kind == ExtentKind::heap) {  // the source may have room for more cells than it has
      parts.push_back({pool.heap(), round_up(block.cells * block.cell_bytes, kPage), extent.offset});
    }
  }
  return parts;
}

bool Snapshot::copy(const Pool& pool, unsigned threads, const Progress& progress) {
  if (pool.superblock().is_resizing != 0) {
    throw NoSpace(
        "a resize of " + pool.path() +
        " found no room for one more level: make room on its medium, open it again, and take the snapshot then");
  }
  Superblock block = superblock_for(pool, medium_);
  const std::vector<Part> parts = plan(pool, block);
  file_.allocate(0, round_up(Layout(block).end(), medium_.granule));
  for (const Part& part : parts) bytes_ += part.bytes;
  BulkWriter writer(file_, medium_.granule);
  const auto write = [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t start = 0;  // of the part, in the row of all
    for (const Part& part : parts) {
      const std::uint64_t from = std::max(begin, start), to = std::min(end, start + part.bytes);
      if (from < to) writer.write(part.from + (from - start), to - from, part.offset + (from - start));
      start += part.bytes;
    }
  };
  const unsigned team = threads == 0 ? kThreads : std::min(threads, kMostThreads);
  const auto go_on = [&](std::uint64_t done) { return !progress || progress(done, bytes_); };
  if (!in_parallel(bytes_, kStep, team, write, go_on)) return false;
  written_ = writer.written();
  write_header(writer, *pool.aside(), block);
  return true;
}

/// The superblocks and the aside slot, after all that they speak of. The owner's note stays behind: nobody has the copy open.
void Snapshot::write_header(BulkWriter& writer, const index::Slot& aside, Superblock& block) {
  seal(block);
  HOLDFAST_ASSERT(flaw(block, file_.facts().bytes).empty());
  alignas(kPage) std::byte header[kFirstExtent] = {};
  std::memcpy(header, &block, sizeof block);
  std::memcpy(header + kSuperblockBytes, &block, sizeof block);
  std::memcpy(header + kAsideOffset, &aside, sizeof aside);
  writer.write(header, sizeof header, 0);
}

void Snapshot::finish() {
  file_.sync_data();
  give_name(temporary_.path, target_, overwrite_);
  if (overwrite_) temporary_.path.clear();
  if (medium_.medium != Medium::shm) sync_folder(target_);
}

}  // namespace holdfast::memory

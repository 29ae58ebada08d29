// snapshot.cpp: what of a pool is copied, and where it goes in the copy. docs/format.md, "Snapshots".
#include "pool/snapshot.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "core/bits.hpp"
#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "core/random.hpp"
#include "pool/space.hpp"
#include "system/bulk_writer.hpp"
#include "threads/parallel.hpp"

namespace holdfast::memory {

namespace {

constexpr std::uint64_t kStep = std::uint64_t{8} << 20;  // a write; a few of them keep a fast disk busy
constexpr unsigned kThreads = 4;                         // which mostly wait for it
constexpr unsigned kMostThreads = 64;

/// Extents of objects that are not open, mapped as long as this lives.
class Mappings {
 public:
  ~Mappings() {
    for (const Range& range : ranges_) system::unmap(range.address, range.mapped);
  }
  const std::byte* map(const PoolFile& pool, const Extent& extent) {
    ranges_.reserve(ranges_.size() + 1);
    ranges_.push_back(pool.map(extent.offset, extent.bytes, false));
    return ranges_.back().address;
  }

 private:
  std::vector<Range> ranges_;
};

const Object* find(const std::vector<const Object*>& open, std::uint32_t number) {
  const auto found = std::find_if(open.begin(), open.end(), [&](const Object* o) { return o->number() == number; });
  return found == open.end() ? nullptr : *found;
}

/// The extents that a copy of an object has, without their places, and of each the extents that it is made from.
struct Copied {
  Extent to;
  std::vector<Extent> from;
};
std::vector<Copied> copied_extents(const Directory& directory, std::uint32_t object) {
  std::vector<Copied> copied;
  for (const Extent& extent : directory.extents_of(object)) {
    // Pieces of one range are joined; where one is missing, as in a damaged object, the copy lacks it too.
    const bool goes_on = (extent.role & kPiecesOfARange) != 0 && !copied.empty() &&
                         copied.back().to.role == extent.role && copied.back().from.back().index + 1 == extent.index;
    if (goes_on) {
      copied.back().to.bytes += extent.bytes;
      copied.back().from.push_back(extent);
    } else {
      copied.push_back({extent, {extent}});
    }
  }
  return copied;
}

}  // namespace

Snapshot::Snapshot(const std::string& path, bool overwrite) : name_(path, overwrite) {
  system::remove_leftovers(name_.target());
  file_ = system::make_temporary(name_.target(), temporary_);
  file_.set_path(path);
  medium_ = find_medium(file_);
}

/// The pages of an object: those of an open one say that it is clean.
void Snapshot::plan_pages(const Extent& to, const std::byte* from, const Object* open) {
  std::vector<AlignedPage>& pages = pages_.emplace_back(to.bytes / kPage);
  std::memcpy(pages.data(), from, to.bytes);
  if (open != nullptr) {
    const ObjectPage page = open->page_of_copy(medium_);
    for (unsigned which = 0; which < 2; ++which) std::memcpy(&pages[which], &page, sizeof page);
  }
  parts_.push_back({pages.data()->bytes, to.bytes, to.offset});
}

bool Snapshot::copy(PoolFile& pool, const std::vector<const Object*>& open, unsigned threads,
                    const Progress& progress) {
  const auto source = pool.directory();
  directory_ = *source;
  directory_.generation = 1;
  directory_.extents.clear();
  Space space(directory_, medium_.granule);
  Mappings mappings;
  for (const ObjectEntry& entry : source->objects) {
    const Object* const object = find(open, entry.number);
    for (Copied& copied : copied_extents(*source, entry.number)) {
      copied.to.offset = space.take_behind({round_up(copied.to.bytes, medium_.granule), 0}).offset;
      directory_.add(copied.to);
      std::uint64_t at = copied.to.offset;
      for (const Extent& from : copied.from) {
        const std::byte* const address = object != nullptr ? object->address_of(from) : mappings.map(pool, from);
        if (from.role == kPagesRole) {
          plan_pages(copied.to, address, object);
        } else {
          parts_.push_back({address, from.bytes, at});
        }
        at += from.bytes;
      }
    }
  }
  for (const Part& part : parts_) bytes_ += part.bytes;
  file_.allocate(0, space.end());
  system::BulkWriter writer(file_, medium_.granule);
  if (!write_parts(writer, threads, progress)) return false;
  written_ = writer.written();
  HOLDFAST_FAILPOINT(snapshot_headless);
  write_header(writer, pool);
  return true;
}

bool Snapshot::write_parts(system::BulkWriter& writer, unsigned threads, const Progress& progress) const {
  const auto write = [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t start = 0;  // of the part, in the row of all
    for (const Part& part : parts_) {
      const std::uint64_t from = std::max(begin, start), to = std::min(end, start + part.bytes);
      if (from < to) writer.write(part.from + (from - start), to - from, part.offset + (from - start));
      start += part.bytes;
    }
  };
  const unsigned team = threads == 0 ? kThreads : std::min(threads, kMostThreads);
  const auto go_on = [&](std::uint64_t done) { return !progress || progress(done, bytes_); };
  return threads::in_parallel(bytes_, kStep, team, write, go_on);
}

/// The superblocks and the directory, after all that they speak of. The owner's note is not copied: the copy is not open.
void Snapshot::write_header(system::BulkWriter& writer, const PoolFile& pool) {
  Superblock block = pool.superblock();
  block.area = 0;
  block.generation = directory_.generation;
  random_bytes(block.pool_id, sizeof block.pool_id);
  block.created = static_cast<std::uint64_t>(std::time(nullptr));
  seal(block);
  const std::vector<std::byte> area = encode(directory_);
  std::vector<AlignedPage> header(kFirstExtent / kPage);
  std::byte* const begin = header.data()->bytes;
  std::memcpy(begin, &block, sizeof block);
  std::memcpy(begin + kSuperblockBytes, &block, sizeof block);
  std::memcpy(begin + area_offset(0), area.data(), area.size());
  writer.write(begin, kFirstExtent, 0);
}

void Snapshot::finish() {
  file_.sync_data();
  HOLDFAST_FAILPOINT(snapshot_unnamed);
  name_.give_to(file_, medium_.medium, temporary_);
}

}  // namespace holdfast::memory

// snapshot.cpp: what of a pool is copied, and where it goes in the copy. docs/format.md, "Snapshots".
#include "pool/snapshot.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include "core/bits.hpp"
#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "core/random.hpp"
#include "pool/kinds/kind.hpp"
#include "pool/space.hpp"
#include "system/bulk_writer.hpp"
#include "threads/parallel.hpp"

namespace holdfast::pool {

namespace {

constexpr std::uint64_t kStep = std::uint64_t{8} << 20;  // a write; a few of them keep a fast disk busy
constexpr unsigned kThreads = 4;                         // which mostly wait for it
constexpr unsigned kMostThreads = 64;

template <class One>
One* find(const std::vector<std::unique_ptr<One>>& all, std::uint32_t number) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& o) { return o->object->number() == number; });
  return found == all.end() ? nullptr : found->get();
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

struct Snapshot::Sources {
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

  const std::shared_ptr<PoolFile> pool;
  const std::shared_ptr<const Directory> directory = pool->directory();
  const CompactHow how;
  Mappings mappings = {};
  std::vector<std::unique_ptr<CompactCopy>> compact = {};
};

/// Gives an extent of the copy its place.
Extent Snapshot::place(Space& space, Extent extent) {
  extent.offset = space.take_behind({round_up(extent.bytes, medium_.granule), 0}).offset;
  directory_.add(extent);
  return extent;
}

/// The pages of an object: those of an open one say that it is clean.
void Snapshot::plan_pages(const Extent& to, std::vector<AlignedPage> pages, const Object* open) {
  if (open != nullptr) {
    const ObjectPage page = open->page_of_copy(medium_);
    for (unsigned which = 0; which < 2; ++which) std::memcpy(&pages[which], &page, sizeof page);
  }
  parts_.push_back({to.bytes, to.offset, pages_.emplace_back(std::move(pages)).data()->bytes});
}

void Snapshot::plan_compact(Space& space, const CompactCopy& compact, const Object* open) {
  const std::vector<Extent> extents = compact.extents();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Extent to = place(space, extents[i]);
    if (to.role != kPagesRole) {
      parts_.push_back({to.bytes, to.offset, nullptr, &compact, i});
      continue;
    }
    std::vector<AlignedPage> pages(to.bytes / kPage);
    compact.read(i, 0, pages.data()->bytes, to.bytes);
    plan_pages(to, std::move(pages), open);
  }
}

void Snapshot::plan(Sources& sources, Space& space, const ObjectEntry& entry, const Quiesced* open, Frozen* frozen) {
  const Object* const object = open == nullptr ? nullptr : open->object;
  const ObjectKind* const kind = find_kind(entry.type);
  if (kind != nullptr && frozen == nullptr) {
    if (auto compact = kind->compact(sources.pool, entry, open, sources.how)) {
      return plan_compact(space, *sources.compact.emplace_back(std::move(compact)), object);
    }
  }
  for (const Copied& copied : copied_extents(*sources.directory, entry.number)) {
    const Extent to = place(space, copied.to);
    std::uint64_t at = to.offset;
    for (const Extent& from : copied.from) {
      const std::byte* const address =
          object != nullptr ? object->address_of(from) : sources.mappings.map(*sources.pool, from);
      if (from.role == kPagesRole) {
        std::vector<AlignedPage> pages(to.bytes / kPage);
        std::memcpy(pages.data(), address, to.bytes);
        plan_pages(to, std::move(pages), object);
      } else if (frozen != nullptr) {
        frozen_parts_.push_back({from.bytes, at, address});
        frozen_parts_.back().frozen = frozen;
      } else {
        parts_.push_back({from.bytes, at, address});
      }
      at += from.bytes;
    }
  }
}

void Snapshot::begin(const std::shared_ptr<PoolFile>& pool, const std::vector<std::unique_ptr<Quiesced>>& open,
                     const std::vector<std::unique_ptr<Frozen>>& frozen) {
  Sources sources{.pool = pool, .how = {}};
  superblock_ = pool->superblock();
  directory_ = *sources.directory;
  directory_.generation = 1;
  directory_.extents.clear();
  Space space(directory_, medium_.granule);
  for (const ObjectEntry& entry : directory_.objects) {
    if (Frozen* const its = find(frozen, entry.number)) plan(sources, space, entry, find(open, entry.number), its);
  }
}

/// Their zeros would look like data. An open object serves none of them.
void Snapshot::leave_out_lost(const PoolFile& pool, const std::vector<std::unique_ptr<Quiesced>>& open) {
  const auto source = pool.directory();
  std::erase_if(directory_.objects, [&](const ObjectEntry& entry) {
    const bool is_open =
        find(open, entry.number) != nullptr || !directory_.extents_of(entry.number).empty();  // or frozen
    if (is_open || source->bytes_of(entry.number, pool.lost_from()) == 0) return false;
    left_out_.emplace_back(entry.title());
    return true;
  });
}

bool Snapshot::copy(const std::shared_ptr<PoolFile>& pool, const std::vector<std::unique_ptr<Quiesced>>& open,
                    unsigned threads, const Progress& progress) {
  std::uint64_t most = 0;  // to copy; a compact copy has less
  for (const Extent& extent : pool->directory()->extents) most += extent.bytes;
  const auto go_on = [&] { return !progress || progress(0, most); };
  Sources sources{.pool = pool, .how = {.granule = medium_.granule, .go_on = go_on}};
  Space space(directory_, medium_.granule);
  leave_out_lost(*pool, open);
  for (const ObjectEntry& entry : directory_.objects) {
    const bool is_planned = !directory_.extents_of(entry.number).empty();  // by `begin`
    if (!is_planned) plan(sources, space, entry, find(open, entry.number), nullptr);
  }
  for (const Parts* parts : {&parts_, &frozen_parts_}) {
    for (const Part& part : *parts) bytes_ += part.bytes;
  }
  file_.allocate(0, space.end());
  return write_parts(parts_, 0, threads, progress);
}

bool Snapshot::copy_frozen(unsigned threads, const Progress& progress) {
  if (!frozen_parts_.empty()) {
    std::uint64_t before = 0;
    for (const Part& part : parts_) before += part.bytes;
    if (!write_parts(frozen_parts_, before, threads, progress)) return false;
  }
  HOLDFAST_FAILPOINT(snapshot_headless);
  write_header();
  return true;
}

void Snapshot::write_part(system::BulkWriter& writer, const Part& part, std::uint64_t begin, std::uint64_t bytes) {
  if (part.compact == nullptr && part.frozen == nullptr) {
    return writer.write(part.from + begin, bytes, part.offset + begin);
  }
  std::vector<AlignedPage> pages(bytes / kPage);
  if (part.frozen != nullptr) {
    part.frozen->read(part.from + begin, bytes, pages.data()->bytes);
  } else {
    part.compact->read(part.extent, begin, pages.data()->bytes, bytes);
  }
  writer.write(pages.data()->bytes, bytes, part.offset + begin);
}

/// `before`: bytes that were written before.
bool Snapshot::write_parts(const Parts& parts, std::uint64_t before, unsigned threads, const Progress& progress) {
  system::BulkWriter writer(file_, medium_.granule);
  const auto write = [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t start = 0;  // of the part, in the row of all
    for (const Part& part : parts) {
      const std::uint64_t from = std::max(begin, start), to = std::min(end, start + part.bytes);
      if (from < to) write_part(writer, part, from - start, to - from);
      start += part.bytes;
    }
  };
  const unsigned team = threads == 0 ? kThreads : std::min(threads, kMostThreads);
  const auto go_on = [&](std::uint64_t done) { return !progress || progress(before + done, bytes_); };
  std::uint64_t bytes = 0;
  for (const Part& part : parts) bytes += part.bytes;
  const bool whole = threads::in_parallel(bytes, kStep, team, write, go_on);
  written_ += writer.written();
  return whole;
}

/// The superblocks and the directory, after all that they speak of. The owner's note is not copied: the copy is not open.
void Snapshot::write_header() {
  Superblock block = superblock_;
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
  system::BulkWriter(file_, medium_.granule).write(begin, kFirstExtent, 0);
}

void Snapshot::finish() {
  file_.sync_data();
  HOLDFAST_FAILPOINT(snapshot_unnamed);
  name_.give_to(file_, medium_.medium, temporary_);
}

}  // namespace holdfast::pool

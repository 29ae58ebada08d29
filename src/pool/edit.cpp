// edit.cpp: plans the edits of a commit, with space on the medium for all of them.
#include "pool/edit.hpp"

#include <algorithm>
#include <cstring>

#include "core/both.hpp"

namespace holdfast::pool {

namespace {

void give_name(ObjectEntry& entry, std::string_view name) {
  HOLDFAST_ASSERT(flaw_in_name(name).empty());
  std::memset(entry.name, 0, sizeof entry.name);
  std::memcpy(entry.name, name.data(), name.size());
  entry.name_bytes = static_cast<std::uint32_t>(name.size());
}

constexpr std::size_t kNow = ~std::size_t{0};  // as for a large batch

/// Smaller pieces of a large extension are left to small objects.
constexpr std::uint64_t kPartsOfAnExtension = 16;

}  // namespace

Edit::Edit(PoolFile& pool)
    : pool_(pool), lock_(pool.edit_mutex_), next_(*pool.directory()), space_(next_, pool.granule()) {
  pool_.notice_removal(kNow);
  pool_.require_writable();
  fresh_from_ = space_.end();
  // What a growth that never ended left behind the last extent is not zero.
  const std::uint64_t end = std::max(fresh_from_, pool_.rounded(kFirstExtent));
  if (pool_.writes_file() && pool_.file().facts().bytes > end) pool_.file().resize(end);
}

/// Returns space without an extent to the medium, where that is possible; else its next user fills it.
Edit::~Edit() {
  if (!pool_.writes_file() || !pool_.is_sound() || pool_.forked()) return;
  try {
    for (const system::FileRange& range : committed_ ? dropped_ : taken_) pool_.file().punch(range.offset, range.bytes);
    const std::uint64_t end = std::max(pool_.rounded(pool_.directory()->end()), pool_.rounded(kFirstExtent));
    if (pool_.file().facts().bytes > end) pool_.file().resize(end);
  } catch (const Error&) {
    // The next edit cuts off what is behind the last extent.
  }
}

void Edit::require_name(std::string_view name) const {
  if (const std::string what = flaw_in_name(name); !what.empty()) {
    throw InvalidArgument("the name \"" + std::string(name) + "\" " + what +
                          ": give 1 to 63 bytes of UTF-8 without '/', ':' and control characters");
  }
  if (next_.find(name) == nullptr) return;
  throw ObjectExists(pool_.path() + " has an object \"" + std::string(name) +
                     "\" already; open it, or give another name");
}

std::uint32_t Edit::create(const NewObject& object) {
  require_name(object.name);
  if (next_.objects.size() == kObjects) {
    throw NoSpace(pool_.path() + " has " + std::to_string(kObjects) +
                  " objects, the most there are; drop one, or use a second pool");
  }
  if (next_.next_number == ~std::uint32_t{0}) {
    throw NoSpace(pool_.path() + " has given all numbers to objects; use a second pool");
  }
  ObjectEntry entry = {};
  entry.number = next_.next_number++;
  entry.type = object.type;
  entry.type_version = object.type_version;
  entry.required = object.required;
  entry.optional = object.optional;
  give_name(entry, object.name);
  next_.objects.push_back(entry);
  return entry.number;
}

void Edit::rename(std::uint32_t object, std::string_view name) {
  const auto at = std::find_if(next_.objects.begin(), next_.objects.end(),
                               [&](const ObjectEntry& entry) { return entry.number == object; });
  HOLDFAST_ASSERT(at != next_.objects.end());
  if (at->title() == name) return;
  require_name(name);
  give_name(*at, name);
}

void Edit::drop(std::uint32_t object) {
  std::erase_if(next_.extents, [&](const Extent& extent) {
    if (extent.object == object) dropped_.push_back({extent.offset, extent.bytes});
    return extent.object == object;
  });
  std::erase_if(next_.objects, [&](const ObjectEntry& entry) { return entry.number == object; });
}

void Edit::free(std::uint32_t object, std::uint16_t role, std::uint16_t index) {
  std::erase_if(next_.extents, [&](const Extent& extent) {
    return extent.object == object && extent.role == role && extent.index == index;
  });
}

void Edit::shrink(std::uint32_t object, std::uint16_t role, std::uint64_t bytes) {
  HOLDFAST_ASSERT(bytes % pool_.granule() == 0);
  std::uint64_t begin = 0;
  for (const Extent& piece : next_.extents_of(object, role)) {
    const std::uint64_t kept = std::min(piece.bytes, bytes - std::min(bytes, begin));
    begin += piece.bytes;
    if (kept == piece.bytes) continue;
    dropped_.push_back({piece.offset + kept, piece.bytes - kept});
    if (kept == 0) {
      free(object, role, piece.index);
    } else {
      next_.find_extent(object, role, piece.index)->bytes = kept;
    }
  }
}

void Edit::require_entries() const {
  if (next_.extents.size() < kExtents) return;
  throw NoSpace(pool_.path() + " has " + std::to_string(kExtents) +
                " extents, the most there are; take a snapshot of it, which has fewer, or use a second pool");
}

/// Throws NoSpace; then the range belongs to nothing.
void Edit::take_space(const system::FileRange& range) {
  if (!pool_.writes_file()) return;
  pool_.file().allocate(range.offset, range.bytes);
  taken_.push_back(range);
}

Extent Edit::add(std::uint32_t object, std::uint16_t role, std::uint16_t index, std::uint64_t bytes) {
  require_entries();
  const Wanted wanted{pool_.rounded(bytes), 0};
  const auto gap = space_.take_gap(wanted);
  const system::FileRange range = gap ? *gap : space_.take_behind(wanted);
  take_space(range);
  const Extent extent{range.offset, bytes, object, role, index};
  next_.add(extent);
  return extent;
}

/// Gives a range behind those that there are of this role to the object.
Extent Edit::append(std::uint32_t object, std::uint16_t role, const system::FileRange& range) {
  const std::vector<Extent> before = next_.extents_of(object, role);
  if (!before.empty() && before.back().end() == range.offset) {
    Extent& last = *next_.find_extent(object, role, before.back().index);
    last.bytes += range.bytes;
    return {range.offset, range.bytes, object, role, last.index};
  }
  require_entries();
  HOLDFAST_ASSERT(before.empty() || before.back().index != 0xffff);
  const auto index = static_cast<std::uint16_t>(before.empty() ? 0 : before.back().index + 1);
  const Extent extent{range.offset, range.bytes, object, role, index};
  next_.add(extent);
  return extent;
}

/// Up to `missing` bytes in gaps: right behind the last piece, in one piece, in large pieces.
void Edit::extend_in_gaps(Extension& extension) {
  const std::vector<Extent> before = next_.extents_of(extension.object, extension.role);
  if (!before.empty()) take(extension, space_.take_next(before.back().end(), extension.missing));
  if (const auto gap = space_.take_gap({extension.missing, extension.address})) take(extension, *gap);
  const std::uint64_t least = std::max(pool_.granule(), extension.missing / kPartsOfAnExtension);
  while (extension.missing != 0) {
    const auto part = space_.take_part({extension.missing, extension.address}, least);
    if (!part) return;
    take(extension, *part);
  }
}

/// Behind the last extent: all that is missing, or half as often as it takes.
void Edit::extend_behind(Extension& extension) {
  for (std::uint64_t bytes = extension.missing; bytes != 0; bytes = bytes / 2 / pool_.granule() * pool_.granule()) {
    try {
      take_space(space_.behind({bytes, extension.address}));
    } catch (const NoSpace& error) {
      extension.reason = error.what();
      continue;
    }
    const system::FileRange range = space_.take_behind({bytes, extension.address});
    extension.parts.push_back(append(extension.object, extension.role, range));
    extension.missing -= bytes;
    return;
  }
}

void Edit::take(Extension& extension, const system::FileRange& range) {
  HOLDFAST_ASSERT(range.bytes <= extension.missing);
  if (range.bytes == 0) return;
  take_space(range);
  extension.parts.push_back(append(extension.object, extension.role, range));
  extension.missing -= range.bytes;
  extension.address += range.bytes;
}

std::vector<Extent> Edit::extend(std::uint32_t object, std::uint16_t role, std::uint64_t bytes, std::uint64_t least,
                                 std::uint64_t address) {
  HOLDFAST_ASSERT(bytes % pool_.granule() == 0 && least <= bytes);
  Extension extension{.object = object, .role = role, .missing = bytes, .address = address};
  try {
    extend_in_gaps(extension);
    extend_behind(extension);
  } catch (const NoSpace& error) {
    extension.reason = error.what();
  }
  if (bytes - extension.missing < least) throw NoSpace(extension.reason);
  return std::move(extension.parts);
}

void Edit::commit() {
  pool_.commit(next_);
  pool_.keep_space();
  committed_ = true;
}

}  // namespace holdfast::pool

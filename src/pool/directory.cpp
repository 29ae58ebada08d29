// directory.cpp: a directory from bytes of unknown origin, and back.
#include "pool/directory.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

#include "core/both.hpp"
#include "core/checked.hpp"

namespace holdfast::pool {

namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

/// The bytes of the character that begins `text`; 0 if it is no whole character of UTF-8, or a control character.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first < 0x20 || first == 0x7f ? 0 : 1;
  const std::size_t bytes = first >= 0xf0 && first < 0xf5   ? 4
                            : first >= 0xe0 && first < 0xf0 ? 3
                            : first >= 0xc2 && first < 0xe0 ? 2
                                                            : 0;
  if (bytes == 0 || text.size() < bytes) return 0;
  std::uint32_t code = first & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0u) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < kLeast[bytes] || code > 0x10ffff || surrogate || code < 0xa0 ? 0 : bytes;
}

std::string flaw_in_extent(const Extent& extent, std::uint64_t from, std::uint64_t file_bytes) {
  if (extent.offset < kFirstExtent || extent.offset % kPage != 0) return "begins at byte " + number(extent.offset);
  if (extent.bytes == 0 || extent.bytes % kPage != 0) return "has " + number(extent.bytes) + " bytes";
  const auto end = checked_add(extent.offset, extent.bytes);
  if (!end || *end > file_bytes) {
    return "reaches beyond the end of the file, which has " + number(file_bytes) +
           " bytes (was it cut short? `holdfast recover --salvage` saves what is left)";
  }
  if (extent.offset < from) return "overlaps another at byte " + number(extent.offset);
  return {};
}

std::string flaw_in_entry(const ObjectEntry& entry) {
  if (entry.name_bytes > kNameBytes) return "a name of " + number(entry.name_bytes) + " bytes";
  if (const std::string what = flaw_in_name(entry.title()); !what.empty()) return "a name that " + what;
  const auto is_zero = [](auto byte) { return byte == 0; };
  const bool padded = std::all_of(entry.name + entry.name_bytes, std::end(entry.name), is_zero);
  if (!padded || !std::all_of(std::begin(entry.reserved), std::end(entry.reserved), is_zero)) {
    return "reserved bytes that are not zero";
  }
  return {};
}

std::string flaw_in_objects(const Directory& directory) {
  if (directory.next_number == 0) return "its next object would have number 0";
  std::set<std::string_view> names;
  std::uint32_t before = 0;
  for (const ObjectEntry& entry : directory.objects) {
    const std::string which = "object " + number(entry.number);
    if (entry.number <= before || entry.number >= directory.next_number) return which + " is out of order";
    before = entry.number;
    if (const std::string what = flaw_in_entry(entry); !what.empty()) return which + " has " + what;
    if (!names.insert(entry.title()).second) return which + " has a name that another has";
  }
  return {};
}

std::string flaw_in_extents(const Directory& directory, std::uint64_t file_bytes) {
  std::set<std::tuple<std::uint32_t, std::uint16_t, std::uint16_t>> seen;
  std::uint64_t from = kFirstExtent;
  for (std::size_t i = 0; i < directory.extents.size(); ++i) {
    const Extent& extent = directory.extents[i];
    const std::string which = "extent " + number(i);
    if (const std::string what = flaw_in_extent(extent, from, file_bytes); !what.empty()) return which + " " + what;
    from = extent.end();
    if (directory.find(extent.object) == nullptr)
      return which + " is of object " + number(extent.object) + ", which is not there";
    if (!seen.insert({extent.object, extent.role, extent.index}).second) return which + " is there twice";
  }
  for (const ObjectEntry& entry : directory.objects) {
    const std::vector<Extent> pages = directory.extents_of(entry.number, kPagesRole);
    if (pages.size() != 1 || pages[0].index != 0 || pages[0].bytes < 2 * kPage) {
      return "object " + number(entry.number) + " has no object pages";
    }
  }
  return {};
}

}  // namespace

const ObjectEntry* Directory::find(std::string_view name) const {
  const auto found =
      std::find_if(objects.begin(), objects.end(), [&](const ObjectEntry& e) { return e.title() == name; });
  return found == objects.end() ? nullptr : &*found;
}

const ObjectEntry* Directory::find(std::uint32_t number) const {
  const auto found = std::lower_bound(objects.begin(), objects.end(), number,
                                      [](const ObjectEntry& e, std::uint32_t wanted) { return e.number < wanted; });
  return found == objects.end() || found->number != number ? nullptr : &*found;
}

std::vector<Extent> Directory::extents_of(std::uint32_t object, std::uint16_t role) const {
  std::vector<Extent> found;
  std::copy_if(extents.begin(), extents.end(), std::back_inserter(found),
               [&](const Extent& e) { return e.object == object && e.role == role; });
  std::sort(found.begin(), found.end(), [](const Extent& a, const Extent& b) { return a.index < b.index; });
  return found;
}

std::vector<Extent> Directory::extents_of(std::uint32_t object) const {
  std::vector<Extent> found;
  std::copy_if(extents.begin(), extents.end(), std::back_inserter(found),
               [&](const Extent& e) { return e.object == object; });
  std::sort(found.begin(), found.end(),
            [](const Extent& a, const Extent& b) { return a.role != b.role ? a.role < b.role : a.index < b.index; });
  return found;
}

std::uint64_t Directory::bytes_of(std::uint32_t object) const {
  std::uint64_t bytes = 0;
  for (const Extent& extent : extents) bytes += extent.object == object ? extent.bytes : 0;
  return bytes;
}

std::uint64_t Directory::bytes_of(std::uint32_t object, std::uint64_t from) const {
  std::uint64_t bytes = 0;
  for (const Extent& extent : extents) {
    if (extent.object == object && extent.end() > from) bytes += extent.end() - std::max(from, extent.offset);
  }
  return bytes;
}

std::uint64_t Directory::end() const { return extents.empty() ? kFirstExtent : extents.back().end(); }

void Directory::add(const Extent& extent) {
  const auto before = [](const Extent& a, const Extent& b) { return a.offset < b.offset; };
  const auto at = std::upper_bound(extents.begin(), extents.end(), extent, before);
  HOLDFAST_ASSERT(at == extents.begin() || std::prev(at)->end() <= extent.offset);
  HOLDFAST_ASSERT(at == extents.end() || extent.end() <= at->offset);
  extents.insert(at, extent);
}

Extent* Directory::find_extent(std::uint32_t object, std::uint16_t role, std::uint16_t index) {
  const auto found = std::find_if(extents.begin(), extents.end(), [&](const Extent& e) {
    return e.object == object && e.role == role && e.index == index;
  });
  return found == extents.end() ? nullptr : &*found;
}

std::string flaw_in_name(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kNameBytes) return "has " + number(name.size()) + " bytes, and 63 are the most";
  for (std::size_t at = 0; at < name.size();) {
    if (name[at] == '/' || name[at] == ':') return std::string("has a '") + name[at] + "' in it";
    const std::size_t bytes = character(name.substr(at));
    if (bytes == 0) return "has a control character in it, or is no UTF-8";
    at += bytes;
  }
  return {};
}

std::vector<std::byte> encode(const Directory& directory) {
  HOLDFAST_ASSERT(directory.extents.size() <= kExtents && directory.objects.size() <= kObjects);
  AreaHeader header = {};
  header.magic = kAreaMagic;
  header.generation = directory.generation;
  header.extents = static_cast<std::uint32_t>(directory.extents.size());
  header.objects = static_cast<std::uint32_t>(directory.objects.size());
  header.next_number = directory.next_number;
  const std::size_t extent_bytes = directory.extents.size() * sizeof(Extent);
  const std::size_t object_bytes = directory.objects.size() * sizeof(ObjectEntry);
  std::vector<std::byte> area(sizeof header + extent_bytes + object_bytes);
  if (extent_bytes != 0) std::memcpy(area.data() + sizeof header, directory.extents.data(), extent_bytes);
  if (object_bytes != 0)
    std::memcpy(area.data() + sizeof header + extent_bytes, directory.objects.data(), object_bytes);
  std::memcpy(area.data(), &header, sizeof header);  // its checksum is zero in what is summed
  header.checksum = checksum(area.data(), area.size());
  std::memcpy(area.data(), &header, sizeof header);
  return area;
}

std::string decode(const std::byte* area, std::uint64_t generation, std::uint64_t file_bytes, Directory& directory) {
  AreaHeader header;
  std::memcpy(&header, area, sizeof header);
  if (header.magic != kAreaMagic || header.extents > kExtents || header.objects > kObjects) {
    return "its directory is damaged";
  }
  const std::size_t extent_bytes = header.extents * sizeof(Extent), object_bytes = header.objects * sizeof(ObjectEntry);
  std::vector<std::byte> bytes(area, area + sizeof header + extent_bytes + object_bytes);
  std::memset(bytes.data() + offsetof(AreaHeader, checksum), 0, 8);
  if (header.checksum != checksum(bytes.data(), bytes.size())) return "its directory is damaged";
  if (header.generation != generation) {
    return "its directory is of generation " + number(header.generation) + ", not " + number(generation);
  }
  if (std::any_of(std::begin(header.reserved), std::end(header.reserved), [](auto word) { return word != 0; })) {
    return "reserved bytes of its directory are not zero";
  }
  directory.generation = generation;
  directory.next_number = header.next_number;
  directory.extents.resize(header.extents);
  directory.objects.resize(header.objects);
  if (extent_bytes != 0) std::memcpy(directory.extents.data(), bytes.data() + sizeof header, extent_bytes);
  if (object_bytes != 0)
    std::memcpy(directory.objects.data(), bytes.data() + sizeof header + extent_bytes, object_bytes);
  const std::string what = flaw_in_objects(directory);
  return what.empty() ? flaw_in_extents(directory, file_bytes) : what;
}

}  // namespace holdfast::pool

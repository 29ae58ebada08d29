// describe.cpp: what a pool says of itself, without opening or locking it.
#include "table/describe.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "checkpoint/checkpoint_object.hpp"
#include "gphash/table_shape.hpp"
#include "log/log_header.hpp"
#include "pool/medium/medium.hpp"
#include "pool/medium/owner.hpp"
#include "pool/object_page.hpp"
#include "pool/pool_image.hpp"
#include "pool/space.hpp"

namespace holdfast {

namespace table {

namespace {

constexpr std::size_t kNamesInMessages = 8;

bool is_table(const memory::ObjectEntry& entry) {
  return entry.type == static_cast<std::uint32_t>(memory::ObjectType::table);
}

/// Of a region or a log: the bytes of its header. 0: it is neither, or newer than this version.
std::uint32_t data_header(const memory::ObjectEntry& entry) {
  if (memory::is_known(entry, log::kLog)) return sizeof(log::LogHeader);
  return memory::is_known(entry, log::kRegion) ? sizeof(log::DataHeader) : 0;
}

std::string kind_of(const memory::Extent& extent, bool table) {
  if (extent.role == memory::kPagesRole) return "pages";
  if (table && extent.role == gphash::kLevelRole) return "level " + std::to_string(extent.index);
  if (table && extent.role == gphash::kHeapRole) return "heap";
  return "role " + std::to_string(extent.role);
}

TableInfo table_info(const gphash::TableShape& shape, const memory::Directory& directory, std::uint32_t number) {
  TableInfo info;
  info.key_bytes = shape.key_bytes;
  info.value_bytes = shape.value_bytes;
  info.levels = shape.levels;
  info.hash_locations = shape.hash_locations;
  info.slots = shape.slots;
  info.top_level = shape.top_level;
  for (const memory::Extent& level : directory.extents_of(number, gphash::kLevelRole)) {
    info.total_slots += (std::uint64_t{1} << level.index) * shape.slots;
  }
  info.cells = shape.cells;
  info.cell_bytes = shape.cell_bytes;
  info.max_bytes = shape.max_bytes;
  info.created = shape.created;
  info.score = shape.score;
  info.resizing = shape.is_resizing;
  return info;
}

/// What its type says of an object whose page is whole.
void describe_type(const memory::Directory& directory, const memory::ObjectEntry& entry, const memory::ObjectPage& page,
                   ObjectInfo& info) {
  if (is_table(entry) && entry.type_version == 0) {
    info.damage = "it is a table of version 0, which there is not";
    return;
  }
  if (memory::is_known(entry, checkpoint::kCheckpoint)) {
    info.damage = checkpoint::flaw_in(directory, entry, page);
    return;
  }
  if (const std::uint32_t bytes = data_header(entry); bytes != 0) {
    info.damage = log::flaw_in(directory, entry, page, bytes);
    if (!info.damage.empty() || bytes != sizeof(log::LogHeader)) return;
    log::LogHeader header;
    std::memcpy(&header, page.header, sizeof header);
    info.damage = log::flaw_in(header);
    return;
  }
  if (!is_table(entry) || entry.type_version > gphash::kTableVersion || entry.required != 0) {
    info.damage = "this version does not know such objects";
    return;
  }
  gphash::TableShape shape;
  info.damage = gphash::read_shape(directory, entry.number, page, shape);
  if (info.damage.empty()) info.table = table_info(shape, directory, entry.number);
}

}  // namespace

bool is_data(const memory::ObjectEntry& entry) {
  return data_header(entry) != 0 || memory::is_known(entry, checkpoint::kCheckpoint);
}

ObjectInfo describe(const memory::File& file, const memory::Directory& directory, const memory::ObjectEntry& entry) {
  ObjectInfo info;
  info.name = entry.title();
  info.number = entry.number;
  info.type = memory::kind_name(entry.type);
  info.type_version = entry.type_version;
  info.bytes = directory.bytes_of(entry.number);
  for (const memory::Extent& extent : directory.extents_of(entry.number)) {
    info.extents.push_back({kind_of(extent, is_table(entry)), extent.offset, extent.bytes});
  }
  const memory::FoundPage found = memory::read_page(file, directory.extents_of(entry.number, memory::kPagesRole).at(0));
  info.damage = found.damage;
  if (!found.damage.empty()) return info;
  info.domain = static_cast<Domain>(found.page.domain);
  info.clean = found.page.clean == 1;
  info.generation = found.page.generation;
  info.same_boot = memory::is_of_this_boot(found.page);
  describe_type(directory, entry, found.page, info);
  return info;
}

namespace {

bool any_damaged(const std::vector<ObjectInfo>& objects) {
  return std::any_of(objects.begin(), objects.end(), [](const ObjectInfo& object) { return !object.damage.empty(); });
}

std::string hexadecimal(const std::uint8_t* bytes, std::size_t n) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < n; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace

std::string names_in(const memory::Directory& directory) {
  const std::size_t count = directory.objects.size();
  if (count == 0) return "no object";
  std::string text = count == 1 ? "the object " : "the objects ";
  for (std::size_t i = 0; i < std::min(count, kNamesInMessages); ++i) {
    text += (i == 0 ? "" : i + 1 == count ? " and " : ", ") + std::string(directory.objects[i].title());
  }
  return count > kNamesInMessages ? text + " and " + std::to_string(count - kNamesInMessages) + " more" : text;
}

std::vector<ObjectInfo> describe(const memory::File& file, const memory::Directory& directory) {
  std::vector<ObjectInfo> objects;
  for (const memory::ObjectEntry& entry : directory.objects) objects.push_back(describe(file, directory, entry));
  return objects;
}

}  // namespace table

PoolInfo inspect(const std::string& path) {
  const memory::File file = memory::File::open(path, false);
  memory::PoolImage image = memory::read_pool(file);
  std::vector<ObjectInfo> objects = table::describe(file, image.directory);
  // An object may have gone while its page was read, and another have come there.
  constexpr int kAttempts = 100;
  for (int attempt = 1; attempt < kAttempts && table::any_damaged(objects); ++attempt) {
    memory::PoolImage now = memory::read_pool(file);
    if (now.block.generation == image.block.generation) break;
    image = std::move(now);
    objects = table::describe(file, image.directory);
  }
  const memory::MediumFacts medium = memory::find_medium(file);
  PoolInfo info;
  info.path = path;
  info.medium = medium.medium;
  info.domain = memory::domain_of(medium, false);
  info.version = image.block.version;
  info.pool_id = table::hexadecimal(image.block.pool_id, sizeof image.block.pool_id);
  info.created = image.block.created;
  info.file_bytes = image.file_bytes;
  info.free_bytes = memory::Space(image.directory, memory::kPage).free_bytes();
  info.generation = image.block.generation;
  info.valid_copies = static_cast<unsigned>(image.choice.intact[0]) + static_cast<unsigned>(image.choice.intact[1]);
  info.objects = std::move(objects);
  const auto note = memory::read_note(file);
  if (note && memory::life_of(memory::process_of(*note)) != memory::Life::gone) info.owner = memory::describe(*note);
  return info;
}

}  // namespace holdfast

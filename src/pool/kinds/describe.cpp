// describe.cpp: what a pool says of itself, without opening or locking it.
#include "pool/kinds/describe.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "holdfast/error.hpp"
#include "pool/medium/medium.hpp"
#include "pool/medium/owner.hpp"
#include "pool/object_page.hpp"
#include "pool/pool_image.hpp"
#include "pool/space.hpp"

namespace holdfast {

namespace pool {

namespace {

constexpr std::size_t kNamesInMessages = 8;

std::string describe_extent(const Extent& extent, const ObjectKind* kind) {
  if (extent.role == kPagesRole) return "pages";
  return kind != nullptr ? kind->describe_extent(extent) : "role " + std::to_string(extent.role);
}

}  // namespace

std::string describe_loss(const Directory& directory, std::uint32_t object, std::uint64_t from) {
  const std::uint64_t lost = directory.bytes_of(object, from);
  if (lost == 0) return {};
  const ObjectEntry* const entry = directory.find(object);
  const ObjectKind* const kind = entry != nullptr ? find_kind(entry->type) : nullptr;
  std::string parts;
  std::string before;
  for (const Extent& extent : directory.extents_of(object)) {
    const std::string part = describe_extent(extent, kind);
    if (extent.end() <= from || part == before) continue;
    parts += (parts.empty() ? "" : ", ") + part;
    before = part;
  }
  return "the file was cut short at byte " + std::to_string(from) + ", and " + std::to_string(lost) + " of its " +
         std::to_string(directory.bytes_of(object)) + " bytes were behind that (" + parts + ")";
}

ObjectInfo describe(const system::File& file, const Directory& directory, const ObjectEntry& entry) {
  const ObjectKind* const kind = find_kind(entry.type);
  ObjectInfo info;
  info.name = entry.title();
  info.number = entry.number;
  info.type = kind != nullptr ? kind->name : "unknown";
  info.type_version = entry.type_version;
  info.bytes = directory.bytes_of(entry.number);
  for (const Extent& extent : directory.extents_of(entry.number)) {
    info.extents.push_back({describe_extent(extent, kind), extent.offset, extent.bytes});
  }
  const std::string loss = describe_loss(directory, entry.number, file.facts().bytes / kPage * kPage);
  const FoundPage found = read_page(file, directory.extents_of(entry.number, kPagesRole).at(0));
  info.damage = loss.empty() ? found.damage : loss;
  if (!found.damage.empty()) return info;
  info.domain = static_cast<Domain>(found.page.domain);
  info.clean = found.page.clean == 1;
  info.generation = found.page.generation;
  info.same_boot = is_of_this_boot(found.page);
  info.description = description_in(found.page);
  if (kind != nullptr && entry.type_version == 0) {
    info.damage = "it is " + kind_with_article(entry.type) + " of version 0, which there is not";
  } else if (kind == nullptr || entry.type_version > kind->version || entry.required != 0) {
    info.damage = loss.empty() ? "this version does not know such objects" : loss;
  } else {
    kind->describe(directory, entry, found.page, info);
    if (info.damage.empty()) info.damage = loss;
  }
  return info;
}

ObjectInfo describe_intact(const PoolFile& pool, const ObjectEntry& entry, const ObjectKind& kind,
                           const std::string& label) {
  require_kind(entry, kind, label);
  ObjectInfo info = describe(pool.file(), *pool.directory(), entry);
  if (!info.damage.empty()) throw PoolCorrupt(label + " is damaged: " + info.damage + "; restore it from a copy");
  if (!info.clean && info.domain != Domain::power && !info.same_boot) throw_power_lost(label);
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

std::string names_in(const pool::Directory& directory) {
  const std::size_t count = directory.objects.size();
  if (count == 0) return "no object";
  std::string text = count == 1 ? "the object " : "the objects ";
  for (std::size_t i = 0; i < std::min(count, kNamesInMessages); ++i) {
    text += (i == 0 ? "" : i + 1 == count ? " and " : ", ") + std::string(directory.objects[i].title());
  }
  return count > kNamesInMessages ? text + " and " + std::to_string(count - kNamesInMessages) + " more" : text;
}

std::vector<ObjectInfo> describe(const system::File& file, const pool::Directory& directory) {
  std::vector<ObjectInfo> objects;
  for (const pool::ObjectEntry& entry : directory.objects) objects.push_back(describe(file, directory, entry));
  return objects;
}

}  // namespace pool

PoolInfo inspect(const std::string& path) {
  const system::File file = system::File::open(path, false);
  pool::PoolImage image = pool::read_pool(file);
  std::vector<ObjectInfo> objects = pool::describe(file, image.directory);
  // An object may have gone while its page was read, and another have come there.
  constexpr int kAttempts = 100;
  for (int attempt = 1; attempt < kAttempts && pool::any_damaged(objects); ++attempt) {
    pool::PoolImage now = pool::read_pool(file);
    if (now.block.generation == image.block.generation) break;
    image = std::move(now);
    objects = pool::describe(file, image.directory);
  }
  const pool::MediumFacts medium = pool::find_medium(file);
  PoolInfo info;
  info.path = path;
  info.medium = medium.medium;
  info.domain = pool::domain_of(medium, false);
  info.version = image.block.version;
  info.pool_id = pool::hexadecimal(image.block.pool_id, sizeof image.block.pool_id);
  info.created = image.block.created;
  info.file_bytes = image.file_bytes;
  info.free_bytes = pool::Space(image.directory, pool::kPage).free_bytes();
  info.generation = image.block.generation;
  info.valid_copies = static_cast<unsigned>(image.choice.intact[0]) + static_cast<unsigned>(image.choice.intact[1]);
  info.objects = std::move(objects);
  const auto note = pool::read_note(file);
  if (note && system::life_of(pool::process_of(*note)) != system::Life::gone) info.owner = pool::describe(*note);
  return info;
}

}  // namespace holdfast

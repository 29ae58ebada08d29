// inspect.cpp: what a pool says of itself, without opening or locking it.
#include <cstring>

#include "holdfast/pool.hpp"
#include "memory/medium.hpp"
#include "memory/owner.hpp"
#include "memory/superblock_file.hpp"

namespace holdfast {

namespace {

std::string kind_of(const memory::Extent& extent) {
  switch (extent.kind) {
    case memory::ExtentKind::level: return "level " + std::to_string(extent.level);
    case memory::ExtentKind::heap: return "heap";
    default: return "free";
  }
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

PoolInfo inspect(const std::string& path) {
  const memory::File file = memory::File::open(path, false);
  const memory::SuperblockFile found = memory::read_superblock(file);
  const memory::Superblock& block = found.block;
  const memory::MediumFacts medium = memory::find_medium(file);
  const memory::BootId boot = memory::boot_id();
  PoolInfo info;
  info.path = path;
  info.medium = medium.medium;
  info.domain = memory::domain_of(medium, false);
  info.version = block.version;
  info.pool_id = hexadecimal(block.pool_id, sizeof block.pool_id);
  info.key_bytes = block.key_bytes;
  info.value_bytes = block.value_bytes;
  info.levels = block.levels;
  info.hash_locations = block.hash_locations;
  info.slots = block.slots;
  info.top_level = block.top_level;
  info.cells = block.cells;
  info.cell_bytes = block.cell_bytes;
  info.score = static_cast<Score>(block.score);
  info.file_bytes = found.file_bytes;
  info.generation = block.generation;
  info.clean = block.clean == 1;
  info.resizing = block.is_resizing == 1;
  info.same_boot = std::memcmp(block.boot_id, boot.data(), boot.size()) == 0;
  info.valid_copies = static_cast<unsigned>(found.choice.intact[0]) + static_cast<unsigned>(found.choice.intact[1]);
  for (const memory::Extent& extent : block.extents) {
    if (extent.kind == memory::ExtentKind::none) continue;
    if (extent.kind == memory::ExtentKind::level) {
      info.total_slots += (std::uint64_t{1} << extent.level) * block.slots;
    }
    info.extents.push_back({kind_of(extent), extent.offset, extent.bytes});
  }
  const auto note = memory::read_note(file);
  if (note && memory::life_of(memory::process_of(*note)) != memory::Life::gone) info.owner = memory::describe(*note);
  return info;
}

}  // namespace holdfast

// pool_create.cpp: makes a pool under a temporary name, and gives it its own when it is whole.
#include <cstring>
#include <ctime>

#include "core/failpoint.hpp"
#include "core/random.hpp"
#include "memory/named_file.hpp"
#include "memory/owner.hpp"
#include "memory/pool_impl.hpp"

namespace holdfast::memory {

namespace {

constexpr std::uint64_t kDefaultMaxBytes = std::uint64_t{1} << 40;

void require(bool condition, const std::string& message) {
  if (!condition) throw InvalidArgument(message);
}

void check_shape(const PoolShape& shape) {
  require(is_key_bytes(shape.key_bytes),
          "key_bytes is " + std::to_string(shape.key_bytes) + "; use 8 or another multiple of it up to 128");
  require(is_value_bytes(shape.key_bytes, shape.value_bytes),
          "value_bytes is " + std::to_string(shape.value_bytes) + "; at most 65536 are possible");
  require(is_score(shape.key_bytes, static_cast<std::uint32_t>(shape.score)),
          "score is " + std::string(name(shape.score)) + ", and pairs of any length keep none");
  require(shape.levels >= 1 && shape.levels <= kMaxLevels,
          "levels is " + std::to_string(shape.levels) + "; use 1 to " + std::to_string(kMaxLevels));
  require(shape.hash_locations >= 1 && shape.hash_locations <= kMaxCandidates && shape.slots >= 1 &&
              shape.slots <= kMaxCandidates &&
              std::uint64_t{shape.levels} * shape.hash_locations * shape.slots <= kMaxCandidates,
          "levels × hash_locations × slots must be from 1 to 32");
  require(shape.top_level <= kMaxLevel && shape.top_level + 1 >= shape.levels,
          "top_level is " + std::to_string(shape.top_level) + "; use levels - 1 to " + std::to_string(kMaxLevel));
  require(shape.max_bytes <= kMaxHeapBytes,
          "max_bytes is " + std::to_string(shape.max_bytes) + "; at most 2^46 are possible");
  require(shape.cells <= kMaxCells, "cells is " + std::to_string(shape.cells) + "; at most 2^40 are possible");
}

Superblock first_superblock(const PoolShape& shape, Domain domain, std::uint64_t granule) {
  Superblock block = {};
  block.magic = kMagic;
  block.version = version_for(shape.key_bytes, shape.score);
  block.clean = 1;
  block.seed = shape.seed != 0 ? shape.seed : random_word();
  random_bytes(block.pool_id, sizeof block.pool_id);
  const BootId boot = boot_id();
  std::memcpy(block.boot_id, boot.data(), boot.size());
  block.key_bytes = shape.key_bytes;
  block.value_bytes = shape.value_bytes;
  block.levels = shape.levels;
  block.hash_locations = shape.hash_locations;
  block.slots = shape.slots;
  block.top_level = shape.top_level;
  block.score = static_cast<std::uint32_t>(shape.score);
  block.cell_bytes = cell_bytes_of(shape.value_bytes, shape.score);
  block.cells = block.cell_bytes == 0 ? 0 : shape.cells;
  block.created = static_cast<std::uint64_t>(std::time(nullptr));
  block.max_bytes = shape.max_bytes == 0 ? kDefaultMaxBytes : round_up(shape.max_bytes, kPage);
  block.domain = static_cast<std::uint32_t>(domain);
  lay_out(block, granule);
  return block;
}

[[noreturn]] void throw_exists(const std::string& path) {
  throw PoolExists(path + " exists already; open it, or create it with overwrite");
}

}  // namespace

std::unique_ptr<Pool> Pool::create(const std::string& path, const PoolShape& shape, bool overwrite, bool flush) {
  check_shape(shape);
  FileFacts there;
  const bool exists = look_at(path, &there) == AtPath::file;
  const bool in_place = exists && there.links == 0;
  if (exists && !overwrite && !(in_place && there.bytes == 0)) throw_exists(path);

  File replaced;  // holds the lock on what is replaced until it is
  TemporaryName temporary;
  File file;
  const std::string target = resolve(path);
  if (in_place) {
    file = File::open(path, true);
    lock(file, LockKind::exclusive);
    file.resize(0);
  } else {
    if (exists) {
      replaced = File::open(path, false);
      lock(replaced, LockKind::exclusive);
    }
    remove_leftovers(target);
    file = make_temporary(target);
    temporary.path = file.path();
    file.set_path(path);
    lock(file, LockKind::exclusive);
  }

  auto impl = std::make_unique<Impl>(std::move(file), Access::read_write);
  impl->find_out(flush);
  Superblock first = first_superblock(shape, domain_of(impl->medium, false), impl->granule());
  impl->file.allocate(0, impl->rounded(kFirstExtent));
  for (const Extent& extent : first.extents) {
    if (extent.kind != ExtentKind::none) impl->file.allocate(extent.offset, impl->rounded(extent.bytes));
  }
  impl->block = first;
  impl->was_clean = true;
  impl->map_all();
  impl->commit(first);
  if (impl->medium.medium != Medium::shm) impl->file.sync_data();
  impl->take_ownership();
  HOLDFAST_FAILPOINT(pool_unnamed);
  if (!in_place) {
    give_name(temporary.path, target, overwrite);
    if (overwrite) temporary.path.clear();
    if (impl->medium.medium != Medium::shm) sync_folder(target);
  }
  return std::unique_ptr<Pool>(new Pool(std::move(impl)));
}

}  // namespace holdfast::memory

// pool.cpp: opens and changes the model's directory.
#include "structures/gphash/model/pool.hpp"

#include <cstring>

#include "core/both.hpp"
#include "holdfast/error.hpp"

namespace holdfast::gphash::model {

namespace {

/// The policy that writes the directory.
struct DirectoryMemory {
  World& world;
  void store(std::uint64_t* word, std::uint64_t value) const { world.store(word, value); }
  void flush(const void* address, std::size_t bytes) const { world.flush(address, bytes); }
  void fence() const {
    if (left_out != gphash::Step::fence_superblock_copy) world.fence();
  }
};
static_assert(pool::WritableMemory<DirectoryMemory>);

Directory* copy_of(World& world, unsigned which) {
  return reinterpret_cast<Directory*>(world.durable().words()) + which;
}

}  // namespace

void Directory::seal() { checksum = mix(generation + mix(levels)) | 1; }
bool Directory::is_intact() const { return checksum == (mix(generation + mix(levels)) | 1); }

ModelPool::ModelPool(World& world) : world_(world) {
  Directory copies[2];
  for (unsigned i = 0; i < 2; ++i) std::memcpy(&copies[i], copy_of(world, i), sizeof(Directory));
  if (!copies[0].is_intact() && !copies[1].is_intact()) throw PoolCorrupt("no copy of the directory is intact");
  const bool second = !copies[0].is_intact() || (copies[1].is_intact() && copies[1].generation > copies[0].generation);
  const Directory& newer = copies[second];
  DirectoryMemory memory{world};
  if (!(copies[0] == copies[1])) pool::write_copy(memory, copy_of(world, !second), newer);
  const ModelShape& shape = world.shape();
  table_.levels = shape.levels;
  table_.hash_locations = shape.hashes;
  table_.slots = shape.slots;
  table_.key_bytes = 8 * shape.key_words;
  table_.value_bytes = shape.value_bytes;
  table_.score = shape.score;
  table_.cell_bytes = gphash::cell_bytes_of(shape.value_bytes, shape.score);
  if (shape.variable) {
    table_.key_bytes = table_.value_bytes = gphash::kVariable;
    table_.cell_bytes = 1u << kModelSlabBits;
  }
  table_.seed = shape.seed;
  table_.top_level = static_cast<std::uint32_t>(newer.levels & 0xff);
  lowest_ = static_cast<unsigned>(newer.levels >> 8);
  note_resizing();
  generation_ = newer.generation;
}

void ModelPool::create(World& world) {
  Directory directory;
  directory.generation = 1;
  directory.levels = world.shape().top_level | (world.shape().top_level + 1 - world.shape().levels) << 8;
  directory.seal();
  DirectoryMemory memory{world};
  pool::write_copies(memory, copy_of(world, 0), directory);
}

gphash::Slot* ModelPool::level(unsigned number) const {
  return number >= lowest_ && number <= table_.top_level ? world_.level(number) : nullptr;
}

void ModelPool::commit() {
  note_resizing();
  Directory directory;
  directory.generation = ++generation_;
  directory.levels = table_.top_level | lowest_ << 8;
  directory.seal();
  DirectoryMemory memory{world_};
  pool::write_copies(memory, copy_of(world_, 0), directory);
}

void ModelPool::add_level(unsigned number) {
  HOLDFAST_ASSERT(number == table_.top_level + 1);
  if (number > world_.shape().top_level + world_.shape().spare_levels) throw NoSpace("the model has no more levels");
  table_.top_level = number;
  commit();
}

void ModelPool::release_level(unsigned number) {
  HOLDFAST_ASSERT(number == lowest_ && number + table_.levels <= table_.top_level);
  lowest_ = number + 1;
  commit();
}

void ModelPool::note_resizing() { table_.is_resizing = lowest_ + table_.levels <= table_.top_level; }

}  // namespace holdfast::gphash::model

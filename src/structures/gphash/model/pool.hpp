// pool.hpp: the model's pool: a directory of levels in two copies, written by the code that writes superblocks.
#pragma once

#include <cstdint>
#include <string>

#include "structures/gphash/model/world.hpp"
#include "structures/gphash/table_shape.hpp"

namespace holdfast::gphash::model {

/// A copy of the directory: what of a superblock changes when a table grows.
struct Directory {
  std::uint64_t generation = 0;
  std::uint64_t levels = 0;  ///< the top level, and the lowest level << 8
  std::uint64_t unused = 0;
  std::uint64_t checksum = 0;

  void seal();
  bool is_intact() const;
  bool operator==(const Directory&) const = default;
};
static_assert(2 * sizeof(Directory) == kDirectoryWords * 8);

/// Has what `gphash::cpu::LevelMaintenance` needs of gphash::TableObject.
class ModelPool {
 public:
  /// Opens the pool that lies in `world`: takes the newer intact copy of the directory, and writes the other again if it differs.
  /// Throws PoolCorrupt if neither is intact.
  explicit ModelPool(World& world);
  /// Writes the directory of an empty pool.
  static void create(World& world);

  const gphash::TableShape& shape() const { return table_; }
  gphash::Slot* level(unsigned number) const;
  gphash::Slot* reserved_slot() const { return world_.reserved_slot(); }
  std::byte* heap() const { return world_.heap(); }
  std::uint64_t cells() const { return world_.shape().cells; }
  unsigned slab_bits() const { return kModelSlabBits; }
  bool read_only() const { return false; }
  std::string path() const { return "the model's pool"; }

  void add_level(unsigned number);  ///< throws NoSpace
  void release_level(unsigned number);

 private:
  void commit();
  void note_resizing();  ///< derived from the levels that there are

  World& world_;
  gphash::TableShape table_{};
  unsigned lowest_ = 0;
  std::uint64_t generation_ = 0;
};

}  // namespace holdfast::gphash::model

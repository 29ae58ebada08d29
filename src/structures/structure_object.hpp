// structure_object.hpp: a persistent hash table as an object of a pool, and its growth: a larger extent replaces the one there is by one
// commit of the directory.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "pool/object.hpp"
#include "structures/kind.hpp"

namespace holdfast::structures {

/// What a new table is like.
struct NewTable {
  std::uint32_t item_bytes = 16;
  std::uint32_t group_size = 0;
  std::uint64_t cells = 0;  ///< at least
  std::uint64_t seed = 0;   ///< 0: a random one
};

struct ObjectUse {
  std::string label;
  bool flush = false;
  bool salvage = false;
};

class StructureObject : public pool::Object {
 public:
  /// Throws InvalidArgument, ObjectExists, NoSpace, MediumError. It is there when `edit` is committed.
  static std::unique_ptr<StructureObject> create(const StructureKind& kind, pool::Edit& edit,
                                                 std::shared_ptr<pool::PoolFile> pool, const std::string& name,
                                                 const NewTable& table, const ObjectUse& use);
  /// Throws PoolMismatch, PoolVersion, PoolCorrupt, PowerLost, ReadOnly, MediumError.
  static std::unique_ptr<StructureObject> open(const StructureKind& kind, std::shared_ptr<pool::PoolFile> pool,
                                               const pool::ObjectEntry& entry, const ObjectUse& use);
  ~StructureObject() override;

  const StructureKind& kind() const { return kind_; }
  const Header& header() const { return stored_.header; }
  std::uint16_t index() const { return stored_.index; }
  std::uint64_t* words() const { return reinterpret_cast<std::uint64_t*>(cells_.address); }
  const std::byte* address_of(const pool::Extent& extent) const override;
  Domain domain(bool gpu = false) const override { return kind_.is_durable() ? Object::domain(gpu) : Domain::none; }

  /// Copies a table into a larger one, which is zero: true, or false where an item found no cell.
  using Fill = std::function<bool(std::uint16_t index, std::uint64_t* words)>;
  /// Replaces the cells by twice as many, or more if `fill` asks for it. The table must not change meanwhile. `switched` is called behind the
  /// commit, and until it returns the old cells are mapped. Throws NoSpace, MediumError; then nothing changed.
  void grow(const Fill& fill, const std::function<void()>& switched);

 private:
  StructureObject(const StructureKind& kind, std::shared_ptr<pool::PoolFile> pool, std::uint32_t number,
                  const ObjectUse& use);
  pool::Range add_cells(pool::Edit& edit, std::uint16_t index, pool::Extent& extent) const;

  const StructureKind& kind_;
  Stored stored_;
  pool::Range cells_;
};

}  // namespace holdfast::structures

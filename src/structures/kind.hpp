// kind.hpp: what all persistent hash tables are as objects of a pool: a header, and one extent that a larger one replaces.
// docs/format.md, "Group hashing table", "Cell tables".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "pool/kinds/kind.hpp"
#include "structures/engine.hpp"

namespace holdfast::structures {

class StructureObject;

/// The extent of the cells; its index is the base-2 logarithm of the places (groups, buckets, cells) that a hash addresses.
inline constexpr std::uint16_t kCellsRole = 1;
inline constexpr std::uint64_t kMostCells = std::uint64_t{1} << 40;
inline constexpr std::uint16_t kMostIndex = 40;

/// In the object's page. It never changes; the size is in the directory.
struct Header {
  std::uint64_t seed;
  std::uint32_t item_bytes;
  std::uint32_t group_size;  ///< of group hashing; 0: the scheme has no groups
  std::uint64_t created;     ///< seconds since 1970
  std::uint64_t reserved;
};
static_assert(sizeof(Header) == 32 && offsetof(Header, item_bytes) == 8 && offsetof(Header, group_size) == 12);
static_assert(offsetof(Header, created) == 16 && offsetof(Header, reserved) == 24);

/// What an object's page and the directory say of a table.
struct Stored {
  Header header = {};
  std::uint16_t index = 0;
  pool::Extent extent = {};
};

/// A kind of persistent hash table. FormKind (form_kind.hpp) makes one of what a scheme consists of.
class StructureKind : public pool::ObjectKind {
 public:
  /// What is wrong with a header's sizes; empty: nothing.
  virtual std::string flaw_in(const Header& header) const = 0;
  virtual std::uint16_t least_index() const = 0;
  virtual std::uint64_t cells(const Header& header, std::uint16_t index) const = 0;
  /// Of the extent.
  virtual std::uint64_t bytes(const Header& header, std::uint16_t index) const = 0;
  /// Whether a crash leaves every acknowledged change. If not, its objects say that they survive nothing.
  virtual bool is_durable() const = 0;
  /// Recovers it first, where it was not closed. Throws PoolCorrupt, ReadOnly, MediumError.
  virtual std::unique_ptr<Engine> make_engine(std::unique_ptr<StructureObject> object) const = 0;

  /// Reads and verifies what is stored. Returns what is wrong; empty: nothing.
  std::string read_stored(const pool::Directory& directory, std::uint32_t number, const pool::ObjectPage& page,
                          Stored& stored) const;
  /// The smallest index that has so many cells.
  std::uint16_t index_for(const Header& header, std::uint64_t cells) const;

  std::string describe_extent(const pool::Extent& extent) const override;
  void describe(const pool::Directory& directory, const pool::ObjectEntry& entry, const pool::ObjectPage& page,
                ObjectInfo& info) const override;
  CheckReport check(const std::shared_ptr<pool::PoolFile>& pool, const pool::ObjectEntry& entry,
                    const std::string& label) const override;

 protected:
  StructureKind(std::uint32_t its_type, std::uint32_t newest, const char* its_name, const char* extent_name)
      : ObjectKind(its_type, newest, its_name), extent_name_(extent_name) {}
  ~StructureKind() = default;

 private:
  const char* const extent_name_;  ///< "groups"
};

}  // namespace holdfast::structures

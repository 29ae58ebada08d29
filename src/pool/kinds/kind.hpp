// kind.hpp: the interface between a pool and a kind of object, and the registered kinds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "holdfast/pool.hpp"
#include "pool/kinds/compact_copy.hpp"
#include "pool/object_page.hpp"
#include "pool/pool_file.hpp"

namespace holdfast::pool {

struct Quiesced;

/// A kind of object: "table", "checkpoint". A pool knows objects only through their kinds and, while they are open, through
/// OpenObject. A file NAME_kind.cpp anywhere in src/ that defines `const pool::ObjectKind& holdfast::kinds::NAME_kind()` is
/// built in (cmake/ObjectKinds.cmake); other code calls `register_kind`.
class ObjectKind {
 public:
  const std::uint32_t type;     ///< as in ObjectEntry::type
  const std::uint32_t version;  ///< the newest that this code opens
  const char* const name;

  /// What an extent is for, but for the pages: "level 17".
  virtual std::string describe_extent(const Extent& extent) const;
  /// Adds to `info` what its header says, or to `info.damage` why it cannot be opened. The page is whole, the version known.
  virtual void describe(const Directory& directory, const ObjectEntry& entry, const ObjectPage& page,
                        ObjectInfo& info) const = 0;
  /// Verifies an object that is not open, as its opening and its recovery would. `label` names it in messages. Throws Error where
  /// it does not open.
  virtual CheckReport check(const std::shared_ptr<PoolFile>& pool, const ObjectEntry& entry,
                            const std::string& label) const = 0;
  /// What a snapshot holds in place of the object's extents; null: their bytes as they are. `open`: where it is open. Nothing changes the
  /// object meanwhile.
  virtual std::unique_ptr<CompactCopy> compact(const std::shared_ptr<PoolFile>& pool, const ObjectEntry& entry,
                                               const Quiesced* open, const CompactHow& how) const;

 protected:
  ObjectKind(std::uint32_t its_type, std::uint32_t newest, const char* its_name)
      : type(its_type), version(newest), name(its_name) {}
  ~ObjectKind() = default;  ///< kinds live as long as the process
};

/// Throws InvalidArgument where the type or the name is taken. `kind` stays for ever.
void register_kind(const ObjectKind& kind);
/// Null: this version knows no such kind.
const ObjectKind* find_kind(std::uint32_t type);

/// Throws PoolMismatch (another kind), PoolCorrupt (version 0), PoolVersion (newer than this code).
void require_kind(const ObjectEntry& entry, const ObjectKind& kind, const std::string& label);

/// Throws PoolMismatch where an object of kind `type` would replace one of another kind.
void require_same_kind(const ObjectEntry& replaced, std::uint32_t type, const std::string& label);

/// "a table", "an index"; "an object of type 7" where this version knows no such kind.
std::string kind_with_article(std::uint32_t type);

}  // namespace holdfast::pool

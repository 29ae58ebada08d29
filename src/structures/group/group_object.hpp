// group_object.hpp: a group hashing table as an object of a pool, and its growth: an extent of more groups replaces the one there is by one
// commit of the directory.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "pool/object.hpp"
#include "structures/group/layout.hpp"
#include "structures/group/search.hpp"

namespace holdfast::group {

/// What a new table is like.
struct NewTable {
  std::uint32_t item_bytes = 16;
  std::uint32_t group_size = kDefaultGroup;
  std::uint64_t cells = 0;  ///< at least
  std::uint64_t seed = 0;   ///< 0: a random one
};

struct Use {
  std::string label;
  bool flush = false;
  bool salvage = false;
};

class GroupObject : public memory::Object {
 public:
  /// Throws InvalidArgument, ObjectExists, NoSpace, MediumError. It is there when `edit` is committed.
  static std::unique_ptr<GroupObject> create(memory::Edit& edit, std::shared_ptr<memory::PoolFile> pool,
                                             const std::string& name, const NewTable& table, const Use& use);
  /// Throws PoolMismatch, PoolVersion, PoolCorrupt, PowerLost, ReadOnly, MediumError.
  static std::unique_ptr<GroupObject> open(std::shared_ptr<memory::PoolFile> pool, const memory::ObjectEntry& entry,
                                           const Use& use);
  ~GroupObject() override;

  const Header& header() const { return stored_.header; }
  const Shape& shape() const { return stored_.shape; }
  /// Its words; the locks are the caller's.
  View view(VersionLock* locks) const;
  const std::byte* address_of(const memory::Extent& extent) const override;

  /// Copies a table into a larger one, which is zero: true, or false where an item found no cell (fill, grow.hpp).
  using Fill = std::function<bool(const View& larger)>;
  /// Replaces the groups by twice as many, or more if `fill` asks for it. The table must not change meanwhile. `switched` is called behind the
  /// commit, and until it returns the old groups are mapped. Throws NoSpace, MediumError; then nothing changed.
  void grow(const Fill& fill, const std::function<void(const Shape&)>& switched);

 private:
  GroupObject(std::shared_ptr<memory::PoolFile> pool, std::uint32_t number, const Use& use);
  memory::Range add_groups(memory::Edit& edit, const Shape& shape, memory::Extent& extent) const;

  Stored stored_;
  memory::Range groups_;
};

}  // namespace holdfast::group

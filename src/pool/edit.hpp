// edit.hpp: the edits of one commit to a pool's directory: all of them are durable, or none is. Rules 19, 20.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "pool/pool_file.hpp"
#include "pool/space.hpp"

namespace holdfast::pool {

/// What a new object is.
struct NewObject {
  std::string name;
  std::uint32_t type = 0;  ///< of its kind (kinds/kind.hpp)
  std::uint32_t type_version = 1;
  std::uint64_t required = 0, optional = 0;
};

/// While one lives, no other changes the directory. Without `commit` nothing has changed.
///
///   1. allocate extents, map and fill them    2. commit    3. unmap freed extents    4. the end
///
/// Space is allocated on the medium before a word names it, and space freed by a commit is reused only by later ones.
class Edit {
 public:
  explicit Edit(PoolFile& pool);  ///< throws ReadOnly, ObjectClosed, SystemError
  ~Edit();
  Edit(const Edit&) = delete;
  Edit& operator=(const Edit&) = delete;

  const Directory& directory() const { return next_; }

  /// Returns the number of a new object, which needs an extent for its pages. Throws InvalidArgument, ObjectExists, NoSpace.
  std::uint32_t create(const NewObject& object);
  /// Throws InvalidArgument, ObjectExists.
  void rename(std::uint32_t object, std::string_view name);
  /// Its extents are free after the commit, and their space returns to the medium.
  void drop(std::uint32_t object);

  /// Gives an extent of one piece to an object: zero if it is new in the file (`is_fresh`), else of any content.
  /// Throws NoSpace, MediumError.
  Extent add(std::uint32_t object, std::uint16_t role, std::uint16_t index, std::uint64_t bytes);
  /// Gives `bytes`, a multiple of the granule, or as much of it as there is but at least `least`, in one or several pieces,
  /// behind those that the object has of this role; `address` is where the first will be mapped, and the others behind it.
  /// Returns the new pieces; the first may extend the last one that was there (then it has its index). Throws NoSpace.
  std::vector<Extent> extend(std::uint32_t object, std::uint16_t role, std::uint64_t bytes, std::uint64_t least,
                             std::uint64_t address);
  void free(std::uint32_t object, std::uint16_t role, std::uint16_t index);
  /// Keeps the first `bytes`, a multiple of the granule, of the pieces of a role. What is behind them is free after the commit, and its space
  /// returns to the medium: unmap it before the edit ends.
  void shrink(std::uint32_t object, std::uint16_t role, std::uint64_t bytes);
  bool is_fresh(const Extent& extent) const { return extent.offset >= fresh_from_; }

  /// Throws SystemError; then the pool takes no more changes until it is opened again.
  void commit();

 private:
  /// An extension that is being put together.
  struct Extension {
    std::uint32_t object;
    std::uint16_t role;
    std::uint64_t missing, address;
    std::vector<Extent> parts = {};
    std::string reason = {};  ///< why there is no more
  };
  void extend_in_gaps(Extension& extension);
  void extend_behind(Extension& extension);
  void take(Extension& extension, const system::FileRange& range);
  void take_space(const system::FileRange& range);
  Extent append(std::uint32_t object, std::uint16_t role, const system::FileRange& range);
  void require_entries() const;
  void require_name(std::string_view name) const;

  PoolFile& pool_;
  std::unique_lock<std::mutex> lock_;
  Directory next_;
  Space space_;
  std::uint64_t fresh_from_;
  std::vector<system::FileRange> taken_, dropped_;
  bool committed_ = false;
};

}  // namespace holdfast::pool

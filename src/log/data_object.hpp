// data_object.hpp: an object of a pool that is a header and one range of bytes: what regions and logs are made of.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "pool/kinds/kind.hpp"
#include "pool/object.hpp"

namespace holdfast::log {

inline constexpr std::uint16_t kDataRole = 1;

/// How one is made or opened.
struct DataUse {
  std::string label;     ///< for messages
  bool flush = false;    ///< flush and fence as domain `power` asks, on any medium
  bool salvage = false;  ///< open it after a power cut all the same
};

/// The header of every such object begins with this. docs/format.md, "Region" and "Log".
struct DataHeader {
  std::uint64_t bytes;  ///< that the user sees; the extent is rounded up
  std::uint32_t eadr;   ///< 1: the user states that what a GPU writes to this medium survives a power cut
  std::uint32_t reserved;
};
static_assert(sizeof(DataHeader) == 16);

class DataObject : public pool::Object {
 public:
  /// `header` begins with a DataHeader. The bytes are zero. It is there when `edit` is committed.
  /// Throws InvalidArgument, ObjectExists, NoSpace, MediumError.
  static std::unique_ptr<DataObject> create(pool::Edit& edit, std::shared_ptr<pool::PoolFile> pool,
                                            const std::string& name, const pool::ObjectKind& kind,
                                            std::span<const std::byte> header, const DataUse& use);
  /// Throws PoolMismatch (it is of another kind), PoolVersion, PoolCorrupt, PowerLost, ReadOnly, MediumError.
  static std::unique_ptr<DataObject> open(std::shared_ptr<pool::PoolFile> pool, const pool::ObjectEntry& entry,
                                          const pool::ObjectKind& kind, std::uint32_t header_bytes, const DataUse& use);
  ~DataObject() override;

  std::byte* data() const { return data_.address; }
  std::uint64_t size() const { return header_as<DataHeader>().bytes; }
  /// The first bytes of the header.
  template <class T>
  T header_as() const {
    static_assert(std::is_trivially_copyable_v<T>);
    T header;
    std::memcpy(&header, page().header, sizeof header);
    return header;
  }
  Domain domain(bool gpu = false) const override;
  const std::byte* address_of(const pool::Extent& extent) const override;
  /// Of all that kernels may read and write, in whole pages.
  const pool::Range& mapped() const { return data_; }

 private:
  DataObject(std::shared_ptr<pool::PoolFile> pool, std::uint32_t number, const DataUse& use);
  pool::Range data_;
};

/// What is wrong with an object of this kind, judged by its entry, its page and its extents; empty: nothing.
std::string flaw_in(const pool::Directory& directory, const pool::ObjectEntry& entry, const pool::ObjectPage& page,
                    std::uint32_t header_bytes);

}  // namespace holdfast::log

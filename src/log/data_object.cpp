// data_object.cpp: makes and opens an object that is a header and one range of bytes.
#include "log/data_object.hpp"

#include <cstring>
#include <utility>

#include "core/both.hpp"
#include "holdfast/error.hpp"

namespace holdfast::log {

using pool::Extent;
using pool::ObjectEntry;
using pool::PoolFile;

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;

}  // namespace

DataObject::DataObject(std::shared_ptr<PoolFile> pool, std::uint32_t number, const DataUse& use)
    : Object(std::move(pool), number, use.label, use.flush) {}

DataObject::~DataObject() {
  if (!forked()) system::unmap(data_.address, data_.mapped);
}

Domain DataObject::domain(bool gpu) const {
  const Domain cpu = Object::domain(false);
  return gpu && !(cpu == Domain::power && header_as<DataHeader>().eadr == 1) ? Object::domain(true) : cpu;
}

std::unique_ptr<DataObject> DataObject::create(pool::Edit& edit, std::shared_ptr<PoolFile> pool,
                                               const std::string& name, const pool::ObjectKind& kind,
                                               std::span<const std::byte> header, const DataUse& use) {
  DataHeader first;
  HOLDFAST_ASSERT(header.size() >= sizeof first);
  std::memcpy(&first, header.data(), sizeof first);
  if (first.bytes == 0 || first.bytes > kMostBytes) {
    throw InvalidArgument("a " + std::string(kind.name) + " of " + std::to_string(first.bytes) +
                          " bytes cannot be made: give a size from 1 byte to 64 TiB");
  }
  const std::uint32_t number = edit.create({.name = name, .type = kind.type, .type_version = kind.version});
  std::unique_ptr<DataObject> object(new DataObject(std::move(pool), number, use));
  PoolFile& file = object->pool();
  object->make_pages(edit, 2 * pool::kPage, header);
  const Extent extent = edit.add(number, kDataRole, 0, file.rounded(first.bytes));
  pool::Range& data = object->data_;
  data = file.map(extent.offset, extent.bytes, true);
  if (!edit.is_fresh(extent)) {
    std::memset(data.address, 0, data.bytes);
    object->persist().flush(data.address, data.bytes);
    object->persist().fence();
  }
  file.settle(data);
  return object;
}

std::unique_ptr<DataObject> DataObject::open(std::shared_ptr<PoolFile> pool, const ObjectEntry& entry,
                                             const pool::ObjectKind& kind, std::uint32_t header_bytes,
                                             const DataUse& use) {
  pool::require_kind(entry, kind, use.label);
  std::unique_ptr<DataObject> object(new DataObject(std::move(pool), entry.number, use));
  object->map_pages();
  const auto directory = object->pool().directory();
  if (const std::string what = flaw_in(*directory, entry, object->page(), header_bytes); !what.empty()) {
    throw PoolCorrupt(use.label + " is damaged: " + what + "; restore it from a copy");
  }
  object->accept(true, use.salvage);
  const Extent extent = directory->extents_of(entry.number, kDataRole).at(0);
  object->data_ = object->pool().map(extent.offset, extent.bytes, true);
  return object;
}

const std::byte* DataObject::address_of(const Extent& extent) const {
  if (extent.role == pool::kPagesRole) return pages().address;
  return extent.role == kDataRole ? data_.address : nullptr;
}

std::string flaw_in(const pool::Directory& directory, const ObjectEntry& entry, const pool::ObjectPage& page,
                    std::uint32_t header_bytes) {
  if (page.header_bytes != header_bytes) return "its header has " + std::to_string(page.header_bytes) + " bytes";
  DataHeader header;
  std::memcpy(&header, page.header, sizeof header);
  if (header.bytes == 0 || header.bytes > kMostBytes)
    return "it says that it has " + std::to_string(header.bytes) + " bytes";
  if (header.eadr > 1 || header.reserved != 0) return "reserved bytes of its header are not zero";
  const auto all = directory.extents_of(entry.number);
  const auto data = directory.extents_of(entry.number, kDataRole);
  if (all.size() != 2 || data.size() != 1) return "it has " + std::to_string(all.size()) + " extents, and not 2";
  if (data[0].bytes < header.bytes) return "its extent is smaller than it says that it is";
  return {};
}

}  // namespace holdfast::log

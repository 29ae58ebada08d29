// store_object.cpp: makes, opens and grows stores of a pool.
#include "store/store_object.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <span>
#include <utility>

#include "core/failpoint.hpp"
#include "core/random.hpp"
#include "holdfast/error.hpp"
#include "store/store_kind.hpp"

namespace holdfast::store {

namespace {

/// Addresses that a heap reserves; fewer where the process has not so many.
constexpr std::uint64_t kReserve = std::uint64_t{1} << 40;
/// Of a new heap, unless its limit is lower: its directory and three pieces.
constexpr std::uint64_t kFirstBytes = 4 * heap::kSlabBytes;
/// A heap grows by a quarter of its size, within these bounds.
constexpr std::uint64_t kLeastGrowth = 4 * heap::kSlabBytes, kMostGrowth = std::uint64_t{1} << 30;

}  // namespace

StoreObject::StoreObject(std::shared_ptr<pool::PoolFile> pool, std::uint32_t number, const StoreUse& use)
    : Object(std::move(pool), number, use.label, use.flush),
      salvages_(use.salvage),
      heap_(*this, kHeapRole,
            {.max_bytes = kReserve,
             .may_move = false,
             .advice = "close other programs, or raise the limit of virtual memory (ulimit -v)"}) {}

std::unique_ptr<StoreObject> StoreObject::create(pool::Edit& edit, std::shared_ptr<pool::PoolFile> pool,
                                                 const std::string& name, const StoreUse& use) {
  const pool::ObjectKind& kind = kinds::store_kind();
  const std::uint32_t number = edit.create({.name = name, .type = kind.type, .type_version = kind.version});
  std::unique_ptr<StoreObject> object(new StoreObject(std::move(pool), number, use));
  object->header_ = {use.seed != 0 ? use.seed : random_word(), static_cast<std::uint64_t>(std::time(nullptr)), {}};
  object->make_pages(edit, kPagesBytes, std::as_bytes(std::span(&object->header_, 1)));
  std::memset(object->record(), 0, pool::kPage);
  const std::uint64_t most = use.limit == 0 ? kFirstBytes : use.limit / heap::kSlabBytes * heap::kSlabBytes;
  object->heap_.make(edit, object->pool().rounded(std::min(kFirstBytes, most)));
  object->zero_directories();
  return object;
}

std::unique_ptr<StoreObject> StoreObject::open(std::shared_ptr<pool::PoolFile> pool, const pool::ObjectEntry& entry,
                                               const StoreUse& use) {
  pool::require_kind(entry, kinds::store_kind(), use.label);
  std::unique_ptr<StoreObject> object(new StoreObject(std::move(pool), entry.number, use));
  object->map_pages(use.salvage);
  const auto directory = object->pool().directory();
  if (const std::string what = read_header(*directory, entry.number, object->page(), object->header_); !what.empty()) {
    throw PoolCorrupt(use.label + " is damaged: " + what + "; restore it from a copy");
  }
  object->accept(true, use.salvage);
  object->heap_.map();
  if (!object->read_only() && !object->was_clean()) object->zero_directories();
  return object;
}

/// Makes the directories durably zero that were not before: `kDirectoriesWord` counts those that were.
void StoreObject::zero_directories() {
  const heap::View view = heap();
  const std::uint64_t needed = (view.count + view.a_directory() - 1) / view.a_directory();
  std::uint64_t* const zeroed = record() + kDirectoriesWord;
  if (*zeroed >= needed) return;
  for (std::uint64_t directory = *zeroed; directory < needed; ++directory) {
    std::byte* const at = view.base + directory * view.a_directory() * view.slab_bytes();
    std::memset(at, 0, view.slab_bytes());
    persist().flush(at, view.slab_bytes());
  }
  persist().fence();
  HOLDFAST_FAILPOINT(directories_zeroed);
  *zeroed = needed;
  persist().flush(record(), pool::kPage);
  persist().fence();
}

const std::byte* StoreObject::address_of(const pool::Extent& extent) const {
  return extent.role == pool::kPagesRole ? pages().address : heap_.address_of(extent);
}

bool StoreObject::grow(std::uint64_t limit) {
  const std::uint64_t before = heap_.bytes();
  const std::uint64_t least = before / heap::kSlabBytes * heap::kSlabBytes + heap::kSlabBytes;
  const std::uint64_t most = std::min(limit == 0 ? most_bytes() : limit, most_bytes());
  if (least > most) return false;
  const std::uint64_t more = std::clamp(before / 4 / heap::kSlabBytes * heap::kSlabBytes, kLeastGrowth, kMostGrowth);
  try {
    heap_.grow(least, std::max(least, std::min(before + more, most / heap::kSlabBytes * heap::kSlabBytes)));
  } catch (const NoSpace&) {
    return false;
  }
  zero_directories();
  return true;
}

}  // namespace holdfast::store

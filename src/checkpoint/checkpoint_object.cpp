// checkpoint_object.cpp: makes and opens checkpoints.
#include "checkpoint/checkpoint_object.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include "checkpoint/checkpoint_kind.hpp"
#include "core/both.hpp"
#include "holdfast/error.hpp"

namespace holdfast::checkpoint {

using pool::Edit;
using pool::Extent;
using pool::kPage;

namespace {

constexpr std::uint64_t kPagesBytes = 3 * kPage;  // the word is in the third

CheckpointHeader header_of(const pool::ObjectPage& page) {
  CheckpointHeader header;
  std::memcpy(&header, page.header, sizeof header);
  return header;
}

}  // namespace

std::string flaw_in(const pool::Directory& directory, const pool::ObjectEntry& entry, const pool::ObjectPage& page) {
  const CheckpointHeader header = header_of(page);
  if (page.header_bytes != sizeof header) return "its header has " + std::to_string(page.header_bytes) + " bytes";
  if (header.copies < 2 || header.copies > kMostCopies || header.reserved != 0)
    return "its header is not a checkpoint's";
  for (const Extent& extent : directory.extents_of(entry.number)) {
    if (extent.role == pool::kPagesRole ? extent.bytes < kPagesBytes
                                        : extent.role != kCopyRole || extent.index >= header.copies) {
      return "its extents are not a checkpoint's";
    }
  }
  return {};
}

CheckpointObject::CheckpointObject(std::shared_ptr<pool::PoolFile> pool, std::uint32_t number, const Use& use,
                                   unsigned copies)
    : Object(std::move(pool), number, use.label, use.flush), copies_(copies) {}

CheckpointObject::~CheckpointObject() {
  if (forked()) {  // its checkpoint went before the fork, so no thread waits; and CUDA did not come along
    static_cast<void>(device_.release());
    return;
  }
  stop();
  device_.reset();
  for (const Copy& copy : copies_) system::unmap(copy.range.address, copy.range.mapped);
}

std::shared_ptr<CheckpointObject> CheckpointObject::create(Edit& edit, std::shared_ptr<pool::PoolFile> pool,
                                                           const std::string& name, unsigned copies, const Use& use) {
  if (copies < 2 || copies > kMostCopies) {
    throw InvalidArgument("a checkpoint of " + std::to_string(copies) + " copies cannot be made: give 2 to 8");
  }
  const std::uint32_t number =
      edit.create({.name = name, .type = kinds::checkpoint_kind().type, .type_version = kVersion});
  std::shared_ptr<CheckpointObject> object(new CheckpointObject(std::move(pool), number, use, copies));
  const CheckpointHeader header{copies, 0, static_cast<std::uint64_t>(std::time(nullptr))};
  object->make_pages(edit, kPagesBytes, std::as_bytes(std::span(&header, 1)));
  return object;
}

std::shared_ptr<CheckpointObject> CheckpointObject::open(std::shared_ptr<pool::PoolFile> pool,
                                                         const pool::ObjectEntry& entry, const Use& use) {
  pool::require_kind(entry, kinds::checkpoint_kind(), use.label);
  std::shared_ptr<CheckpointObject> object(new CheckpointObject(std::move(pool), entry.number, use, 0));
  object->map_pages();
  if (const std::string what = flaw_in(*object->pool().directory(), entry, object->page()); !what.empty()) {
    throw PoolCorrupt(use.label + " is damaged: " + what + "; restore it from a copy");
  }
  object->accept(true, false);
  object->copies_.resize(header_of(object->page()).copies);
  object->map_all();
  object->look();
  return object;
}

void CheckpointObject::map_all() {
  for (const Extent& extent : pool().directory()->extents_of(number(), kCopyRole)) {
    copies_[extent.index].range = pool().map(extent.offset, extent.bytes, false);
  }
}

/// Which copies count; opened for writing, those that were never switched to are withdrawn.
void CheckpointObject::look() {
  word_ = *word();
  word_damaged_ = !is_whole(word_);
  if (word_damaged_) word_ = 0;
  for (unsigned i = 0; i < copies(); ++i) {
    if (copies_[i].range.address == nullptr) continue;
    const CopyHeader& found = *header(i);
    if (word_damaged_ && found.sequence != 0 && is_intact(found) && found.sequence > sequence_in(word_)) {
      word_ = word_of(found.sequence, i);
    }
  }
  for (unsigned i = 0; i < copies(); ++i) {
    if (copies_[i].range.address == nullptr) continue;
    if (counts(*header(i), i, word_)) copies_[i].sequence = header(i)->sequence;
    if (word_damaged_ || !pool().writes_file()) continue;
    const pool::HeaderMemory memory = pool().header_memory(persist());
    withdraw_unfinished(memory, header(i), i, word_);
  }
  next_sequence_ = sequence_in(word_) + 1;
}

std::vector<SavedCopy> CheckpointObject::list() const {
  const std::lock_guard guard(mutex_);
  std::vector<SavedCopy> all;
  for (unsigned i = 0; i < copies(); ++i) {
    if (copies_[i].sequence == 0 || copies_[i].busy) continue;
    const CopyHeader& found = *header(i);
    all.push_back({i, found.step, found.sequence, found.created, found.tensors, found.data_bytes,
                   copies_[i].sequence == sequence_in(word_)});
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.sequence > b.sequence; });
  return all;
}

DeviceSide& CheckpointObject::device() {
  const std::lock_guard guard(device_mutex_);
  if (!device_) device_ = make_device_side();
  return *device_;
}

/// It is about to be unmapped.
void CheckpointObject::forget(const pool::Range& range) {
  const std::lock_guard guard(device_mutex_);
  if (device_ && range.address != nullptr) device_->unmap(range.address);
}

std::shared_ptr<const Layout> CheckpointObject::group(Layout layout) {
  if (!layout.device.empty()) layout.plan = device().plan(layout.device, layout.device_bytes);
  return std::make_shared<const Layout>(std::move(layout));
}

void CheckpointObject::map_for_gpu() {
  const std::lock_guard guard(mutex_);
  for (const Copy& copy : copies_) {
    if (copy.range.address != nullptr) device().map(copy.range.address, copy.range.mapped, read_only());
  }
}

void CheckpointObject::release(unsigned copy) {
  if (forked()) return;  // the state is the parent's, and so is who holds the lock
  const std::lock_guard guard(mutex_);
  HOLDFAST_ASSERT(copies_[copy].held != 0);
  --copies_[copy].held;
  changed_.notify_all();
}

const std::byte* CheckpointObject::address_of(const Extent& extent) const {
  return extent.role == pool::kPagesRole ? pages().address : copies_[extent.index].range.address;
}

}  // namespace holdfast::checkpoint

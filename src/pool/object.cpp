// object.cpp: the pages of an open object, and its clean mark.
#include "pool/object.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "holdfast/error.hpp"
#include "pool/kinds/describe.hpp"
#include "system/process.hpp"

namespace holdfast::pool {

namespace {

void note_boot(ObjectPage& page) {
  const system::BootId boot = system::boot_id();
  std::memcpy(page.boot_id, boot.data(), boot.size());
}

ObjectPage* copies_at(const Range& pages) { return reinterpret_cast<ObjectPage*>(pages.address); }

}  // namespace

Object::Object(std::shared_ptr<PoolFile> pool, std::uint32_t number, std::string label, bool flush)
    : pool_(std::move(pool)), number_(number), label_(std::move(label)), persist_(pool_->persist(flush)) {}

Object::~Object() {
  if (!forked()) system::unmap(pages_.address, pages_.mapped);  // in a forked child the mappings never came along
}

std::vector<std::span<const std::byte>> Object::lost() const {
  std::vector<std::span<const std::byte>> lost;
  const std::uint64_t from = pool_->lost_from();
  if (from == kNothingLost) return lost;
  for (const Extent& extent : pool_->directory()->extents_of(number_)) {
    const std::byte* const begin = extent.end() > from ? address_of(extent) : nullptr;
    if (begin == nullptr) continue;
    const std::uint64_t there = std::max(from, extent.offset) - extent.offset;
    lost.emplace_back(begin + there, extent.bytes - there);
  }
  std::sort(lost.begin(), lost.end(), [](const auto& a, const auto& b) { return a.data() < b.data(); });
  return lost;
}

std::vector<std::string> Object::repairs() const {
  std::vector<std::string> all = pool_->repairs();
  all.insert(all.end(), repairs_.begin(), repairs_.end());
  return all;
}

void Object::make_pages(Edit& edit, std::uint64_t bytes, std::span<const std::byte> header) {
  HOLDFAST_ASSERT(header.size() <= kHeaderBytes);
  const Extent extent = edit.add(number_, kPagesRole, 0, bytes);
  pages_ = pool_->map(extent.offset, extent.bytes, true);
  if (!edit.is_fresh(extent)) std::memset(pages_.address, 0, pages_.bytes);
  persist_.flush(pages_.address, pages_.bytes);
  ObjectPage first = {};
  first.magic = kPageMagic;
  first.number = number_;
  first.clean = 1;
  first.domain = static_cast<std::uint32_t>(domain());
  first.header_bytes = static_cast<std::uint32_t>(header.size());
  if (!header.empty()) std::memcpy(first.header, header.data(), header.size());
  note_boot(first);
  write_page(first);
  pool_->settle(pages_);
}

void Object::map_pages(bool salvages) {
  const auto directory = pool_->directory();
  const auto extents = directory->extents_of(number_, kPagesRole);
  if (const std::uint64_t lost = directory->bytes_of(number_, pool_->lost_from()); lost != 0) {
    const bool has_pages = extents.at(0).end() <= pool_->lost_from();
    if (!salvages || !has_pages || !pool_->believes_lost(lost)) {
      throw PoolCorrupt(label_ + " cannot be opened: " + describe_loss(*directory, number_, pool_->lost_from()));
    }
  }
  pages_ = pool_->map(extents.at(0).offset, extents.at(0).bytes, true);
  const ObjectPage* const copies = copies_at(pages_);
  const FoundPage found = choose_page(copies[0], copies[1], number_);
  if (!found.damage.empty()) throw PoolCorrupt(label_ + " is damaged: " + found.damage + "; restore it from a copy");
  page_ = found.page;
  choice_ = found.choice;
}

void Object::accept(bool whole, bool salvage) {
  const bool same_boot = is_of_this_boot(page_);
  was_clean_ = page_.clean == 1 && whole;
  const bool lost = page_.clean != 1 && page_.domain != static_cast<std::uint32_t>(Domain::power) && !same_boot;
  if (lost && !salvage) throw_power_lost(label_);
  salvaged_ = lost;
  if (!was_clean_ && read_only()) {
    throw ReadOnly(label_ + (page_.clean == 1 ? " was closed in the middle of a resize" : " was not closed") +
                   " and needs recovery, which a read-only open cannot do; open it for writing "
                   "once, or run `holdfast recover` on it");
  }
  if (page_.clean != 1 && same_boot) marked_ = static_cast<int>(page_.domain);
  if (choice_.equal || !pool_->writes_file()) return;
  const HeaderMemory memory = pool_->header_memory(persist_);
  for (unsigned which = 0; which < 2; ++which) {
    if (static_cast<int>(which) == choice_.copy) continue;
    write_copy(memory, copies_at(pages_) + which, page_);
    repairs_.push_back(std::string("copy ") + (which == 0 ? "A" : "B") + " of the page of " + label_ +
                       (choice_.intact[which] ? ", which was older" : ", which was damaged or half-written"));
  }
}

ObjectPage Object::page_of_copy(const MediumFacts& medium) const {
  ObjectPage copy = page_;
  copy.generation = 1;
  if (!salvaged_ || !pool_->writes_file()) {  // a private copy has left out what is damaged
    copy.clean = 1;
    copy.domain = static_cast<std::uint32_t>(domain_of(medium, false));
    note_boot(copy);
  }
  seal(copy);
  return copy;
}

void Object::write_page(ObjectPage next) {
  HOLDFAST_ASSERT(next.header_bytes <= kHeaderBytes && next.description_bytes <= kDescriptionBytes);
  next.generation = page_.generation + 1;
  if (next.generation == kGenerations) {
    throw SystemError(label_ + " has been marked as often as it may be; take a snapshot of its pool, and use that");
  }
  seal(next);
  if (pool_->writes_file()) {
    const HeaderMemory memory = pool_->header_memory(persist_);
    write_copies(memory, copies_at(pages_), next);
  }
  page_ = next;
}

Domain Object::noted() const {
  if (salvaged_) return Domain::process;  // its page says for ever that it has lost something
  const int marked = marked_.load(std::memory_order_acquire);
  return marked < 0 ? Domain::power : static_cast<Domain>(marked);
}

void Object::mark_changed(bool gpu, std::size_t rows) {
  pool_->notice_removal(rows);
  const int wanted = static_cast<int>(domain(gpu));
  // A lower domain once noted stands until the next sync: part of what was written survives no more than that.
  const auto noted = [&](int marked) { return marked >= 0 && marked <= wanted; };
  if (noted(marked_.load(std::memory_order_acquire)) && pool_->is_sound()) return;
  const std::lock_guard guard(page_mutex_);
  require_writable();
  if (noted(marked_.load(std::memory_order_relaxed))) return;
  ObjectPage next = page_;
  next.clean = 0;
  if (!salvaged_) {
    next.domain = static_cast<std::uint32_t>(wanted);
    note_boot(next);
  }
  write_page(next);
  HOLDFAST_FAILPOINT(mark_cleared);
  marked_.store(wanted, std::memory_order_release);
}

std::string Object::description() const {
  const std::lock_guard guard(page_mutex_);
  return description_in(page_);
}

void Object::describe(std::string_view text) {
  if (text.size() > kDescriptionBytes) {
    throw InvalidArgument("the description of " + label_ + " has " + std::to_string(text.size()) +
                          " bytes: give at most " + std::to_string(kDescriptionBytes));
  }
  pool_->notice_removal(~std::size_t{0});
  const std::lock_guard guard(page_mutex_);
  require_writable();
  if (description_in(page_) == text) return;
  ObjectPage next = page_;
  next.description_bytes = static_cast<std::uint32_t>(text.size());
  std::memset(next.description, 0, sizeof next.description);
  std::memcpy(next.description, text.data(), text.size());
  write_page(next);
}

void Object::sync() {
  const std::lock_guard guard(page_mutex_);
  require_writable();
  if (page_.clean == 1) return;
  pool_->notice_removal(~std::size_t{0});
  require_writable();
  pool_->sync_data();
  pool_->require_whole();  // before anything says that it is
  HOLDFAST_FAILPOINT(synced_without_mark);
  if (salvaged_) return;
  ObjectPage next = page_;
  next.clean = 1;
  write_page(next);
  marked_.store(-1, std::memory_order_release);
}

}  // namespace holdfast::pool

// object.hpp: an object that is open: its pages, its clean mark, and the domain of what is written to it. Rules 9, 21.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pool/edit.hpp"
#include "pool/object_page.hpp"
#include "pool/pool_file.hpp"

namespace holdfast::pool {

/// What every type of object shares. The types derive from it.
///
///   made:    `make_pages` within an Edit; its type adds extents; the Edit commits
///   opened:  `map_pages`, and its type looks at the header; `accept` unless it has to be refused
class Object {
 public:
  virtual ~Object();
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  const std::string& path() const {
    return label_;
  }  ///< for messages: the pool's, and the object's name if it has others
  std::uint32_t number() const { return number_; }
  PoolFile& pool() const { return *pool_; }
  Medium medium() const { return pool_->medium().medium; }
  virtual Domain domain(bool gpu = false) const { return pool_->domain(gpu); }
  /// The same, and no more than what its changes since the last sync survive: what is lost with them is refused as a whole.
  Domain kept(bool gpu = false) const { return std::min(domain(gpu), noted()); }
  /// What its page says of the changes since the last sync; `power` where there are none.
  Domain noted() const;
  const Persist& persist() const { return persist_; }  ///< the flushes that its domain (or `flush`) asks for
  bool read_only() const { return pool_->access() == Access::read_only; }
  bool was_clean() const { return was_clean_; }  ///< at open
  std::vector<std::string> repairs() const;      ///< what open had to mend
  bool forked() const { return pool_->forked(); }

  /// Where an extent of it is mapped.
  virtual const std::byte* address_of(const Extent& extent) const = 0;
  /// The memory that reads as zeros since the pool's file was cut short, by address.
  std::vector<std::span<const std::byte>> lost() const;
  /// Its page, as a clean copy on `medium` has it. Nothing may write meanwhile.
  ObjectPage page_of_copy(const MediumFacts& medium) const;

  /// Durably clears the clean mark, if it is set, and notes that what follows, a batch of so many rows, is written in domain
  /// `domain(gpu)`. Cheap when that is done already. Thread-safe. Throws ReadOnly, and MediumError if the file was removed.
  void mark_changed(bool gpu = false, std::size_t rows = ~std::size_t{0});
  /// What the object's users say of its contents; empty: nothing. Thread-safe.
  std::string description() const;
  /// Replaces the description, durably: after a crash it is the old or the new one. Thread-safe. Throws InvalidArgument for more than
  /// kDescriptionBytes, ReadOnly, and MediumError if the file was removed.
  void describe(std::string_view text);
  /// Puts the data on its device (medium `file`), then sets the clean mark, unless the object is salvaged. Nothing may write
  /// meanwhile.
  void sync();
  /// Syncs it where changes since the last sync survive less than those that follow. Nothing may write meanwhile.
  void raise_domain(bool gpu) {
    if (noted() < domain(gpu)) sync();
  }

 protected:
  Object(std::shared_ptr<PoolFile> pool, std::uint32_t number, std::string label, bool flush);

  void make_pages(Edit& edit, std::uint64_t bytes, std::span<const std::byte> header);
  /// Throws PoolCorrupt where they are damaged, and where the file was cut short and has not all of the object: unless it `salvages`, which
  /// means that it serves nothing of the memory in `lost`.
  void map_pages(bool salvages = false);
  const ObjectPage& page() const { return page_; }
  /// Decides whether it may be opened as it is, and mends its pages. `whole`: nothing was left half-done.
  /// Throws PowerLost (unless `salvage`: then it stays marked as it is), and ReadOnly where mending it means writing.
  void accept(bool whole, bool salvage);
  std::byte* behind_pages() const { return pages_.address + 2 * kPage; }
  const Range& pages() const { return pages_; }
  void require_writable() const { pool_->require_writable(); }

 private:
  void write_page(ObjectPage next);

  const std::shared_ptr<PoolFile> pool_;
  const std::uint32_t number_;
  const std::string label_;
  const Persist persist_;
  Range pages_;
  Choice choice_;
  bool was_clean_ = true;
  bool salvaged_ = false;  ///< opened although it has lost something: so its page says from then on, whatever is synced
  std::vector<std::string> repairs_;

  mutable std::mutex page_mutex_;
  ObjectPage page_ = {};          ///< equal to both copies in the file between changes
  std::atomic<int> marked_ = -1;  ///< the Domain noted with the cleared clean mark; -1: the mark stands
};

}  // namespace holdfast::pool

// added_group.hpp: inserts of one thread that become durable together: each line is flushed once, and two fences serve all.
//
//   add       volatile   the key and a slot are claimed; the value is written into a fresh cell (run.hpp)
//   values    durable    the lines of the cells, each flushed once, and one fence
//   slots     durable    the slots; their lines, each flushed once, and one fence
//   publish   volatile   the slots, by their tags; then the claims on the keys end
//
// For each key this is the sequence of run.hpp: no search sees it before its slot is durable, and its claim is held throughout.
// A thread does not wait while it has a group, or two threads could wait for each other's keys. An operation that misses a claim, a slot
// or a cell settles the group and begins again; a search among changes settles it first, since it must see the keys before it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "structures/gphash/protocol/claim.hpp"
#include "structures/gphash/protocol/commit.hpp"
#include "structures/gphash/protocol/lines.hpp"
#include "structures/gphash/protocol/mutant.hpp"

namespace holdfast::gphash {

/// A value that was written and is not durable; no bytes where it goes into the slot.
struct Written {
  const std::byte* begin = nullptr;
  std::uint32_t bytes = 0;
};

/// An insert whose key and slot are claimed, and whose slot is not written.
struct Added {
  Slot* slot;
  std::uint64_t key, word;
  const std::byte* value;  ///< with `bytes` 0: it goes into the slot
  std::uint64_t* tag_word;
  std::uint64_t* version_lock;
  std::uint32_t bytes;
  std::uint8_t in_bucket, tag;
};

/// Of drivers that make each insert durable at once.
struct NoGroup {
  static constexpr bool kGroups = false;
  static constexpr bool is_empty() { return true; }
  template <class Memory, class Shape>
  static void settle(const Memory&, const View<Shape>&) {}
};

/// The inserts of one thread that are settled together. Not of wide keys, which need a fence between key and fingerprint.
class AddedGroup {
 public:
  static constexpr bool kGroups = true;
  static constexpr unsigned kMost = 64;

  bool is_empty() const { return size_ == 0; }
  void add(const Added& added) {
    HOLDFAST_ASSERT(size_ < kMost);
    added_[size_++] = added;
  }
  /// Makes the inserts durable, publishes them, and ends their claims.
  template <SlotMemory Memory, class Shape>
  void settle(const Memory& memory, const View<Shape>& view) {
    if (size_ == 0) return;
    HOLDFAST_ASSERT(!view.wide());
    if (!view.in_slot()) {
      if (memory.keeps(Step::flush_group_values)) flush_values(memory);
      if (memory.keeps(Step::fence_group_values)) memory.fence();
    }
    for (const Added* added = added_; added != added_ + size_; ++added) {
      if (!view.in_slot()) HOLDFAST_FAILPOINT(value_placed);
      store_narrow_item(memory, view, added->slot, added->key, added->word);
    }
    if (memory.keeps(Step::flush_group_slots)) flush_slots(memory);
    if (memory.keeps(Step::fence_group_slots)) memory.fence();
    for (const Added* added = added_; added != added_ + size_; ++added) {
      memory.show(added->slot, added->key, added->word);
      HOLDFAST_FAILPOINT(slot_committed);
      retag(memory, added->tag_word, added->in_bucket, kTagClaimed, added->tag);
      if (memory.keeps(Step::claim_key)) release(memory, added->version_lock);
    }
    size_ = 0;
  }

 private:
  /// A thread takes cells in the order of their addresses, so most values continue the lines of the one before.
  template <SlotMemory Memory>
  void flush_values(const Memory& memory) const {
    const std::byte* begin = added_[0].value;
    const std::byte* end = begin;
    for (const Added* added = added_; added != added_ + size_; ++added) {
      const std::byte* const first = added->value;
      const bool continues = first >= begin && line_number<Memory>(first) <= line_number<Memory>(end - 1) + 1;
      if (end != begin && !continues) {
        memory.flush(begin, static_cast<std::size_t>(end - begin));
        begin = end = first;
      }
      if (first + added->bytes > end) end = first + added->bytes;
    }
    memory.flush(begin, static_cast<std::size_t>(end - begin));
  }

  template <SlotMemory Memory>
  void flush_slots(const Memory& memory) const {
    RecentLines<Memory> lines;
    for (unsigned i = 0; i < size_; ++i) {
      if (lines.add(added_[i].slot)) memory.flush(added_[i].slot, sizeof(Slot));
    }
  }

  Added added_[kMost];  // no values before they are added: a group of few would pay for all
  unsigned size_ = 0;
};

}  // namespace holdfast::gphash

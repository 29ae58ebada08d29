// address.hpp: where a key can be: its candidate slots, numbered as lanes. GPHash §3.1, rule 16.
#pragma once

#include <cstdint>

#include "core/bits.hpp"
#include "core/both.hpp"
#include "core/hash.hpp"
#include "structures/gphash/protocol/geometry.hpp"
#include "structures/gphash/protocol/item_kind.hpp"
#include "structures/gphash/protocol/key.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/tags.hpp"

namespace holdfast::gphash {

/// Where a slot stands in the levels.
struct SlotPlace {
  unsigned rank;
  std::uint64_t bucket;
  unsigned slot;
};

/// The candidate slots of one key. Lane (rank × hashes + j) × slots + s is slot s of the bucket that hash location j
/// addresses at that rank, so the lowest lane is the foremost: highest level first.
template <class Shape>
class Candidates : KeyBytes<Shape::kMayBeWide, Shape::kVariable> {
  using Bytes = KeyBytes<Shape::kMayBeWide, Shape::kVariable>;

 public:
  HOLDFAST_BOTH Candidates(const View<Shape>& view, const Key& key)
      : Bytes(key),
        hash_(view.has_fingerprints() ? key.word : hash_key(key.word, view.seed)),
        second_(hash_location(hash_, 1)),
        key_(key.word == 0 ? kReservedKey : key.word),
        reserved_(!view.has_fingerprints() && key.word == 0) {}

  /// What stands in the key word of the slot that holds this key.
  HOLDFAST_BOTH std::uint64_t stored_key() const { return key_; }
  /// Word `i` of a wide key. One that lies in a slot stays as it is: its mover holds it, or its level is drained.
  template <KeySource Memory>
  HOLDFAST_BOTH std::uint64_t key_word(const Memory& memory, unsigned i) const {
    if constexpr (Shape::kMayBeWide) {
      const std::byte* const at = this->bytes + 8 * i;
      return this->in_pool ? memory.load_still(reinterpret_cast<const std::uint64_t*>(at)) : Memory::given_word(at);
    }
    return key_;
  }
  /// A key of variable length that was given; or, if its data is null, that of the item with the word `pair`.
  HOLDFAST_BOTH Part key() const { return {this->bytes, this->size}; }
  HOLDFAST_BOTH std::uint64_t pair() const { return Bytes::pair; }
  HOLDFAST_BOTH bool is_reserved() const { return reserved_; }
  HOLDFAST_BOTH std::uint8_t tag() const { return tag_of(hash_); }
  HOLDFAST_BOTH std::uint64_t hash() const { return hash_; }
  HOLDFAST_BOTH std::uint64_t location(unsigned j) const {
    return j == 0 ? hash_ : j == 1 ? second_ : hash_location(hash_, j);
  }
  HOLDFAST_BOTH unsigned lane_count(const View<Shape>& view) const { return reserved_ ? 1 : view.lane_count(); }

  HOLDFAST_BOTH std::uint64_t* version_lock(const View<Shape>& view) const {
    return view.tags + (reserved_ ? view.reserved_index() : view.version_lock_index(hash_));
  }
  HOLDFAST_BOTH std::uint64_t bucket(const View<Shape>& view, unsigned rank, unsigned j) const {
    return top_bits(location(j), view.top_level - rank);
  }
  /// The first tag word of candidate bucket `rank`, `j`.
  HOLDFAST_BOTH std::uint64_t* tags(const View<Shape>& view, unsigned rank, unsigned j) const {
    return view.tags + (reserved_ ? view.reserved_index() + 1 : view.tag_index(rank, bucket(view, rank, j)));
  }

  HOLDFAST_BOTH Slot* slot(const View<Shape>& view, unsigned lane) const {
    if (reserved_) return view.reserved_slot;
    const Split at = split(view, lane);
    return view.slot(at.rank, bucket(view, at.rank, at.j), at.slot);
  }
  HOLDFAST_BOTH std::uint64_t* tag_word(const View<Shape>& view, unsigned lane) const {
    if (reserved_) return tags(view, 0, 0);
    const Split at = split(view, lane);
    return tags(view, at.rank, at.j) + at.slot / 8;
  }
  HOLDFAST_BOTH unsigned slot_in_bucket(const View<Shape>& view, unsigned lane) const {
    return reserved_ ? 0 : lane % view.shape.slots();
  }

  struct PlaceOfLane {
    SlotPlace place;
    unsigned j;
  };
  /// Where lane `lane` stands, and by which hash location. Not for the reserved slot.
  HOLDFAST_BOTH PlaceOfLane place(const View<Shape>& view, unsigned lane) const {
    const Split at = split(view, lane);
    return {{at.rank, bucket(view, at.rank, at.j), at.slot}, at.j};
  }

  /// The lanes without those of a bucket that an earlier hash location names too.
  HOLDFAST_BOTH LaneMask distinct(const View<Shape>& view) const {
    if (reserved_) return 1;
    LaneMask mask = 0;
    const LaneMask one_bucket = lanes(view.shape.slots());
    for (unsigned rank = 0; rank < view.shape.levels(); ++rank) {
      for (unsigned j = 0; j < view.shape.hashes(); ++j) {
        bool repeated = false;
        for (unsigned i = 0; i < j; ++i) repeated |= bucket(view, rank, i) == bucket(view, rank, j);
        if (!repeated) mask |= one_bucket << ((rank * view.shape.hashes() + j) * view.shape.slots());
      }
    }
    return mask;
  }

 private:
  struct Split {
    unsigned rank, j, slot;
  };
  HOLDFAST_BOTH static Split split(const View<Shape>& view, unsigned lane) {
    const unsigned candidate = lane / view.shape.slots();
    return {candidate / view.shape.hashes(), candidate % view.shape.hashes(), lane % view.shape.slots()};
  }

  std::uint64_t hash_, second_, key_;
  bool reserved_;
};

/// True if the pair of a slot whose fingerprint is the candidates' has their key.
template <KeyMemory Memory, class Shape>
HOLDFAST_BOTH bool pair_has_key(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates,
                                std::uint64_t word) {
  if (candidates.pair() != 0) return word == candidates.pair();
  if (word == 0) return false;
  const Part stored = pair_at(memory, view, word).key;
  const Part given = candidates.key();
  return stored.size == given.size && memory.same_bytes(stored.data, given.data, given.size);
}

/// True if `slot`, whose first word was seen to be `first`, holds the candidates' key.
template <KeyMemory Memory, class Shape>
HOLDFAST_BOTH bool holds_key(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates,
                             const Slot* slot, std::uint64_t first) {
  return first == candidates.stored_key() && ItemKindOf<Shape>::holds_key(memory, view, candidates, slot);
}
/// The same of a slot that was not looked into: first its fingerprint, then all of it.
template <KeyMemory Memory, class Shape>
HOLDFAST_BOTH bool holds_key(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates,
                             const Slot* slot) {
  return holds_key(memory, view, candidates, slot, memory.load(&slot->key));
}

/// The least loaded of the candidate buckets that have a lane in `wanted`. Buckets of lower levels, which several upper ones share,
/// count `shared_bias` items more.
struct LeastLoaded {
  unsigned bucket = 0;
  unsigned load = ~0u;  ///< no bucket has one
};
template <class Shape>
HOLDFAST_BOTH LeastLoaded least_loaded(const View<Shape>& view, LaneMask empty, LaneMask wanted) {
  const unsigned slots = view.shape.slots();
  const unsigned buckets = view.shape.levels() * view.shape.hashes();
  LeastLoaded best;
  for (unsigned i = 0; i < buckets; ++i) {
    if (((wanted >> (i * slots)) & lanes(slots)) == 0) continue;
    const unsigned free_slots = count_bits((empty >> (i * slots)) & lanes(slots));
    const unsigned load = slots - free_slots + (i >= view.shape.hashes() ? view.shared_bias : 0);
    if (load < best.load) best = {i, load};
  }
  return best;
}
template <class Shape>
HOLDFAST_BOTH unsigned first_lane(const View<Shape>& view, unsigned bucket, LaneMask wanted) {
  const unsigned slots = view.shape.slots();
  return bucket * slots + lowest_bit((wanted >> (bucket * slots)) & lanes(slots));
}

/// Which of the empty lanes an insert takes: the first in the least loaded bucket that has one (GPHash §3.1 "Inter-level
/// sharing").
template <class Shape>
HOLDFAST_BOTH unsigned choose_lane(const View<Shape>& view, const Candidates<Shape>& candidates, LaneMask empty) {
  HOLDFAST_ASSERT(empty != 0);
  if (candidates.is_reserved()) return 0;
  return first_lane(view, least_loaded(view, empty, empty).bucket, empty);
}

/// The same for an insert of a batch that writes whole lines: rather one in a line that it writes anyway, in which others of its
/// inserts have claimed lanes, unless its bucket is much more loaded. How much grows with the space that is left, so a table that
/// fills up ends as even as with choose_lane.
template <class Shape>
HOLDFAST_BOTH unsigned choose_lane_of_lines(const View<Shape>& view, const Candidates<Shape>& candidates,
                                            LaneMask empty, LaneMask claimed) {
  static_assert(kLineSlots == 4);
  const unsigned slots = view.shape.slots();
  if (claimed == 0 || candidates.is_reserved() || slots % kLineSlots != 0) return choose_lane(view, candidates, empty);
  const LaneMask pairs = (claimed | claimed >> 1) & 0x5555'5555;
  const LaneMask lines = ((pairs | pairs >> 2) & 0x1111'1111) * 0xf;
  const LeastLoaded least = least_loaded(view, empty, empty), same_lines = least_loaded(view, empty, empty & lines);
  const unsigned space = slots - (least.load < slots ? least.load : slots);
  const unsigned more = space > slots / 2 ? slots / 4 : space > slots / 4 ? slots / 8 : 0;
  if (same_lines.load == LeastLoaded{}.load || same_lines.load > least.load + more)
    return first_lane(view, least.bucket, empty);
  return first_lane(view, same_lines.bucket, empty & lines);
}

/// The same for an item that a resize takes up, to whose drained bucket hash location `j` leads (none: hashes()). Where buckets have whole
/// lines, the items of a drained bucket share those of the top buckets below which it stood, one after another, while these are less
/// than half full; so few lines are written, in the order of their addresses. The others go to the least loaded bucket.
template <class Shape>
HOLDFAST_BOTH unsigned choose_lane_above(const View<Shape>& view, const Candidates<Shape>& candidates, LaneMask empty,
                                         unsigned j) {
  const unsigned slots = view.shape.slots();
  const bool shares = slots % kLineSlots == 0 && j < view.shape.hashes();
  const LaneMask below = shares ? (empty >> (j * slots)) & lanes(slots) : 0;
  return 2 * count_bits(below) > slots ? first_lane(view, j, empty) : choose_lane(view, candidates, empty);
}

}  // namespace holdfast::gphash

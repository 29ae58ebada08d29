// geometry.hpp: the shape of a table and where its parts lie: what an operation needs to know. GPHash §3.1.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/bits.hpp"
#include "core/both.hpp"
#include "heap/slab.hpp"
#include "holdfast/score.hpp"
#include "structures/gphash/protocol/slot.hpp"

namespace holdfast::gphash {

inline constexpr unsigned kMaxLevels = 5;  ///< addressed at once
inline constexpr unsigned kMaxLanes = 32;  ///< levels × hash locations × slots

/// The policy `Shape`: a configuration, known when the program is compiled or held by the object, and the kind of keys. All threads read
/// it; it does not change while the table is open.
template <class S>
concept LevelShape = std::copyable<S> && requires(const S& shape) {
  // True if levels, hash locations and slots are constants.
  { S::kFixed } -> std::convertible_to<bool>;
  // True if keys of more than 8 bytes, in their slots, are possible; and if all keys and values lie in pairs. Not both.
  { S::kMayBeWide } -> std::convertible_to<bool>;
  { S::kVariable } -> std::convertible_to<bool>;
  requires !(S::kMayBeWide && S::kVariable);
  // Levels that a key is addressed in at once, at most kMaxLevels; hash locations in each; slots of a bucket. Their product is at most
  // kMaxLanes.
  { shape.levels() } -> std::same_as<unsigned>;
  { shape.hashes() } -> std::same_as<unsigned>;
  { shape.slots() } -> std::same_as<unsigned>;
  // Words of 8 bytes of a key in its slot; whether they are more than one.
  { shape.key_words() } -> std::same_as<unsigned>;
  { shape.wide() } -> std::same_as<bool>;
};

/// Keys of 8 bytes, which code compiled for them never asks about.
struct NarrowKeys {
  static constexpr bool kMayBeWide = false;
  static constexpr bool kVariable = false;
  HOLDFAST_BOTH static constexpr unsigned key_words() { return 1; }
  HOLDFAST_BOTH static constexpr bool wide() { return false; }
};

/// Keys and values of any length, together in a pair of the heap (pair.hpp); the slot has the key's hash and the pair's place.
struct VariableKeys : NarrowKeys {
  static constexpr bool kVariable = true;
};

/// Keys of 2 to kMaxKeyWords words.
struct WideKeys {
  static constexpr bool kMayBeWide = true;
  static constexpr bool kVariable = false;
  std::uint32_t key_words_ = 2;
  HOLDFAST_BOTH unsigned key_words() const { return key_words_; }
  HOLDFAST_BOTH static constexpr bool wide() { return true; }
};

/// A configuration that is known when the program is compiled. The default is 2L-2H-8S.
template <unsigned Levels, unsigned Hashes, unsigned Slots, class Keys = NarrowKeys>
struct FixedShape : Keys {
  static_assert(Levels <= kMaxLevels && Levels * Hashes * Slots <= kMaxLanes);
  static constexpr bool kFixed = true;
  HOLDFAST_BOTH static constexpr unsigned levels() { return Levels; }
  HOLDFAST_BOTH static constexpr unsigned hashes() { return Hashes; }
  HOLDFAST_BOTH static constexpr unsigned slots() { return Slots; }
};
using DefaultShape = FixedShape<2, 2, 8>;
using DefaultWideShape = FixedShape<2, 2, 8, WideKeys>;
using DefaultVariableShape = FixedShape<2, 2, 8, VariableKeys>;

/// Any configuration with at most 32 candidate slots, and keys of 8 bytes or more. Of a table with variable-length pairs it
/// says where the slots are; what is in them, RuntimeVariableShape knows.
struct RuntimeShape {
  static constexpr bool kFixed = false;
  static constexpr bool kMayBeWide = true;
  static constexpr bool kVariable = false;
  std::uint32_t levels_ = 2, hashes_ = 2, slots_ = 8;
  std::uint32_t key_words_ = 1;
  bool variable_ = false;  ///< its slots name variable-length pairs
  HOLDFAST_BOTH unsigned levels() const { return levels_; }
  HOLDFAST_BOTH unsigned hashes() const { return hashes_; }
  HOLDFAST_BOTH unsigned slots() const { return slots_; }
  HOLDFAST_BOTH unsigned key_words() const { return key_words_; }
  HOLDFAST_BOTH bool wide() const { return key_words_ > 1; }
};

/// Any configuration, with variable-length pairs.
struct RuntimeVariableShape : RuntimeShape {
  static constexpr bool kMayBeWide = false;
  static constexpr bool kVariable = true;
  RuntimeVariableShape() = default;
  explicit RuntimeVariableShape(const RuntimeShape& shape) : RuntimeShape(shape) {}
  HOLDFAST_BOTH static constexpr unsigned key_words() { return 1; }
  HOLDFAST_BOTH static constexpr bool wide() { return false; }
};

static_assert(LevelShape<DefaultShape> && LevelShape<DefaultWideShape> && LevelShape<DefaultVariableShape>);
static_assert(LevelShape<RuntimeShape> && LevelShape<RuntimeVariableShape>);

/// Calls `act` with the type of a shape of any configuration, as a std::type_identity.
template <class Act>
decltype(auto) with_shape(bool variable, const Act& act) {
  if (variable) return act(std::type_identity<RuntimeVariableShape>{});
  return act(std::type_identity<RuntimeShape>{});
}

/// True if `shape` is the default configuration, whatever its keys.
constexpr bool is_default(const RuntimeShape& shape) {
  return shape.levels_ == 2 && shape.hashes_ == 2 && shape.slots_ == 8;
}

/// A table's geometry and addresses. Trivially copyable: it travels into kernels by value.
///
/// Ranks count levels from the top: rank 0 is level `top_level`, the only one that hashes address directly.
/// Beside the slots there is one volatile array of 64-bit words, the *tags*: a byte for each slot (tags.hpp). The tags
/// of all buckets below one bucket of the lowest level stand together as a group, in heap order, so that one or two
/// cache lines say where a key can be; word 0 of a group is its *version lock*, the claim on the keys that hash there.
template <LevelShape Shape>
struct View {
  Shape shape;
  std::uint32_t top_level = 0;
  std::uint32_t value_bytes = 0;
  std::uint32_t cell_bytes = 0;   ///< 0: values live in their slots; with variable-length pairs those of a slab
  std::uint32_t shared_bias = 0;  ///< added to the load of a lower level's bucket when an insert chooses
  std::uint32_t slab_bits = 21;   ///< of variable-length pairs: a slab has 2^slab_bits bytes (slab.hpp)
  bool may_move = false;          ///< a full insert may move one item (rule 26)
  Score score = Score::none;      ///< what the last 8 bytes of each cell say
  std::uint64_t seed = 0;
  std::uint64_t cells = 0;        ///< or slabs
  Slot* level[kMaxLevels] = {};   ///< by rank
  Slot* reserved_slot = nullptr;  ///< for the reserved key value 0 (rule 4)
  std::byte* heap = nullptr;
  std::uint64_t* tags = nullptr;

  HOLDFAST_BOTH bool in_slot() const { return cell_bytes == 0; }
  HOLDFAST_BOTH bool wide() const { return shape.wide(); }
  /// True if a slot's first word is a hash of its key, and no key is reserved.
  HOLDFAST_BOTH bool has_fingerprints() const { return Shape::kVariable || wide(); }
  HOLDFAST_BOTH unsigned key_words() const { return shape.key_words(); }
  HOLDFAST_BOTH unsigned key_bytes() const { return 8 * shape.key_words(); }
  HOLDFAST_BOTH unsigned slot_bytes() const { return gphash::slot_bytes(shape.key_words()); }
  /// True if a slot's first word alone says whether it is occupied. Otherwise both do.
  HOLDFAST_BOTH bool key_decides() const { return in_slot() || wide(); }
  HOLDFAST_BOTH unsigned bottom_level() const { return top_level + 1 - shape.levels(); }
  HOLDFAST_BOTH unsigned lane_count() const { return shape.levels() * shape.hashes() * shape.slots(); }
  HOLDFAST_BOTH unsigned words_per_bucket() const { return (shape.slots() + 7) / 8; }
  /// Its heap, with no cells where values live in their slots.
  HOLDFAST_BOTH holdfast::heap::View heap_view() const { return {heap, in_slot() ? 0 : cells, slab_bits}; }
  HOLDFAST_BOTH std::byte* cell(std::uint64_t number) const { return heap + number * cell_bytes; }
  HOLDFAST_BOTH bool scored() const { return score != Score::none; }
  /// Where in a cell its score lies.
  HOLDFAST_BOTH std::uint32_t score_at() const { return cell_bytes - kScoreBytes; }
  HOLDFAST_BOTH std::uint64_t* score_of(std::uint64_t number) const {
    return reinterpret_cast<std::uint64_t*>(cell(number) + score_at());
  }
  HOLDFAST_BOTH std::uint64_t buckets(unsigned rank) const { return std::uint64_t{1} << (top_level - rank); }
  /// The slot `n` after `first`.
  HOLDFAST_BOTH Slot* after(Slot* first, std::uint64_t n) const {
    if constexpr (!Shape::kMayBeWide) return first + n;
    return reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(first) + n * slot_bytes());
  }
  HOLDFAST_BOTH Slot* bucket(unsigned rank, std::uint64_t number) const {
    return after(level[rank], number * shape.slots());
  }
  HOLDFAST_BOTH Slot* slot(unsigned rank, std::uint64_t number, unsigned s) const {
    return after(level[rank], number * shape.slots() + s);
  }

  /// The tag word of slot 0 of a bucket; the others follow, eight slots a word.
  HOLDFAST_BOTH std::uint64_t tag_index(unsigned rank, std::uint64_t number) const {
    const unsigned depth = shape.levels() - 1 - rank;
    const std::uint64_t group = number >> depth;
    const std::uint64_t node = (std::uint64_t{1} << depth) | (number & ((std::uint64_t{1} << depth) - 1));
    return ((group << shape.levels()) + node) * words_per_bucket();
  }
  HOLDFAST_BOTH std::uint64_t version_lock_index(std::uint64_t hash) const {
    return (top_bits(hash, bottom_level()) << shape.levels()) * words_per_bucket();
  }
  /// Where the reserved slot's version lock and, after it, its tag word stand: behind all groups.
  HOLDFAST_BOTH std::uint64_t reserved_index() const {
    return (std::uint64_t{1} << (bottom_level() + shape.levels())) * words_per_bucket();
  }
  HOLDFAST_BOTH std::uint64_t tag_words() const { return reserved_index() + 2; }
  HOLDFAST_BOTH std::uint64_t total_slots() const {
    std::uint64_t buckets_in_all = 0;
    for (unsigned rank = 0; rank < shape.levels(); ++rank) buckets_in_all += buckets(rank);
    return buckets_in_all * shape.slots();
  }
};

/// A level under rehashing: its items are copied into a view that no longer addresses it.
struct Drain {
  Slot* slots = nullptr;
  std::uint32_t number = 0;  ///< of the level
};

}  // namespace holdfast::gphash

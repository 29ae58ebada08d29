// bucket_items.hpp: the items of a bucket, whose keys are hashed and placed all at once.
#pragma once

#include <cstdint>

#include "core/bits.hpp"
#include "core/hash.hpp"
#include "structures/gphash/protocol/geometry.hpp"
#include "structures/gphash/protocol/tags.hpp"

namespace holdfast::gphash::cpu {

/// The items in up to eight slots of a bucket, those of one tag word. For tables in which a key word alone says whether its slot is
/// occupied, while nothing changes these slots. Loops over eight words without a branch, for a compiler to make vector instructions
/// of: branches on what a slot holds, which cannot be predicted, made a recovery a quarter to a third slower. `Tile`: what it is compiled for.
template <class Tile, class Shape>
class BucketItems {
 public:
  static constexpr unsigned kSlots = 8;

  [[gnu::always_inline]] BucketItems(const gphash::View<Shape>& view, unsigned rank, std::uint64_t bucket,
                                     unsigned first) {
    const unsigned level = view.top_level - rank;
    const unsigned left = view.shape.slots() - first, slots = left < kSlots ? left : kSlots;
    for (unsigned s = 0; s < slots; ++s) key_[s] = view.slot(rank, bucket, first + s)->key;
    for (unsigned s = 0; s < kSlots; ++s) hash_[s] = view.has_fingerprints() ? key_[s] : hash_key(key_[s], view.seed);
    std::uint64_t occupied = 0, by_first = 0, by_others = 0;
    for (unsigned s = 0; s < kSlots; ++s) {
      occupied |= std::uint64_t{key_[s] != 0} << s;
      by_first |= std::uint64_t{top_bits(hash_[s], level) == bucket} << s;
    }
    for (unsigned j = 1; j < view.shape.hashes(); ++j) {
      for (unsigned s = 0; s < kSlots; ++s) {
        by_others |= std::uint64_t{top_bits(hash_location(hash_[s], j), level) == bucket} << s;
      }
    }
    occupied_ = static_cast<LaneMask>(occupied);
    by_first_ = static_cast<LaneMask>(occupied & by_first);
    by_others_ = static_cast<LaneMask>(occupied & ~by_first & by_others);
  }

  // Bit s of a mask is slot `first` + s.
  LaneMask occupied() const { return occupied_; }
  LaneMask by_first() const { return by_first_; }    ///< hash location 0 leads here
  LaneMask by_others() const { return by_others_; }  ///< only a later one does
  bool all_belong() const { return (by_first_ | by_others_) == occupied_; }
  std::uint64_t key(unsigned s) const { return key_[s]; }

  /// Their tag word.
  [[gnu::always_inline]] std::uint64_t tags() const {
    std::uint64_t word = 0;
    for (unsigned s = 0; s < kSlots; ++s) {
      word |= (key_[s] != 0 ? std::uint64_t{gphash::tag_of(hash_[s])} : gphash::kTagEmpty) << (8 * s);
    }
    return word;
  }

 private:
  std::uint64_t key_[kSlots] = {}, hash_[kSlots];
  LaneMask occupied_, by_first_, by_others_;
};

}  // namespace holdfast::gphash::cpu

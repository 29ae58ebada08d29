// group.hpp: the control word of eight neighbouring buckets. Everything in it belongs to entries by their primary bucket.
//
//   bits 0 … 31    per bucket 4 bits: how many entries, whose primary bucket it is, lie in their other bucket; 15 stays, and means "some"
//   bits 32 … 39   per bucket 1 bit: a caller moves, replaces or erases an entry whose primary bucket it is
//   bits 40 … 63   version: rises whenever an entry returns from its other to its primary bucket (it wraps after 2^24)
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "structures/cuckoo/geometry.hpp"

namespace holdfast::cuckoo {

inline constexpr unsigned kGroupBits = 3;  ///< log2 of the buckets of a group

HOLDFAST_BOTH constexpr std::uint64_t group_of(BucketNumber bucket) { return bucket >> kGroupBits; }
/// The groups of an index of 2^bits buckets.
HOLDFAST_BOTH constexpr std::uint64_t groups_of(unsigned bits) {
  return bits > kGroupBits ? std::uint64_t{1} << (bits - kGroupBits) : 1;
}

struct Group {
  static constexpr std::uint64_t kManySpilled = 15;

  std::uint64_t word = 0;

  HOLDFAST_BOTH constexpr std::uint64_t spilled(BucketNumber bucket) const { return word >> spill_shift(bucket) & 15; }
  HOLDFAST_BOTH constexpr bool is_locked(BucketNumber bucket) const { return (word & lock_bit(bucket)) != 0; }
  HOLDFAST_BOTH constexpr std::uint64_t version() const { return word >> kVersionShift; }

  HOLDFAST_BOTH constexpr Group locked(BucketNumber bucket) const { return {word | lock_bit(bucket)}; }
  HOLDFAST_BOTH constexpr Group unlocked(BucketNumber bucket) const { return {word & ~lock_bit(bucket)}; }
  /// An entry more, or less, in its other bucket.
  HOLDFAST_BOTH constexpr Group one_more(BucketNumber bucket) const {
    return {spilled(bucket) == kManySpilled ? word : word + (std::uint64_t{1} << spill_shift(bucket))};
  }
  HOLDFAST_BOTH constexpr Group one_less(BucketNumber bucket) const {
    const bool counted = spilled(bucket) != kManySpilled && spilled(bucket) != 0;
    return {counted ? word - (std::uint64_t{1} << spill_shift(bucket)) : word};
  }
  HOLDFAST_BOTH constexpr Group raised() const { return {word + (std::uint64_t{1} << kVersionShift)}; }

 private:
  static constexpr unsigned kVersionShift = 40;
  HOLDFAST_BOTH static constexpr unsigned spill_shift(BucketNumber bucket) { return bucket % 8 * 4; }
  HOLDFAST_BOTH static constexpr std::uint64_t lock_bit(BucketNumber bucket) {
    return std::uint64_t{1} << (32 + bucket % 8);
  }
};

}  // namespace holdfast::cuckoo

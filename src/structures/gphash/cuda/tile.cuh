// tile.cuh: a warp as a tile: each lane looks at one candidate slot of a key. GPHash §3.1 "One-shot warp access".
//
// Everything here is called by all 32 lanes together, with equal arguments, and answers them alike: what a lane has read
// from memory reaches the others by shuffle or ballot, never by a second read, so their ways never part. Each call begins
// and ends with __syncwarp, which also orders the memory accesses of the lanes among each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/bits.hpp"
#include "core/combine.hpp"
#include "gpu/bytes.cuh"
#include "gpu/warp.cuh"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/tile_memory.cuh"
#include "structures/gphash/protocol/address.hpp"
#include "structures/gphash/protocol/find.hpp"
#include "structures/gphash/protocol/tags.hpp"

namespace holdfast::gphash::cuda {

using gphash::Candidates;
using gphash::Item;
using gphash::Slot;
using gphash::View;

/// The tag of the slot that this lane looks at; kNoTag beyond the last candidate.
struct LaneTag {
  static constexpr unsigned kNoTag = 0x100;
  unsigned value;
};

/// Up to eight bytes of a cell, zero-padded. They need not begin at a word of it.
template <gphash::ValueMemory Memory>
__device__ std::uint64_t load_part(const Memory& memory, const std::byte* from, std::size_t bytes) {
  const auto skipped = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 8);
  const auto* const words = reinterpret_cast<const std::uint64_t*>(from - skipped);
  std::uint64_t part = memory.load_value(words) >> (8 * skipped);
  if (skipped != 0 && bytes > 8 - skipped) part |= memory.load_value(words + 1) << (64 - 8 * skipped);
  return part_of_word(part, 0, bytes);
}

class WarpTile : public Warp {
 public:
  using Warp::Warp;

  template <pool::VolatileWords Memory>
  __device__ std::uint64_t peek(const Memory& memory, const std::uint64_t* word) const {
    return once([&] { return memory.peek(word); });
  }

  template <pool::VolatileWords Memory, class Shape>
  __device__ LaneTag load_tags(const Memory& memory, const View<Shape>& view,
                               const Candidates<Shape>& candidates) const {
    LaneTag tag{LaneTag::kNoTag};
    __syncwarp();
    if (lane_ < candidates.lane_count(view)) {
      tag.value = gphash::tag_at(memory.peek(candidates.tag_word(view, lane_)), candidates.slot_in_bucket(view, lane_));
    }
    __syncwarp();
    return tag;
  }

  /// The lanes whose tag equals `tag`.
  template <class Shape>
  __device__ LaneMask match(const View<Shape>&, const Candidates<Shape>&, LaneTag mine, std::uint8_t tag) const {
    return ballot(mine.value == tag);
  }

  /// The foremost of the `hits` lanes whose slot is occupied by the key: each looks at one, and at the pair behind it.
  template <gphash::KeyMemory Memory, class Shape>
  __device__ Item first_item(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates,
                             LaneMask hits) const {
    if (hits == 0) return {};
    if constexpr (Shape::kMayBeWide) {
      if (view.wide()) return first_wide_item(memory, view, candidates, hits);
    }
    std::uint64_t word = 0;
    bool matches = false;
    __syncwarp();
    if ((hits >> lane_) & 1) {
      const Slot* const slot = candidates.slot(view, lane_);
      matches = gphash::ItemKindOf<Shape>::load_item(memory, view, candidates, slot, word);
    }
    const LaneMask found = ballot(matches);
    __syncwarp();
    if (found == 0) return {};
    const unsigned lane = lowest_bit(found);
    return {candidates.slot(view, lane), from_lane(word, lane), lane};
  }

  template <class Memory, class Shape>
  __device__ void flush_slots(const Memory&, const View<Shape>&, const Candidates<Shape>&, LaneMask) const {}
  template <CopiedMemory Memory, class Shape>
  __device__ bool stands(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates,
                         LaneMask hits) const {
    if (ballot(memory.has_read_pool()) == 0) return true;
    const bool stands = ((hits >> lane_) & 1) == 0 || memory.stands(candidates.slot(view, lane_));
    const bool all = ballot(!stands) == 0;
    if (!all) memory.begin_look();
    return all;
  }

  // Values: user's arrays on one side, cells on the other. Cells begin at multiples of 8 bytes, and have space up to the next.
  template <WideValueMemory Memory>
  __device__ void write_cell(const Memory& memory, std::byte* cell, const std::byte* from, std::size_t bytes) const {
    auto* const to = reinterpret_cast<std::uint64_t*>(cell);
    __syncwarp();
    if (aligned(cell, 16) && aligned(from, 16) && bytes % 16 == 0) {
      for (std::size_t at = lane_; at < bytes / 16; at += kWarp) {
        memory.store_values(to + 2 * at, reinterpret_cast<const ulonglong2*>(from)[at]);
      }
    } else {
      for (std::size_t at = lane_; at < (bytes + 7) / 8; at += kWarp) {
        memory.store_value(to + at, load_user(from + 8 * at, bytes - 8 * at));
      }
    }
    __syncwarp();
  }

  template <gphash::ValueMemory Memory>
  __device__ void write_pair(const Memory& memory, std::byte* cell, const gphash::PairHeader& header,
                             const gphash::Part& key, const gphash::Part& value) const {
    auto* const to = reinterpret_cast<std::uint64_t*>(cell);
    const std::uint32_t words = (gphash::pair_bytes(key.size, value.size) + 7) / 8;
    __syncwarp();
    for (std::uint32_t i = lane_; i < words; i += kWarp)
      memory.store_value(to + i, gphash::pair_word(header, key, value, i));
    __syncwarp();
  }

  template <gphash::ValueMemory Memory>
  __device__ void copy_cell(const Memory& memory, std::byte* cell, const std::byte* from, std::size_t bytes) const {
    auto* const to = reinterpret_cast<std::uint64_t*>(cell);
    const auto* const source = reinterpret_cast<const std::uint64_t*>(from);
    __syncwarp();
    for (std::size_t at = lane_; at < (bytes + 7) / 8; at += kWarp)
      memory.store_value(to + at, memory.load_value(source + at));
    __syncwarp();
  }

  template <WideValueMemory Memory>
  __device__ void read_cell(const Memory& memory, std::byte* to, const std::byte* cell, std::size_t bytes) const {
    __syncwarp();
    if (aligned(cell, 16) && aligned(to, 16) && bytes % 16 == 0) {
      const auto* const from = reinterpret_cast<const std::uint64_t*>(cell);
      for (std::size_t at = lane_; at < bytes / 16; at += kWarp) {
        reinterpret_cast<ulonglong2*>(to)[at] = memory.load_values(from + 2 * at);
      }
    } else {
      for (std::size_t at = lane_; at < (bytes + 7) / 8; at += kWarp) {
        store_user(to + 8 * at, load_part(memory, cell + 8 * at, bytes - 8 * at), bytes - 8 * at);
      }
    }
    __syncwarp();
  }

  template <gphash::ValueMemory Memory>
  __device__ void zero_cell(const Memory& memory, std::byte* cell, std::size_t bytes) const {
    auto* const to = reinterpret_cast<std::uint64_t*>(cell);
    __syncwarp();
    for (std::size_t at = lane_; at < (bytes + 7) / 8; at += kWarp) memory.store_value(to + at, 0);
    __syncwarp();
  }

  // Bytes of a cell whose others stay: of a fresh one, which no slot names.
  template <WideValueMemory Memory>
  __device__ void write_column(const Memory& memory, std::byte* to, const std::byte* from, std::size_t bytes) const {
    __syncwarp();
    for (std::size_t at = 8 * lane_; at < bytes; at += 8 * kWarp)
      memory.store_part(to + at, load_user(from + at, bytes - at), bytes - at);
    __syncwarp();
  }
  template <WideValueMemory Memory>
  __device__ void combine_column(const Memory& memory, std::byte* to, const std::byte* row, std::size_t bytes,
                                 const Combining& how) const {
    __syncwarp();
    for (std::size_t at = 8 * lane_; at < bytes; at += 8 * kWarp) {
      const std::size_t left = bytes - at;
      const std::uint64_t now = load_part(memory, to + at, left);
      memory.store_part(to + at, combine_word(now, load_user(row + at, left), how), left);
    }
    __syncwarp();
  }

  /// cell ← cell combined with the row, word by word.
  template <gphash::ValueMemory Memory>
  __device__ void combine_cell(const Memory& memory, std::byte* cell, const std::byte* row, std::size_t bytes,
                               const Combining& how) const {
    auto* const words = reinterpret_cast<std::uint64_t*>(cell);
    __syncwarp();
    for (std::size_t at = lane_; at < (bytes + 7) / 8; at += kWarp) {
      const std::size_t left = bytes - 8 * at;
      std::uint64_t now = memory.load_value(words + at);
      if (left < 8) now &= (std::uint64_t{1} << (8 * left)) - 1;  // padding may hold anything
      memory.store_value(words + at, combine_word(now, load_user(row + 8 * at, left), how));
    }
    __syncwarp();
  }

 private:
  /// The lanes look at the fingerprints, each at one; then all at the key behind one that matches, each at a word.
  template <gphash::KeyMemory Memory, class Shape>
  __device__ Item first_wide_item(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates,
                                  LaneMask hits) const {
    __syncwarp();
    const bool mine = (hits >> lane_) & 1;
    LaneMask left = ballot(mine && memory.load(&candidates.slot(view, lane_)->key) == candidates.stored_key());
    for (; left != 0; left &= left - 1) {
      const unsigned lane = lowest_bit(left);
      Slot* const slot = candidates.slot(view, lane);
      std::uint64_t word = 0;
      bool differs = false;
      if (lane_ < view.key_words())
        differs = memory.load(gphash::wide_key(slot) + lane_) != candidates.key_word(memory, lane_);
      if (lane_ == view.key_words()) word = memory.load(&slot->word);
      if (ballot(differs) != 0) continue;
      __syncwarp();
      return {slot, from_lane(word, view.key_words()), lane};
    }
    __syncwarp();
    return {};
  }
};

}  // namespace holdfast::gphash::cuda

// thread_tile.cuh: one GPU thread as a tile: it looks at the tags of a key's candidates, and at the few slots they point to.
//
// Where tags and slots lie in GPU memory a warp a key would leave most lanes without work: a search touches two groups of
// tags and, nearly always, one slot. So each lane of a warp looks for its own key.
#pragma once

#include <cstdint>

#include "core/bits.hpp"
#include "structures/gphash/cuda/memory.cuh"
#include "structures/gphash/cuda/tile.cuh"
#include "structures/gphash/cuda/tile_memory.cuh"
#include "structures/gphash/protocol/address.hpp"
#include "structures/gphash/protocol/find.hpp"
#include "structures/gphash/protocol/tags.hpp"

namespace holdfast::gphash::cuda {

/// The tag words of a key's candidate buckets, in lane order.
template <class Shape>
struct ThreadTags {
  std::uint64_t word[gphash::kMaxLanes];
};
template <unsigned L, unsigned H, unsigned S, class Keys>
struct ThreadTags<gphash::FixedShape<L, H, S, Keys>> {
  std::uint64_t word[L * H * ((S + 7) / 8)];
};

struct ThreadTile {
  template <class F>
  __device__ auto once(F&& act) const -> decltype(act()) {
    return act();
  }
  template <pool::VolatileWords Memory>
  __device__ std::uint64_t peek(const Memory& memory, const std::uint64_t* word) const {
    return memory.peek(word);
  }

  template <pool::VolatileWords Memory, class Shape>
  __device__ ThreadTags<Shape> load_tags(const Memory& memory, const gphash::View<Shape>& view,
                                         const gphash::Candidates<Shape>& candidates) const {
    ThreadTags<Shape> tags{};
    if (candidates.is_reserved()) {
      tags.word[0] = memory.peek(candidates.tags(view, 0, 0));
      return tags;
    }
    const unsigned each = view.words_per_bucket();
    for (unsigned rank = 0; rank < view.shape.levels(); ++rank) {
      for (unsigned j = 0; j < view.shape.hashes(); ++j) {
        const std::uint64_t* const from = candidates.tags(view, rank, j);
        for (unsigned i = 0; i < each; ++i)
          tags.word[(rank * view.shape.hashes() + j) * each + i] = memory.peek(from + i);
      }
    }
    return tags;
  }

  /// The lanes whose tag equals `tag`.
  template <class Shape>
  __device__ LaneMask match(const gphash::View<Shape>& view, const gphash::Candidates<Shape>& candidates,
                            const ThreadTags<Shape>& tags, std::uint8_t tag) const {
    if (candidates.is_reserved()) return gphash::match_word(tags.word[0], tag) & 1;
    const unsigned slots = view.shape.slots();
    const unsigned each = view.words_per_bucket();
    LaneMask mask = 0;
    for (unsigned i = 0; i < view.shape.levels() * view.shape.hashes(); ++i) {
      LaneMask bucket = 0;
      for (unsigned w = 0; w < each; ++w) bucket |= gphash::match_word(tags.word[i * each + w], tag) << (8 * w);
      mask |= (bucket & lanes(slots)) << (i * slots);
    }
    return mask;
  }

  /// The foremost of the `hits` lanes whose slot is occupied by the key.
  template <SeenMemory Memory, class Shape>
  __device__ gphash::Item first_item(const Memory& memory, const gphash::View<Shape>& view,
                                     const gphash::Candidates<Shape>& candidates, LaneMask hits) const {
    for (; hits != 0; hits &= hits - 1) {
      const unsigned lane = lowest_bit(hits);
      gphash::Slot* const slot = candidates.slot(view, lane);
      typename Memory::SeenSlot seen;
      if (memory.may_read_pool()) {
        seen = memory.see_slot(slot);
      } else {
        seen.key = memory.load(&slot->key);
      }
      if (!gphash::holds_key(memory, view, candidates, slot, seen.key)) continue;
      const std::uint64_t word = seen.whole && !Shape::kVariable ? seen.word : memory.load(&slot->word);
      if (word != 0 || view.in_slot()) return {slot, word, lane};
    }
    return {};
  }

  template <class Memory, class Shape>
  __device__ void flush_slots(const Memory&, const gphash::View<Shape>&, const gphash::Candidates<Shape>&,
                              LaneMask) const {}
  template <CopiedMemory Memory, class Shape>
  __device__ bool stands(const Memory& memory, const gphash::View<Shape>& view,
                         const gphash::Candidates<Shape>& candidates, LaneMask hits) const {
    bool stands = true;
    if (!memory.has_read_pool()) return stands;
    for (; hits != 0; hits &= hits - 1) stands = stands && memory.stands(candidates.slot(view, lowest_bit(hits)));
    if (!stands) memory.begin_look();
    return stands;
  }
};
static_assert(gphash::SearchTile<ThreadTile, CopyMemory, gphash::DefaultShape>);
static_assert(gphash::SlotTile<ThreadTile, PhaseMemory, gphash::RuntimeShape>);

}  // namespace holdfast::gphash::cuda

// thread_tile.cuh: one GPU thread as a tile: it looks at the tags of a key's candidates, and at the few slots they point to.
//
// Where tags and slots lie in GPU memory a warp a key would leave most lanes without work: a search touches two groups of
// tags and, nearly always, one slot. So each lane of a warp looks for a key of its own.
#pragma once

#include <cstdint>

#include "core/bits.hpp"
#include "structures/gphash/cuda/tile.cuh"
#include "structures/gphash/protocol/address.hpp"
#include "structures/gphash/protocol/find.hpp"
#include "structures/gphash/protocol/tags.hpp"

namespace holdfast::machine::cuda {

/// The tag words of a key's candidate buckets, in lane order.
template <class Shape>
struct ThreadTags {
  std::uint64_t word[index::kMaxLanes];
};
template <unsigned L, unsigned H, unsigned S, class Keys>
struct ThreadTags<index::FixedShape<L, H, S, Keys>> {
  std::uint64_t word[L * H * ((S + 7) / 8)];
};

struct ThreadTile {
  template <class F>
  __device__ auto once(F&& act) const {
    return act();
  }
  template <class Memory>
  __device__ std::uint64_t peek(const Memory& memory, const std::uint64_t* word) const {
    return memory.peek(word);
  }

  template <class Memory, class Shape>
  __device__ ThreadTags<Shape> load_tags(const Memory& memory, const index::View<Shape>& view,
                                         const index::Candidates<Shape>& candidates) const {
    ThreadTags<Shape> tags{};
    if (candidates.aside()) {
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
  __device__ LaneMask match(const index::View<Shape>& view, const index::Candidates<Shape>& candidates,
                            const ThreadTags<Shape>& tags, std::uint8_t tag) const {
    if (candidates.aside()) return index::match_word(tags.word[0], tag) & 1;
    const unsigned slots = view.shape.slots();
    const unsigned each = view.words_per_bucket();
    LaneMask mask = 0;
    for (unsigned i = 0; i < view.shape.levels() * view.shape.hashes(); ++i) {
      LaneMask bucket = 0;
      for (unsigned w = 0; w < each; ++w) bucket |= index::match_word(tags.word[i * each + w], tag) << (8 * w);
      mask |= (bucket & lanes(slots)) << (i * slots);
    }
    return mask;
  }

  /// The foremost of the `hits` lanes whose slot is occupied by the key.
  template <class Memory, class Shape>
  __device__ index::Item first_item(const Memory& memory, const index::View<Shape>& view,
                                    const index::Candidates<Shape>& candidates, LaneMask hits) const {
    for (; hits != 0; hits &= hits - 1) {
      const unsigned lane = lowest_bit(hits);
      index::Slot* const slot = candidates.slot(view, lane);
      typename Memory::SeenSlot seen;
      if (memory.may_read_pool()) {
        seen = memory.see_slot(slot);
      } else {
        seen.key = memory.load(&slot->key);
      }
      if (!index::holds_key(memory, view, candidates, slot, seen.key)) continue;
      const std::uint64_t word = seen.whole && !Shape::kVariable ? seen.word : memory.load(&slot->word);
      if (word != 0 || view.in_slot()) return {slot, word, lane};
    }
    return {};
  }

  template <class Memory, class Shape>
  __device__ void flush_slots(const Memory&, const index::View<Shape>&, const index::Candidates<Shape>&,
                              LaneMask) const {}
  template <class Memory>
  __device__ void flush(const Memory&, const void*, std::size_t) const {}
  template <class Memory, class Shape>
  __device__ bool stands(const Memory& memory, const index::View<Shape>& view,
                         const index::Candidates<Shape>& candidates, LaneMask hits) const {
    bool stands = true;
    if (!memory.has_read_pool()) return stands;
    for (; hits != 0; hits &= hits - 1) stands = stands && memory.stands(candidates.slot(view, lowest_bit(hits)));
    if (!stands) memory.begin_look();
    return stands;
  }

  // Values, word by word: for completeness. Batches whose values are worth a thought go through gather.cuh.
  template <class Memory>
  __device__ void write_cell(const Memory& memory, std::byte* cell, const std::byte* from, std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes; at += 8)
      memory.store_value(reinterpret_cast<std::uint64_t*>(cell + at), load_user(from + at, bytes - at));
  }
  template <class Memory>
  __device__ void write_pair(const Memory& memory, std::byte* cell, const index::PairHeader& header,
                             const index::Part& key, const index::Part& value) const {
    const std::uint32_t words = (index::pair_bytes(key.size, value.size) + 7) / 8;
    for (std::uint32_t i = 0; i < words; ++i)
      memory.store_value(reinterpret_cast<std::uint64_t*>(cell) + i, index::pair_word(header, key, value, i));
  }
  template <class Memory>
  __device__ void copy_cell(const Memory& memory, std::byte* cell, const std::byte* from, std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes; at += 8) {
      memory.store_value(reinterpret_cast<std::uint64_t*>(cell + at),
                         memory.load_value(reinterpret_cast<const std::uint64_t*>(from + at)));
    }
  }
  template <class Memory>
  __device__ void read_cell(const Memory& memory, std::byte* to, const std::byte* cell, std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes; at += 8)
      store_user(to + at, memory.load_value(reinterpret_cast<const std::uint64_t*>(cell + at)), bytes - at);
  }
  template <class Memory>
  __device__ void combine_cell(const Memory& memory, std::byte* cell, const std::byte* row, std::size_t bytes,
                               const Combining& how) const {
    for (std::size_t at = 0; at < bytes; at += 8) {
      auto* const word = reinterpret_cast<std::uint64_t*>(cell + at);
      std::uint64_t now = memory.load_value(word);
      if (bytes - at < 8) now &= (std::uint64_t{1} << (8 * (bytes - at))) - 1;  // padding may hold anything
      memory.store_value(word, combine_word(now, load_user(row + at, bytes - at), how));
    }
  }
  __device__ void copy(std::byte* to, const std::byte* from, std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes; at += 8) store_user(to + at, load_user(from + at, bytes - at), bytes - at);
  }
  __device__ void zero(std::byte* to, std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes; at += 8) store_user(to + at, 0, bytes - at);
  }
};

}  // namespace holdfast::machine::cuda

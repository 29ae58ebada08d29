// tile.hpp: one CPU thread as a tile: it looks at all candidate slots of a key at once with vector registers.
//
// The portable tile compares eight tags in a 64-bit register; those for AVX2 and AVX-512 (tile_avx2.hpp, tile_avx512.hpp)
// compare all 32 tags of the default configuration in one instruction. A machine chooses at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/bits.hpp"
#include "core/combine.hpp"
#include "structures/gphash/protocol/address.hpp"
#include "structures/gphash/protocol/find.hpp"
#include "structures/gphash/protocol/tags.hpp"

namespace holdfast::gphash::cpu {

using gphash::Candidates;
using gphash::Item;
using gphash::Slot;
using gphash::View;

/// The tag words of a key's candidate buckets, in lane order.
template <class Shape>
struct TagWords {
  std::uint64_t word[gphash::kMaxLanes];
};
template <unsigned L, unsigned H, unsigned S, class Keys>
struct TagWords<gphash::FixedShape<L, H, S, Keys>> {
  std::uint64_t word[L * H * ((S + 7) / 8)];
};

/// What a CPU's tiles demand of their memory for values. A cell that is written is the caller's own; one that is read does not change.
template <class M>
concept ByteMemory = requires(const M& memory, std::byte* to, const std::byte* from, std::size_t bytes) {
  // Copies an operation's array, or a cell, into a cell; and a cell into an array. Order nothing. No bytes may be at no address.
  { memory.write_bytes(to, from, bytes) } -> std::same_as<void>;
  { memory.read_bytes(to, from, bytes) } -> std::same_as<void>;
};

/// What every CPU tile has; `Tile` is the derived one.
struct TileBase {
  /// Runs `act` in one lane; all get its result.
  template <class F>
  auto once(F&& act) const {
    return act();
  }

  template <pool::VolatileWords Memory>
  std::uint64_t peek(const Memory& memory, const std::uint64_t* word) const {
    return memory.peek(word);
  }

  /// The foremost of the `hits` lanes whose slot is occupied by the key.
  template <gphash::KeyMemory Memory, class Shape>
  Item first_item(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates,
                  LaneMask hits) const {
    for (; hits != 0; hits &= hits - 1) {
      const unsigned lane = lowest_bit(hits);
      Slot* const slot = candidates.slot(view, lane);
      std::uint64_t word = 0;
      if (gphash::ItemKindOf<Shape>::load_item(memory, view, candidates, slot, word)) return {slot, word, lane};
    }
    return {};
  }

  template <class Memory, class Shape>
  bool stands(const Memory&, const View<Shape>&, const Candidates<Shape>&, LaneMask) const {
    return true;  // it has no copies of some slots
  }
  template <pool::WritableMemory Memory, class Shape>
  void flush_slots(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates,
                   LaneMask hits) const {
    for (; hits != 0; hits &= hits - 1) memory.flush(candidates.slot(view, lowest_bit(hits)), view.slot_bytes());
  }

  // Values: user's arrays on one side, cells on the other.
  template <ByteMemory Memory>
  void write_cell(const Memory& memory, std::byte* cell, const std::byte* from, std::size_t bytes) const {
    memory.write_bytes(cell, from, bytes);
  }
  template <ByteMemory Memory>
  void write_pair(const Memory& memory, std::byte* cell, const gphash::PairHeader& header, const gphash::Part& key,
                  const gphash::Part& value) const {
    memory.write_bytes(cell, reinterpret_cast<const std::byte*>(&header), sizeof header);
    memory.write_bytes(cell + sizeof header, key.data, key.size);
    memory.write_bytes(cell + sizeof header + key.size, value.data, value.size);
  }
  template <ByteMemory Memory>
  void copy_cell(const Memory& memory, std::byte* cell, const std::byte* from, std::size_t bytes) const {
    memory.write_bytes(cell, from, bytes);
  }
  template <ByteMemory Memory>
  void zero_cell(const Memory& memory, std::byte* cell, std::size_t bytes) const {
    static constexpr std::byte kZeros[64] = {};
    for (std::size_t at = 0; at < bytes; at += sizeof kZeros)
      memory.write_bytes(cell + at, kZeros, bytes - at < sizeof kZeros ? bytes - at : sizeof kZeros);
  }
  template <ByteMemory Memory>
  void read_cell(const Memory& memory, std::byte* to, const std::byte* cell, std::size_t bytes) const {
    memory.read_bytes(to, cell, bytes);
  }
  /// cell ← cell combined with the row, word by word.
  template <ByteMemory Memory>
  void combine_cell(const Memory& memory, std::byte* cell, const std::byte* row, std::size_t bytes,
                    const Combining& how) const {
    for (std::size_t at = 0; at < bytes; at += 8) {
      const std::size_t n = bytes - at < 8 ? bytes - at : 8;
      std::byte now[8] = {};
      memory.read_bytes(now, cell + at, n);
      std::byte sum[8];
      store_bytes(sum, combine_word(load_bytes(now, n), load_bytes(row + at, n), how), 8);
      memory.write_bytes(cell + at, sum, n);
    }
  }
  /// The same of bytes of a cell whose others stay.
  template <ByteMemory Memory>
  void write_column(const Memory& memory, std::byte* to, const std::byte* from, std::size_t bytes) const {
    write_cell(memory, to, from, bytes);
  }
  template <ByteMemory Memory>
  void combine_column(const Memory& memory, std::byte* to, const std::byte* row, std::size_t bytes,
                      const Combining& how) const {
    combine_cell(memory, to, row, bytes, how);
  }

  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const {
    if (bytes != 0) std::memmove(to, from, bytes);
  }
  void zero(std::byte* to, std::size_t bytes) const { std::memset(to, 0, bytes); }
};

/// Works on any machine and for any configuration.
struct PortableTile : TileBase {
  static constexpr const char* kName = "portable";

  template <pool::VolatileWords Memory, class Shape>
  TagWords<Shape> load_tags(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates) const {
    TagWords<Shape> tags;
    if (candidates.is_reserved()) {
      tags.word[0] = memory.peek(candidates.tags(view, 0, 0));
      return tags;
    }
    const unsigned per_bucket = view.words_per_bucket();
    std::uint64_t* to = tags.word;
    for (unsigned rank = 0; rank < view.shape.levels(); ++rank) {
      for (unsigned j = 0; j < view.shape.hashes(); ++j) {
        const std::uint64_t* const from = candidates.tags(view, rank, j);
        for (unsigned i = 0; i < per_bucket; ++i) *to++ = memory.peek(from + i);
      }
    }
    return tags;
  }

  /// The lanes whose tag equals `tag`.
  template <class Shape>
  LaneMask match(const View<Shape>& view, const Candidates<Shape>& candidates, const TagWords<Shape>& tags,
                 std::uint8_t tag) const {
    if (candidates.is_reserved()) return gphash::match_word(tags.word[0], tag) & 1;
    const unsigned slots = view.shape.slots();
    const unsigned buckets = view.shape.levels() * view.shape.hashes();
    const std::uint64_t* word = tags.word;
    LaneMask mask = 0;
    for (unsigned i = 0; i < buckets; ++i) {
      LaneMask bucket = 0;
      for (unsigned at = 0; at < slots; at += 8) bucket |= gphash::match_word(*word++, tag) << at;
      mask |= (bucket & lanes(slots)) << (i * slots);
    }
    return mask;
  }
};

}  // namespace holdfast::gphash::cpu

// level.hpp: GPHash's level table (2L-2H-8S) with nothing of it in GPU memory: every slot is read over the link, operation by
// operation. With Thread it is warp-agnostic, as a port of Clevel hashing is; with Warp it reads all candidates at once.
//
// `kInPlace`: a slot holds the key. Otherwise it holds 16 bits of its hash, and the key lies before the value, as in indexes
// that store pointers to pairs. It does not grow and moves nothing, and the key 0 is the mark of an empty slot.
//
// An insert writes the value and the slot's second word, fences, writes the first, which makes it count, and fences. Which of
// several inserts gets a slot is decided by a bit in GPU memory (rule 13), so nobody spins on host memory. An update writes
// a cell, fences, and swaps the slot's second word. An erase zeroes the first.
#pragma once

#include "../frame/keys.hpp"
#include "cells.hpp"
#include "holdfast/status.hpp"

namespace holdfast::bench {

template <bool kInPlace>
struct Level {
  static constexpr unsigned kSlots = 8, kPlaces = 32;

  Words* slots = nullptr;            ///< the upper level's, then the lower's
  unsigned upper_bits = 0;           ///< the upper level has 2^upper_bits buckets, the lower half of them
  std::uint32_t* claimed = nullptr;  ///< in GPU memory, a bit a slot: taken by an insert of this batch
  Cells cells;
  unsigned value_words = 0;

  static constexpr unsigned kKeyWords = kInPlace ? 0 : 2;  ///< of a cell: the key, and a word for alignment
  RIVAL_BOTH static std::uint64_t slot_count(unsigned upper_bits) { return (std::uint64_t{12} << upper_bits); }

  /// The numbers of a key's candidate slots.
  struct Candidates {
    std::uint64_t bucket[4];
    RIVAL_BOTH std::uint64_t slot(unsigned i) const { return bucket[i / kSlots] * kSlots + i % kSlots; }
  };
  RIVAL_BOTH Candidates candidates(std::uint64_t key) const {
    const std::uint64_t hash = mix(key ^ kOdd), again = mix(hash + 1);
    const std::uint64_t a = hash >> (64 - upper_bits), b = again >> (64 - upper_bits);
    const std::uint64_t lower = std::uint64_t{1} << upper_bits;
    return {{a, b, lower + a / 2, lower + b / 2}};
  }
  RIVAL_BOTH static std::uint64_t mark(std::uint64_t key) {
    return kInPlace ? key : (mix(key + 1) & 0xffff) | 0x1'0000;
  }
  RIVAL_BOTH bool holds(const Words& slot, std::uint64_t key) const {
    if (slot.first != mark(key)) return false;
    return kInPlace || read(reinterpret_cast<const Words*>(cells.at(slot.second))).first == key;
  }

  struct Found {
    Words* slot = nullptr;
    std::uint64_t cell = 0;
  };
  template <class Tile>
  RIVAL_BOTH Found look(const Tile& tile, std::uint64_t key) const {
    const Candidates where = candidates(key);
    Words words;
    const unsigned i = tile.template first<kPlaces>([&](unsigned n) { return read(slots + where.slot(n)); },
                                                    [&](const Words& slot) { return holds(slot, key); }, words);
    if (i == kPlaces) return {};
    return {slots + where.slot(i), words.second};
  }

  template <class Tile>
  RIVAL_BOTH Status find(const Tile& tile, std::uint64_t key, std::uint64_t* out) const {
    const Found found = look(tile, key);
    if (found.slot == nullptr) return Status::not_found;
    tile.copy(out, cells.at(found.cell) + kKeyWords, value_words);
    return Status::found;
  }

  template <class Tile>
  RIVAL_BOTH Status insert(const Tile& tile, std::uint64_t key, const std::uint64_t* value) const {
    const Candidates where = candidates(key);
    const Masks masks = tile.template masks<kPlaces>([&](unsigned n) {
      const Words slot = read(slots + where.slot(n));
      return holds(slot, key) ? Match::hit : slot.first == 0 ? Match::empty : Match::other;
    });
    if (masks.hits != 0) return Status::exists;
    for (std::uint32_t empty = masks.empty; empty != 0;) {
      const unsigned i = in_emptiest(empty);
      const std::uint64_t slot = where.slot(i);
      const std::uint32_t bit = 1u << slot % 32;
      if (tile.once([&] { return std::uint64_t{set_bits(claimed + slot / 32, bit) & bit}; }) == 0) {
        fill(tile, slots + slot, key, value);
        return Status::inserted;
      }
      empty &= ~(1u << i);
    }
    return Status::no_space;
  }

  template <class Tile>
  RIVAL_BOTH Status assign(const Tile& tile, std::uint64_t key, const std::uint64_t* value) const {
    const Found found = look(tile, key);
    if (found.slot == nullptr) return Status::not_found;
    const std::uint64_t cell = place(tile, key, value);
    tile.fence();
    tile.once([&] {
      const std::uint64_t old = exchange(&found.slot->second, cell);
      fence_thread();
      cells.give(old);
      return old;
    });
    return Status::updated;
  }

  template <class Tile>
  RIVAL_BOTH Status erase(const Tile& tile, std::uint64_t key) const {
    const Found found = look(tile, key);
    if (found.slot == nullptr) return Status::not_found;
    tile.once([&] {
      write(&found.slot->first, 0);
      fence_thread();
      cells.give(found.cell);
      return 0;
    });
    return Status::erased;
  }

 private:
  /// Of the least loaded candidate bucket, the lowest of these places (GPHash §3.2.3).
  RIVAL_BOTH static unsigned in_emptiest(std::uint32_t empty) {
    unsigned best = 0;
    for (unsigned b = 1; b < 4; ++b)
      if (ones(empty >> 8 * b & 0xff) > ones(empty >> 8 * best & 0xff)) best = b;
    return lowest(empty >> 8 * best & 0xff) + 8 * best;
  }
  template <class Tile>
  RIVAL_BOTH std::uint64_t place(const Tile& tile, std::uint64_t key, const std::uint64_t* value) const {
    const std::uint64_t cell = tile.once([&] { return cells.take(); });
    if (!kInPlace) tile.once([&] { return write(cells.at(cell), key), 0; });
    tile.copy(cells.at(cell) + kKeyWords, value, value_words);
    return cell;
  }
  template <class Tile>
  RIVAL_BOTH void fill(const Tile& tile, Words* slot, std::uint64_t key, const std::uint64_t* value) const {
    const std::uint64_t cell = place(tile, key, value);
    tile.once([&] { return write(&slot->second, cell), 0; });
    tile.fence();
    tile.once([&] {
      write(&slot->first, mark(key));
      fence_thread();
      return 0;
    });
  }
};

}  // namespace holdfast::bench

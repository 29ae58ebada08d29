// slabs.hpp: a table of chained slabs, as SlabHash has them (Ashkiani et al., IPDPS 2018), in host memory and with an undo log.
//
// A slab is 128 bytes: seven pairs of a key and the number of its value's cell, and where the next slab is. A warp reads one
// with a single request, and follows the chain. Keys have no fingerprints.
//
// Whoever changes a bucket holds its lock, a word in GPU memory: one try an attempt, and then the warp goes on with its other
// operations. Each change of 16 bytes, under the lock: the value and an entry of the undo log with what is there, a fence; the
// change, a fence; the entry is voided, a fence. An entry counts if its last word fits the others, so that a torn one does not.
#pragma once

#include "../frame/keys.hpp"
#include "cells.hpp"
#include "holdfast/status.hpp"

namespace holdfast::bench {

struct Slab {
  static constexpr unsigned kPairs = 7;
  Words pair[kPairs];  ///< key, cell; the key 0 is the mark of an empty pair
  Words tail;          ///< 1 + the number of the next slab, or 0
};
static_assert(sizeof(Slab) == 128);

/// What was at an offset from the slabs before it was changed.
struct UndoEntry {
  std::uint64_t offset, first, second, seal;
  RIVAL_BOTH static std::uint64_t sealed(std::uint64_t offset, const Words& old) {
    return mix(mix(mix(offset + 1) ^ old.first) + old.second) | 1;
  }
};
static_assert(sizeof(UndoEntry) == 32);

struct Slabs {
  Slab* slabs = nullptr;
  std::uint64_t buckets = 0,
                slab_count = 0;          ///< below 2^32; the first slab of each bucket comes first, the others follow
  std::uint32_t* locks = nullptr;        ///< (buckets,) in GPU memory
  std::uint64_t* slabs_taken = nullptr;  ///< in GPU memory: of those that follow
  UndoEntry* log = nullptr;              ///< one for each tile that may run at a time
  Cells cells;
  unsigned value_words = 0;

  RIVAL_BOTH std::uint64_t bucket(std::uint64_t key) const { return (mix(key ^ kOdd) >> 32) * buckets >> 32; }
  /// One try.
  template <class Tile>
  RIVAL_BOTH bool lock(const Tile& tile, std::uint64_t key) const {
    return tile.once([&] { return std::uint64_t{set_bits(locks + bucket(key), 1)}; }) == 0;
  }
  template <class Tile>
  RIVAL_BOTH void unlock(const Tile& tile, std::uint64_t key) const {
    tile.fence();
    tile.once([&] {
      *static_cast<volatile std::uint32_t*>(locks + bucket(key)) = 0;
      return 0;
    });
  }

  template <class Tile>
  RIVAL_BOTH Status find(const Tile& tile, std::uint64_t key, std::uint64_t* out) const {
    const Walk at = walk(tile, key);
    if (at.pair == nullptr) return Status::not_found;
    tile.copy(out, cells.at(at.old.second), value_words);
    return Status::found;
  }

  // Under the lock of the key's bucket; `mine` is the tile's entry of the log.
  template <class Tile>
  RIVAL_BOTH Status insert(const Tile& tile, std::uint64_t key, const std::uint64_t* value, UndoEntry* mine) const {
    const Walk at = walk(tile, key);
    if (at.pair != nullptr) return Status::exists;
    Slab* fresh = nullptr;
    if (at.empty == nullptr) {
      const std::uint64_t number = buckets + tile.once([&] { return add(slabs_taken, 1); });
      if (number >= slab_count) return Status::no_space;
      fresh = slabs + number;
    }
    const std::uint64_t cell = place(tile, value);
    if (fresh == nullptr) {
      change(tile, at.empty, {}, {key, cell}, mine);
      return Status::inserted;
    }
    tile.once([&] {
      write(&fresh->pair[0].first, key);
      write(&fresh->pair[0].second, cell);
      return 0;
    });
    change(tile, &at.last->tail, {}, {static_cast<std::uint64_t>(fresh - slabs) + 1, 0}, mine);
    return Status::inserted;
  }

  template <class Tile>
  RIVAL_BOTH Status assign(const Tile& tile, std::uint64_t key, const std::uint64_t* value, UndoEntry* mine) const {
    const Walk at = walk(tile, key);
    if (at.pair == nullptr) return Status::not_found;
    change(tile, at.pair, at.old, {key, place(tile, value)}, mine);
    tile.once([&] { return cells.give(at.old.second), 0; });
    return Status::updated;
  }

  template <class Tile>
  RIVAL_BOTH Status erase(const Tile& tile, std::uint64_t key, UndoEntry* mine) const {
    const Walk at = walk(tile, key);
    if (at.pair == nullptr) return Status::not_found;
    change(tile, at.pair, at.old, {}, mine);
    tile.once([&] { return cells.give(at.old.second), 0; });
    return Status::erased;
  }

  /// Takes back what a crash left half-done.
  RIVAL_BOTH void undo(UndoEntry* entry) const {
    const Words old{entry->first, entry->second};
    if (entry->seal == UndoEntry::sealed(entry->offset, old)) {
      *reinterpret_cast<Words*>(reinterpret_cast<std::byte*>(slabs) + entry->offset) = old;
    }
    entry->seal = 0;
  }

 private:
  /// Where a key is, and where it could go.
  struct Walk {
    Words* pair = nullptr;
    Words old;
    Words* empty = nullptr;
    Slab* last = nullptr;
  };
  template <class Tile>
  RIVAL_BOTH Walk walk(const Tile& tile, std::uint64_t key) const {
    Walk at;
    std::uint64_t number = bucket(key);
    for (std::uint64_t n = 0; n < slab_count; ++n) {  // no chain is longer
      at.last = slabs + number;
      const Words* const words = at.last->pair;
      const auto seen = tile.template look<Slab::kPairs + 1>([&](unsigned i) { return read(words + i); });
      const Masks masks = tile.template masks<Slab::kPairs + 1>(seen, [&](unsigned i, const Words& pair) {
        if (i == Slab::kPairs) return Match::other;
        return pair.first == key ? Match::hit : pair.first == 0 ? Match::empty : Match::other;
      });
      if (masks.hits != 0) {
        at.pair = at.last->pair + lowest(masks.hits);
        at.old = seen.at(lowest(masks.hits));
        return at;
      }
      if (masks.empty != 0 && at.empty == nullptr) at.empty = at.last->pair + lowest(masks.empty);
      const std::uint64_t next = seen.at(Slab::kPairs).first;
      if (next == 0) break;
      number = next - 1;
    }
    return at;
  }

  template <class Tile>
  RIVAL_BOTH std::uint64_t place(const Tile& tile, const std::uint64_t* value) const {
    const std::uint64_t cell = tile.once([&] { return cells.take(); });
    tile.copy(cells.at(cell), value, value_words);
    return cell;
  }

  template <class Tile>
  RIVAL_BOTH void change(const Tile& tile, Words* where, const Words& old, const Words& now, UndoEntry* mine) const {
    tile.once([&] {
      const std::uint64_t offset =
          static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(where) - reinterpret_cast<std::byte*>(slabs));
      write(&mine->offset, offset);
      write(&mine->first, old.first);
      write(&mine->second, old.second);
      write(&mine->seal, UndoEntry::sealed(offset, old));
      return 0;
    });
    tile.fence();
    tile.once([&] {
      write(&where->second, now.second);
      write(&where->first, now.first);
      fence_thread();
      write(&mine->seal, 0);
      fence_thread();
      return 0;
    });
  }
};

}  // namespace holdfast::bench

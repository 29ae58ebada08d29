// minimal_policies.hpp: policies for GPHash's protocol that have the members which its concepts list, and no other. One thread uses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "heap/slab.hpp"
#include "structures/gphash/protocol/find.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/tile_concept.hpp"

namespace holdfast::gphash {

/// Cells are never used again. Pairs are of one class, and lie in the first slab after the directory.
struct MinimalMemory {
  static constexpr bool kReadersFlush = false, kColumns = true, kNotesReads = false;
  static bool keeps(Step) { return true; }

  std::uint64_t load(const std::uint64_t* word) const { return *word; }
  void store(std::uint64_t* word, std::uint64_t value) const { *word = value; }
  void flush(const void*, std::size_t) const {}
  void fence() const {}
  void order(const Slot*) const {}
  void store_pair(Slot* slot, std::uint64_t key, std::uint64_t word) const { *slot = {key, word}; }
  template <class Word>
  void store_words(std::uint64_t* to, unsigned count, const Word& word) const {
    for (unsigned i = 0; i < count; ++i) to[i] = word(i);
  }

  static std::uint64_t given_word(const std::byte* from) {
    std::uint64_t word;
    std::memcpy(&word, from, 8);
    return word;
  }
  std::uint64_t load_still(const std::uint64_t* word) const { return *word; }
  template <class Key>
  bool same_words(const std::uint64_t* words, const Key& key, unsigned count) const {
    for (unsigned i = 0; i < count; ++i) {
      if (words[i] != key.key_word(*this, i)) return false;
    }
    return true;
  }
  bool same_bytes(const std::byte* stored, const std::byte* given, std::size_t bytes) const {
    return std::memcmp(stored, given, bytes) == 0;
  }

  void show(Slot*, std::uint64_t, std::uint64_t) const {}
  void show_word(Slot*, std::uint64_t) const {}
  template <class Word>
  void show_words(std::uint64_t*, unsigned, const Word&) const {}
  void hide(Slot*) const {}

  std::uint64_t peek(const std::uint64_t* word) const { return *word; }
  void poke(std::uint64_t* word, std::uint64_t value) const { *word = value; }
  bool swap(std::uint64_t* word, std::uint64_t seen, std::uint64_t value) const {
    if (*word != seen) return false;
    *word = value;
    return true;
  }
  void put_byte(std::uint64_t* word, unsigned byte, std::uint8_t, std::uint8_t to) const {
    reinterpret_cast<std::uint8_t*>(word)[byte] = to;
  }

  std::uint64_t load_value(const std::uint64_t* word) const { return *word; }
  void store_value(std::uint64_t* word, std::uint64_t value) const { *word = value; }
  std::uint64_t take_cell(bool) const { return taken++; }
  void return_cell(std::uint64_t) const { ++returned; }
  void retire_cell(std::uint64_t) const { ++retired; }
  template <class S>
  std::uint64_t take_pair(const View<S>&, std::uint32_t bytes, bool) const {
    const unsigned size_class = heap::class_of(bytes);
    return heap::CellWord::of(heap::kSlabBytes + heap::class_bytes(size_class) * taken++, size_class, bytes).word;
  }
  void return_pair(std::uint64_t) const { ++returned; }
  void retire_pair(std::uint64_t) const { ++retired; }
  std::byte* take_bytes(Arena& arena, std::size_t bytes) const { return arena.take(bytes); }

  void count_items(int change) const { items += change; }
  void note_move(const Slot*, const Slot*) const { ++moves; }
  void count_retry() const {}

  mutable std::uint64_t taken = 0, returned = 0, retired = 0, moves = 0;
  mutable int items = 0;
};

/// For batches in phases.
struct MinimalPhases : MinimalMemory {
  Slot load_slot(const Slot* slot) const { return *slot; }
  void add(std::uint64_t* word, std::uint64_t amount) const { *word += amount; }
};

/// Looks at one slot after the other.
struct MinimalTile {
  template <class Act>
  auto once(const Act& act) const {
    return act();
  }
  template <class M>
  std::uint64_t peek(const M& memory, const std::uint64_t* word) const {
    return memory.peek(word);
  }
  struct Tags {
    std::uint8_t of[kMaxLanes];
  };
  template <class M, class S>
  Tags load_tags(const M& memory, const View<S>& view, const Candidates<S>& candidates) const {
    Tags tags{};
    for (unsigned i = 0; i < candidates.lane_count(view); ++i)
      tags.of[i] = tag_at(memory.peek(candidates.tag_word(view, i)), candidates.slot_in_bucket(view, i));
    return tags;
  }
  template <class S>
  LaneMask match(const View<S>& view, const Candidates<S>& candidates, const Tags& tags, std::uint8_t tag) const {
    LaneMask mask = 0;
    for (unsigned i = 0; i < candidates.lane_count(view); ++i) mask |= LaneMask{tags.of[i] == tag} << i;
    return mask;
  }
  template <class M, class S>
  Item first_item(const M& memory, const View<S>& view, const Candidates<S>& candidates, LaneMask hits) const {
    for (; hits != 0; hits &= hits - 1) {
      Slot* const slot = candidates.slot(view, lowest_bit(hits));
      if (holds_key(memory, view, candidates, slot)) return {slot, memory.load(&slot->word), lowest_bit(hits)};
    }
    return {};
  }
  template <class M, class S>
  void flush_slots(const M&, const View<S>&, const Candidates<S>&, LaneMask) const {}
  template <class M, class S>
  bool stands(const M&, const View<S>&, const Candidates<S>&, LaneMask) const {
    return true;
  }

  template <class M>
  void write_cell(const M&, std::byte* cell, const std::byte* from, std::size_t bytes) const {
    std::memcpy(cell, from, bytes);
  }
  template <class M>
  void read_cell(const M&, std::byte* to, const std::byte* cell, std::size_t bytes) const {
    std::memcpy(to, cell, bytes);
  }
  template <class M>
  void copy_cell(const M&, std::byte* cell, const std::byte* from, std::size_t bytes) const {
    std::memcpy(cell, from, bytes);
  }
  template <class M>
  void combine_cell(const M&, std::byte* cell, const std::byte* row, std::size_t bytes, const Combining& how) const {
    for (std::size_t at = 0; at < bytes; at += 8)
      store_bytes(cell + at, combine_word(load_bytes(cell + at, 8), load_bytes(row + at, 8), how), 8);
  }
  template <class M>
  void write_pair(const M&, std::byte* cell, const PairHeader& header, const Part& key, const Part& value) const {
    std::memcpy(cell, &header, sizeof header);
    std::memcpy(cell + sizeof header, key.data, key.size);
    std::memcpy(cell + sizeof header + key.size, value.data, value.size);
  }
  template <class M>
  void zero_cell(const M&, std::byte* cell, std::size_t bytes) const {
    std::memset(cell, 0, bytes);
  }
  template <class M>
  void write_column(const M& memory, std::byte* to, const std::byte* from, std::size_t bytes) const {
    write_cell(memory, to, from, bytes);
  }
  template <class M>
  void combine_column(const M& memory, std::byte* to, const std::byte* row, std::size_t n, const Combining& how) const {
    combine_cell(memory, to, row, n, how);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const { std::memmove(to, from, bytes); }
  void zero(std::byte* to, std::size_t bytes) const { std::memset(to, 0, bytes); }
};

}  // namespace holdfast::gphash

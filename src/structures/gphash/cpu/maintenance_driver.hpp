// maintenance_driver.hpp: what the CPU's driver does with a whole table: scans at open, second copies, resizing, emptying. Everything
// here depends on `Tile`, so that files compiled for different instruction sets share none of it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "reclaim/epochs.hpp"
#include "structures/gphash/cpu/bucket_items.hpp"
#include "structures/gphash/cpu/copy_search.hpp"
#include "structures/gphash/cpu/driver.hpp"
#include "structures/gphash/cpu/prefetch.hpp"
#include "structures/gphash/cpu/simd/tile.hpp"
#include "structures/gphash/protocol/recover.hpp"
#include "structures/gphash/slot_damage.hpp"

namespace holdfast::gphash::cpu {

/// The half of a driver that works on ranges of slots instead of rows of a batch.
template <class Tile, class Shape, bool kMayFlush>
class MaintenanceDriver : public Driver {
 protected:
  using Memory = CpuMemory<Tile, kMayFlush>;
  using Candidate = Candidates<Shape>;
  using Ask = Prefetch<Tile, Shape>;
  using Items = BucketItems<Tile, Shape>;

 public:
  MaintenanceDriver(const gphash::RuntimeShape& shape, const pool::Persist& persist) : persist_(persist) {
    if constexpr (!Shape::kFixed) view_.shape = Shape(shape);
    if constexpr (Shape::kFixed && Shape::kMayBeWide) view_.shape.key_words_ = shape.key_words_;
    static_cast<void>(shape);
  }

  const char* tile() const final { return Tile::kName; }
  void set_layout(const Layout& layout) final {
    view_ = view_as<Shape>(layout);
    layout_ = layout;
  }

  void scan(unsigned rank, std::uint64_t begin, std::uint64_t end, bool repair, heap::CellSet& cells,
            Scan& scan) const final {
    const CellFree owned(persist_);
    const Memory& memory = owned.memory;
    const gphash::View<Shape> view = view_;
    for (std::uint64_t bucket = begin; bucket < end; ++bucket) {
      std::uint64_t* const tags = view.tags + view.tag_index(rank, bucket);
      for (unsigned first = 0; first < view.shape.slots(); first += 8) {
        if (view.in_slot() && !view.wide()) {
          const Items items(view, rank, bucket, first);
          if (items.all_belong()) {  // as all do, but in damaged pools
            scan.items += count_bits(items.occupied());
            memory.poke(tags + first / 8, items.tags());
            continue;
          }
        }
        memory.poke(tags + first / 8, scan_slots(memory, rank, bucket, first, repair, cells, scan));
      }
    }
  }

  HOLDFAST_FLATTEN void drop_copies(unsigned rank, std::uint64_t begin, std::uint64_t end, bool repair,
                                    Scan& scan) const final {
    CellFree reader(persist_);
    const gphash::View<Shape> view = view_;
    CopySearch<Tile, Memory, Shape> search(reader.memory, view, repair, scan);
    for (std::uint64_t bucket = begin; bucket < end; ++bucket) {
      for (unsigned first = 0; first < view.shape.slots(); first += 8) {
        search.add(view, Items(view, rank, bucket, first), {rank, bucket, first});
      }
    }
    search.finish();
  }

  /// After a crash, or where a pool is damaged: small rather than fast.
  [[gnu::cold]] void drop_shared(Slot* slot, bool repair, Scan& scan) const final {
    const std::uint64_t key = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);
    if (key == 0) return;  // dropped with another of its copies
    const std::uint64_t before = scan.second_copies;
    CellFree reader(persist_);
    const Candidate candidates(view_, gphash::slot_key(view_, slot, key, slot->word));
    // Which copy counts is a matter of their places, whichever of the two the scan met first.
    for (LaneMask left = candidates.distinct(view_); left != 0; left &= left - 1) {
      const unsigned lane = lowest_bit(left);
      Slot* const other = candidates.slot(view_, lane);
      if (gphash::holds_key(reader.memory, view_, candidates, other) &&
          __atomic_load_n(&other->word, __ATOMIC_RELAXED) == __atomic_load_n(&slot->word, __ATOMIC_RELAXED)) {
        const auto [place, j] = candidates.place(view_, lane);
        const LaneMask hits =
            gphash::match_lanes(reader.memory, view_, candidates, gphash::lanes_before(view_, place, j));
        if (!gphash::holds_copy(reader.memory, view_, candidates, hits)) continue;
        drop_copy(reader.memory, view_, candidates, place, j, repair, scan);
      }
    }
    if (scan.second_copies == before) {
      scan.damage.push_back(describe_shared(layout_, __atomic_load_n(&slot->word, __ATOMIC_RELAXED)));
    }
  }

  void carry_tags(const Layout& from, const Layout& to, unsigned level, std::uint64_t begin,
                  std::uint64_t end) const final {
    CellFree reader(persist_);
    const auto source = view_as<Shape>(from);
    const auto target = view_as<Shape>(to);
    for (std::uint64_t bucket = begin; bucket < end; ++bucket) {
      gphash::carry_tags(reader.memory, source, target, level, bucket);
    }
  }

  void drain(const gphash::Drain& level, std::uint64_t begin, std::uint64_t end, bool recovering,
             Drained& drained) const final {
    const CellFree owned(persist_);
    const Memory& memory = owned.memory;
    const Tile tile;
    gphash::CopiedGroup<Shape> group;
    for (std::uint64_t i = begin; i < end; ++i) {
      if (i + 2 * kLinesAhead < end) prefetch_tags_of(view_.after(level.slots, i + 2 * kLinesAhead));
      if (i + kLinesAhead < end) prefetch_target_of(memory, level, i + kLinesAhead);
      const Slot* const slot = view_.after(level.slots, i);
      const std::uint64_t key = slot->key, word = slot->word;
      if (key == 0 && (word == 0 || view_.key_decides())) continue;
      if (recovering && !belongs(memory, level.number, i / view_.shape.slots(), slot, drained)) continue;
      gphash::Copied copied;
      gphash::Rehashed result = gphash::copy_up(tile, memory, view_, level, i, copied);
      // Copies that are not published cannot move out of the way: the group is settled before another try. ends: no thread keeps a claim
      // while it waits, nor copies that it has not published.
      while (result == gphash::Rehashed::busy || (result == gphash::Rehashed::needs_level && !group.is_empty())) {
        group.settle(memory, view_);
        __builtin_ia32_pause();
        result = gphash::copy_up(tile, memory, view_, level, i, copied);
      }
      if (result == gphash::Rehashed::copied) group.add(memory, view_, copied);
      drained.copied += result == gphash::Rehashed::copied;
      drained.above += result == gphash::Rehashed::above;
      if (result == gphash::Rehashed::needs_level) {
        drained.needs_level = true;
        return;
      }
    }
    group.settle(memory, view_);
  }

  void scan_reserved(bool repair, heap::CellSet& cells, Scan& scan) const final {
    const CellFree owned(persist_);
    const Memory& memory = owned.memory;
    std::uint64_t word = 0;
    std::uint8_t tag = gphash::kTagEmpty;
    switch (gphash::inspect_reserved(memory, view_, word)) {
      case gphash::SlotState::occupied:
        tag = Candidate(view_, 0).tag();
        ++scan.items;
        if (!view_.in_slot() && !mark_live(cells, word, scan)) {
          scan.damage.push_back("key 0 shares its cell with another key");
        }
        break;
      case gphash::SlotState::torn:
        ++scan.torn;
        if (repair) gphash::clear_torn(memory, view_.reserved_slot);
        break;
      case gphash::SlotState::empty: break;
      case gphash::SlotState::misplaced:
      case gphash::SlotState::no_cell: scan.damage.push_back("the reserved slot is damaged");
    }
    memory.poke(view_.tags + view_.reserved_index() + 1, tag);
  }

  void clear(Slot* first, std::uint64_t slots) const final {
    const CellFree owned(persist_);
    const Memory& memory = owned.memory;
    for (std::uint64_t i = 0; i < slots; ++i) {
      Slot* const slot = view_.after(first, i);
      if (!view_.key_decides()) memory.store(&slot->word, 0);
      memory.store(&slot->key, 0);
    }
    memory.flush(first, slots * view_.slot_bytes());
    memory.fence();
  }

  bool keeps(gphash::Step step) const final { return Memory::keeps(step); }

 protected:
  gphash::View<Shape> view_;
  Layout layout_;  ///< the same, for messages
  pool::Persist persist_;

 private:
  static constexpr std::size_t kLinesAhead = 16;

  /// A memory for work that takes and frees no cell.
  struct CellFree {
    explicit CellFree(const pool::Persist& persist) : memory(persist, cells, tally) {}
    reclaim::Epochs epochs;
    heap::Cells none{epochs};
    heap::ThreadCells cells{none};
    Tally tally;
    Memory memory;
  };

  /// Reads up to eight slots one by one, and returns their tag word.
  std::uint64_t scan_slots(const Memory& memory, unsigned rank, std::uint64_t bucket, unsigned first, bool repair,
                           heap::CellSet& cells, Scan& scan) const {
    std::uint64_t tags = 0;
    for (unsigned s = first; s < std::min(first + 8, view_.shape.slots()); ++s) {
      std::uint64_t key = 0, word = 0;
      std::uint8_t tag = 0;
      Slot* const slot = view_.slot(rank, bucket, s);
      const gphash::SlotState state = gphash::inspect_slot(memory, view_, rank, bucket, slot, key, word, tag);
      if (state == gphash::SlotState::empty) continue;
      if (state == gphash::SlotState::torn) {
        ++scan.torn;
        if (repair) gphash::clear_torn(memory, slot);
        continue;
      }
      if (state != gphash::SlotState::occupied) {
        if (scan.damage.size() < 16)
          scan.damage.push_back(describe({state, view_.top_level - rank, s, bucket, key, word}, layout_));
        continue;
      }
      tags |= std::uint64_t{tag} << (8 * (s - first));
      ++scan.items;
      if (!view_.in_slot() && !mark_live(cells, word, scan)) scan.shared_cells.push_back(slot);
    }
    return tags;
  }

  /// False if a slot that was read before names the cell, too.
  static bool mark_live(heap::CellSet& cells, std::uint64_t word, Scan& scan) {
    if (!cells.mark_live(word)) return false;
    scan.left += gphash::ItemKindOf<Shape>::left(word);
    return true;
  }

  // Rehashing looks this many items ahead: at the tags of an item, and later at the slot that it will likely take.
  void prefetch_tags_of(const Slot* slot) const {
    if (slot->key != 0) Ask::tags(view_, Candidate(view_, gphash::slot_key(view_, slot, slot->key, slot->word)));
  }
  void prefetch_target_of(const Memory& memory, const gphash::Drain& level, std::uint64_t number) const {
    const Slot* const slot = view_.after(level.slots, number);
    if (slot->key == 0) return;
    const Candidate candidates(view_, gphash::slot_key(view_, slot, slot->key, slot->word));
    const Tile tile;
    const LaneMask empty = tile.match(view_, candidates, tile.load_tags(memory, view_, candidates), gphash::kTagEmpty);
    if (empty == 0) return;
    const unsigned j = gphash::location_below(view_, candidates, level.number, number / view_.shape.slots());
    Ask::line(candidates.slot(view_, gphash::choose_lane_above(view_, candidates, empty, j)));
  }

  /// False, with a report, if a slot of a drained level holds what cannot be.
  bool belongs(const Memory& memory, unsigned level, std::uint64_t bucket, const Slot* slot, Drained& drained) const {
    const std::uint64_t key = slot->key, word = slot->word;
    if (!view_.key_decides() && (key == 0 || word == 0)) return true;  // torn: it is not copied
    const Candidate candidates(view_, gphash::slot_key(view_, slot, key, word));
    bool here = false;
    for (unsigned j = 0; j < view_.shape.hashes(); ++j) here |= top_bits(candidates.location(j), level) == bucket;
    here &= !view_.wide() || gphash::has_own_hash(memory, view_, slot, key);
    if (here && (view_.in_slot() || gphash::ItemKindOf<Shape>::has_cell(memory, view_, word))) return true;
    drained.damage.push_back(describe_misplaced(layout_, level, bucket, key));
    return false;
  }
};

}  // namespace holdfast::gphash::cpu

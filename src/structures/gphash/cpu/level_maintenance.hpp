// level_maintenance.hpp: keeps a table's levels and tags: recovers them, adds levels and drains them. It works alone on the table.
//
// A template over the pool, so that the model machine runs exactly this over its own pool (docs/internals/proof.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/bits.hpp"
#include "core/both.hpp"
#include "heap/cells.hpp"
#include "holdfast/error.hpp"
#include "structures/gphash/cpu/driver.hpp"
#include "structures/gphash/cpu/tag_memory.hpp"
#include "structures/gphash/protocol/claim.hpp"
#include "structures/gphash/table_shape.hpp"
#include "structures/gphash/view.hpp"
#include "threads/thread_team.hpp"

namespace holdfast::gphash::cpu {

/// What a machine decides about a table, beyond what its pool says.
struct TableOptions {
  std::uint32_t shared_bias = 0;
  bool may_move = true;
};

/// What recovery mended.
struct Mended {
  std::uint64_t torn = 0;
  std::uint64_t second_copies = 0;
  std::uint64_t rehashed = 0;  ///< items of drained levels that an interrupted resize had left
  std::uint64_t left = 0;      ///< bytes that variable-length pairs leave of their cells: nothing to mend
};

/// `Pool` is gphash::TableObject, or has the same: shape, level, reserved_slot, heap, cells, read_only, path, add_level and
/// release_level.
template <class Pool>
class LevelMaintenance {
 public:
  LevelMaintenance(Pool& pool, const TableOptions& options, Driver& driver, heap::CellSet& cells,
                   threads::ThreadTeam& workers)
      : pool_(pool), options_(options), driver_(driver), cells_(cells), workers_(workers) {}

  const Layout& layout() const { return layout_; }
  const Mended& mended() const { return mended_; }

  /// Builds everything volatile from the pool and mends it, unless it is read-only. Returns the number of items.
  /// May be killed at any access and run again. Throws PoolCorrupt. GPHash §3.2.3 "Recovery".
  std::uint64_t recover();

  /// Addresses a level that was just added, and drains the bottom one. Throws NoSpace; then nothing changed or, after
  /// the first level, the resize is unfinished and recovery or the next call ends it. GPHash §3.2.3 "Resizing", rule 17.
  void grow() {
    add_level();
    drain_lower_levels(false);
  }
  void add_level() {
    const unsigned top_level = layout_.top_level + 1;
    TagMemory tags = tags_for(top_level);  // what may find no memory comes first: nothing has changed yet
    carry_tags(top_level, tags);
    pool_.add_level(top_level);
    set_top_level(top_level, std::move(tags));
  }
  void drain() { drain_lower_levels(false); }

  /// The heap has grown.
  void take_cells() {
    layout_.cells = pool_.cells();
    layout_.heap = pool_.heap();
    driver_.set_layout(layout_);
  }
  /// Forgets all tags: every slot was emptied.
  void reset_tags() { std::fill_n(layout_.tags, layout_.tag_words(), 0); }

  /// Reads everything again, into other tags and `cells`, changing nothing. `wrong_tags`: words that did not agree.
  Scan verify(heap::CellSet& cells, std::uint64_t& wrong_tags);
  /// Claims on keys. Where nothing runs none is held.
  std::uint64_t held_claims() const;

 private:
  Layout layout_for(unsigned top_level) const {
    return layout_of(pool_, options_.shared_bias, options_.may_move, top_level);
  }
  TagMemory tags_for(unsigned top_level) const { return {layout_for(top_level).tag_words(), pool_.path()}; }
  void carry_tags(unsigned top_level, TagMemory& tags);
  void set_top_level(unsigned top_level, TagMemory tags);
  template <class Act>
  void each_part(Scan& total, const Act& act);
  Scan scan_table(heap::CellSet& cells, bool repair);
  void drop_second_copies(bool repair, Scan& total);
  void look_for_copies(bool repair, Scan& total);
  void drain_lower_levels(bool recovering);
  void refuse_damage(const std::vector<std::string>& damage) const;

  Pool& pool_;
  const TableOptions options_;
  Driver& driver_;
  heap::CellSet& cells_;
  threads::ThreadTeam& workers_;
  Layout layout_;
  TagMemory tags_;
  Mended mended_;
};

/// Part `i` of `n` of a range, in whole units of 64 so that parts seldom share a line.
inline std::pair<std::uint64_t, std::uint64_t> part_of(std::uint64_t size, unsigned i, unsigned n) {
  HOLDFAST_ASSERT(i < n);
  const std::uint64_t each = round_up((size + n - 1) / n, 64);
  return {std::min(size, i * each), std::min(size, (i + 1) * each)};
}

/// One thread is quicker than two where there is little to do.
inline unsigned threads_for(std::uint64_t slots) { return slots < (1 << 14) ? 1 : ~0u; }

/// Copies the tags of the levels that a table with `top_level` addresses too.
template <class Pool>
void LevelMaintenance<Pool>::carry_tags(unsigned top_level, TagMemory& tags) {
  Layout layout = layout_for(top_level);
  layout.tags = tags.words();
  for (unsigned level = layout.bottom_level(); level <= layout_.top_level; ++level) {
    const std::uint64_t buckets = std::uint64_t{1} << level;
    workers_.run(threads_for(buckets * layout.shape.slots()), [&](unsigned i, unsigned n) {
      const auto [begin, end] = part_of(buckets, i, n);
      driver_.carry_tags(layout_, layout, level, begin, end);
    });
  }
  layout.tags[layout.reserved_index() + 1] = layout_.tags[layout_.reserved_index() + 1];
}

/// Addresses `top_level` from now on.
template <class Pool>
void LevelMaintenance<Pool>::set_top_level(unsigned top_level, TagMemory tags) {
  Layout layout = layout_for(top_level);
  layout.tags = tags.words();
  tags_ = std::move(tags);
  layout_ = layout;
  driver_.set_layout(layout_);
}

/// Gives all workers parts of all buckets, and adds up what act(rank, begin, end, scan) found.
template <class Pool>
template <class Act>
void LevelMaintenance<Pool>::each_part(Scan& total, const Act& act) {
  std::mutex mutex;
  for (unsigned rank = 0; rank < layout_.shape.levels(); ++rank) {
    const std::uint64_t buckets = layout_.buckets(rank);
    workers_.run(threads_for(buckets * layout_.shape.slots()), [&](unsigned i, unsigned n) {
      Scan scan;
      const auto [begin, end] = part_of(buckets, i, n);
      act(rank, begin, end, scan);
      const std::lock_guard lock(mutex);
      total.add(scan);
    });
  }
}

/// Reads every slot of the addressed levels and the reserved slot: tags, live cells, torn slots, second copies.
template <class Pool>
Scan LevelMaintenance<Pool>::scan_table(heap::CellSet& cells, bool repair) {
  cells.begin(layout_.heap_view());
  Scan total;
  each_part(total, [&](unsigned rank, std::uint64_t begin, std::uint64_t end, Scan& scan) {
    driver_.scan(rank, begin, end, repair, cells, scan);
  });
  driver_.scan_reserved(repair, cells, total);
  if (total.damage.empty()) drop_second_copies(repair, total);
  cells.count_free();
  return total;
}

template <class Pool>
void LevelMaintenance<Pool>::drop_second_copies(bool repair, Scan& total) {
  if (!layout_.in_slot()) {
    for (gphash::Slot* const slot : total.shared_cells) driver_.drop_shared(slot, repair, total);
    return;
  }
  look_for_copies(repair, total);
}

/// Every item is looked for in all slots that come before its own.
template <class Pool>
void LevelMaintenance<Pool>::look_for_copies(bool repair, Scan& total) {
  each_part(total, [&](unsigned rank, std::uint64_t begin, std::uint64_t end, Scan& scan) {
    driver_.drop_copies(rank, begin, end, repair, scan);
  });
}

template <class Pool>
std::uint64_t LevelMaintenance<Pool>::recover() {
  const bool repair = !pool_.read_only();
  const unsigned top_level = pool_.shape().top_level;
  set_top_level(top_level, tags_for(top_level));
  Scan scan = scan_table(cells_, repair);
  refuse_damage(scan.damage);
  mended_ = {scan.torn, scan.second_copies, 0, 0};
  if (repair && pool_.shape().is_resizing && driver_.keeps(gphash::Step::finish_resize)) {
    // An item can lie below and above; which cells are live is known when it no longer does.
    drain_lower_levels(true);
    reset_tags();
    scan = scan_table(cells_, repair);
    refuse_damage(scan.damage);
  }
  mended_.left = scan.left;
  return scan.items;
}

/// Rehashes every level below the addressed ones, lowest first, and releases it. GPHash §3.2.3 "Resizing", rule 17.
template <class Pool>
void LevelMaintenance<Pool>::drain_lower_levels(bool recovering) {
  for (unsigned level = 0; level < layout_.bottom_level();) {
    gphash::Slot* const slots = pool_.level(level);
    if (slots == nullptr) {
      ++level;
      continue;
    }
    const std::uint64_t size = (std::uint64_t{1} << level) * layout_.shape.slots();
    std::mutex mutex;
    Drained total;
    workers_.run(threads_for(size), [&](unsigned i, unsigned n) {
      Drained drained;
      const auto [begin, end] = part_of(size, i, n);
      driver_.drain({slots, level}, begin, end, recovering, drained);
      const std::lock_guard lock(mutex);
      total.copied += drained.copied;
      total.above += drained.above;
      total.needs_level |= drained.needs_level;
      total.damage.insert(total.damage.end(), drained.damage.begin(), drained.damage.end());
    });
    mended_.rehashed += recovering ? total.copied + total.above : 0;
    refuse_damage(total.damage);
    if (total.needs_level) {
      add_level();
      continue;
    }
    pool_.release_level(level++);
  }
}

template <class Pool>
Scan LevelMaintenance<Pool>::verify(heap::CellSet& cells, std::uint64_t& wrong_tags) {
  const Layout believed = layout_;
  TagMemory fresh = tags_for(believed.top_level);
  TagMemory old_tags = std::move(tags_);
  Scan scan;
  try {
    set_top_level(believed.top_level, std::move(fresh));
    scan = scan_table(cells, false);
  } catch (...) {  // there is no memory to verify with, which is no reason to lose what the table works with
    tags_ = std::move(old_tags);
    layout_ = believed;
    driver_.set_layout(layout_);
    throw;
  }
  // Two items of one key with separate cells come from no crash, so recovery does not look for them.
  if (!layout_.in_slot() && !layout_.shape.variable_ && scan.damage.empty() && scan.shared_cells.empty())
    look_for_copies(false, scan);
  wrong_tags = 0;
  for (unsigned rank = 0; rank < layout_.shape.levels(); ++rank) {
    for (std::uint64_t bucket = 0; bucket < layout_.buckets(rank); ++bucket) {
      const std::uint64_t at = layout_.tag_index(rank, bucket);
      for (unsigned i = 0; i < layout_.words_per_bucket(); ++i)
        wrong_tags += layout_.tags[at + i] != believed.tags[at + i];
    }
  }
  return scan;
}

template <class Pool>
std::uint64_t LevelMaintenance<Pool>::held_claims() const {
  const std::uint64_t apart = std::uint64_t{layout_.words_per_bucket()} << layout_.shape.levels();
  std::uint64_t held = 0;
  for (std::uint64_t at = 0; at < layout_.reserved_index(); at += apart) held += gphash::is_claimed(layout_.tags[at]);
  return held + gphash::is_claimed(layout_.tags[layout_.reserved_index()]);
}

template <class Pool>
void LevelMaintenance<Pool>::refuse_damage(const std::vector<std::string>& damage) const {
  if (damage.empty()) return;
  throw PoolCorrupt(pool_.path() + " is damaged: " + damage.front() +
                    ". Restore it from a copy, or save what verifies with: holdfast recover --salvage OUT.csv " +
                    pool_.path());
}

}  // namespace holdfast::gphash::cpu

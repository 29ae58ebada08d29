// pair_phases.cpp: a batch of variable-length pairs in phases, as the GPU's driver schedules it (structures/gphash/cuda/pairs/pair_phases.cuh): plan,
// cells for all that need one, whose slabs are in the directory before anything names them, then place, commit, publish, retire.
#include <cstring>

#include "reclaim/epochs.hpp"
#include "structures/gphash/model/driver.hpp"
#include "structures/gphash/model/memory.hpp"
#include "structures/gphash/model/ordered_changes.hpp"
#include "structures/gphash/protocol/phases.hpp"
#include "structures/gphash/view.hpp"

namespace holdfast::gphash::model {

namespace {

using PairShape = gphash::RuntimeVariableShape;
using View = gphash::View<PairShape>;
using Candidates = gphash::Candidates<PairShape>;
using Tile = ModelTile<Flavour::resident>;
using Memory = cpu::CpuMemory<Tile, true>;

constexpr unsigned kMost = 4;
const pool::Persist kPairPersist{};

struct PhasedPair {
  gphash::Plan plan;
  std::uint64_t word = 0;
};

/// The rows of a batch, and what each is about.
struct PairRows {
  const View& view;
  const gphash::Rows& rows;
  const std::byte* keys;
  unsigned count;

  gphash::Part key(unsigned row) const { return {keys + std::size_t{8} * kKeyWords * row, 8 * kKeyWords}; }
  Candidates candidates(unsigned row) const {
    return Candidates(view, gphash::Key(gphash::hash_of(key(row), view.seed), key(row)));
  }
  bool same(unsigned row, unsigned other) const {
    return std::memcmp(key(row).data, key(other).data, key(row).size) == 0;
  }
  bool leads(unsigned row) const {
    for (unsigned i = 0; i < row; ++i) {
      if (same(i, row)) return false;
    }
    return true;
  }
  /// Of the rows before `end` with this row's key.
  gphash::Effect effect(unsigned row, unsigned end) const {
    gphash::Effect effect;
    for (unsigned i = 0; i < end; ++i) {
      if (same(i, row)) effect = gphash::combined(effect, gphash::effect_of(rows, i));
    }
    return effect;
  }
};

/// In the order of their slots (structures/gphash/protocol/phases.hpp).
class OrderedPairs : public OrderedChanges<kMost> {
 public:
  OrderedPairs(const PairRows& batch, const PhasedPair* pairs) {
    for (unsigned i = 0; i < batch.count; ++i) {
      const gphash::Plan& plan = pairs[i].plan;
      if (plan.change == gphash::Change::none) continue;
      const Candidates candidates = batch.candidates(i);
      add(gphash::slot_number(batch.view, candidates, plan.lane), plan.change,
          gphash::slot_after(batch.view, candidates, plan, pairs[i].word, gphash::Pass::whole));
    }
  }
};

void plan_pairs(const Memory& memory, const PairRows& batch, PhasedPair* pairs) {
  for (unsigned i = 0; i < batch.count; ++i) {
    const Candidates candidates = batch.candidates(i);
    const gphash::Item old = gphash::find_claimed(Tile{}, memory, batch.view, candidates);
    gphash::answer_row(batch.rows, i, batch.effect(i, i), static_cast<bool>(old));
    if (!batch.leads(i)) continue;
    const gphash::Effect whole = batch.effect(i, batch.count);
    const auto outcome = gphash::plan_run(Tile{}, memory, batch.view, whole, candidates, old, pairs[i].plan);
    HOLDFAST_ASSERT(outcome == gphash::Outcome::done);
    static_cast<void>(outcome);
    const gphash::Change change = pairs[i].plan.change;
    memory.count_items((change == gphash::Change::add) - (change == gphash::Change::remove));
  }
}

void commit_pairs(const Memory& memory, const View& view, const OrderedPairs& changes) {
  for (unsigned at = 0; at < changes.size(); ++at) {
    if (!gphash::leads_line(changes, at)) continue;
    const std::uint64_t first = gphash::line_of(changes.number(at)) * gphash::kLineSlots;
    for (std::uint64_t number = first; number < first + gphash::kLineSlots; ++number) {
      gphash::Slot* const slot = gphash::slot_at(view, number);
      if (slot != nullptr) gphash::commit_slot(memory, slot, gphash::after_pass(memory, slot, number, changes, at));
    }
  }
  if (memory.keeps(gphash::Step::fence_after_commit)) memory.fence();
}

}  // namespace

void run_pair_phases(const Layout& layout, const gphash::Rows& rows, const std::byte* keys, unsigned count,
                     cpu::Tally& tally) {
  HOLDFAST_ASSERT(count <= kMost);
  static reclaim::Epochs epochs;
  static heap::Cells none(epochs);
  static heap::ThreadCells no_cells(none);
  const Memory memory(kPairPersist, no_cells, tally);
  const View view = view_as<PairShape>(layout);
  const PairRows batch{view, rows, keys, count};
  PhasedPair pairs[kMost];
  plan_pairs(memory, batch, pairs);
  for (unsigned i = 0; i < count; ++i) {
    const gphash::Plan& plan = pairs[i].plan;
    if (!gphash::needs_cell(plan.change)) continue;
    const std::uint32_t bytes = gphash::pair_bytes(batch.key(i).size, rows.value_part(plan.held).size);
    pairs[i].word = memory.take_pair(view, bytes, plan.change == gphash::Change::add);
    HOLDFAST_ASSERT(pairs[i].word != 0);
  }
  for (unsigned i = 0; i < count; ++i) {
    if (pairs[i].word == 0) continue;
    const gphash::Part key = batch.key(i), value = rows.value_part(pairs[i].plan.held);
    std::byte* const cell = view.heap + heap::CellWord{pairs[i].word}.begin();
    Tile{}.write_pair(memory, cell, gphash::header_of(key, value), key, value);
  }
  if (memory.keeps(gphash::Step::fence_after_place)) memory.fence();
  commit_pairs(memory, view, OrderedPairs(batch, pairs));
  for (unsigned i = 0; i < count; ++i)
    gphash::publish_plan(memory, view, batch.candidates(i), pairs[i].plan, pairs[i].word);
  for (unsigned i = 0; i < count; ++i) {
    if (pairs[i].plan.old_word != 0) memory.retire_pair(pairs[i].plan.old_word);
  }
}

}  // namespace holdfast::gphash::model

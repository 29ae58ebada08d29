// driver.cpp: compiles src/structures/gphash/cpu/driver_impl.hpp once for each flavour of the model.
#include "structures/gphash/model/driver.hpp"

#include <cstring>

#include "structures/gphash/model/memory.hpp"
#include "structures/gphash/model/ordered_changes.hpp"
#include "structures/gphash/protocol/phases.hpp"
// After the policy that it is compiled with:
#include "structures/gphash/cpu/driver_impl.hpp"

namespace holdfast::gphash::model {

namespace {

const pool::Persist kPersist{};
constexpr unsigned kMaxPhased = 4;

template <class F>
auto with_flavour(Flavour flavour, const F& act) {
  switch (flavour) {
    case Flavour::process: return act(std::integral_constant<Flavour, Flavour::process>{});
    case Flavour::power: return act(std::integral_constant<Flavour, Flavour::power>{});
    case Flavour::resident: return act(std::integral_constant<Flavour, Flavour::resident>{});
    case Flavour::gpu: break;
  }
  return act(std::integral_constant<Flavour, Flavour::gpu>{});
}

/// The keys of a batch in phases.
class PhasedKeys {
 public:
  using View = gphash::View<gphash::RuntimeShape>;
  PhasedKeys(const View& view, const std::byte* keys) : view_(view), keys_(keys) {}

  const std::byte* at(unsigned row) const { return keys_ + row * view_.key_bytes(); }
  bool same(unsigned row, unsigned other) const { return std::memcmp(at(row), at(other), view_.key_bytes()) == 0; }
  gphash::Candidates<gphash::RuntimeShape> candidates(unsigned row) const {
    using Memory = cpu::CpuMemory<ModelTile<Flavour::resident>, true>;
    return {view_, gphash::given_key<Memory>(view_, at(row))};
  }

 private:
  const View& view_;
  const std::byte* keys_;
};

/// The changes of a batch in phases, in the order of their slots (structures/gphash/protocol/phases.hpp).
class PhasedChanges : public OrderedChanges<kMaxPhased> {
 public:
  using View = gphash::View<gphash::RuntimeShape>;
  using Candidates = gphash::Candidates<gphash::RuntimeShape>;
  PhasedChanges(const View& view, const PhasedKeys& keys, const gphash::Plan* plans, const std::uint64_t* words,
                unsigned count, gphash::Pass pass) {
    for (unsigned i = 0; i < count; ++i) {
      if (plans[i].change == gphash::Change::none) continue;
      const Candidates candidates = keys.candidates(i);
      add(gphash::slot_number(view, candidates, plans[i].lane), plans[i].change,
          gphash::slot_after(view, candidates, plans[i], words[i], pass));
    }
  }
};

/// The runs of a batch: the rows of each key, in array order, and what they do together.
class PhasedRuns {
 public:
  PhasedRuns(const gphash::Rows& rows, const PhasedKeys& keys, unsigned count)
      : rows_(rows), keys_(keys), count_(count) {}

  bool leads(unsigned row) const { return rows_of(row, row) == 0; }
  /// Of the rows with this row's key that come before it, and of all.
  gphash::Effect before(unsigned row) const { return of_rows(row, row); }
  gphash::Effect whole(unsigned row) const { return of_rows(row, count_); }
  /// How often they write (structures/gphash/protocol/effect.hpp).
  gphash::Writes writes(unsigned row) const {
    std::uint32_t its[kMaxPhased];
    const unsigned size = rows_of(row, count_, its);
    gphash::Writes writes;
    for (unsigned i = 0; i < size; ++i)
      writes = gphash::combined(writes, gphash::writes_of(rows_, its[i], before(its[i])));
    return writes;
  }
  unsigned all(unsigned row, std::uint32_t* to) const { return rows_of(row, count_, to); }

 private:
  /// The rows before `end` with this row's key.
  unsigned rows_of(unsigned row, unsigned end, std::uint32_t* to = nullptr) const {
    unsigned size = 0;
    for (unsigned i = 0; i < end; ++i) {
      if (!keys_.same(i, row)) continue;
      if (to != nullptr) to[size] = i;
      ++size;
    }
    return size;
  }
  gphash::Effect of_rows(unsigned row, unsigned end) const {
    std::uint32_t its[kMaxPhased];
    const unsigned size = rows_of(row, end, its);
    gphash::Effect effect;
    for (unsigned i = 0; i < size; ++i) effect = gphash::combined(effect, gphash::effect_of(rows_, its[i]));
    return effect;
  }

  const gphash::Rows& rows_;
  const PhasedKeys& keys_;
  unsigned count_;
};

/// The value that a row reads, which is no sum (structures/gphash/protocol/effect.hpp).
template <gphash::PhasedMemory Memory>
void read_held(const Memory& memory, const gphash::View<gphash::RuntimeShape>& view, const gphash::Rows& rows,
               std::size_t row, gphash::Held held, std::uint64_t old_word) {
  using Tile = ModelTile<Flavour::resident>;
  std::byte* const to = rows.result(row);
  if (held == gphash::kSum) return;
  if (held == gphash::kNothing) return Tile{}.zero(to, rows.value_bytes);
  if (held != gphash::kOld) return Tile{}.copy(to, rows.value(held), rows.value_bytes);
  if (view.in_slot()) return store_bytes(to, old_word >> (8 * rows.column), rows.value_bytes);
  Tile{}.read_cell(memory, to, view.cell(old_word - 1) + rows.column, rows.value_bytes);
}

constexpr unsigned kMaxWords = 2;

/// The value that a run makes of the one from before the batch; its rows that read one on the way are answered. `erased`: on the way, so
/// that of a value whose column they give nothing else stays.
template <gphash::PhasedMemory Memory>
void sum_run(const Memory& memory, const gphash::View<gphash::RuntimeShape>& view, const gphash::Rows& rows,
             const std::uint32_t* its, unsigned size, const gphash::Item& old, bool erased, std::uint64_t* value) {
  HOLDFAST_ASSERT(view.value_bytes <= 8 * kMaxWords);
  auto* const whole = reinterpret_cast<std::byte*>(value);
  if (old && view.in_slot()) value[0] = old.word;
  if (old && !view.in_slot())
    ModelTile<Flavour::resident>{}.read_cell(memory, whole, view.cell(old.word - 1), view.value_bytes);
  gphash::Word now[kMaxWords];
  const unsigned words = (rows.value_bytes + 7) / 8;
  for (unsigned w = 0; w < words; ++w) {
    const std::size_t left = rows.value_bytes - 8 * w;
    now[w] = {static_cast<bool>(old), load_bytes(whole + rows.column + 8 * w, left)};
    for (unsigned i = 0; i < size; ++i) {
      const Op op = rows.op_of(its[i]);
      now[w] = gphash::after_row(now[w], op, rows.combining(), load_bytes(rows.value(its[i]) + 8 * w, left));
      if (reads_value(op)) store_bytes(rows.result(its[i]) + 8 * w, now[w].bits, left);
    }
  }
  if (erased) std::memset(whole, 0, view.value_bytes);
  for (unsigned w = 0; w < words; ++w) store_bytes(whole + rows.column + 8 * w, now[w].bits, rows.value_bytes - 8 * w);
}

template <gphash::PhasedMemory Memory>
void commit_lines(const Memory& memory, const gphash::View<gphash::RuntimeShape>& view, const PhasedChanges& changes,
                  gphash::Pass pass) {
  for (unsigned at = 0; at < changes.size(); ++at) {
    if (!gphash::leads_line(changes, at) || !gphash::changes_line(changes, at, pass)) continue;
    const std::uint64_t first = gphash::line_of(changes.number(at)) * gphash::kLineSlots;
    for (std::uint64_t number = first; number < first + gphash::kLineSlots; ++number) {
      gphash::Slot* const slot = gphash::slot_at(view, number);
      if (slot != nullptr) gphash::commit_slot(memory, slot, gphash::after_pass(memory, slot, number, changes, at));
    }
  }
}

template <gphash::PhasedMemory Memory>
void commit_wide(const Memory& memory, const gphash::View<gphash::RuntimeShape>& view, const PhasedKeys& keys,
                 const gphash::Plan* plans, const std::uint64_t* words, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    if (plans[i].change != gphash::Change::add) continue;
    gphash::Slot* const slot = keys.candidates(i).slot(view, plans[i].lane);
    for (unsigned w = 0; w <= view.key_words(); ++w) gphash::commit_behind(memory, slot, w, words[i], keys.at(i));
  }
  if (memory.keeps(gphash::Step::fence_behind_fingerprints)) memory.fence();
  for (unsigned i = 0; i < count; ++i) {
    if (plans[i].change != gphash::Change::none)
      gphash::commit_head(memory, view, keys.candidates(i), plans[i], words[i]);
  }
}

/// The scores behind the values of a batch: all one, or frequencies that continue those of the items before.
template <gphash::PhasedMemory Memory>
void place_scores(const Memory& memory, const gphash::View<gphash::RuntimeShape>& view, const gphash::Rows& rows,
                  const PhasedRuns& runs, const gphash::Plan* plans, const std::uint64_t* words, unsigned count) {
  for (unsigned i = 0; view.scored() && i < count; ++i) {
    if (!gphash::needs_cell(plans[i].change)) continue;
    std::uint64_t score = rows.score;
    if (view.score == Score::frequency) {
      const gphash::Writes writes = runs.writes(i);
      const std::uint64_t old_word = plans[i].old_word;
      const bool there = old_word != 0;
      const std::uint64_t before =
          gphash::counts_on(writes, there) ? memory.load_value(view.score_of(old_word - 1)) : 0;
      score = gphash::more_frequent(before, gphash::count_of(writes, there));
    }
    memory.store_value(view.score_of(words[i] - 1), score);
  }
}

/// The slots of a batch. The passes change places, and one fence goes, where the model leaves their order out.
template <gphash::PhasedMemory Memory>
void commit_slots(const Memory& memory, const gphash::View<gphash::RuntimeShape>& view, const PhasedKeys& keys,
                  const gphash::Plan* plans, const std::uint64_t* words, unsigned count) {
  using gphash::Pass;
  const auto commit = [&](Pass pass) {
    commit_lines(memory, view, PhasedChanges(view, keys, plans, words, count, pass), pass);
  };
  if (view.wide()) {
    commit_wide(memory, view, keys, plans, words, count);
  } else if (!view.in_slot()) {
    commit(Pass::whole);
  } else {
    commit(Pass::values);
    if (memory.keeps(gphash::Step::order_value_before_key)) memory.fence();
    commit(Pass::keys);
  }
  if (memory.keeps(gphash::Step::fence_after_commit)) memory.fence();
}

}  // namespace

std::unique_ptr<cpu::Driver> make_model_driver(Flavour flavour, const gphash::RuntimeShape& shape) {
  return with_flavour(flavour, [&]<Flavour F>(std::integral_constant<Flavour, F>) -> std::unique_ptr<cpu::Driver> {
    if (shape.variable_) {
      return std::make_unique<cpu::DriverImpl<ModelTile<F>, gphash::RuntimeVariableShape, true>>(shape, kPersist);
    }
    return std::make_unique<cpu::DriverImpl<ModelTile<F>, gphash::RuntimeShape, true>>(shape, kPersist);
  });
}

gphash::Outcome apply_run(Flavour flavour, const gphash::View<gphash::RuntimeShape>& view, const gphash::Rows& rows,
                          unsigned count, const std::byte* key, const gphash::Permits& permits, cpu::Tally& tally) {
  return with_flavour(flavour, [&]<Flavour F>(std::integral_constant<Flavour, F>) {
    static reclaim::Epochs epochs;
    static heap::Cells none(epochs);
    static heap::ThreadCells no_cells(none);
    using Memory = cpu::CpuMemory<ModelTile<F>, true>;
    const Memory memory(kPersist, no_cells, tally);
    static constexpr std::uint32_t kIndices[] = {0, 1, 2, 3};
    const gphash::Run<std::uint32_t> run{kIndices, 0, count};
    const auto apply = [&]<class Shape>(const gphash::View<Shape>& seen, const gphash::Key& given) {
      for (;;) {
        const auto outcome =
            gphash::apply_run(ModelTile<F>{}, memory, seen, rows, run, gphash::Candidates<Shape>(seen, given), permits);
        if (outcome != gphash::Outcome::claim_missed) return outcome;
        ++tally.claim_misses;
      }
    };
    if (rows.value_offsets == nullptr) return apply(view, gphash::given_key<Memory>(view, key));
    const gphash::Part part{key, 8 * kKeyWords};
    return apply(gphash::view_as<gphash::RuntimeVariableShape>(view), {gphash::hash_of(part, view.seed), part});
  });
}

namespace {

/// Where slots have no copies, so that readers look into the pool, the keys are claimed.
template <Flavour F>
void run_phases_as(const gphash::View<gphash::RuntimeShape>& view, const gphash::Rows& rows, const std::byte* given,
                   unsigned count, cpu::Tally& tally) {
  HOLDFAST_ASSERT(is_gpu(F) && count <= kMaxPhased);
  constexpr bool kClaims = F != Flavour::resident;
  static reclaim::Epochs epochs;
  static heap::Cells none(epochs);
  static heap::ThreadCells no_cells(none);
  using Tile = ModelTile<F>;
  using Candidates = gphash::Candidates<gphash::RuntimeShape>;
  const cpu::CpuMemory<Tile, true> memory(kPersist, no_cells, tally);
  gphash::Plan plans[kMaxPhased];
  const PhasedKeys keys(view, given);
  const PhasedRuns runs(rows, keys, count);
  gphash::Item old[kMaxPhased];
  std::uint64_t words[kMaxPhased] = {}, sums[kMaxPhased][kMaxWords] = {};
  gphash::Held reads[kMaxPhased];
  for (unsigned i = 0; i < count; ++i) {
    const Candidates candidates = keys.candidates(i);
    old[i] = gphash::find_claimed(Tile{}, memory, view, candidates);
    reads[i] = gphash::answer_row(rows, i, runs.before(i), static_cast<bool>(old[i]));
    if (!runs.leads(i)) continue;
    const auto outcome = gphash::plan_run(Tile{}, memory, view, runs.whole(i), candidates, old[i], plans[i]);
    HOLDFAST_ASSERT(outcome == gphash::Outcome::done);
    static_cast<void>(outcome);
    memory.count_items((plans[i].change == gphash::Change::add) - (plans[i].change == gphash::Change::remove));
    if (gphash::needs_cell(plans[i].change) && !view.in_slot())
      words[i] = memory.take_cell(plans[i].change == gphash::Change::add) + 1;
    if (kClaims && plans[i].change != gphash::Change::none) gphash::claim_plan(memory, view, candidates);
  }
  for (unsigned i = 0; i < count; ++i) {
    if (!runs.leads(i) || !runs.whole(i).sums) continue;
    std::uint32_t its[kMaxPhased];
    sum_run(memory, view, rows, its, runs.all(i, its), old[i], runs.whole(i).erases != 0, sums[i]);
  }
  for (unsigned i = 0; i < count; ++i) {
    if (!gphash::needs_cell(plans[i].change)) continue;
    const std::byte* const value =
        plans[i].held == gphash::kSum ? reinterpret_cast<std::byte*>(sums[i]) : rows.value(plans[i].held);
    if (view.in_slot()) words[i] = load_bytes(value, view.value_bytes);
    if (!view.in_slot()) Tile{}.write_cell(memory, view.cell(words[i] - 1), value, view.value_bytes);
  }
  const bool scores_first = memory.keeps(gphash::Step::score_before_commit);
  if (scores_first) place_scores(memory, view, rows, runs, plans, words, count);
  if (memory.keeps(gphash::Step::fence_after_place) && !view.in_slot()) memory.fence();
  commit_slots(memory, view, keys, plans, words, count);
  if (!scores_first) place_scores(memory, view, rows, runs, plans, words, count);
  for (unsigned i = 0; i < count; ++i) gphash::publish_plan(memory, view, keys.candidates(i), plans[i], words[i]);
  for (unsigned i = 0; i < count; ++i) {
    if (kClaims && plans[i].change != gphash::Change::none) gphash::release_plan(memory, view, keys.candidates(i));
  }
  // The GPU answers rows beside the phases: this is as late as it can be.
  for (unsigned i = 0; i < count; ++i) {
    if (reads_value(rows.op_of(i))) read_held(memory, view, rows, i, reads[i], old[i].word);
  }
  for (unsigned i = 0; i < count; ++i) {
    if (plans[i].old_word != 0 && !view.in_slot()) memory.retire_cell(plans[i].old_word - 1);
  }
}

}  // namespace

void run_phases(Flavour flavour, const gphash::View<gphash::RuntimeShape>& view, const gphash::Rows& rows,
                const std::byte* given, unsigned count, cpu::Tally& tally) {
  with_flavour(flavour, [&]<Flavour F>(std::integral_constant<Flavour, F>) {
    if constexpr (is_gpu(F)) run_phases_as<F>(view, rows, given, count, tally);
  });
}

}  // namespace holdfast::gphash::model

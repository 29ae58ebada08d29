// driver.cpp: compiles src/machine/cpu/driver_impl.hpp once for each flavour of the model.
#include "machine/model/driver.hpp"

#include "index/phases.hpp"
#include "machine/model/memory.hpp"
// After the policy that it is compiled with:
#include "machine/cpu/driver_impl.hpp"

namespace holdfast::machine::model {

namespace {

const memory::Persist kPersist{};
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

/// The changes of a batch in phases, in the order of their slots (index/phases.hpp).
class PhasedChanges {
 public:
  using View = index::View<index::RuntimeShape>;
  using Candidates = index::Candidates<index::RuntimeShape>;
  PhasedChanges(const View& view, const std::uint64_t* keys, const index::Plan* plans, const std::uint64_t* words,
                unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      if (plans[i].change == index::Change::none) continue;
      const Candidates candidates(view, keys[i]);
      unsigned at = size_++;
      const std::uint64_t number = index::slot_number(view, candidates, plans[i].lane);
      for (; at > 0 && number_[at - 1] > number; --at) {
        number_[at] = number_[at - 1];
        after_[at] = after_[at - 1];
      }
      number_[at] = number;
      after_[at] = index::slot_after(candidates, plans[i], words[i]);
    }
  }
  unsigned size() const { return size_; }
  std::uint64_t number(std::uint64_t at) const { return number_[at]; }
  const index::Slot& after(std::uint64_t at) const { return after_[at]; }

 private:
  unsigned size_ = 0;
  std::uint64_t number_[kMaxPhased];
  index::Slot after_[kMaxPhased];
};

/// The runs of a batch: the rows of each key, in array order, and what they do together.
class PhasedRuns {
 public:
  PhasedRuns(const index::Rows& rows, const std::uint64_t* keys, unsigned count)
      : rows_(rows), keys_(keys), count_(count) {}

  bool leads(unsigned row) const { return rows_of(row, row) == 0; }
  /// Of the rows with this row's key that come before it, and of all.
  index::Effect before(unsigned row) const { return of_rows(row, row); }
  index::Effect whole(unsigned row) const { return of_rows(row, count_); }
  unsigned all(unsigned row, std::uint32_t* to) const { return rows_of(row, count_, to); }

 private:
  /// The rows before `end` with this row's key.
  unsigned rows_of(unsigned row, unsigned end, std::uint32_t* to = nullptr) const {
    unsigned size = 0;
    for (unsigned i = 0; i < end; ++i) {
      if (keys_[i] != keys_[row]) continue;
      if (to != nullptr) to[size] = i;
      ++size;
    }
    return size;
  }
  index::Effect of_rows(unsigned row, unsigned end) const {
    std::uint32_t its[kMaxPhased];
    const unsigned size = rows_of(row, end, its);
    index::Effect effect;
    for (unsigned i = 0; i < size; ++i) effect = index::combined(effect, index::effect_of(rows_.op_of(its[i]), its[i]));
    return effect;
  }

  const index::Rows& rows_;
  const std::uint64_t* keys_;
  unsigned count_;
};

/// The value that a row reads (index/effect.hpp).
template <class Memory>
void read_held(const Memory& memory, const index::View<index::RuntimeShape>& view, const index::Rows& rows,
               std::size_t row, index::Held held, std::uint64_t old_word) {
  using Tile = ModelTile<Flavour::resident>;
  std::byte* const to = rows.result(row);
  if (held == index::kUnsettled) return;
  if (held == index::kNothing) return Tile{}.zero(to, rows.value_bytes);
  if (held == index::kOld) return Tile{}.read_cell(memory, to, view.cell(old_word - 1), rows.value_bytes);
  Tile{}.copy(to, rows.value(held), rows.value_bytes);
}

/// A run that the phases leave to run.hpp.
template <class Memory>
void apply_left_over(const Memory& memory, const index::View<index::RuntimeShape>& view, const index::Rows& rows,
                     const PhasedRuns& runs, unsigned row, std::uint64_t key) {
  std::uint32_t its[kMaxPhased];
  const unsigned size = runs.all(row, its);
  const auto outcome =
      index::apply_run(ModelTile<Flavour::resident>{}, memory, view, rows, index::Run<std::uint32_t>{its, 0, size},
                       index::Candidates<index::RuntimeShape>(view, key), index::Permits{});
  HOLDFAST_ASSERT(outcome == index::Outcome::done);
  static_cast<void>(outcome);
}

template <class Memory>
void commit_lines(const Memory& memory, const index::View<index::RuntimeShape>& view, const PhasedChanges& changes) {
  for (unsigned at = 0; at < changes.size(); ++at) {
    if (!index::leads_line(changes, at)) continue;
    const std::uint64_t first = index::line_of(changes.number(at)) * index::kLineSlots;
    for (std::uint64_t number = first; number < first + index::kLineSlots; ++number) {
      index::Slot* const slot = index::slot_at(view, number);
      if (slot != nullptr) index::commit_slot(memory, slot, index::after_batch(memory, slot, number, changes, at));
    }
  }
}

}  // namespace

std::unique_ptr<cpu::Driver> make_model_driver(Flavour flavour, const index::RuntimeShape& shape) {
  return with_flavour(flavour, [&]<Flavour F>(std::integral_constant<Flavour, F>) -> std::unique_ptr<cpu::Driver> {
    return std::make_unique<cpu::DriverImpl<ModelTile<F>, index::RuntimeShape, true>>(shape, kPersist);
  });
}

index::Outcome apply_run(Flavour flavour, const index::View<index::RuntimeShape>& view, const index::Rows& rows,
                         unsigned count, std::uint64_t key, const index::Permits& permits, cpu::Tally& tally) {
  return with_flavour(flavour, [&]<Flavour F>(std::integral_constant<Flavour, F>) {
    static cpu::Epochs epochs;
    static cpu::Cells none(epochs);
    static cpu::CellPurse purse(none);
    const cpu::CpuMemory<ModelTile<F>, true> memory(kPersist, purse, tally);
    static constexpr std::uint32_t kIndices[] = {0, 1, 2, 3};
    const index::Run<std::uint32_t> run{kIndices, 0, count};
    for (;;) {
      const auto outcome = index::apply_run(ModelTile<F>{}, memory, view, rows, run,
                                            index::Candidates<index::RuntimeShape>(view, key), permits);
      if (outcome != index::Outcome::claim_missed) return outcome;
      ++tally.claim_misses;
    }
  });
}

void run_phases(Flavour flavour, const index::View<index::RuntimeShape>& view, const index::Rows& rows,
                const std::uint64_t* keys, unsigned count, cpu::Tally& tally) {
  HOLDFAST_ASSERT(flavour == Flavour::resident && count <= kMaxPhased);
  static cpu::Epochs epochs;
  static cpu::Cells none(epochs);
  static cpu::CellPurse purse(none);
  using Tile = ModelTile<Flavour::resident>;
  using Candidates = index::Candidates<index::RuntimeShape>;
  const cpu::CpuMemory<Tile, true> memory(kPersist, purse, tally);
  index::Plan plans[kMaxPhased];
  PhasedRuns runs(rows, keys, count);
  std::uint64_t words[kMaxPhased] = {}, old_words[kMaxPhased] = {};
  index::Held reads[kMaxPhased];
  bool left_over[kMaxPhased] = {};
  for (unsigned i = 0; i < count; ++i) {
    const Candidates candidates(view, keys[i]);
    const index::Item old = index::find_claimed(Tile{}, memory, view, candidates);
    old_words[i] = old.word;
    reads[i] = index::answer_row(rows, i, runs.before(i), static_cast<bool>(old));
    if (!runs.leads(i)) continue;
    const auto outcome = index::plan_run(Tile{}, memory, view, runs.whole(i), candidates, old, plans[i]);
    left_over[i] = outcome != index::Outcome::done;
    memory.count_items((plans[i].change == index::Change::add) - (plans[i].change == index::Change::remove));
    if (index::needs_cell(plans[i].change)) words[i] = memory.take_cell(plans[i].change == index::Change::add) + 1;
  }
  for (unsigned i = 0; i < count; ++i) {
    if (words[i] != 0) Tile{}.write_cell(memory, view.cell(words[i] - 1), rows.value(plans[i].row), rows.value_bytes);
  }
  if (memory.keeps(index::Step::fence_after_place)) memory.fence();
  commit_lines(memory, view, PhasedChanges(view, keys, plans, words, count));
  if (memory.keeps(index::Step::fence_after_commit)) memory.fence();
  for (unsigned i = 0; i < count; ++i) index::publish_plan(memory, view, Candidates(view, keys[i]), plans[i], words[i]);
  // The GPU answers rows beside the phases: this is as late as it can be.
  for (unsigned i = 0; i < count; ++i) {
    if (reads_value(rows.op_of(i))) read_held(memory, view, rows, i, reads[i], old_words[i]);
  }
  for (unsigned i = 0; i < count; ++i) {
    if (plans[i].old_word != 0) memory.retire_cell(plans[i].old_word - 1);
  }
  for (unsigned i = 0; i < count; ++i) {
    if (left_over[i]) apply_left_over(memory, view, rows, runs, i, keys[i]);
  }
}

}  // namespace holdfast::machine::model

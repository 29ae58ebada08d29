// runner.cpp: one caller's batches, over the shipped driver.
#include "machine/model/runner.hpp"

#include "core/both.hpp"
#include "machine/cpu/epochs.hpp"
#include "machine/model/driver.hpp"

namespace holdfast::machine::model {

namespace {

/// The driver wants a purse; the model's policy takes cells from the world instead.
cpu::CellPurse& no_purse() {
  static cpu::Epochs epochs;
  static cpu::Cells cells(epochs);
  static cpu::CellPurse purse(cells);
  return purse;
}

}  // namespace

struct Runner::Arrays {
  std::uint64_t keys[kKeyWords * kMaxBatch];
  std::uint64_t values[2 * kMaxBatch];
  std::uint64_t out[2 * kMaxBatch];
  Status statuses[kMaxBatch];
  std::uint8_t ops[kMaxBatch];
};

State decode(const std::uint64_t* words, unsigned value_bytes) {
  if (value_bytes <= 8) return words[0];
  return words[1] == 3 * words[0] && words[0] != 0 ? words[0] : kTorn;
}

void encode(State value, std::uint64_t* words, unsigned value_bytes) {
  words[0] = value;
  if (value_bytes > 8) words[1] = 3 * value;
}

void Runner::run(Operation* operations, unsigned count, bool as_run, const cpu::Layout& layout, bool in_phases) {
  HOLDFAST_ASSERT(count <= kMaxBatch);
  Arrays arrays;
  cpu::Work work;
  const unsigned words = layout.value_bytes / 8;
  for (unsigned i = 0; i < count; ++i) {
    encode_key(operations[i].key, world_.shape(), arrays.keys + i * layout.key_words());
    arrays.ops[i] = static_cast<std::uint8_t>(operations[i].op);
    encode(operations[i].value, arrays.values + i * words, layout.value_bytes);
    work.changes |= holdfast::changes(operations[i].op);
  }
  work.keys = reinterpret_cast<const std::byte*>(arrays.keys);
  work.size = count;
  work.rows.values = reinterpret_cast<const std::byte*>(arrays.values);
  work.rows.out = reinterpret_cast<std::byte*>(arrays.out);
  work.rows.statuses = arrays.statuses;
  work.rows.ops = arrays.ops;
  work.rows.value_bytes = layout.value_bytes;
  unsigned at = 0, denied = ~0u;
  while (at < count) {
    const bool deny = at == denied;
    work.permits = {!deny, !deny};
    cpu::Progress progress;
    if (in_phases) {
      run_phases(world_.flavour(), layout, work.rows, work.keys, count, tally_);
      progress = {count, index::Outcome::done};
    } else if (as_run) {
      progress.outcome = apply_run(world_.flavour(), layout, work.rows, count, work.keys, work.permits, tally_);
      progress.next = progress.outcome == index::Outcome::done ? count : 0;
    } else {
      progress = driver_.run(work, at, deny ? at + 1 : count, no_purse(), tally_);
    }
    world_.leave(caller_);
    at = static_cast<unsigned>(progress.next);
    if (progress.outcome == index::Outcome::done) continue;
    if (progress.outcome == index::Outcome::needs_slot && grow_ != nullptr) {
      (*grow_)();
    } else {
      denied = at;
    }
  }
  answer(operations, count, arrays);
}

void Runner::answer(Operation* operations, unsigned count, const Arrays& arrays) const {
  const unsigned words = world_.shape().value_bytes / 8;
  for (unsigned i = 0; i < count; ++i) {
    Operation& operation = operations[i];
    operation.answered = true;
    operation.status = arrays.statuses[i];
    const bool there = operation.status != Status::not_found && operation.status != Status::no_space;
    operation.read =
        there && reads_value(operation.op) ? decode(arrays.out + i * words, world_.shape().value_bytes) : kAbsent;
  }
}

}  // namespace holdfast::machine::model

// runner.cpp: one caller's batches, over the shipped driver.
#include "structures/gphash/model/runner.hpp"

#include <cstring>
#include <utility>

#include "core/both.hpp"
#include "reclaim/epochs.hpp"
#include "structures/gphash/model/driver.hpp"

namespace holdfast::gphash::model {

namespace {

/// The driver wants a thread's cache of cells; the model's policy takes cells from the world instead.
heap::ThreadCells& no_cells() {
  static reclaim::Epochs epochs;
  static heap::Cells cells(epochs);
  static heap::ThreadCells none(cells);
  return none;
}

}  // namespace

struct Runner::Arrays {
  std::uint64_t keys[kKeyWords * kMaxBatch];
  std::uint64_t values[2 * kMaxBatch];
  std::uint64_t out[2 * kMaxBatch];
  std::uint64_t scores[kMaxBatch] = {};
  std::uint64_t key_offsets[kMaxBatch + 1] = {};
  std::uint64_t value_offsets[kMaxBatch + 1] = {};
  Blob blobs[kMaxBatch];
  alignas(8) std::byte storage[16 * kMaxBatch * 4];
  Status statuses[kMaxBatch];
  std::uint8_t ops[kMaxBatch];
};

State decode(const std::uint64_t* words, unsigned value_bytes, bool columns) {
  if (value_bytes <= 8) return words[0];
  if (columns) return words[0] >> 32 == 0 && words[1] >> 32 == 0 ? both_columns(words[0], words[1]) : kTorn;
  return words[1] == 3 * words[0] && words[0] != 0 ? words[0] : kTorn;
}

void encode(State value, std::uint64_t* words, unsigned value_bytes, bool columns) {
  words[0] = value;
  if (value_bytes > 8 && columns) {
    words[0] = value & 0xffff'ffff;
    words[1] = value >> 32;
    return;
  }
  if (value_bytes > 8) words[1] = 3 * value;
}

unsigned words_of(State value) { return value % 3 == 2 ? 2 : 1; }

State decode_variable(const void* bytes, std::size_t size) {
  std::uint64_t words[2] = {};
  if (size != 8 && size != 16) return kTorn;
  std::memcpy(words, bytes, size);
  return size == 8 * words_of(words[0]) ? decode(words, static_cast<unsigned>(size)) : kTorn;
}

void Runner::run(Operation* operations, unsigned count, bool as_run, const gphash::Layout& layout, bool in_phases) {
  HOLDFAST_ASSERT(count <= kMaxBatch);
  Arrays arrays;
  cpu::Work work;
  const bool variable = world_.shape().variable;
  const unsigned key_words = variable ? kKeyWords : layout.key_words();
  Arena arena(arrays.storage, sizeof arrays.storage);
  const unsigned column = operations[0].column;
  const unsigned row_bytes = column == 0 ? layout.value_bytes : layout.value_bytes / 2;
  std::uint64_t at_value = 0;
  for (unsigned i = 0; i < count; ++i) {
    encode_key(operations[i].key, world_.shape(), arrays.keys + i * key_words);
    arrays.ops[i] = static_cast<std::uint8_t>(operations[i].op);
    HOLDFAST_ASSERT(operations[i].column == column && (column == 0 || !reads_value(operations[i].op)));
    HOLDFAST_ASSERT(operations[i].step == operations[0].step);
    const unsigned bytes = variable ? 8 * words_of(operations[i].value) : row_bytes;
    std::byte* const value = reinterpret_cast<std::byte*>(arrays.values) + at_value;
    std::uint64_t words[2] = {operations[i].value};
    if (column == 0) encode(operations[i].value, words, bytes, world_.shape().columns);
    std::memcpy(value, words, bytes);
    arrays.key_offsets[i + 1] = 8 * key_words * (i + 1);
    arrays.value_offsets[i + 1] = at_value += bytes;
    work.changes |= holdfast::changes(operations[i].op);
  }
  work.keys = reinterpret_cast<const std::byte*>(arrays.keys);
  work.size = count;
  work.rows.values = reinterpret_cast<const std::byte*>(arrays.values);
  work.rows.out = reinterpret_cast<std::byte*>(arrays.out);
  work.rows.statuses = arrays.statuses;
  work.rows.ops = arrays.ops;
  work.rows.value_bytes = row_bytes;
  work.rows.column = column == 2 ? row_bytes : 0;
  work.rows.partial = column != 0;
  work.rows.score = operations[0].step;
  if (layout.scored() && !work.changes) work.rows.scores = arrays.scores;
  if (variable) {
    work.key_offsets = arrays.key_offsets;
    work.rows.value_offsets = arrays.value_offsets;
    work.rows.blobs = arrays.blobs;
    work.rows.arena = &arena;
    work.rows.out = nullptr;
  }
  unsigned at = 0, denied = ~0u;
  bool single = single_ && count == 1 && !as_run && !in_phases;
  while (at < count) {
    const bool deny = at == denied;
    work.permits = {!deny, !deny};
    cpu::Progress progress;
    if (in_phases && variable) {
      run_pair_phases(layout, work.rows, work.keys, count, tally_);
      progress = {count, gphash::Outcome::done};
    } else if (in_phases) {
      run_phases(world_.flavour(), layout, work.rows, work.keys, count, tally_);
      progress = {count, gphash::Outcome::done};
    } else if (as_run) {
      progress.outcome = apply_run(world_.flavour(), layout, work.rows, count, work.keys, work.permits, tally_);
      progress.next = progress.outcome == gphash::Outcome::done ? count : 0;
    } else if (std::exchange(single, false)) {  // what it cannot do, a batch does
      work.rows.ops = nullptr;
      work.rows.op = operations[0].op;
      progress.outcome = driver_.run_one(work, no_cells(), tally_);
      progress.next = progress.outcome == gphash::Outcome::done ? count : 0;
    } else {
      progress = driver_.run(work, at, deny ? at + 1 : count, no_cells(), tally_);
    }
    world_.leave(caller_);
    at = static_cast<unsigned>(progress.next);
    if (progress.outcome == gphash::Outcome::done) continue;
    if (progress.outcome == gphash::Outcome::needs_slot && grow_ != nullptr) {
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
    if (world_.shape().variable) {
      const Blob& read = arrays.blobs[i];
      operation.read = there && reads_value(operation.op) ? decode_variable(read.data, read.size) : kAbsent;
      continue;
    }
    operation.read = there && reads_value(operation.op)
                         ? decode(arrays.out + i * words, world_.shape().value_bytes, world_.shape().columns)
                         : kAbsent;
    if (world_.shape().score == Score::none || operation.read == kAbsent) continue;
    HOLDFAST_ASSERT(operation.op == Op::find);  // of a batch that only searches
    operation.read = with_score(operation.read, arrays.scores[i]);
  }
}

}  // namespace holdfast::gphash::model

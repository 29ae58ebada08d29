// recorder.cpp: concurrent callers with logs, and the way from logs to what the checker takes.
#include "recorder.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>

#include "callers.hpp"
#include "support/random.hpp"

namespace holdfast::test::linear {
namespace {

constexpr unsigned kFillers = 24;  ///< keys that nobody looks at, inserted to make the table grow meanwhile

void fill_value(void* value, std::size_t bytes, std::uint64_t number) {
  for (std::size_t at = 0; at < bytes; at += 8) std::memcpy(static_cast<char*>(value) + at, &number, 8);
}

Op pick_op(Random& random, bool accumulates) {
  const Op op = static_cast<Op>(random.below(kOps + 2) % kOps);  // insert and insert_or_assign twice as often
  return op == Op::accumulate && !accumulates ? Op::assign : op;
}

void disturb(NumberedTable& table, Random& random, std::uint64_t seed) {
  if (random.chance(20)) return table.reserve(table.size() + random.below(64));
  std::array<std::uint64_t, kFillers> keys{};
  std::vector<std::uint64_t> values(kFillers * (table.value_bytes() + 7) / 8 + 1);
  for (unsigned i = 0; i < kFillers; ++i) keys[i] = mix(seed, 1000 + i) | 1;
  table.insert(keys.data(), values.data(), keys.size());
}

/// The arrays of one batch: up to three logged operations, in array order, among others on keys that nobody looks at.
struct Arrays {
  std::vector<std::uint64_t> keys;
  std::vector<std::uint8_t> ops;
  std::vector<char> values, out;
  std::vector<Status> statuses;
  std::unique_ptr<bool[]> found;
  std::size_t bytes;

  Arrays(std::size_t n, std::size_t value_bytes)
      : keys(n),
        ops(n),
        values(n * value_bytes + 1),
        out(n * value_bytes + 1),
        statuses(n),
        found(new bool[n]()),
        bytes(value_bytes) {}

  void set(std::size_t row, std::uint64_t key, Op op, std::uint64_t number) {
    keys[row] = key;
    ops[row] = static_cast<std::uint8_t>(op);
    fill_value(values.data() + row * bytes, bytes, number);
  }
};

/// Draws the logged operations of a batch; returns how many.
std::uint32_t draw(Random& random, const HistoryLog& history, CallerLog& log, const Batch& batch, bool mixed,
                   bool has_values, bool accumulates) {
  const std::uint32_t first = log.count.load(std::memory_order_relaxed);
  const auto n = static_cast<std::uint32_t>(1 + random.below(3));
  for (std::uint32_t i = first; i < first + n; ++i) {
    Record& record = log.records[i];
    record.key = static_cast<std::uint32_t>(random.below(history.keys));
    record.op = mixed ? pick_op(random, accumulates) : batch.op;
    record.combine = batch.accumulate->combine;
    record.given = has_values ? random.next() >> 8 : 0;
    record.after = kNone;
    for (std::uint32_t j = first; j < i; ++j) {
      if (log.records[j].key == record.key) record.after = j;
    }
    record.ended.store(kPending, std::memory_order_relaxed);
  }
  return n;
}

/// The operations that `draw` has drawn, one after another, each by a call with one key. By an epoch if there is one, which is left before
/// the caller waits for others.
template <class Meet>
void call_one_by_one(NumberedTable& table, Random& random, HistoryLog& history, CallerLog& log, holdfast::Epoch* epoch,
                     const Meet& meet) {
  const std::size_t bytes = table.value_bytes();
  const std::uint32_t first = log.count.load(std::memory_order_relaxed);
  Batch batch;
  batch.accumulate = Accumulate{.combine = static_cast<Combine>(random.below(3))};
  const std::uint32_t n = draw(random, history, log, batch, true, bytes != 0, bytes != 0 && !table.any_length());
  batch.size = 1;
  if (epoch != nullptr) epoch->leave();
  meet();
  for (std::uint32_t i = first; i < first + n; ++i) {
    Record& record = log.records[i];
    Arrays arrays(1, bytes);
    arrays.set(0, history.key[record.key], record.op, record.given);
    batch.op = record.op;
    batch.keys = arrays.keys.data();
    batch.values = arrays.values.data();
    batch.out = arrays.out.data();
    batch.statuses = arrays.statuses.data();
    batch.found = arrays.found.get();
    record.begun = history.clock.fetch_add(1);
    log.count.store(i + 1, std::memory_order_release);
    epoch != nullptr ? table.run(*epoch, batch) : table.run(batch);
    const std::uint64_t ended = history.clock.fetch_add(1);
    record.status = arrays.statuses[0];
    record.found = arrays.found[0];
    record.torn = false;
    if (reads_value(record.op)) record.out = number_in(arrays.out.data(), bytes, record.torn);
    record.ended.store(ended, std::memory_order_release);
  }
  if (epoch != nullptr) epoch->leave();
}

/// One batch, logged before and after. `meet` waits for the other callers, at the last moment.
template <class Meet>
void call(NumberedTable& table, Random& random, HistoryLog& history, CallerLog& log, unsigned around,
          const Meet& meet) {
  const std::size_t bytes = table.value_bytes();
  const std::uint32_t first = log.count.load(std::memory_order_relaxed);
  const bool mixed = random.chance(50);
  Batch batch;
  const bool accumulates = bytes != 0 && !table.any_length();
  batch.op = pick_op(random, accumulates);
  batch.accumulate = Accumulate{.combine = static_cast<Combine>(random.below(3))};
  const std::uint32_t n = draw(random, history, log, batch, mixed, bytes != 0, accumulates);
  batch.size = n * (1 + around);
  Arrays arrays(batch.size, bytes);
  const auto row_of = [&](std::uint32_t i) { return i * (1 + around) + around / 2; };
  for (std::size_t row = 0; row < batch.size; ++row) {
    arrays.set(row, mix(0x66696c6c, random.below(64)) | 1, batch.op, random.next() >> 8);
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    const Record& record = log.records[first + i];
    arrays.set(row_of(i), history.key[record.key], record.op, record.given);
  }
  batch.ops = mixed ? arrays.ops.data() : nullptr;
  batch.keys = arrays.keys.data();
  batch.values = arrays.values.data();
  batch.out = arrays.out.data();
  batch.statuses = arrays.statuses.data();
  batch.found = arrays.found.get();
  meet();
  const std::uint64_t begun = history.clock.fetch_add(1);
  for (std::uint32_t i = 0; i < n; ++i) log.records[first + i].begun = begun;
  log.count.store(first + n, std::memory_order_release);
  table.run(batch);
  const std::uint64_t ended = history.clock.fetch_add(1);
  for (std::uint32_t i = 0; i < n; ++i) {
    Record& record = log.records[first + i];
    record.status = arrays.statuses[row_of(i)];
    record.found = arrays.found[row_of(i)];
    record.torn = false;
    if (reads_value(record.op)) record.out = number_in(arrays.out.data() + row_of(i) * bytes, bytes, record.torn);
  }
  for (std::uint32_t i = 0; i < n; ++i) log.records[first + i].ended.store(ended, std::memory_order_release);
}

}  // namespace

CreateOptions table_options(std::uint64_t seed) {
  Random random(mix(seed, 0x6c69));
  constexpr std::array<std::uint32_t, 4> kValueBytes{0, 8, 16, 128};
  constexpr std::array<std::uint32_t, 4> kKeyBytes{8, 16, 32, 128};
  constexpr std::array<std::array<std::uint32_t, 3>, 4> kShapes{{{2, 2, 8}, {1, 1, 8}, {2, 2, 4}, {3, 2, 4}}};
  CreateOptions options;
  const auto& shape = kShapes[random.below(kShapes.size())];
  options.shape.value_bytes = kValueBytes[random.below(8) < 1 ? 0 : 1 + random.below(3)];
  options.shape.key_bytes = kKeyBytes[random.chance(50) ? 0 : 1 + random.below(3)];
  if (mix(seed, 0x766c) % 5 == 0) options.shape.key_bytes = kVariableBytes;
  options.shape.levels = shape[0];
  options.shape.hash_locations = shape[1];
  options.shape.slots = shape[2];
  options.shape.capacity = 8 + random.below(16);
  options.runtime.device = "cpu";
  options.runtime.threads = 1 + static_cast<unsigned>(random.below(2));
  options.tuning.flush = random.chance(40);
  options.tuning.moves = random.chance(75);
  options.overwrite = true;
  options.shape.seed = seed | 1;
  return options;
}

void run_history(NumberedTable& table, std::uint64_t seed, std::uint64_t number, HistoryLog& log) {
  const std::uint64_t history_seed = mix(seed, number);
  Random random(history_seed);
  log.callers = static_cast<std::uint32_t>(2 + random.below(kMaxCallers - 1));
  log.keys = static_cast<std::uint32_t>(1 + random.below(kMaxKeys));
  // Wide keys of two neighbouring numbers have one hash (support/numbers.hpp).
  for (std::uint32_t i = 0; i < log.keys; ++i) log.key[i] = i % 2 == 1 ? log.key[i - 1] ^ 1 : mix(history_seed, i);
  if (random.chance(30)) log.key[0] = 0;  // the reserved one, which lives aside
  const bool disturbs = random.chance(30), in_step = random.chance(75);
  const std::uint64_t calls = 2 + random.below(4);
  // Long batches keep callers inside the table for longer, so that they meet even where processors are few.
  const auto around = static_cast<unsigned>(random.chance(60) ? 50 + random.below(400) : 0);
  run_callers(log, [&](std::uint32_t caller, Meeting& meeting) {
    Random own(mix(history_seed, 100 + caller));
    const bool one_by_one = own.chance(40);
    std::optional<holdfast::Epoch> epoch;
    if (one_by_one && own.chance(50)) epoch.emplace(table.table());
    for (std::uint64_t i = 0; i < calls; ++i) {
      if (disturbs && caller == 0 && i == calls / 2) disturb(table, own, history_seed);
      const auto meet = [&] {
        if (i == 0 || in_step) meeting.before(i);
      };
      if (one_by_one) {
        call_one_by_one(table, own, log, log.caller[caller], epoch ? &*epoch : nullptr, meet);
      } else {
        call(table, own, log, log.caller[caller], around, meet);
      }
    }
  });
}

std::uint64_t number_in(const void* value, std::size_t bytes, bool& torn) {
  if (bytes == 0) return 0;
  std::uint64_t number = 0;
  std::memcpy(&number, value, 8);
  for (std::size_t at = 8; at < bytes; at += 8) {
    if (std::memcmp(static_cast<const char*>(value) + at, &number, 8) != 0) torn = true;
  }
  return number;
}

Epoch epoch_of(const HistoryLog& log, std::uint32_t key) {
  Epoch epoch;
  for (std::uint32_t caller = 0; caller < log.callers; ++caller) {
    const CallerLog& records = log.caller[caller];
    std::array<std::uint32_t, kMaxRecords> place{};
    for (std::uint32_t i = 0; i < records.count.load(std::memory_order_acquire); ++i) {
      const Record& record = records.records[i];
      if (record.key != key) continue;
      place[i] = static_cast<std::uint32_t>(epoch.size());
      Operation operation;
      operation.op = record.op;
      operation.given = record.given;
      operation.combine = record.combine;
      operation.begun = record.begun;
      operation.ended = record.ended.load(std::memory_order_acquire);
      operation.after = record.after == kNone ? kNone : place[record.after];
      operation.status = record.status;
      operation.found = record.found;
      operation.special = record.special;
      operation.expected = record.expected;
      const bool reads =
          reads_value(record.op) || record.special == Special::increment || record.special == Special::take;
      if (reads && record.status != Status::not_found) operation.out = record.out;
      epoch.push_back(operation);
    }
  }
  return epoch;
}

bool overlaps(const HistoryLog& log) {
  for (std::uint32_t a = 0; a < log.callers; ++a) {
    for (std::uint32_t b = a + 1; b < log.callers; ++b) {
      for (std::uint32_t i = 0; i < log.caller[a].count; ++i) {
        for (std::uint32_t j = 0; j < log.caller[b].count; ++j) {
          const Record &one = log.caller[a].records[i], &other = log.caller[b].records[j];
          if (one.key == other.key && one.begun < other.ended && other.begun < one.ended) return true;
        }
      }
    }
  }
  return false;
}

std::string describe(const Epoch& epoch) {
  std::ostringstream text;
  for (const Operation& operation : epoch) {
    text << "  [" << operation.begun << ", ";
    if (operation.ended == kPending)
      text << "never";
    else
      text << operation.ended;
    text << "] op " << static_cast<int>(operation.op) << " given " << operation.given;
    if (operation.special != Special::none) {
      text << " special " << static_cast<int>(operation.special) << " expected " << operation.expected;
    }
    if (operation.ended != kPending) {
      text << " status " << static_cast<int>(operation.status) << (operation.found ? " found" : "");
      if (operation.out) text << " out " << *operation.out;
    }
    if (operation.after != kNone) text << " after #" << operation.after;
    text << "\n";
  }
  return text.str();
}

std::string Verifier::advance(std::uint64_t key, const Epoch& epoch) {
  auto& states = states_.try_emplace(key, std::set<State>{State{}}).first->second;
  std::set<State> next = linearize(epoch, states);
  if (!next.empty()) {
    states = std::move(next);
    return "";
  }
  std::string before;
  for (const State& state : states) before += state ? " " + std::to_string(*state) : " absent";
  states.insert(State{});  // go on, to see whether more is wrong
  return "key " + std::to_string(key) + ": no order explains this, from" + before + ":\n" + describe(epoch);
}

std::string Verifier::add(const HistoryLog& log) {
  std::string wrong;
  for (std::uint32_t key = 0; key < log.keys; ++key) wrong += advance(log.key[key], epoch_of(log, key));
  for (const CallerLog& caller : log.caller) {
    for (std::uint32_t i = 0; i < caller.count; ++i) {
      if (caller.records[i].ended != kPending && caller.records[i].torn) wrong += "a read returned a torn value\n";
    }
  }
  return wrong;
}

std::string Verifier::add_read(std::uint64_t key, const State& state) {
  Operation read;
  read.ended = 1;
  read.status = state ? Status::found : Status::not_found;
  read.found = state.has_value();
  read.out = state;
  return advance(key, {read});
}

std::vector<std::uint64_t> Verifier::keys() const {
  std::vector<std::uint64_t> keys;
  for (const auto& entry : states_) keys.push_back(entry.first);
  return keys;
}

unsigned missed_plants(HistoryLog& log, unsigned& planted) {
  unsigned missed = 0;
  for (std::uint32_t i = 0; i < log.caller[0].count; ++i) {
    Record& record = log.caller[0].records[i];
    if (record.op != Op::find || record.status != Status::found || log.key[record.key] == 0) continue;
    record.out ^= std::uint64_t{1} << 60;
    missed += Verifier().add(log).empty() ? 1 : 0;
    record.out ^= std::uint64_t{1} << 60;
    ++planted;
  }
  return missed;
}

}  // namespace holdfast::test::linear

// children.cpp: the writer and the recovering child of the subject table. They use the public API only.
#include "kill/table/shared.hpp"
#include "proof/kill/registry.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "holdfast/table.hpp"
#include "kill/table/in_session.hpp"
#include "support/numbers.hpp"

namespace holdfast::proof::kill {

using namespace test;

namespace {

/// The host arrays of one call.
struct Arrays {
  std::vector<std::uint64_t> keys;
  std::vector<char> values, out;
  std::vector<Status> statuses;
  std::unique_ptr<bool[]> found;

  Arrays(const Round& round, const Plan& plan)
      : keys(plan.indices.size()),
        values(plan.indices.size() * round.value_bytes),
        out(values.size()),
        statuses(plan.indices.size(), Status::not_run),
        found(new bool[plan.indices.size() + 1]()) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      keys[i] = key_of(round, plan.indices[i]);
      const std::string value = value_of(round, plan.versions[i]);
      std::copy(value.begin(), value.end(), values.begin() + static_cast<std::ptrdiff_t>(i * round.value_bytes));
    }
  }
};

Batch batch_of(const Plan& plan, Arrays& arrays) {
  Batch batch;
  batch.size = arrays.keys.size();
  batch.op = static_cast<Op>(plan.ops[0]);
  if (plan.mixed) batch.ops = plan.ops.data();
  batch.keys = arrays.keys.data();
  batch.values = arrays.values.data();
  batch.out = arrays.out.data();
  batch.statuses = arrays.statuses.data();
  batch.found = arrays.found.get();
  if (plan.masked) batch.mask = plan.mask.data();
  batch.accumulate = Accumulate{.combine = plan.combine, .element = plan.element};
  batch.unique = plan.unique;
  return batch;
}

using RowOf = std::unordered_map<std::uint64_t, std::size_t>;

/// Half of what erase_if does on a GPU is chosen there.
bool erase_on_gpu(NumberedTable& table, const Plan& plan, Arrays& arrays, const RowOf& row_of) {
#ifdef HOLDFAST_WITH_CUDA
  std::vector<std::uint64_t> numbers(arrays.keys.begin(), arrays.keys.end());
  std::sort(numbers.begin(), numbers.end());
  std::vector<bool> found;
  if (plan.versions[0] / 2 % 2 == 0 || !erase_listed(table, numbers, plan.versions[0] / 4 % 2 == 0, found))
    return false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!found[i]) continue;
    arrays.statuses[row_of.at(numbers[i])] = Status::erased;
    arrays.found[row_of.at(numbers[i])] = true;
  }
  return true;
#else
  static_cast<void>(table), static_cast<void>(plan), static_cast<void>(arrays), static_cast<void>(row_of);
  return false;
#endif
}

/// Every other batch that only erases, and each of its keys once, is carried out by erase_if. False: another batch.
bool erase_by_predicate(NumberedTable& table, const Plan& plan, Arrays& arrays) {
  if (table.any_length() || plan.mixed || plan.masked || static_cast<Op>(plan.ops[0]) != Op::erase ||
      plan.versions[0] % 2 == 0)
    return false;
  RowOf row_of;
  for (std::size_t i = 0; i < arrays.keys.size(); ++i) row_of.emplace(arrays.keys[i], i);
  if (row_of.size() != arrays.keys.size()) return false;
  std::fill(arrays.statuses.begin(), arrays.statuses.end(), Status::not_found);
  if (erase_on_gpu(table, plan, arrays, row_of)) return true;
  Selection selection;
  selection.where = [&](const void* key, const void*) {
    const auto row = row_of.find(table.number_of(key));
    if (row == row_of.end()) return false;
    arrays.statuses[row->second] = Status::erased;
    arrays.found[row->second] = true;
    return true;
  };
  table.table().erase_if(selection);
  return true;
}

/// On a GPU a third of the batches that a user's kernel can carry out is given to one.
bool in_a_session(NumberedTable& table, const Plan& plan, Arrays& arrays) {
#ifdef HOLDFAST_WITH_CUDA
  return plan.versions[0] % 3 == 0 && run_in_session(table, batch_of(plan, arrays));
#else
  static_cast<void>(table), static_cast<void>(plan), static_cast<void>(arrays);
  return false;
#endif
}

/// `epoch`: of this thread, or null.
void call_table(const Shared& shared, NumberedTable& table, Epoch* epoch, const Plan& plan, Arrays& arrays) {
  switch (plan.call) {
    case Call::snapshot: table.table().snapshot(snapshot_of(shared.path), {.overwrite = true}); return;
    case Call::clear: return table.clear();
    case Call::reserve: return table.reserve(plan.reserve);
    case Call::sync: return table.sync();
    default:
      if (plan.call == Call::batch && erase_by_predicate(table, plan, arrays)) return;
      if (plan.call == Call::batch && in_a_session(table, plan, arrays)) return;
      const Batch batch = batch_of(plan, arrays);
      epoch != nullptr ? table.run(*epoch, batch) : table.run(batch);
  }
}

/// Writes what a call answered behind its entry.
void acknowledge(Entry& entry, const Round& round, const Plan& plan, const Arrays& arrays) {
  auto* statuses = reinterpret_cast<std::uint8_t*>(&entry + 1);
  auto* digests = statuses + entry.n;
  for (std::uint32_t i = 0; i < entry.n; ++i) {
    const Status status = arrays.statuses[i];
    statuses[i] = static_cast<std::uint8_t>(static_cast<std::uint8_t>(status) | (arrays.found[i] ? kFoundBit : 0));
    const bool read = reads_value(static_cast<Op>(plan.ops[i])) && status != Status::not_found &&
                      status != Status::not_run && status != Status::no_space;
    const std::uint64_t sum =
        read ? digest(arrays.out.data() + std::size_t{i} * round.value_bytes, round.value_bytes) : 0;
    std::memcpy(digests + std::size_t{i} * sizeof(sum), &sum, sizeof(sum));
  }
  std::atomic_ref(entry.acknowledged).store(1, std::memory_order_release);
}

/// Now and then. Growth ends where there is room for all keys four times.
void follow_urge(Shared& shared, NumberedTable& table, std::uint64_t number) {
  TableShared& ours = shared.part<TableShared>();
  if (number < ours.urge_from || (number - ours.urge_from) % 8 != 0) return;
  const Call call = ours.urge == Urge::sync ? Call::sync : Call::reserve;
  if (call == Call::reserve && table.slots() >= most_slots(ours.round)) return;
  ours.urged.store(static_cast<std::uint32_t>(call), std::memory_order_release);
  call == Call::sync ? table.sync() : table.reserve(table.slots());
  ours.urged.store(0, std::memory_order_release);
}

void call_until_full(Shared& shared, NumberedTable& table, unsigned thread) {
  Journal& journal = shared.part<TableShared>().journal[thread];
  const Round round = shared.part<TableShared>().round;
  std::optional<Epoch> epoch;
  if (round.single && thread == shared.life % 2) epoch.emplace(table.table());
  for (std::uint64_t number = 1;; ++number) {
    if (thread == 0 && shared.part<TableShared>().urge != Urge::none) follow_urge(shared, table, number);
    const Plan plan = make_plan(round, shared.life, thread, number);
    Arrays arrays(round, plan);
    const std::size_t n = arrays.keys.size();
    const std::uint64_t used = journal.used.load(std::memory_order_relaxed);
    const std::uint64_t bytes = (sizeof(Entry) + n * 9 + 7) / 8 * 8;
    if (used + bytes > kArena) break;
    auto& entry = *new (journal.arena + used) Entry{number, 0, static_cast<std::uint32_t>(n), 0};
    journal.used.store(used + bytes, std::memory_order_release);
    journal.number.store(number, std::memory_order_seq_cst);
    entry.others_number = shared.part<TableShared>().journal[1 - thread].number.load(std::memory_order_seq_cst);
    journal.rows.store(static_cast<std::uint32_t>(n), std::memory_order_relaxed);
    journal.inside.store(1, std::memory_order_release);
    call_table(shared, table, epoch ? &*epoch : nullptr, plan, arrays);
    journal.inside.store(0, std::memory_order_release);
    acknowledge(entry, round, plan, arrays);
    if (round.large)
      shared.part<TableShared>().phased.store(table.stats().work.phased_batches, std::memory_order_release);
  }
  epoch.reset();
  journal.full.store(1, std::memory_order_release);
}

/// Reads everything the table has, by find, by contains and by export.
void look(NumberedTable& table, const Round& round, Found& found) {
  std::vector<std::uint64_t> keys(round.keys);
  for (std::uint32_t i = 0; i < round.keys; ++i) keys[i] = key_of(round, i);
  found.size = table.size();
  found.slots = table.slots();
  Batch batch;
  batch.op = Op::find;
  batch.keys = keys.data();
  batch.size = keys.size();
  batch.out = found.values;
  batch.found = found.found;
  if (round.scored) batch.scores = found.scores;
  table.run(batch);
  table.contains(keys.data(), keys.size(), found.contained);
  found.exported = 0;
  constexpr std::size_t kPiece = 100;
  std::vector<std::uint64_t> some_keys(kPiece);
  std::vector<std::byte> some_values(kPiece * round.value_bytes);
  for (std::uint64_t cursor = 0; cursor != ~std::uint64_t{0};) {
    const std::size_t got = table.export_batch(cursor, some_keys.data(), some_values.data(), kPiece);
    for (std::size_t i = 0; i < got; ++i, ++found.exported) {
      if (found.exported >= round.keys) continue;
      found.exported_keys[found.exported] = some_keys[i];
      std::memcpy(found.exported_values + found.exported * round.value_bytes,
                  some_values.data() + i * round.value_bytes, round.value_bytes);
    }
  }
}

/// Reads the snapshot of a writer, if there is one.
void look_at_snapshot(const Shared& shared, Found& found) try {
  const Round& round = shared.part<TableShared>().round;
  if (access(snapshot_of(shared.path).c_str(), F_OK) != 0) return;
  found.snapshot.exists = 1;
  OpenOptions options;
  options.runtime.device = "cpu";
  options.read_only = true;
  NumberedTable table(Table::open(snapshot_of(shared.path), options), pool_seed(round), round.value_bytes);
  std::string errors;
  for (const std::string& error : table.check().errors) errors += error + "; ";
  copy_text(found.snapshot.errors, errors);
  const auto seen = std::make_unique<Found>();
  std::memset(static_cast<void*>(seen.get()), 0, sizeof(Found));
  look(table, round, *seen);
  found.snapshot.clean = table.stats().recovery.was_clean ? 1 : 0;
  found.snapshot.items = seen->size;
  for (std::uint32_t i = 0; i < round.keys; ++i) {
    const std::byte* const value = seen->values + std::size_t{i} * round.value_bytes;
    found.in_snapshot[i] = seen->found[i] ? item_digest(value, round.value_bytes, seen->scores[i]) : 0;
  }
} catch (const Error& error) {
  copy_text(found.snapshot.errors, error.what());
}

/// Looks again after a while: a dead process's GPU must not have gone on storing (rule 22).
bool differs_later(NumberedTable& table, const Shared& shared) {
  usleep(shared.again_ms * 1000);
  const auto again = std::make_unique<Found>();
  std::memset(static_cast<void*>(again.get()), 0, sizeof(Found));
  const Round& round = shared.part<TableShared>().round;
  look(table, round, *again);
  return again->size != shared.part<TableShared>().found.size ||
         again->exported != shared.part<TableShared>().found.exported ||
         std::memcmp(again->scores, shared.part<TableShared>().found.scores,
                     sizeof again->scores[0] * (round.scored ? round.keys : 0)) != 0 ||
         std::memcmp(again->found, shared.part<TableShared>().found.found, round.keys) != 0 ||
         std::memcmp(again->values, shared.part<TableShared>().found.values,
                     std::size_t{round.keys} * round.value_bytes) != 0;
}

void check_table(NumberedTable& table, Found& found, Recovered& recovered) {
  const CheckReport report = table.check();
  found.check_items = report.items;
  std::string errors;
  for (const std::string& error : report.errors) errors += error + "; ";
  std::snprintf(recovered.check_errors, sizeof(recovered.check_errors), "%s", errors.c_str());
  const Stats stats = table.stats();
  recovered.repaired = stats.recovery.repaired_slots;
  recovered.moved = stats.recovery.finished_moves;
  recovered.rehashed = stats.recovery.rehashed;
}

OpenOptions open_options(const Round& round, const char* device) {
  OpenOptions options;
  options.runtime.device = device;
  options.runtime.threads = round.table_threads;
  options.tuning.moves = round.moves;
  options.tuning.flush = round.flush;
  return options;
}

CreateOptions create_options(const Round& round, const char* device) {
  CreateOptions options;
  options.shape.key_bytes = round.key_bytes;
  options.shape.value_bytes = round.key_bytes == kVariableBytes ? kVariableBytes : round.value_bytes;
  options.shape.capacity = round.capacity;
  options.runtime.device = device;
  options.runtime.threads = round.table_threads;
  options.tuning.moves = round.moves;
  options.tuning.flush = round.flush;
  options.shape.seed = pool_seed(round);
  options.shape.score = round.scored ? Score::frequency : Score::none;
  return options;
}

/// The table of either child.
class TableChild {
 public:
  explicit TableChild(Shared& shared) : shared_(shared) {}

 protected:
  void take(Table table) {
    const Round& round = shared_.part<TableShared>().round;
    table_ = std::make_unique<NumberedTable>(std::move(table), pool_seed(round), round.value_bytes);
  }

  Shared& shared_;
  std::unique_ptr<NumberedTable> table_;
};

class TableWriter : public Writer, private TableChild {
 public:
  using TableChild::TableChild;
  void open() override {
    const Round& round = shared_.part<TableShared>().round;
    take(shared_.create != 0 ? Table::create(shared_.path, create_options(round, shared_.device))
                             : Table::open(shared_.path, open_options(round, shared_.device)));
  }
  unsigned threads() const override { return shared_.part<TableShared>().round.threads; }
  void call(unsigned thread) override { call_until_full(shared_, *table_, thread); }
};

class TableReader : public Reader, private TableChild {
 public:
  using TableChild::TableChild;
  void open() override {
    take(Table::open(shared_.path, open_options(shared_.part<TableShared>().round, shared_.recovery_device)));
  }
  void look() override {
    Found& found = shared_.part<TableShared>().found;
    check_table(*table_, found, shared_.recovered);
    kill::look(*table_, shared_.part<TableShared>().round, found);
    look_at_snapshot(shared_, found);
    if (shared_.again_ms != 0) found.again_differs = differs_later(*table_, shared_) ? 1 : 0;
  }
  void close() override { table_->close(); }
};

const RegisterChildren<TableWriter, TableReader> table_children{"table"};

}  // namespace

}  // namespace holdfast::proof::kill

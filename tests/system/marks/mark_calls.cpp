// mark_calls.cpp: the calls. A table has keys 1 to 20, changes are about those or about keys above, and no two changes are the same.
#include "mark_calls.hpp"

#include <cstring>
#include <stdexcept>

#include "holdfast/strings.hpp"

namespace holdfast::proof {

namespace {

struct TableKind {
  const char* name;
  std::uint32_t key_bytes, value_bytes;
  Score score = Score::none;
};
constexpr TableKind kTableKinds[] = {{"slots", 8, 8},
                                     {"cells", 8, 16},
                                     {"wide", 32, 16},
                                     {"scores", 8, 16, Score::step},
                                     {"pairs", kVariableBytes, kVariableBytes}};
constexpr std::uint64_t kHeld = 20;

/// Rows of keys first to last - 1, with values of this version.
class Rows {
 public:
  Rows(std::uint64_t first, std::uint64_t last, std::uint64_t version) {
    for (std::uint64_t key = first; key < last; ++key) {
      std::string text(32, '\0'), value(16, '\0');
      std::memcpy(text.data(), &key, sizeof key);
      std::memcpy(value.data(), &version, sizeof version);
      keys_.add(text);
      values_.add(value);
      short_keys_.push_back(key);
      short_values_.push_back(version);
    }
    out_.resize(16 * size());
  }
  std::size_t size() const { return short_keys_.size(); }
  Batch batch(const Table& table, Op op) {
    Batch batch;
    batch.op = op;
    batch.size = size();
    batch.keys = table.key_bytes() == 8 ? static_cast<const void*>(short_keys_.data()) : keys_.bytes();
    batch.values = table.value_bytes() == 8 ? static_cast<const void*>(short_values_.data()) : values_.bytes();
    if (table.key_bytes() == kVariableBytes) {
      batch.variable =
          VariableLength{.key_offsets = keys_.offsets(), .value_offsets = values_.offsets(), .blobs = &blobs_};
    } else {
      batch.out = out_.data();
    }
    return batch;
  }

 private:
  Strings keys_, values_;
  std::vector<std::uint64_t> short_keys_, short_values_;
  std::string out_;
  Blobs blobs_;
};

void run(Table& table, Op op, std::uint64_t first, std::uint64_t last, std::uint64_t version) {
  Rows rows(first, last, version);
  table.run(rows.batch(table, op));
}

MarkCall run_call(const char* name, Op op, std::uint64_t first, std::uint64_t version) {
  return {name, [=](MarkScene& scene) { run(*scene.table, op, first, first + 2, version); }};
}

/// Finds a row, and changes another, by codes of their own.
void run_codes(Table& table, Op second) {
  Rows rows(4, 6, 77);
  Batch batch = rows.batch(table, Op::find);
  const std::uint8_t codes[] = {static_cast<std::uint8_t>(Op::find), static_cast<std::uint8_t>(second)};
  batch.ops = codes;
  table.run(batch);
}

std::vector<MarkCall> table_changes(const TableKind& kind) {
  const bool any_length = kind.key_bytes == kVariableBytes;
  std::vector<MarkCall> calls = {run_call("run insert", Op::insert, 101, 1),
                                 run_call("run insert_or_assign", Op::insert_or_assign, 1, 2),
                                 run_call("run assign", Op::assign, 1, 3),
                                 run_call("run erase", Op::erase, 2, 0),
                                 run_call("run find_or_insert", Op::find_or_insert, 111, 4),
                                 run_call("run insert_and_find", Op::insert_and_find, 121, 5)};
  if (!any_length) calls.push_back(run_call("run accumulate", Op::accumulate, 6, 6));
  calls.push_back({"run codes", [](MarkScene& scene) { run_codes(*scene.table, Op::insert_or_assign); }});
  if (!any_length) {
    calls.push_back({"erase_if", [](MarkScene& scene) {
                       Selection some;
                       some.where = [](const void* key, const void*) { return static_cast<const char*>(key)[0] == 9; };
                       scene.table->erase_if(some);
                     }});
  }
  calls.push_back({"run growth", [](MarkScene& scene) { run(*scene.table, Op::insert, 200, 300, 7); }});
  calls.push_back({"reserve", [](MarkScene& scene) { scene.table->reserve(600); }});
  calls.push_back({"clear", [](MarkScene& scene) { scene.table->clear(); }});
  return calls;
}

std::vector<MarkCall> table_reads(const TableKind& kind) {
  const bool any_length = kind.key_bytes == kVariableBytes;
  std::vector<MarkCall> calls = {
      run_call("run find", Op::find, 1, 0),
      run_call("run contains", Op::contains, 1, 0),
      {"run codes", [](MarkScene& scene) { run_codes(*scene.table, Op::contains); }},
      {"size", [](MarkScene& scene) { scene.table->size(); }},
      {"stats", [](MarkScene& scene) { scene.table->stats(); }},
      {"check", [](MarkScene& scene) { scene.table->check(); }},
      {"snapshot", [](MarkScene& scene) { scene.table->snapshot(scene.folder + "/b.hold", {.overwrite = true}); }},
      {any_length ? "export_pairs" : "export_batch", [any_length](MarkScene& scene) {
         std::uint64_t cursor = 0;
         std::vector<std::uint64_t> keys(400), values(400);
         Blobs blobs;
         any_length ? scene.table->export_pairs(cursor, &blobs, nullptr, 100)
                    : scene.table->export_batch(cursor, keys.data(), values.data(), 100);
       }}};
  if (!any_length) {
    calls.push_back({"size_if", [](MarkScene& scene) { scene.table->size_if({}); }});
    calls.push_back({"export_if", [](MarkScene& scene) {
                       std::uint64_t cursor = 0;
                       std::vector<std::uint64_t> keys(400), values(400);
                       scene.table->export_if({}, cursor, keys.data(), values.data(), 10);
                       scene.table->end_export(cursor);
                     }});
  }
  if (kind.score == Score::step) calls.push_back({"set_step", [](MarkScene& scene) { scene.table->set_step(3); }});
  return calls;
}

MarkKind table_kind(const TableKind& kind) {
  MarkKind made = {.name = kind.name, .type = "Table", .objects = {"t"}};
  made.make = [kind](Pool& pool) {
    CreateOptions options;
    options.shape = {.key_bytes = kind.key_bytes, .value_bytes = kind.value_bytes, .score = kind.score, .capacity = 30};
    options.shape.seed = 42;
    options.runtime = {.device = "cpu", .threads = 1};
    Table table = pool.create_table("t", options);
    run(table, Op::insert, 1, 1 + kHeld, 0x55);
  };
  made.open = [](MarkScene& scene) {
    scene.table = scene.pool->table("t", {.runtime = {.device = "cpu", .threads = 1}});
  };
  made.sync = [](MarkScene& scene) { scene.table->sync(); };
  made.changes = table_changes(kind);
  made.reads = table_reads(kind);
  return made;
}

MarkKind region_kind() {
  MarkKind made = {.name = "region", .type = "Region", .objects = {"r"}};
  made.make = [](Pool& pool) { Region::create(pool, "r", 9000); };
  made.open = [](MarkScene& scene) { scene.region = Region::open(*scene.pool, "r"); };
  made.sync = [](MarkScene& scene) {
    scene.region->close();
    scene.region = Region::open(*scene.pool, "r");
  };
  made.changes = {{"section", [](MarkScene& scene) {
                     const Section section = scene.region->section();
                     ++section.as<std::uint64_t>()[700];
                     section.persist();
                   }}};
  made.reads = {{"bytes", [](MarkScene& scene) { scene.region->bytes(); }},
                {"section that is refused", [](MarkScene& scene) {
                   try {
                     scene.region->section(Domain::power);
                     throw std::logic_error("there is no domain power here");
                   } catch (const Error&) {
                   }
                 }}};
  return made;
}

MarkKind log_kind(std::uint32_t partitions) {
  MarkKind made = {.name = partitions == 0 ? "log" : "conventional_log", .type = "Log", .objects = {"l"}};
  made.make = [partitions](Pool& pool) {
    Log log = Log::create(pool, "l", {.entry_bytes = 8, .capacity = 9, .threads = 2, .partitions = partitions});
    for (std::uint64_t place = 0; place < 2; ++place) {
      for (std::uint64_t i = 0; i < 4; ++i) log.insert(place, i + 1);
    }
  };
  made.open = [](MarkScene& scene) { scene.log = Log::open(*scene.pool, "l"); };
  made.sync = [](MarkScene& scene) {
    scene.log->close();
    scene.log = Log::open(*scene.pool, "l");
  };
  made.changes = {{"insert", [](MarkScene& scene) { scene.log->insert(0, std::uint64_t{9}); }},
                  {"remove", [](MarkScene& scene) { scene.log->remove(1); }},
                  {"clear one place", [](MarkScene& scene) { scene.log->clear(0); }},
                  {"clear", [](MarkScene& scene) { scene.log->clear(); }}};
  made.reads = {{"count", [](MarkScene& scene) { scene.log->count(0); }}, {"read", [](MarkScene& scene) {
                                                                             std::uint64_t entry = 0;
                                                                             scene.log->read(0, &entry, sizeof entry);
                                                                           }}};
  return made;
}

MarkKind transaction_kind() {
  MarkKind made = region_kind();
  made.name = "transaction";
  made.type = "Transaction";
  made.objects = {"r", "u"};
  made.make = [](Pool& pool) {
    Region::create(pool, "r", 9000);
    Log::create(pool, "u", {.entry_bytes = 16, .capacity = 4, .threads = 2});
  };
  made.open = [](MarkScene& scene) {
    scene.region = Region::open(*scene.pool, "r");
    scene.undo = Log::open(*scene.pool, "u");
  };
  made.sync = [open = made.open](MarkScene& scene) {
    scene.region->close();
    scene.undo->close();
    open(scene);
  };
  const auto transact = [](MarkScene& scene, bool committed) {
    Transaction batch(*scene.undo, *scene.region);
    batch.update(1, 4096, std::uint64_t{7} + (committed ? 1 : 0));
    if (committed) batch.commit();
  };
  made.changes = {{"commit", [=](MarkScene& scene) { transact(scene, true); }},
                  {"update without a commit", [=](MarkScene& scene) { transact(scene, false); }}};
  made.reads = {{"recover", [](MarkScene& scene) { Transaction::recover(*scene.undo, *scene.region); }}};
  return made;
}

/// A persistent hash table: what creates one called "g", and what opens it.
MarkKind hashed_kind(const char* name, HashTable (*create)(Pool&), HashTable (*open)(Pool&)) {
  MarkKind made = {.name = name, .type = "HashTable", .objects = {"g"}};
  made.make = [=](Pool& pool) {
    HashTable table = create(pool);
    for (std::uint64_t key = 0; key < 20; ++key) table.insert(key, key);
  };
  made.open = [=](MarkScene& scene) { scene.hashed.emplace(open(*scene.pool)); };
  made.sync = [](MarkScene& scene) { scene.hashed->sync(); };
  made.changes = {{"insert", [](MarkScene& scene) { scene.hashed->insert(100, 1); }},
                  {"insert_new", [](MarkScene& scene) { scene.hashed->insert_new(101, 1); }},
                  {"assign", [](MarkScene& scene) { scene.hashed->assign(1, 9); }},
                  {"erase", [](MarkScene& scene) { scene.hashed->erase(2); }},
                  {"reserve", [](MarkScene& scene) { scene.hashed->reserve(2 * scene.hashed->cells()); }},
                  {"clear", [](MarkScene& scene) { scene.hashed->clear(); }}};
  made.reads = {
      {"find", [](MarkScene& scene) { scene.hashed->find(1); }},
      {"for_each", [](MarkScene& scene) { scene.hashed->for_each([](const void*, const void*) { return true; }); }},
      {"size", [](MarkScene& scene) { scene.hashed->size(); }},
      {"check", [](MarkScene& scene) { scene.hashed->check(); }}};
  return made;
}
template <class Table>
MarkKind hashed_kind(const char* name) {
  return hashed_kind(
      name, [](Pool& pool) -> HashTable { return Table::create(pool, "g", {.cells = 1}); },
      [](Pool& pool) -> HashTable { return Table::open(pool, "g"); });
}

void save(MarkScene& scene, std::uint64_t step) {
  const TensorView tensors[] = {{"a", ElementType::u64, {}, &step}};
  scene.checkpoint->save(step, tensors).wait();
}

}  // namespace

void MarkScene::close() {
  table.reset();
  region.reset();
  log.reset();
  undo.reset();
  checkpoint.reset();
  hashed.reset();
  store.reset();
  pool.reset();
}

void PrintTo(const MarkKind& kind, std::ostream* out) { *out << kind.name; }

std::vector<MarkKind> mark_kinds() {
  std::vector<MarkKind> kinds;
  for (const TableKind& kind : kTableKinds) kinds.push_back(table_kind(kind));
  for (MarkKind& kind : std::vector<MarkKind>{
           region_kind(), log_kind(0), log_kind(2), transaction_kind(), hashed_kind<GroupTable>("group_table"),
           hashed_kind<LinearTable>("linear_table"), hashed_kind<PfhtTable>("pfht_table"),
           hashed_kind<PathTable>("path_table"), store_kind()}) {
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

MarkKind checkpoint_kind() {
  MarkKind made = {.name = "checkpoint", .type = "Checkpoint", .objects = {"c"}};
  made.make = [](Pool& pool) {
    MarkScene scene;
    scene.checkpoint = Checkpoint::create(pool, "c");
    save(scene, 1);
    save(scene, 2);
  };
  made.open = [](MarkScene& scene) { scene.checkpoint = Checkpoint::open(*scene.pool, "c"); };
  made.changes = {{"save", [](MarkScene& scene) { save(scene, 3); }},
                  {"save a group", [](MarkScene& scene) {
                     const std::uint64_t step = 4;
                     const TensorView tensors[] = {{"a", ElementType::u64, {}, &step}};
                     scene.checkpoint->save(4, scene.checkpoint->group(tensors)).wait();
                   }}};
  made.reads = {{"restore", [](MarkScene& scene) { scene.checkpoint->restore(); }},
                {"restore_into",
                 [](MarkScene& scene) {
                   std::uint64_t step = 0;
                   scene.checkpoint->restore_into(std::vector<TensorView>{{"a", ElementType::u64, {}, &step}});
                 }},
                {"restore_to",
                 [](MarkScene& scene) {
                   std::uint64_t step = 0;
                   const std::vector<TensorView> to{{"a", ElementType::u64, {}, &step}};
                   scene.checkpoint->restore_to([&](const SavedState&) { return to; });
                 }},
                {"group",
                 [](MarkScene& scene) {
                   const std::uint64_t step = 0;
                   scene.checkpoint->group(std::vector<TensorView>{{"a", ElementType::u64, {}, &step}});
                 }},
                {"wait", [](MarkScene& scene) { scene.checkpoint->wait(); }},
                {"list", [](MarkScene& scene) { scene.checkpoint->list(); }}};
  return made;
}

std::vector<MarkCall> pool_changes() {
  const CreateOptions small = {.shape = {.capacity = 8}, .runtime = {.device = "cpu"}};
  const auto over = [](CreateOptions options) {
    options.overwrite = true;
    return options;
  };
  return {
      {"create_table", [=](MarkScene& scene) { scene.pool->create_table("new", small); }},
      {"create_table over another", [=](MarkScene& scene) { scene.pool->create_table("old", over(small)); }},
      {"Region::create", [](MarkScene& scene) { Region::create(*scene.pool, "new", 8); }},
      {"Region::create over another",
       [](MarkScene& scene) { Region::create(*scene.pool, "old", 8, {.overwrite = true}); }},
      {"Log::create", [](MarkScene& scene) { Log::create(*scene.pool, "new", {.entry_bytes = 8}); }},
      {"Log::create over another",
       [](MarkScene& scene) { Log::create(*scene.pool, "old", {.entry_bytes = 8, .overwrite = true}); }},
      {"GroupTable::create", [](MarkScene& scene) { GroupTable::create(*scene.pool, "new", {.cells = 1}); }},
      {"GroupTable::create over another",
       [](MarkScene& scene) { GroupTable::create(*scene.pool, "old", {.cells = 1, .overwrite = true}); }},
      {"LinearTable::create", [](MarkScene& scene) { LinearTable::create(*scene.pool, "new", {.cells = 1}); }},
      {"PfhtTable::create", [](MarkScene& scene) { PfhtTable::create(*scene.pool, "new", {.cells = 1}); }},
      {"PathTable::create", [](MarkScene& scene) { PathTable::create(*scene.pool, "new", {.cells = 1}); }},
      {"Store::create", [](MarkScene& scene) { Store::create(*scene.pool, "new"); }},
      {"Store::create over another", [](MarkScene& scene) { Store::create(*scene.pool, "old", {.overwrite = true}); }},
      {"Checkpoint::create", [](MarkScene& scene) { Checkpoint::create(*scene.pool, "new"); }},
      {"Checkpoint::create over another",
       [](MarkScene& scene) { Checkpoint::create(*scene.pool, "old", {.overwrite = true}); }},
      {"rename", [](MarkScene& scene) { scene.pool->rename("old", "new"); }},
      {"rename over another", [](MarkScene& scene) { scene.pool->rename("old", "other", true); }},
      {"drop", [](MarkScene& scene) { scene.pool->drop("old"); }}};
}

std::vector<MarkCall> pool_reads() {
  return {{"objects", [](MarkScene& scene) { scene.pool->objects(); }},
          {"check", [](MarkScene& scene) { scene.pool->check(); }},
          {"check one", [](MarkScene& scene) { scene.pool->check("old"); }},
          {"table", [](MarkScene& scene) { scene.pool->table("old", {.runtime = {.device = "cpu"}}); }},
          {"snapshot", [](MarkScene& scene) { scene.pool->snapshot(scene.folder + "/b.hold", {.overwrite = true}); }}};
}

std::string method_of(const std::string& type, const MarkCall& call) {
  const std::string name = call.name, word = name.substr(0, name.find(' '));
  return word.find("::") == std::string::npos ? type + "::" + word : word;
}

}  // namespace holdfast::proof

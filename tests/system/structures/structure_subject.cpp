// structure_subject.cpp: the steps of a persistent hash table, and what a crash or a fault may leave of it.
#include "structure_subject.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "pool/medium/persist.hpp"
#include "proof/verdicts.hpp"
#include "support/folder.hpp"

namespace holdfast::proof {

namespace {

constexpr const char *kStructureFile = "/a.hold", *kStructureName = "g";
constexpr std::uint64_t kStructureSeed = 42, kStructureProbe = 9'000'000, kStructureNew = 8'000'000;
constexpr std::uint32_t kSmallest = 64;

/// A key, or a value of a version: the words of one that is torn do not fit each other.
struct StructureWords {
  explicit StructureWords(std::uint64_t number) : word{number, ~number * 3} {}
  bool is_whole(std::uint32_t bytes) const { return bytes == 8 || word[1] == ~word[0] * 3; }
  std::uint64_t word[2];
};
StructureWords version_words(std::uint64_t key, std::uint64_t version) { return StructureWords(key << 16 | version); }

/// All items, each also found by its key; adds what does not fit to `wrong`.
Items structure_items(const HashTable& table, std::string& wrong) {
  const std::uint32_t bytes = table.key_bytes();
  Items items;
  table.for_each([&](const void* key, const void* value) {
    StructureWords its_key(0), its_value(0), found(0);
    std::memcpy(its_key.word, key, bytes);
    std::memcpy(its_value.word, value, bytes);
    const std::uint64_t number = its_key.word[0];
    if (!its_key.is_whole(bytes) || !its_value.is_whole(bytes) || its_value.word[0] >> 16 != number) {
      wrong += "key " + std::to_string(number) + " or its value is torn; ";
    }
    if (table.find(its_key.word, found.word) != Status::found || found.word[0] != its_value.word[0]) {
      wrong += "key " + std::to_string(number) + " is not found; ";
    }
    if (!items.emplace(number, its_value.word[0] & 0xffff).second) wrong += "a key is there twice; ";
    return true;
  });
  if (table.size() != items.size()) wrong += "size() says " + std::to_string(table.size()) + "; ";
  return items;
}

/// A step on one key: an unexpected status other than no_space is an error of the table.
StructureStep on_key(std::function<void(PoolState&)> change, Status expected,
                     std::function<Status(HashTable&)> operation) {
  const auto unsynced = [](PoolState& state) { state.synced = false; };
  return {[=](PoolState& state) {
            unsynced(state);
            change(state);
          },
          [=](StructureScene& scene, PoolState& state) {
            unsynced(state);
            const Status status = operation(*scene.table);
            if (status == Status::no_space) return;
            if (status != expected) throw std::logic_error("status " + std::to_string(static_cast<int>(status)));
            change(state);
          }};
}

void mark_structure_synced(PoolState& state) { state.synced = true; }

}  // namespace

StructureStep insert_one(std::uint64_t key, std::uint64_t version) {
  return on_key(
      [=](PoolState& state) { state.items[key] = version; }, Status::inserted,
      [=](HashTable& table) { return table.insert(StructureWords(key).word, version_words(key, version).word); });
}
StructureStep assign_one(std::uint64_t key, std::uint64_t version) {
  return on_key(
      [=](PoolState& state) { state.items[key] = version; }, Status::updated,
      [=](HashTable& table) { return table.assign(StructureWords(key).word, version_words(key, version).word); });
}
StructureStep erase_one(std::uint64_t key) {
  return on_key([=](PoolState& state) { state.items.erase(key); }, Status::erased,
                [=](HashTable& table) { return table.erase(StructureWords(key).word); });
}
StructureStep grow_once() {
  return {[](PoolState& state) { state.synced = false; },
          [](StructureScene& scene, PoolState& state) {
            state.synced = false;
            scene.table->reserve(scene.table->cells() + 1);
          }};
}
StructureStep sync_structure() {
  return {mark_structure_synced, [](StructureScene& scene, PoolState& state) {
            scene.table->sync();
            mark_structure_synced(state);
          }};
}
StructureStep close_structure() {
  return {mark_structure_synced, [](StructureScene& scene, PoolState& state) {
            scene.table->close();
            scene.pool->close();
            mark_structure_synced(state);
          }};
}

namespace {

HashTable create_structure(Pool& pool, Scheme scheme, bool wide) {
  const std::uint32_t bytes = wide ? 32 : 16;
  const SchemeTableOptions logged{.item_bytes = bytes, .cells = kSmallest, .seed = kStructureSeed};
  switch (scheme) {
    case Scheme::linear: return LinearTable::create(pool, kStructureName, logged);
    case Scheme::pfht: return PfhtTable::create(pool, kStructureName, logged);
    case Scheme::path: return PathTable::create(pool, kStructureName, logged);
    case Scheme::group: break;
  }
  return GroupTable::create(pool, kStructureName,
                            {.item_bytes = bytes, .cells = 1, .group_size = kSmallest, .seed = kStructureSeed});
}

HashTable open_structure(Pool& pool, Scheme scheme, bool flush) {
  const SchemeTableOptions options{.item_bytes = 0, .flush = flush};
  switch (scheme) {
    case Scheme::linear: return LinearTable::open(pool, kStructureName, options);
    case Scheme::pfht: return PfhtTable::open(pool, kStructureName, options);
    case Scheme::path: return PathTable::open(pool, kStructureName, options);
    case Scheme::group: break;
  }
  return GroupTable::open(pool, kStructureName, {.item_bytes = 0, .flush = flush});
}

}  // namespace

std::uint64_t keys_before_growth(Scheme scheme, bool wide) {
  const test::Folder folder;
  Pool pool = Pool::create(folder.path() + kStructureFile);
  HashTable table = create_structure(pool, scheme, wide);
  const std::uint64_t cells = table.cells();
  for (std::uint64_t keys = 0;; ++keys) {  // ends: the table is full at last
    table.insert(StructureWords(keys).word, version_words(keys, 1).word);
    if (table.cells() != cells) return keys;
  }
}

HashTable StructureSubject::open(Pool& pool, bool flush) const { return open_structure(pool, scheme_, flush); }

void StructureSubject::prepare(const std::string& folder) {
  const std::string path = folder + kStructureFile;
  if (!left_.empty()) return write_left(path);
  first_ = {};
  StructureScene scene;
  scene.pool = Pool::create(path);
  scene.table = create_structure(*scene.pool, scheme_, wide_);
  for (std::uint64_t key = 0; key < keys_; ++key) insert_one(key, 1).act(scene, first_);
  close_structure().act(scene, first_);
  scene = {};
  if (killed_) die_changing(path);
}

/// Leaves the file as a kill does in a change: of group hashing between the two bits of an assignment; of a scheme with a log before the entry is
/// void, and of linear probing when an erase has moved an item and not yet noted it.
void StructureSubject::die_changing(const std::string& path) {
  AtEachFence watch(path);
  std::size_t cut = 1;
  {
    Pool pool = Pool::open(path);
    HashTable table = open(pool, true);
    table.erase(StructureWords(keys_ - 1).word);  // the clean mark is cleared
    first_.items.erase(keys_ - 1);
    if (scheme_ != Scheme::linear) {
      watch.kept.clear();
      table.assign(StructureWords(0).word, version_words(0, 1).word);
    } else {
      cut = 4;
      for (std::uint64_t key = 0; key + 1 < keys_; ++key) {
        watch.kept.clear();
        table.erase(StructureWords(key).word);
        first_.items.erase(key);
        if (watch.kept.size() > cut + 1) break;
        insert_one(key, 1).intended(first_);
        table.insert(StructureWords(key).word, version_words(key, 1).word);
      }
    }
  }
  if (watch.kept.size() < cut + 2) throw std::logic_error("no change has enough fences");
  left_ = watch.kept[cut];
  ::unlink(path.c_str());
  write_left(path);
  first_.synced = false;
}

void StructureSubject::write_left(const std::string& path) const { std::ofstream(path, std::ios::binary) << left_; }

void StructureSubject::run(const std::string& folder, const std::function<void()>& said) {
  states_ = {first_};
  intended_ = {first_};
  StructureScene scene;
  scene.pool = Pool::open(folder + kStructureFile);
  scene.table = open(*scene.pool);
  for (const StructureStep& step : steps_) {
    PoolState state = states_.back();
    step.intended(intended_.back());
    try {
      step.act(scene, state);
    } catch (const Error&) {
      states_.back().synced = state.synced;
      probe(scene, step);
      throw;
    }
    states_.push_back(state);
    intended_.push_back(state);
    said();
  }
}

/// After a step that failed, the table works, or every use of it says that it does not; and what failed may be tried again.
void StructureSubject::probe(StructureScene& scene, const StructureStep& failed) {
  if (!scene.table || !scene.table->is_open()) return;
  PoolState &state = states_.back(), &next = intended_.back();
  std::string wrong;
  tried([&] {
    const Items items = structure_items(*scene.table, wrong);
    wrong += compare(items, &state, &next);
  });
  if (!wrong.empty()) throw std::logic_error("after an error the table is wrong: " + wrong);
  tried([&] {
    state.synced = next.synced = false;
    PoolState done;
    next.items[kStructureProbe] = 1;  // it may be there even if the insert failed
    insert_one(kStructureProbe, 1).act(scene, done);
    if (done.items.contains(kStructureProbe)) state.items[kStructureProbe] = 1;
  });
  tried([&] {
    failed.act(scene, state);
    next = state;
  });
  if (!scene.table->is_open()) return;
  tried([&] {
    scene.table->sync();
    const Items items = structure_items(*scene.table, wrong);
    if (!wrong.empty()) throw std::logic_error("after an error the table is wrong: " + wrong);
    state.items = next.items = items;
    state.synced = next.synced = true;
  });
}

std::string StructureSubject::check(const std::string& folder, unsigned steps, Crash crash) {
  const PoolState &before = states_[steps], &after = intended_[steps];
  const std::string path = folder + kStructureFile;
  const auto look = [&] {
    Pool pool = Pool::open(path);
    HashTable table = open(pool);
    std::string wrong;
    const Items items = structure_items(table, wrong);
    for (const std::string& error : table.check().errors) wrong += error + "; ";
    wrong += compare(items, &before, &after);
    table.close();
    pool.close();
    return wrong;
  };
  return verdict(crash, before.synced && after.synced, look, [&] {
    Pool pool = Pool::open(path, {.read_only = true, .salvage = true});
    static_cast<void>(open(pool).check());
  });
}

/// It takes so many items more that it grows, and has all of them when it is opened again.
std::string StructureSubject::go_on(const std::string& folder) {
  return used_further([&] {
    std::string wrong;
    PoolState expected;
    for (const bool again : {false, true}) {
      StructureScene scene;
      scene.pool = Pool::open(folder + kStructureFile);
      scene.table = open(*scene.pool);
      const Items items = structure_items(*scene.table, wrong);
      if (again && items != expected.items) wrong += "what was added is not there";
      if (again || !wrong.empty()) return wrong;
      expected.items = items;
      const std::uint64_t more = scene.table->cells();
      for (std::uint64_t key = kStructureNew; key < kStructureNew + more; ++key)
        insert_one(key, 7).act(scene, expected);
      erase_one(kStructureNew).act(scene, expected);
    }
    return wrong;
  });
}

}  // namespace holdfast::proof

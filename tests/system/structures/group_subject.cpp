// group_subject.cpp: the steps of a group table, and what a crash or a fault may leave of it.
#include "group_subject.hpp"

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "pool/medium/owner.hpp"
#include "pool/medium/persist.hpp"
#include "structures/group/shape.hpp"
#include "structures/item.hpp"

namespace holdfast::proof {

namespace {

constexpr const char *kGroupFile = "/a.hold", *kGroupName = "g";
constexpr std::uint64_t kGroupSeed = 42, kGroupProbe = 9'000'000, kGroupNew = 8'000'000;
constexpr std::uint32_t kSmallGroup = 64;

/// A key, or a value of a version: the words of one that is torn do not fit each other.
struct GroupWords {
  explicit GroupWords(std::uint64_t number) : word{number, ~number * 3} {}
  bool is_whole(std::uint32_t bytes) const { return bytes == 8 || word[1] == ~word[0] * 3; }
  std::uint64_t word[2];
};
GroupWords version_words(std::uint64_t key, std::uint64_t version) { return GroupWords(key << 16 | version); }

/// All items, each also found by its key; adds what does not fit to `wrong`.
Items group_items(const GroupTable& table, std::string& wrong) {
  const std::uint32_t bytes = table.key_bytes();
  Items items;
  table.for_each([&](const void* key, const void* value) {
    GroupWords its_key(0), its_value(0), found(0);
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
GroupStep on_key(std::function<void(PoolState&)> change, Status expected,
                 std::function<Status(GroupTable&)> operation) {
  const auto unsynced = [](PoolState& state) { state.synced = false; };
  return {[=](PoolState& state) {
            unsynced(state);
            change(state);
          },
          [=](GroupScene& scene, PoolState& state) {
            unsynced(state);
            const Status status = operation(*scene.table);
            if (status == Status::no_space) return;
            if (status != expected) throw std::logic_error("status " + std::to_string(static_cast<int>(status)));
            change(state);
          }};
}

void mark_group_synced(PoolState& state) { state.synced = true; }

/// Keeps the bytes of a file at each fence.
class AtEachFence : public pool::FlushObserver {
 public:
  explicit AtEachFence(std::string path) : path_(std::move(path)), before_(pool::observe_flushes(this)) {}
  ~AtEachFence() override { pool::observe_flushes(before_); }
  void flush(const void*, std::size_t) noexcept override {}
  void fence() noexcept override {
    std::ifstream stream(path_, std::ios::binary);
    kept.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  std::vector<std::string> kept;

 private:
  const std::string path_;
  pool::FlushObserver* const before_;
};

template <class Use>
void attempt_on_group(const Use& use) {
  try {
    use();
  } catch (const Error&) {
    // It says so.
  }
}

}  // namespace

GroupStep insert_one(std::uint64_t key, std::uint64_t version) {
  return on_key(
      [=](PoolState& state) { state.items[key] = version; }, Status::inserted,
      [=](GroupTable& table) { return table.insert(GroupWords(key).word, version_words(key, version).word); });
}
GroupStep assign_one(std::uint64_t key, std::uint64_t version) {
  return on_key(
      [=](PoolState& state) { state.items[key] = version; }, Status::updated,
      [=](GroupTable& table) { return table.assign(GroupWords(key).word, version_words(key, version).word); });
}
GroupStep erase_one(std::uint64_t key) {
  return on_key([=](PoolState& state) { state.items.erase(key); }, Status::erased,
                [=](GroupTable& table) { return table.erase(GroupWords(key).word); });
}
GroupStep grow_once() {
  return {[](PoolState& state) { state.synced = false; },
          [](GroupScene& scene, PoolState& state) {
            state.synced = false;
            scene.table->reserve(scene.table->cells() + 1);
          }};
}
GroupStep sync_group() {
  return {mark_group_synced, [](GroupScene& scene, PoolState& state) {
            scene.table->sync();
            mark_group_synced(state);
          }};
}
GroupStep close_group() {
  return {mark_group_synced, [](GroupScene& scene, PoolState& state) {
            scene.table->close();
            scene.pool->close();
            mark_group_synced(state);
          }};
}

std::uint64_t keys_of_one_group(bool wide) {
  const group::Shape shape{1, kSmallGroup, wide ? 4u : 2u};
  std::vector<bool> first(kSmallGroup);
  for (std::uint64_t key = 0, second = 0;; ++key) {  // ends: the group is full
    const GroupWords words(key);
    const std::uint64_t hash =
        wide ? structures::hash_of(structures::Words<2>{{words.word[0], words.word[1]}}, kGroupSeed)
             : structures::hash_of(structures::Words<1>{{words.word[0]}}, kGroupSeed);
    const std::uint32_t cell = shape.position_of(hash);
    if (first[cell] && ++second > kSmallGroup) return key;
    first[cell] = true;
  }
}

void GroupSubject::prepare(const std::string& folder) {
  const std::string path = folder + kGroupFile;
  first_ = {};
  GroupScene scene;
  scene.pool = Pool::create(path);
  scene.table =
      GroupTable::create(*scene.pool, kGroupName,
                         {.item_bytes = wide_ ? 32u : 16u, .cells = 1, .group_size = kSmallGroup, .seed = kGroupSeed});
  for (std::uint64_t key = 0; key < keys_; ++key) insert_one(key, 1).act(scene, first_);
  close_group().act(scene, first_);
  scene = {};
  if (killed_) die_assigning(path);
}

/// Leaves the file as a kill does between the two bits of an assignment to key 0.
void GroupSubject::die_assigning(const std::string& path) {
  AtEachFence watch(path);
  {
    Pool pool = Pool::open(path);
    GroupTable table = GroupTable::open(pool, kGroupName, {.item_bytes = 0, .flush = true});
    table.erase(GroupWords(keys_ - 1).word);  // the clean mark is cleared
    first_.items.erase(keys_ - 1);
    watch.kept.clear();
    table.assign(GroupWords(0).word, version_words(0, 1).word);
  }
  if (watch.kept.size() < 3) throw std::logic_error("an assignment has not set two bits, each durably");
  ::unlink(path.c_str());
  std::ofstream(path, std::ios::binary) << watch.kept[1];  // the cell, and the new bit
  first_.synced = false;
}

void GroupSubject::run(const std::string& folder, const std::function<void()>& said) {
  states_ = {first_};
  intended_ = {first_};
  GroupScene scene;
  scene.pool = Pool::open(folder + kGroupFile);
  scene.table = GroupTable::open(*scene.pool, kGroupName);
  for (const GroupStep& step : steps_) {
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
void GroupSubject::probe(GroupScene& scene, const GroupStep& failed) {
  if (!scene.table || !scene.table->is_open()) return;
  PoolState &state = states_.back(), &next = intended_.back();
  std::string wrong;
  attempt_on_group([&] {
    const Items items = group_items(*scene.table, wrong);
    wrong += compare(items, &state, &next);
  });
  if (!wrong.empty()) throw std::logic_error("after an error the table is wrong: " + wrong);
  attempt_on_group([&] {
    state.synced = next.synced = false;
    PoolState done;
    next.items[kGroupProbe] = 1;  // it may be there even if the insert failed
    insert_one(kGroupProbe, 1).act(scene, done);
    if (done.items.contains(kGroupProbe)) state.items[kGroupProbe] = 1;
  });
  attempt_on_group([&] {
    failed.act(scene, state);
    next = state;
  });
  if (!scene.table->is_open()) return;
  attempt_on_group([&] {
    scene.table->sync();
    const Items items = group_items(*scene.table, wrong);
    if (!wrong.empty()) throw std::logic_error("after an error the table is wrong: " + wrong);
    state.items = next.items = items;
    state.synced = next.synced = true;
  });
}

std::string GroupSubject::check(const std::string& folder, unsigned steps, Crash crash) {
  const PoolState &before = states_[steps], &after = intended_[steps];
  const std::string path = folder + kGroupFile;
  std::string wrong;
  try {
    Pool pool = Pool::open(path);
    GroupTable table = GroupTable::open(pool, kGroupName);
    const Items items = group_items(table, wrong);
    for (const std::string& error : table.check().errors) wrong += error + "; ";
    wrong += compare(items, &before, &after);
    table.close();
    pool.close();
    return wrong;
  } catch (const PowerLost& error) {
    if (crash != Crash::power || (before.synced && after.synced)) {
      return std::string("refused, and nothing can be lost: ") + error.what();
    }
  } catch (const Error& error) {
    return std::string("does not open: ") + error.what();
  }
  try {  // it can be salvaged
    Pool pool = Pool::open(path, {.read_only = true, .salvage = true});
    static_cast<void>(GroupTable::open(pool, kGroupName).check());
  } catch (const Error& error) {
    return std::string("cannot be salvaged: ") + error.what();
  }
  return {};
}

/// It takes so many items more that it grows, and has all of them when it is opened again.
std::string GroupSubject::go_on(const std::string& folder) {
  std::string wrong;
  try {
    PoolState expected;
    for (const bool again : {false, true}) {
      GroupScene scene;
      scene.pool = Pool::open(folder + kGroupFile);
      scene.table = GroupTable::open(*scene.pool, kGroupName);
      const Items items = group_items(*scene.table, wrong);
      if (again && items != expected.items) wrong += "what was added is not there";
      if (!wrong.empty()) return "used further: " + wrong;
      if (again) continue;
      expected.items = items;
      const std::uint64_t more = scene.table->cells();
      for (std::uint64_t key = kGroupNew; key < kGroupNew + more; ++key) insert_one(key, 7).act(scene, expected);
      erase_one(kGroupNew).act(scene, expected);
    }
  } catch (const PowerLost&) {
    return {};  // `check` has seen that it may be
  } catch (const Error& error) {
    return std::string("used further: ") + error.what();
  }
  return {};
}

std::vector<Range> GroupSubject::meaningless() const { return {{pool::kOwnerOffset, sizeof(pool::OwnerNote)}}; }

}  // namespace holdfast::proof

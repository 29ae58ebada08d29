// snapshot_test.cpp: snapshots of a store that threads change meanwhile: the copy has what all of them had done at one moment.
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <iostream>
#include <map>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "../pool/at_first_write.hpp"
#include "holdfast/region.hpp"
#include "holdfast/store_memory.hpp"
#include "store/sanitized.hpp"
#include "store/store_fixture.hpp"
#include "support/random.hpp"

namespace holdfast {
namespace {

using Took = std::chrono::duration<double, std::milli>;
constexpr unsigned kChangers = 3;
constexpr std::uint64_t kChangedKeys = kSanitized ? 300 : 4'000;

/// Writer t executes its changes 1, 2, 3 …, each of which follows from its number. A value begins with that number and with what the next writer had
/// done before.
struct Deed {
  std::uint64_t key;
  enum class Kind : std::uint8_t { set, erase, touch, reserve } kind;
  std::size_t bytes;
};
Deed deed_of(unsigned writer, std::uint64_t number, std::uint64_t large) {
  test::Random random(test::mix(number, writer));
  const auto draw = random.below(100);
  const auto kind = draw < 70   ? Deed::Kind::set
                    : draw < 80 ? Deed::Kind::erase
                    : draw < 90 ? Deed::Kind::touch
                    : kSanitized
                        ? Deed::Kind::set  // a caller writes a reserved value with plain stores, while it is copied
                        : Deed::Kind::reserve;
  const std::size_t bytes = 16 + random.below(random.below(1000) < (large < 1'000'000 ? 20 : 1) ? large : 100);
  return {random.below(kChangedKeys), kind, bytes};
}
std::string key_of(unsigned writer, std::uint64_t key) { return std::to_string(writer) + "/" + std::to_string(key); }
constexpr std::uint64_t kFarAway = std::uint64_t{1} << 45;

std::string value_of(std::uint64_t number, std::uint64_t seen, std::size_t bytes) {
  std::string value(bytes, static_cast<char>('a' + number % 26));
  std::memcpy(value.data(), &number, 8);
  std::memcpy(value.data() + 8, &seen, 8);
  return value;
}
std::uint64_t word_in(std::string_view value, unsigned i) {
  std::uint64_t word = 0;
  std::memcpy(&word, value.data() + 8 * i, 8);
  return word;
}

struct Changer {
  std::atomic<std::uint64_t> done = 0;
  double longest_ms = 0;
};

/// Reserves a value and writes it, and gives it to its key.
void write_reserved(Store& store, const std::string& key, const std::string& value) {
  const std::uint64_t offsets[] = {0, key.size()}, bytes[] = {value.size()};
  StoreReservation reservation = store.reserve({key.data(), offsets, 1}, bytes);
  std::size_t at = 0;
  for (const auto& part : reservation.pieces(0)) {
    std::memcpy(part.data(), value.data() + at, part.size());
    at += part.size();
  }
  reservation.commit(0);
}

void execute(Store& store, unsigned writer, std::uint64_t number, std::uint64_t seen, std::uint64_t large) {
  const Deed deed = deed_of(writer, number, large);
  const std::string key = key_of(writer, deed.key);
  const std::string value = value_of(number, seen, deed.bytes);
  switch (deed.kind) {
    case Deed::Kind::set: store.set(key, value); break;
    case Deed::Kind::erase: store.erase(key); break;
    case Deed::Kind::touch: store.touch(key, kFarAway + number); break;
    case Deed::Kind::reserve: write_reserved(store, key, value); break;
  }
}

/// What a key has: the change that gave the value, and the expiry.
struct Having {
  std::uint64_t number = 0, expiry = 0;
  bool operator==(const Having&) const = default;
};
using State = std::map<std::uint64_t, Having>;

/// The changes of one writer, executed again, from snapshot to snapshot.
class Replay {
 public:
  Replay(unsigned writer, std::uint64_t large) : writer_(writer), large_(large) {}

  std::uint64_t number() const { return number_; }
  void next() {
    const Deed deed = deed_of(writer_, ++number_, large_);
    differs_ -= differs(deed.key);
    if (deed.kind == Deed::Kind::erase) {
      state_.erase(deed.key);
    } else if (deed.kind == Deed::Kind::touch) {
      if (const auto at = state_.find(deed.key); at != state_.end()) at->second.expiry = kFarAway + number_;
    } else {
      state_[deed.key] = {number_, 0};
    }
    differs_ += differs(deed.key);
  }
  /// Up to the first number of at least `least` after which the keys have this. False: there is none up to `most`.
  bool reach(State found, std::uint64_t least, std::uint64_t most) {
    found_ = std::move(found);
    while (number_ < least) next();
    differs_ = 0;
    for (std::uint64_t key = 0; key < kChangedKeys; ++key) differs_ += differs(key);
    while (differs_ != 0 && number_ < most) next();
    return differs_ == 0;
  }
  /// The last number up to `most` after which they have it.
  std::uint64_t last(std::uint64_t most) const {
    Replay later = *this;
    while (later.differs_ == 0 && later.number_ < most) later.next();
    return later.differs_ == 0 ? later.number_ : later.number_ - 1;
  }

 private:
  int differs(std::uint64_t key) const {
    const auto has = state_.find(key), found = found_.find(key);
    if (has == state_.end() || found == found_.end()) return (has == state_.end()) != (found == found_.end()) ? 1 : 0;
    return has->second == found->second ? 0 : 1;
  }

  unsigned writer_;
  std::uint64_t large_, number_ = 0;
  State state_, found_;
  int differs_ = 0;
};

/// Between `least` and `most` of the changes of each writer are in the copy, and all of one moment.
void expect_one_moment(Store& copy, std::vector<Replay>& replays, const std::vector<std::uint64_t>& least,
                       const std::vector<std::uint64_t>& most, std::uint64_t large) {
  std::uint64_t seen[kChangers] = {};
  for (unsigned writer = 0; writer < kChangers; ++writer) {
    State found;
    for (std::uint64_t key = 0; key < kChangedKeys; ++key) {
      const auto item = copy.get(key_of(writer, key));
      if (!item) continue;
      const std::uint64_t number = word_in(item->value, 0);
      found[key] = {number, item->expiry};
      ASSERT_EQ(item->value, value_of(number, word_in(item->value, 1), deed_of(writer, number, large).bytes)) << "torn";
      seen[writer] = std::max(seen[writer], word_in(item->value, 1));
    }
    ASSERT_TRUE(replays[writer].reach(std::move(found), least[writer], most[writer]))
        << "writer " << writer << ": at no moment were its keys so";
  }
  for (unsigned writer = 0; writer < kChangers; ++writer) {
    const unsigned other = (writer + 1) % kChangers;
    EXPECT_GE(replays[other].last(most[other]), seen[writer]) << "what writer " << writer << " had seen is not there";
  }
}

/// Changes of a writer, until the snapshot is there, or so many that it has lasted long enough.
constexpr std::uint64_t kMostChanges = kSanitized ? 2'000 : 12'000;
void change(Store& store, Changer (&changers)[kChangers], unsigned writer, std::uint64_t large,
            const std::atomic<bool>& ends) {
  Changer& its = changers[writer];
  for (std::uint64_t left = kMostChanges; left > 0 && !ends.load(); --left) {
    const std::uint64_t number = its.done.load() + 1, seen = changers[(writer + 1) % kChangers].done.load();
    const auto begin = std::chrono::steady_clock::now();
    execute(store, writer, number, seen, large);
    its.done.store(number);
    its.longest_ms = std::max(its.longest_ms, Took(std::chrono::steady_clock::now() - begin).count());
  }
}

class StoreSnapshotTest : public StoreTest {
 protected:
  void run(std::uint64_t large) {
    Store store = make({.max_value_bytes = 4 << 20});
    Changer changers[kChangers];
    std::vector<Replay> replays;
    for (unsigned writer = 0; writer < kChangers; ++writer) replays.emplace_back(writer, large);
    const int snapshots = kSanitized ? 2 : 3;
    double held = 0, whole = 0;
    for (int i = 0; i < snapshots; ++i) {
      std::atomic<bool> ends = false;
      const std::uint64_t before = changers[0].done;
      std::vector<std::jthread> threads;
      for (unsigned writer = 0; writer < kChangers; ++writer) {
        threads.emplace_back([&, writer] { change(store, changers, writer, large, ends); });
      }
      std::vector<std::uint64_t> least, most;
      while (changers[0].done < before + 100) std::this_thread::yield();
      for (const Changer& its : changers) least.push_back(its.done.load());
      const SnapshotResult result = pool_.snapshot(copy_, {.overwrite = true});
      for (const Changer& its : changers) most.push_back(its.done.load() + 1);
      ends = true;
      threads.clear();
      held = std::max(held, result.held_ms);
      whole = std::max(whole, result.total_ms);
      Pool pool = Pool::open(copy_);
      Store copy = Store::open(pool, "s");
      const CheckReport report = copy.check();
      ASSERT_TRUE(report.errors.empty()) << report.errors.front();
      ASSERT_TRUE(report.was_clean);
      ASSERT_NO_FATAL_FAILURE(expect_one_moment(copy, replays, least, most, large)) << "snapshot " << i;
    }
    std::uint64_t done = 0;
    double longest = 0;
    for (const Changer& its : changers) {
      done += its.done;
      longest = std::max(longest, its.longest_ms);
    }
    std::cout << done << " changes, " << snapshots << " snapshots of up to " << whole << " ms, which held changes for "
              << held << " ms at most; the longest change took " << longest << " ms\n";
  }
};

TEST_F(StoreSnapshotTest, HasOneMomentOfSmallItems) { run(200); }
TEST_F(StoreSnapshotTest, HasOneMomentWhileTheHeapGrows) { run(100'000); }
TEST_F(StoreSnapshotTest, HasOneMomentOfValuesInChunks) { run(3'000'000); }

TEST_F(StoreSnapshotTest, HasWhatWasThereWhileAllOfItChanges) {
  Store store = make({.max_value_bytes = 4 << 20});
  constexpr std::uint64_t kItems = kSanitized ? 2'000 : 20'000, kLarge = kSanitized ? 4 : 12;
  const auto value = [](std::uint64_t i) { return std::string(16 + i % 300, static_cast<char>('a' + i % 26)); };
  const auto large = [](std::uint64_t i) {
    return std::string(i % 2 == 0 ? 1'000'000 : 3'000'000, static_cast<char>('a' + i));
  };
  for (std::uint64_t i = 0; i < kItems; ++i) store.set(std::to_string(i), value(i));
  for (std::uint64_t i = 0; i < kLarge; ++i) store.set("large " + std::to_string(i), large(i));
  bool begun = false;
  const auto change_all = [&](std::uint64_t, std::uint64_t) {
    if (std::exchange(begun, true)) return;
    for (std::uint64_t i = 0; i < kLarge; ++i) {
      store.erase("large " + std::to_string(i));
      const std::string other(large(i).size(), 'z');  // which gets its memory
      if (kSanitized) {
        store.set("other " + std::to_string(i),
                  other);  // a caller writes a reserved value with plain stores, while it is copied
      } else {
        write_reserved(store, "other " + std::to_string(i), other);
      }
    }
    for (std::uint64_t i = 0; i < kItems; i += 2) store.erase(std::to_string(i));
    for (std::uint64_t i = 1; i < kItems; i += 2) store.set(std::to_string(i), "new");
  };
  static_cast<void>(pool_.snapshot(copy_, {.threads = 1, .progress = change_all}));
  EXPECT_EQ(store.size(), kItems / 2 + kLarge);
  Pool pool = Pool::open(copy_);
  Store copy = Store::open(pool, "s", {.max_value_bytes = 4 << 20});
  EXPECT_TRUE(copy.check().errors.empty());
  EXPECT_EQ(copy.size(), kItems + kLarge);
  for (std::uint64_t i = 0; i < kItems; ++i) ASSERT_EQ(copy.get(std::to_string(i)).value().value, value(i)) << i;
  for (std::uint64_t i = 0; i < kLarge; ++i)
    ASSERT_TRUE(copy.get("large " + std::to_string(i)).value().value == large(i)) << i;
}

TEST_F(StoreSnapshotTest, ChangesRunWhileOtherObjectsAreCopied) {
  Store store = make();
  Region region = Region::create(pool_, "r", 64 << 20);
  {
    const Section section = region.section();
    std::memset(section.bytes().data(), 1, section.bytes().size());
  }
  std::future<void> changed;
  bool was_done = false;
  {
    const test::AtFirstWrite copying([&] {
      changed = std::async(std::launch::async, [&] { store.set("key", "value"); });
      was_done = changed.wait_for(std::chrono::minutes(1)) == std::future_status::ready;
    });
    pool_.snapshot(copy_, {.writers_idle = true, .threads = 1});
    ASSERT_TRUE(changed.valid()) << "the copy writes nothing";
    changed.wait();
  }
  EXPECT_TRUE(was_done) << "it waits for the copy of the region";
}

TEST_F(StoreSnapshotTest, OneThatWasStoppedLeavesNothing) {
  Store store = make();
  for (int i = 0; i < 2'000; ++i) store.set(std::to_string(i), std::string(500, 'v'));
  std::stop_source stop;
  const SnapshotResult stopped = pool_.snapshot(copy_, {.stop = stop.get_token(), .progress = [&](auto, auto) {
                                                          for (int i = 0; i < 1'000; ++i)
                                                            store.erase(std::to_string(i));
                                                          stop.request_stop();
                                                        }});
  EXPECT_TRUE(stopped.stopped);
  for (int i = 0; i < 1'000; ++i) store.set(std::to_string(i), "new");
  EXPECT_FALSE(pool_.snapshot(copy_).stopped);
  Pool pool = Pool::open(copy_);
  Store copy = Store::open(pool, "s");
  EXPECT_EQ(copy.size(), 2'000u);
  EXPECT_EQ(copy.get("0").value().value, "new");
  EXPECT_EQ(copy.get("1999").value().value, std::string(500, 'v'));
}

TEST_F(StoreSnapshotTest, ClosingWaits) {
  Store store = make();
  for (int i = 0; i < 20'000; ++i) store.set(std::to_string(i), std::string(500, 'v'));
  std::thread closes;
  bool begun = false;
  const SnapshotResult result = pool_.snapshot(copy_, {.progress = [&](std::uint64_t, std::uint64_t) {
                                                 if (!begun) closes = std::thread([&] { store.close(); });
                                                 begun = true;
                                               }});
  closes.join();
  EXPECT_FALSE(result.stopped);
  EXPECT_FALSE(store.is_open());
  Pool pool = Pool::open(copy_);
  EXPECT_EQ(Store::open(pool, "s").size(), 20'000u);
}

}  // namespace
}  // namespace holdfast

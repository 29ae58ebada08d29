// bucket_map_test.cpp: the loader of a bucket cache, a change of a slot, and searches for its key one after the other, in every order
// with few preemptions, over memory as weak as a GPU's (proof/weak_memory.hpp); and the same for a batch that changes two slots of the bucket in
// phases. gphash/protocol/cache_map.hpp and gphash/protocol/claim.hpp are the code that ships; the search asks as gphash/protocol/find.hpp does. Rules 11, 15, 25.
#include "structures/gphash/protocol/cache_map.hpp"
#include "structures/gphash/protocol/claim.hpp"

#include "map_memory.hpp"
#include "record.hpp"

namespace holdfast::gphash::model {

namespace {

enum Where : unsigned { kMap, kVersionLock, kSlot, kCopy, kOtherSlot, kOtherCopy, kWords };
enum Who : unsigned { kLoader, kWriter, kReader, kActors };

static_assert(kWords <= kMostWords);

constexpr std::uint64_t kOld = 1, kNew = 2, kBusy = 3;
constexpr int kLooks = 3;

/// Which fences, and other orders, are left out.
struct Without {
  bool writers = false, readers = false;
  bool claims_first = false;  ///< in phases: before anything is written
  bool release_last = false;  ///< and when all is shown
};

/// Of a bucket of `slots` slots, the first of which stand before the others in `Where`.
void load_bucket(unsigned slots) {
  const MapMemory memory;
  if (!gphash::begin_load(memory, memory.word(kMap), std::uint64_t{0})) return;
  for (unsigned i = 0; i < slots; ++i) weak->store(kCopy + 2 * i, weak->load(kSlot + 2 * i, false), false);
  memory.fence();
  static_cast<void>(gphash::end_load(memory, memory.word(kMap), std::uint64_t{0}));
}

/// A new word for an item, as gphash/protocol/commit.hpp writes it: the pool, and when that is durable the copy.
void write_slot(const Without& without) {
  const MapMemory memory;
  if (!gphash::try_claim(memory, memory.word(kVersionLock))) return;
  memory.poke(memory.word(kSlot), kNew);
  if (!without.writers) memory.fence();
  if (gphash::write_through(memory, memory.word(kMap)).cached()) memory.poke(memory.word(kCopy), kNew);
  gphash::release(memory, memory.word(kVersionLock));
}

/// New words for the items of both slots, whose keys have one stripe, as gphash/protocol/phases.hpp writes them. What a kernel's end orders is a
/// fence here; a store behind the fence with which a thread of the next begins releases.
void write_in_phases(const Without& without) {
  const MapMemory memory;
  for (unsigned i = 0; i < 2; ++i) gphash::claim_shared(memory, memory.word(kVersionLock));
  for (unsigned i = 0; i < 2; ++i) weak->store(kSlot + 2 * i, kNew, !without.claims_first);
  if (!without.writers) memory.fence();
  for (unsigned i = 0; i < 2; ++i) {
    if (gphash::write_through(memory, memory.word(kMap)).cached()) memory.poke(memory.word(kCopy + 2 * i), kNew);
    if (without.release_last) gphash::release_shared(memory, memory.word(kVersionLock));
  }
  memory.fence();
  for (unsigned i = 0; i < 2; ++i) gphash::release_shared(memory, memory.word(kVersionLock));
}

/// For the key of a slot.
std::uint64_t search(const Without& without, unsigned slot) {
  const MapMemory memory;
  for (int look = 0; look < kLooks; ++look) {
    const bool cached = gphash::mapped(memory, memory.word(kMap)).cached();
    const std::uint64_t word = memory.peek(memory.word(cached ? slot + 1 : slot));
    weak->cached |= cached;
    if (cached || !gphash::is_claimed(memory.peek(memory.word(kVersionLock)))) return word;
    if (!without.readers) memory.fence();
    if (gphash::read_stands(memory, memory.word(kMap))) return word;
  }
  return kBusy;  // back in line
}

/// Who has found the new word finds no older one.
void read_twice(const Without& without, unsigned slot) {
  const std::uint64_t first = search(without, slot);
  const std::uint64_t second = first == kNew ? search(without, slot) : first;
  weak->wrong |= first == kNew && second == kOld;
}

/// `cached`: the copies are there at first, and no load is needed. `phased`: both slots change.
Play play_of(const Without& without, bool cached = false, bool phased = false) {
  Play play;
  play.actors = kActors;
  play.preemptions = phased ? 2 : 3;
  play.begin = [cached](WeakMemory& memory) {
    for (const unsigned at : {kSlot, kOtherSlot}) memory.begin(at, kOld);
    if (!cached) return;
    memory.begin(kMap, gphash::Mapped<std::uint64_t>::at(0).word);
    for (const unsigned at : {kCopy, kOtherCopy}) memory.begin(at, kOld);
  };
  play.act = [without, phased](unsigned who) {
    if (who == kLoader) load_bucket(phased ? 2 : 1);
    if (who == kWriter) phased ? write_in_phases(without) : write_slot(without);
    if (who == kReader) read_twice(without, phased ? kOtherSlot : kSlot);
  };
  play.end = [phased](WeakMemory& memory) {
    const gphash::Mapped<std::uint64_t> map{memory.newest(kMap)};
    memory.wrong |= map.cached() && memory.newest(kCopy) != kNew;  // for all who come later
    memory.wrong |= phased && map.cached() && memory.newest(kOtherCopy) != kNew;
    memory.wrong |= map.being_loaded() || gphash::is_claimed(memory.newest(kVersionLock));
  };
  return play;
}

TEST(BucketMap, ALoadAChangeAndSearchesAgree) {
  for (const bool cached : {false, true}) {
    const Executions seen = run_all(play_of({}, cached));
    EXPECT_EQ(seen.wrong, 0u) << "of " << seen.executions;
    EXPECT_GT(seen.cached, 0u) << "no search ever used a copy";
    record_play("bucket_map", cached ? "cached" : "empty", seen.executions);
  }
}

TEST(BucketMap, ALoadABatchInPhasesAndSearchesAgree) {
  for (const bool cached : {false, true}) {
    const Executions seen = run_all(play_of({}, cached, true));
    EXPECT_EQ(seen.wrong, 0u) << "of " << seen.executions;
    EXPECT_GT(seen.cached, 0u) << "no search ever used a copy";
    record_play("bucket_map_in_phases", cached ? "cached" : "empty", seen.executions);
  }
}

TEST(BucketMap, EveryStepOfPhasesIsNeeded) {
  for (const gphash::Step step : {gphash::Step::fence_before_load, gphash::Step::swap_after_load,
                                  gphash::Step::remap_after_write, gphash::Step::look_at_map_again}) {
    EXPECT_NE(wrong_without(step, play_of({}, false, true)), 0u)
        << "nothing fails without step " << static_cast<int>(step);
  }
  Without writers, claims, release;
  writers.writers = true;
  claims.claims_first = true;
  release.release_last = true;
  EXPECT_NE(run_all(play_of(writers, false, true)).wrong, 0u) << "nothing fails without the fence after the commit";
  EXPECT_NE(run_all(play_of(claims, false, true)).wrong, 0u) << "nothing fails where claims are not seen before slots";
  EXPECT_NE(run_all(play_of(release, false, true)).wrong, 0u)
      << "nothing fails where a key is released when it is shown";
}

TEST(BucketMap, EveryStepIsNeeded) {
  for (const gphash::Step step :
       {gphash::Step::fence_before_load, gphash::Step::swap_after_load, gphash::Step::remap_after_write,
        gphash::Step::end_load_after_write, gphash::Step::look_at_map_again}) {
    EXPECT_NE(wrong_without(step, play_of({})), 0u) << "nothing fails without step " << static_cast<int>(step);
  }
  EXPECT_NE(run_all(play_of({true, false})).wrong, 0u) << "nothing fails without the writer's fence";
  EXPECT_NE(run_all(play_of({false, true})).wrong, 0u) << "nothing fails without the reader's fence";
}

}  // namespace

}  // namespace holdfast::gphash::model

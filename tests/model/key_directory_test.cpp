// key_directory_test.cpp: two searches for a key, one after the other in each of two threads, a change of the key, and a load that copies its
// cell, in every order with few preemptions, over memory as weak as a GPU's (proof/weak_memory.hpp). gphash/protocol/key_directory.hpp is the code that
// ships; the change goes the way of gphash/protocol/run.hpp. Rules 11, 15, 25.
#include "structures/gphash/protocol/key_directory.hpp"

#include <algorithm>
#include <iterator>

#include "map_memory.hpp"
#include "record.hpp"

namespace holdfast::gphash::model {

namespace {

enum Where : unsigned { kMap, kState, kVersionLock, kSlot, kSeen, kWords };
enum Who : unsigned { kWriter, kReader, kOtherReader, kLoader, kActors };
static_assert(kWords <= kMostWords && kActors <= kMostActors);

// The cells that the slot names, before the change and after. A copy of the first says what it says.
constexpr std::uint64_t kOld = 1, kNew = 2;

/// What the position holds at first.
enum class First : std::uint8_t { nothing, blank, noted, known };

std::uint64_t* state_word(std::uint64_t) { return MapMemory::word(kState); }

void load_cell() {
  const MapMemory memory;
  if (!gphash::begin_load(memory, memory.word(kMap), std::uint64_t{0})) return;
  memory.poke(memory.word(kState), gphash::kBlank);
  if (!gphash::end_load(memory, memory.word(kMap), std::uint64_t{0})) memory.poke(memory.word(kState), gphash::kGone);
}

/// An update: the slot names another cell, and the copy of the one before goes.
void change_key(bool forgets_late) {
  const MapMemory memory;
  const auto forget = [&] { gphash::forget_key(memory, memory.word(kMap), state_word); };
  if (!gphash::try_claim(memory, memory.word(kVersionLock))) return;
  if (!forgets_late) forget();
  memory.poke(memory.word(kSlot), kNew);
  if (forgets_late) forget();
  memory.fence();
  const auto was = gphash::remap(memory, memory.word(kMap), gphash::Mapped<std::uint64_t>{});
  if (was.cached()) memory.poke(memory.word(kState), gphash::kGone);
  gphash::release(memory, memory.word(kVersionLock));
}

/// `at_once`: a search says that a key is known when it finds it, with nobody's confirmation.
std::uint64_t search(bool at_once) {
  const MapMemory memory;
  std::uint64_t* const state = memory.word(kState);
  const std::uint64_t seen = memory.peek(state);
  if (seen == gphash::kKnown) {
    weak->cached = true;
    return kOld;
  }
  const bool confirms = seen == gphash::kNoted && gphash::may_confirm(memory, memory.word(kVersionLock));
  const std::uint64_t cell = memory.peek(memory.word(kSlot));
  if (cell == kOld && gphash::mapped(memory, memory.word(kMap)).cached()) {
    if (!confirms) gphash::note_key(memory, state, [] {});
    if (confirms || at_once) gphash::confirm_key(memory, state);
  }
  return cell;
}

/// Who has found the new cell, or was told by somebody who has, finds the old one no more.
void read_twice(bool at_once) {
  const MapMemory memory;
  bool new_before = memory.peek(memory.word(kSeen)) != 0;
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t cell = search(at_once);
    weak->wrong |= new_before && cell == kOld;
    new_before |= cell == kNew;
  }
  if (new_before) memory.poke(memory.word(kSeen), 1);
}

Play play_of(First first, bool forgets_late = false, bool at_once = false) {
  Play play;
  const bool loads = first == First::nothing;
  play.actors = loads ? kActors : kLoader;
  play.preemptions = loads ? 1 : 2;
  play.begin = [first](WeakMemory& memory) {
    memory.begin(kSlot, kOld);
    if (first != First::nothing) memory.begin(kMap, gphash::Mapped<std::uint64_t>::at(0).word);
    memory.begin(kState, static_cast<std::uint64_t>(first));
  };
  play.act = [=](unsigned who) {
    if (who == kLoader) return load_cell();
    who == kWriter ? change_key(forgets_late) : read_twice(at_once);
  };
  play.end = [](WeakMemory& memory) {
    memory.wrong |= memory.newest(kState) == gphash::kKnown && memory.newest(kSlot) == kNew;  // for all who come later
  };
  return play;
}

constexpr First kFirsts[] = {First::nothing, First::blank, First::noted, First::known};
constexpr const char* kNames[] = {"nothing", "blank", "noted", "known"};

/// True if something goes wrong, whatever the position holds at first.
bool fails(const std::function<std::uint64_t(First)>& wrong) {
  return std::any_of(std::begin(kFirsts), std::end(kFirsts), [&](First first) { return wrong(first) != 0; });
}

TEST(KeyDirectory, SearchesAChangeAndALoadAgree) {
  for (const First first : kFirsts) {
    Play play = play_of(first);
    if (!long_run()) --play.preemptions;
    const Executions seen = run_all(play);
    EXPECT_EQ(seen.wrong, 0u) << "of " << seen.executions << ", " << static_cast<int>(first);
    record_play("key_directory", kNames[static_cast<unsigned>(first)], seen.executions);
    EXPECT_TRUE(seen.cached != 0 || first == First::nothing) << "no search ever used a copy";
  }
}

TEST(KeyDirectory, EveryStepIsNeeded) {
  for (const gphash::Step step : {gphash::Step::forget_before_change, gphash::Step::fence_before_forgetting,
                                  gphash::Step::fence_before_version_lock, gphash::Step::confirm_unclaimed}) {
    EXPECT_TRUE(fails([&](First first) { return wrong_without(step, play_of(first)); }))
        << "nothing fails without step " << static_cast<int>(step);
  }
  EXPECT_TRUE(fails([](First first) { return run_all(play_of(first, true), true).wrong; }))
      << "nothing fails where a change forgets the key after it has written";
  EXPECT_TRUE(fails([](First first) { return run_all(play_of(first, false, true), true).wrong; }))
      << "nothing fails where one search alone says that a key is known";
}

}  // namespace

}  // namespace holdfast::gphash::model

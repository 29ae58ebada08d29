// bucket_map_test.cpp: the loader of a bucket cache, a change of a slot, and searches for its key one after the other, in every order
// with few preemptions, over memory as weak as a GPU's (weak_memory.hpp). index/cache_map.hpp is the code that ships; the
// search asks as index/find.hpp does. RULES.md 11, 15, 25.
#include "index/cache_map.hpp"
#include "index/claim.hpp"

#include "weak_memory.hpp"

namespace holdfast::machine::model {

namespace {

enum Where : unsigned { kMap, kStripe, kSlot, kCopy };
enum Who : unsigned { kLoader, kWriter, kReader, kActors };

constexpr std::uint64_t kOld = 1, kNew = 2, kBusy = 3;
constexpr int kLooks = 3;

/// Which fences are left out.
struct Without {
  bool writers = false, readers = false;
};

void load_bucket() {
  const MapMemory memory;
  if (!index::begin_load(memory, memory.word(kMap), std::uint64_t{0})) return;
  weak->store(kCopy, weak->load(kSlot, false), false);
  memory.fence();
  static_cast<void>(index::end_load(memory, memory.word(kMap), std::uint64_t{0}));
}

/// A new word for an item, as index/commit.hpp writes it: the pool, and when that is durable the copy.
void write_slot(const Without& without) {
  const MapMemory memory;
  if (!index::try_claim(memory, memory.word(kStripe))) return;
  memory.poke(memory.word(kSlot), kNew);
  if (!without.writers) memory.fence();
  if (index::write_through(memory, memory.word(kMap)).cached()) memory.poke(memory.word(kCopy), kNew);
  index::release(memory, memory.word(kStripe));
}

std::uint64_t search(const Without& without) {
  const MapMemory memory;
  for (int look = 0; look < kLooks; ++look) {
    const bool cached = index::mapped(memory, memory.word(kMap)).cached();
    const std::uint64_t word = memory.peek(memory.word(cached ? kCopy : kSlot));
    weak->cached |= cached;
    if (cached || !index::is_claimed(memory.peek(memory.word(kStripe)))) return word;
    if (!without.readers) memory.fence();
    if (index::read_stands(memory, memory.word(kMap))) return word;
  }
  return kBusy;  // back in line
}

/// Who has found the new word finds no older one.
void read_twice(const Without& without) {
  const std::uint64_t first = search(without);
  const std::uint64_t second = first == kNew ? search(without) : first;
  weak->wrong |= first == kNew && second == kOld;
}

/// `cached`: the copy is there at first, and no load is needed.
Play play_of(const Without& without, bool cached = false) {
  Play play;
  play.actors = kActors;
  play.preemptions = 3;
  play.begin = [cached](WeakMemory& memory) {
    memory.begin(kSlot, kOld);
    if (cached) {
      memory.begin(kMap, index::Mapped<std::uint64_t>::at(0).word);
      memory.begin(kCopy, kOld);
    }
  };
  play.act = [without](unsigned who) {
    if (who == kLoader) load_bucket();
    if (who == kWriter) write_slot(without);
    if (who == kReader) read_twice(without);
  };
  play.end = [](WeakMemory& memory) {
    const index::Mapped<std::uint64_t> map{memory.newest(kMap)};
    memory.wrong |= map.cached() && memory.newest(kCopy) != kNew;  // for all who come later
    memory.wrong |= map.being_loaded();
  };
  return play;
}

TEST(BucketMap, ALoadAChangeAndSearchesAgree) {
  for (const bool cached : {false, true}) {
    const Executions seen = run_all(play_of({}, cached));
    EXPECT_EQ(seen.wrong, 0u) << "of " << seen.executions;
    EXPECT_GT(seen.cached, 0u) << "no search ever used a copy";
    EXPECT_GT(seen.executions, 500u);
  }
}

TEST(BucketMap, EveryStepIsNeeded) {
  for (const index::Step step :
       {index::Step::fence_before_load, index::Step::swap_after_load, index::Step::remap_after_write,
        index::Step::end_load_after_write, index::Step::look_at_map_again}) {
    EXPECT_NE(wrong_without(step, play_of({})), 0u) << "nothing fails without step " << static_cast<int>(step);
  }
  EXPECT_NE(run_all(play_of({true, false})).wrong, 0u) << "nothing fails without the writer's fence";
  EXPECT_NE(run_all(play_of({false, true})).wrong, 0u) << "nothing fails without the reader's fence";
}

}  // namespace

}  // namespace holdfast::machine::model

// cache_map_test.cpp: the loader of a value cache, a writer and a reader, in every order, over memory as weak as a GPU's
// (proof/weak_memory.hpp). gphash/protocol/cache_map.hpp is the code that ships. Rules 15, 25.
#include "structures/gphash/protocol/cache_map.hpp"

#include "map_memory.hpp"
#include "record.hpp"

namespace holdfast::gphash::model {

namespace {

enum Where : unsigned { kMap, kShown, kCell, kCellEnd = kCell + 2, kCopy = kCellEnd, kWords = kCopy + 2 };
enum Who : unsigned { kLoader, kWriter, kReader, kActors };
static_assert(kWords <= kMostWords && kActors <= kMostActors);

constexpr std::uint64_t kOld = 1, kNew = 2;  // what the cell holds before the writer takes it, and then

/// Copies a cell that was hot; it is free by now, and about to be taken.
void load_cell() {
  const MapMemory memory;
  if (!gphash::begin_load(memory, memory.word(kMap), std::uint64_t{0})) return;
  for (unsigned i = 0; i < 2; ++i) weak->store(kCopy + i, weak->load(kCell + i, false), false);
  static_cast<void>(gphash::end_load(memory, memory.word(kMap), std::uint64_t{0}));
}

void write_cell(bool fences) {
  const MapMemory memory;
  for (unsigned i = 0; i < 2; ++i) weak->store(kCell + i, kNew, false);
  if (fences) memory.fence();
  gphash::remap(memory, memory.word(kMap), gphash::Mapped<std::uint64_t>{});
  memory.poke(memory.word(kShown), 1);
}

void read_cell() {
  const MapMemory memory;
  if (memory.peek(memory.word(kShown)) == 0) return;
  weak->cached = gphash::mapped(memory, memory.word(kMap)).cached();
  for (unsigned i = 0; i < 2; ++i) weak->wrong |= weak->load((weak->cached ? kCopy : kCell) + i, false) != kNew;
}

/// The reader begins when the cell is named: before, it finds nothing.
Play play_of(bool writer_fences) {
  Play play;
  play.actors = kActors;
  play.begin = [](WeakMemory& memory) {
    for (unsigned at : {kCell + 0u, kCell + 1u}) memory.begin(at, kOld);
  };
  play.act = [writer_fences](unsigned who) {
    if (who == kLoader) load_cell();
    if (who == kWriter) write_cell(writer_fences);
    if (who == kReader) read_cell();
  };
  play.ready = [](const WeakMemory& memory, unsigned who) { return who != kReader || memory.newest(kShown) != 0; };
  return play;
}

TEST(CacheMap, ALoadAndAWriteOfOneCellAgree) {
  const Executions seen = run_all(play_of(true));
  EXPECT_EQ(seen.wrong, 0u) << "of " << seen.executions;
  EXPECT_GT(seen.cached, 0u) << "no reader ever used a copy";
  record_play("cache_map", "write", seen.executions);
}

TEST(CacheMap, EveryStepIsNeeded) {
  for (const gphash::Step step :
       {gphash::Step::fence_before_load, gphash::Step::swap_after_load, gphash::Step::remap_after_write}) {
    EXPECT_NE(wrong_without(step, play_of(true)), 0u) << "nothing fails without step " << static_cast<int>(step);
  }
  EXPECT_NE(run_all(play_of(false)).wrong, 0u) << "nothing fails without the writer's fence";
}

}  // namespace

}  // namespace holdfast::gphash::model
